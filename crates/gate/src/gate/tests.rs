//! The flow as a whole: what passes, what is answered instead, and what follow-ups get from the store.

mod kept;
mod repeats;
mod save;

use std::time::Duration;

use tidegate_core::measure::{self, Meter};
use tidegate_core::payload::Payload;
use tidegate_query::{Limits, Worker};
use tidegate_testkit::clock::ManualClock;
use tidegate_testkit::{make, sample};

use super::*;
use crate::policy::Rules;
use crate::style::Style;
use crate::style::probe::GONE;
use crate::user_store::StoreLocation;

struct Fixture {
    gate: Gate,
    caller: Caller,
    clock: Arc<ManualClock>,
}

impl Fixture {
    fn new(rules: Rules) -> Self {
        Self::in_place(StoreLocation::Memory, rules)
    }

    fn in_place(place: StoreLocation, rules: Rules) -> Self {
        let clock = Arc::new(ManualClock::default());
        let keep = UserStore::of_user(place).with_clock(Arc::<ManualClock>::clone(&clock));
        let gate = Gate::new(Setup {
            keep: Arc::new(keep),
            policies: Policies::of_defaults(rules),
            engines: Queries::new(Limits::default(), Worker::new("tidegate".into())),
            server: "test".into(),
        });
        Self { gate, caller: Caller::unknown(Vec::new()), clock }
    }

    fn decide(&self, result: &[u8]) -> Decision {
        self.gate.decide(&self.caller, &called(), &result)
    }

    /// Lets a list of issues overflow, and returns the text of the answer.
    fn overflow(&self) -> String {
        text(&self.decide(&issues()).answer.unwrap())
    }

    fn query(&self, arguments: &Value) -> String {
        text(&self.gate.query(&self.caller, Some(arguments.to_string().as_bytes())))
    }

    fn fetch(&self, arguments: &Value, allowed: bool) -> Value {
        let result = self.gate.fetch(&self.caller, "list", arguments.to_string().as_bytes(), allowed);
        serde_json::from_str(&text(&result)).unwrap()
    }
}

fn called() -> ToolCall {
    ToolCall { tool: "list".into(), ..ToolCall::default() }
}

fn issues() -> Vec<u8> {
    make::text_result(&sample::issues(200))
}

fn text(result: &[u8]) -> String {
    let result: Value = serde_json::from_slice(result).unwrap();
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The name of the kept result that an answer gives.
fn name_in(answer: &str) -> String {
    let at = answer.find("\"list-").unwrap_or_else(|| panic!("no name in {answer}"));
    answer[at + 1..].split('"').next().unwrap().to_owned()
}

#[test]
fn follow_ups_follow_what_the_tool_declares() {
    let fixture = Fixture::new(Rules::default());
    let rules = Rules { page_size: Some(3), follow_up_tokens: Some(700), ..Rules::default() };
    fixture.gate.mark("list", &rules);
    let name = name_in(&fixture.overflow());
    let page = fixture.query(&json!({"id": name, "page": 2}));
    assert!(page.contains("rows 4-6 of 200"), "{page}");
    let summary = fixture.query(&json!({"id": name}));
    assert!(Meter::default().count(&summary).0 <= 700, "{summary}");
    let resource = fixture.gate.read_resource(&fixture.caller, &format!("ax://list/{name}?page=2")).unwrap();
    assert!(String::from_utf8_lossy(&resource).contains("rows 4-6 of 200"));
}

/// A picture costs more than other follow-ups may, and is returned as a block.
#[test]
fn a_picture_is_returned_by_its_path() {
    let fixture = Fixture::new(Rules { budget_tokens: Some(500), ..Rules::default() });
    // The header of a picture of 1905 x 2053 pixels.
    let picture = "iVBORw0KGgoAAAANSUhEUgAAB3EAAAgFCAIAAAAAAAAA";
    let result = json!({"content": [
        {"type": "text", "text": "Took a screenshot."},
        {"type": "image", "data": picture, "mimeType": "image/png"},
    ]});
    let first = text(&fixture.decide(result.to_string().as_bytes()).answer.unwrap());
    assert!(first.ends_with("\"path\":\"/content/1\"}"), "{first}");
    let asked = json!({"id": name_in(&first), "path": "/content/1"}).to_string();
    let answer: Value =
        serde_json::from_slice(&fixture.gate.query(&fixture.caller, Some(asked.as_bytes()))).unwrap();
    assert_eq!(answer["content"][1], json!({"type": "image", "mimeType": "image/png", "data": picture}));
    let full = fixture.query(&json!({"id": name_in(&first), "mode": "full"}));
    assert!(full.contains("all of its text") && !full.contains("all of it,"), "{full}");
}

#[test]
fn the_summary_shows_the_fields_that_are_set_for_the_tool() {
    let fixture = Fixture::new(Rules { fields: Some(vec!["number".into()]), ..Rules::default() });
    let first = fixture.overflow();
    assert!(first.lines().any(|line| line == "#,number"), "{first}");
    let summary = fixture.query(&json!({"id": name_in(&first)}));
    assert!(summary.lines().any(|line| line == "#,number"), "{summary}");
}

#[test]
fn results_and_tokens_expire_by_the_clock() {
    let fixture = Fixture::new(Rules { style: Some(Style::Probe), ..Rules::default() });
    let probe: Value = serde_json::from_str(&fixture.overflow()).unwrap();
    let fetch = json!({"continuation_token": probe["continuation_token"]});
    assert_eq!(fixture.fetch(&fetch, true)["total"], 200);
    assert_eq!(fixture.fetch(&fetch, false)["error"], GONE, "a caller who may not call the tool");
    fixture.clock.advance(Duration::from_secs(299));
    assert_eq!(fixture.fetch(&fetch, true)["total"], 200);
    fixture.clock.advance(Duration::from_secs(2));
    assert_eq!(fixture.fetch(&fetch, true)["error"], GONE);

    let fixture = Fixture::new(Rules { ttl_seconds: Some(60), ..Rules::default() });
    let name = name_in(&fixture.overflow());
    assert!(fixture.query(&json!({"id": name, "page": 1})).contains("of 200"));
    fixture.clock.advance(Duration::from_secs(61));
    assert!(fixture.query(&json!({"id": name, "page": 1})).contains("expired"));
}

/// Everything that a kept result can be asked for works where it is in memory because the store cannot be used.
#[test]
fn follow_ups_reach_what_is_in_memory() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let place = StoreLocation::Folder(Some(file.path().join("data")));
    let fixture = Fixture::in_place(place.clone(), Rules { page_size: Some(3), ..Rules::default() });
    let first = fixture.overflow();
    assert!(first.contains("(kept in memory 24 h, or until this server exits)"), "{first}");
    let name = name_in(&first);
    let page = fixture.query(&json!({"id": name, "page": 2}));
    assert!(page.contains("rows 4-6 of 200"), "{page}");
    let summary = fixture.query(&json!({"id": name}));
    assert!(summary.contains("(kept in memory 24 h, or until this server exits)"), "{summary}");
    let part = fixture.query(&json!({"id": name, "page": 1, "page_size": 200}));
    let at = part.rfind("\"cursor\":\"").unwrap_or_else(|| panic!("no cursor in {part}")) + 10;
    let cursor = part[at..].split('"').next().unwrap();
    let next = fixture.query(&json!({"id": name, "cursor": cursor}));
    assert!(next.contains("of 200") && !next.contains("not a cursor"), "{next}");
    let resource = fixture.gate.read_resource(&fixture.caller, &format!("ax://list/{name}?page=2")).unwrap();
    assert!(String::from_utf8_lossy(&resource).contains("rows 4-6 of 200"));
    let listed = fixture.gate.resources(&fixture.caller, None).unwrap();
    assert!(String::from_utf8_lossy(&listed).contains(name.rsplit('-').next().unwrap()));
    assert_eq!(fixture.gate.tools_of(&fixture.caller, &name), Some(("list".to_owned(), None)));

    let fixture = Fixture::in_place(place, Rules { style: Some(Style::Probe), ..Rules::default() });
    let probe: Value = serde_json::from_str(&fixture.overflow()).unwrap();
    let fetch = json!({"continuation_token": probe["continuation_token"]});
    assert_eq!(fixture.fetch(&fetch, true)["total"], 200);
    assert_eq!(fixture.fetch(&fetch, false)["error"], GONE);
}

#[test]
fn what_fits_is_what_decide_lets_pass() {
    let fixture = Fixture::new(Rules::default());
    let large = issues();
    let counted = make::text_result(&"words of all kinds, ".repeat(300));
    for (result, passes) in [(make::text_result("small"), true), (counted, true), (large, false)] {
        assert_eq!(fixture.gate.fits(&fixture.caller, &called(), &result), passes);
        let decision = fixture.decide(&result);
        assert_eq!((decision.answer.is_none(), decision.step == "pass"), (passes, passes));
    }
}

#[test]
fn a_decision_says_what_the_result_costs() {
    let fixture = Fixture::new(Rules::default());
    let result = issues();
    let payload = Payload::read_result(&result).unwrap();
    let decision = fixture.decide(&result);
    assert_eq!(decision.raw, Some(measure::cost(&payload, &fixture.caller.profile.meter).unwrap()));
    assert_eq!(decision.step, "overview");
}

#[test]
fn a_program_gets_the_result_whole() {
    let fixture = Fixture::new(Rules::default());
    let called = ToolCall { by_program: true, ..called() };
    let decision = fixture.gate.decide(&fixture.caller, &called, &issues().as_slice());
    assert_eq!((decision.answer, decision.step), (None, "whole"));
}

#[test]
fn an_rpc_error_keeps_its_code_and_gets_an_overview() {
    let fixture = Fixture::new(Rules::default());
    let small = br#"{"code":-32001,"message":"no"}"#.as_slice();
    assert_eq!(fixture.gate.error(&fixture.caller, &called(), &small), None);
    let large = json!({"code": -32001, "message": "it failed because ".repeat(2000)}).to_string();
    let answer = fixture.gate.error(&fixture.caller, &called(), &large.as_bytes()).unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["code"], -32001);
    assert!(answer["message"].as_str().unwrap().contains("result_query"), "{answer}");
}

#[test]
fn the_smallest_answer_of_every_style_has_at_most_400_bytes() {
    use crate::profile::OutputSchema;
    let failed = json!({"content": [{"type": "text", "text": "漢字😀 ".repeat(3000)}], "isError": true});
    let names = ["list".to_owned(), "漢字😀\u{202e}\"".repeat(40)];
    for style in [Style::Overview, Style::Probe, Style::Contract, Style::Error] {
        let domain = Some("d".repeat(200));
        let rules = Rules { session_max_bytes: Some(1), style: Some(style), domain, ..Rules::default() };
        let mut fixture = Fixture::new(rules);
        fixture.caller.modern = true;
        for schema in [OutputSchema::Strip, OutputSchema::Union] {
            fixture.caller.profile.output_schema = schema;
            for (tool, result) in
                names.iter().flat_map(|tool| [(tool, issues()), (tool, failed.to_string().into())])
            {
                let called = ToolCall { tool: tool.clone(), ..ToolCall::default() };
                let answer =
                    fixture.gate.decide(&fixture.caller, &called, &result.as_slice()).answer.unwrap();
                let shown = String::from_utf8_lossy(&answer);
                assert!(answer.len() <= 336, "{style:?} {}: {shown}", answer.len());
                assert!(
                    serde_json::from_slice::<Value>(&answer).is_ok() && !shown.contains('\u{202e}'),
                    "{shown}"
                );
            }
        }
    }
}

#[test]
fn answers_shrink_towards_the_ceiling_of_the_session() {
    // Equal results get equal answers where they are not compared.
    let rules = Rules { session_max_bytes: Some(6000), compare: Some(false), ..Rules::default() };
    let fixture = Fixture::new(rules);
    let sizes = [(); 5].map(|()| fixture.decide(&issues()).answer.unwrap().len());
    assert!(sizes.is_sorted_by(|one, next| one >= next), "{sizes:?}");
    assert!(sizes[0] > 2000 && sizes[4] <= 336, "{sizes:?}");
    let small = make::text_result("ok");
    assert_eq!(fixture.decide(&small).answer, None, "nothing gets larger");
    // Another session has a ceiling of its own.
    let mut other = fixture.caller.clone();
    other.session = Some(Arc::default());
    let first = fixture.gate.decide(&other, &called(), &issues().as_slice()).answer.unwrap();
    assert_eq!(first.len(), sizes[0]);
    // Calls outside of a session start again at zero after an hour without one.
    fixture.clock.advance(Duration::from_secs(3599));
    assert!(fixture.decide(&issues()).answer.unwrap().len() <= 336);
    fixture.clock.advance(Duration::from_secs(3600));
    assert_eq!(fixture.decide(&issues()).answer.unwrap().len(), sizes[0]);
}

#[test]
fn calls_at_the_same_time_do_not_exceed_the_ceiling_together() {
    let fixture = Fixture::new(Rules { session_max_bytes: Some(12_000), ..Rules::default() });
    let total: usize = std::thread::scope(|scope| {
        let calls = [(); 8].map(|()| scope.spawn(|| fixture.decide(&issues()).answer.unwrap().len()));
        calls.into_iter().map(|call| call.join().unwrap()).sum()
    });
    assert!(total <= 12_000 + 8 * 336, "{total}");
}
