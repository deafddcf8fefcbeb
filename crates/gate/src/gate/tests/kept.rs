//! The stored results of a session: lists, queries over several results, and who may read them.

use tidegate_core::Tokens;

use super::*;
use crate::caller::{CallerId, Principal};
use crate::tier::Tier;

fn fixture() -> Fixture {
    let mut fixture = Fixture::new(Rules::default());
    // Without a worker, SQL runs in this process.
    fixture.gate.setup.engines = Queries::new(Limits::default(), Worker::new("/nonexistent".into()));
    fixture
}

impl Fixture {
    fn keep(&self, caller: &Caller, tool: &str, arguments: &str) -> String {
        let called = ToolCall { tool: tool.into(), arguments: Some(arguments.into()), ..ToolCall::default() };
        let answer = text(&self.gate.decide(caller, &called, &issues().as_slice()).answer.unwrap());
        let at = answer.find("result: \"").unwrap() + 9;
        answer[at..].split('"').next().unwrap().to_owned()
    }

    fn ask(&self, caller: &Caller, arguments: &Value) -> String {
        text(&self.gate.query(caller, Some(arguments.to_string().as_bytes())))
    }
}

fn session() -> Caller {
    let mut caller = Caller::unknown(Vec::new());
    caller.session = Some(Arc::default());
    caller
}

#[test]
fn without_an_id_the_results_of_the_session_are_listed() {
    let fixture = fixture();
    let (one, other) = (session(), session());
    assert!(fixture.ask(&one, &json!({})).contains("has kept no results"));
    let first = fixture.keep(&one, "list_issues", r#"{"state":"open","limit":50}"#);
    fixture.clock.advance(Duration::from_secs(600));
    let second = fixture.keep(&one, "search", r#"{"q":"a\nb"}"#);
    let theirs = fixture.keep(&other, "secret", "{}");
    let list = fixture.ask(&one, &json!({}));
    let at = |words: &str| list.find(words).unwrap_or_else(|| panic!("no {words} in {list}"));
    assert!(at(&second) < at(&first), "newest first");
    at("10 min");
    at("200 records (number,title");
    at("limit=50 state=open");
    at("q=a b");
    assert!(!list.contains(&theirs), "another session of the same user: {list}");
    assert!(fixture.ask(&one, &json!({"id": theirs, "page": 1})).contains("of 200"), "by its exact name");
    fixture.clock.advance(Duration::from_secs(24 * 3600 - 300));
    let list = fixture.ask(&one, &json!({}));
    assert!(!list.contains(&first) && list.contains(&second), "expired: {list}");
}

#[test]
fn a_list_stays_within_400_tokens() {
    let fixture = fixture();
    for client in ["somebody", "claude-code"] {
        let mut caller = session();
        caller.name(client);
        for number in 0..25 {
            let arguments = json!({"query": format!("{number} {}", "words ".repeat(40))}).to_string();
            let newest = fixture.keep(&caller, &format!("a_tool_with_a_long_name_{number}"), &arguments);
            let list = fixture.ask(&caller, &json!({}));
            let cost = caller.profile.meter.count(&list);
            assert!(cost <= Tokens(400), "{cost} tokens: {list}");
            assert!(list.contains(&newest), "{list}");
        }
        assert!(fixture.ask(&caller, &json!({})).contains("older ones are not shown"));
    }
}

#[test]
fn a_query_joins_results_by_their_names() {
    let fixture = fixture();
    let caller = session();
    let (one, two) = (fixture.keep(&caller, "list", "{}"), fixture.keep(&caller, "search", "{}"));
    let join = format!("select count(*) n from t join \"{two}\" b on b.number = t.number");
    assert!(fixture.ask(&caller, &json!({"id": one, "sql": join})).contains("\n200\n"));
    let both = format!("select count(*) n from \"{one}\" a join \"{two}\" b using (number)");
    assert!(fixture.ask(&caller, &json!({"sql": both})).contains("\n200\n"), "without an id");
    // A cursor continues the rows of a join, and names the same results.
    let rows = format!("select t.number, b.title from t join \"{two}\" b on b.number = t.number order by 1");
    let page = fixture.ask(&caller, &json!({"id": one, "sql": rows, "max_tokens": 400}));
    let at = page.rfind("\"cursor\":\"").unwrap_or_else(|| panic!("no cursor in {page}")) + 10;
    let cursor = page[at..].split('"').next().unwrap();
    let next = fixture.ask(&caller, &json!({"id": one, "cursor": cursor}));
    assert!(next.contains("sql rows") && next.contains("of 200"), "{next}");
    let gone =
        fixture.ask(&caller, &json!({"id": one, "sql": "select * from t join \"bom-000000000000\" b"}));
    assert!(gone.contains("no result is kept under \"bom-000000000000\""), "{gone}");
}

#[test]
fn every_result_that_a_query_names_is_checked_like_the_one_in_id() {
    let mut fixture = fixture();
    let mut policies = Policies::of_defaults(Rules::default());
    policies.add_tools("admin_*", Rules { tier: Some(Tier::Admin), ..Rules::default() });
    fixture.gate.setup.policies = policies;
    let (mut reader, admin) = (session(), session());
    reader.profile.tier = Tier::Read;
    let mine = fixture.keep(&reader, "list", "{}");
    let above = fixture.keep(&admin, "admin_list", "{}");
    let mut bob = session();
    bob.principal = Principal::Named(CallerId::new("bob").unwrap());
    let theirs = fixture.keep(&bob, "list", "{}");
    for foreign in [&above, &theirs] {
        let refused = fixture.ask(&reader, &json!({"id": foreign}));
        assert!(refused.contains("no result is kept"), "{refused}");
        let sql = format!("select * from t join \"{foreign}\" b");
        let jq = format!("$results[\"{foreign}\"]");
        for asked in [json!({"id": mine, "sql": sql}), json!({"sql": sql}), json!({"id": mine, "jq": jq})] {
            let refused = fixture.ask(&reader, &asked);
            assert!(refused.contains(&format!("no result is kept under \"{foreign}\"")), "{refused}");
        }
    }
    let names = fixture.gate.names_read(
        &reader,
        json!({"id": mine, "sql": format!("select * from \"{theirs}\"")}).to_string().as_bytes(),
    );
    assert_eq!(names, [mine, theirs]);
}

#[test]
fn keep_all_stores_results_that_pass() {
    let small = make::text_result(r#"[{"id":"p1","cost":5},{"id":"p2","cost":7}]"#);
    let called = |tool: &str| ToolCall {
        tool: tool.into(),
        arguments: Some(r#"{"n":2}"#.into()),
        ..ToolCall::default()
    };
    let mut fixture = fixture();
    let mut policies = Policies::of_defaults(Rules::default());
    policies.add_tools("bom", Rules { keep: Some(crate::policy::Keep::All), ..Rules::default() });
    fixture.gate.setup.policies = policies;
    let caller = session();
    for tool in ["bom", "other"] {
        assert!(fixture.gate.fits(&caller, &called(tool), &small), "it passes");
        assert_eq!(fixture.gate.keeps_passed(tool), tool == "bom");
        let passed = PassedResult {
            caller: &caller,
            tool,
            step: "pass",
            result: &small.as_slice(),
            added_micros: 1,
            kept_call: Some(&called(tool)),
        };
        fixture.gate.note_untouched(&passed);
    }
    let list = fixture.ask(&caller, &json!({}));
    assert!(list.contains("one result") && list.contains("2 records (id,cost); n=2"), "{list}");
    let name = list.lines().find_map(|line| Some(line.split_once(": < 1 min")?.0)).unwrap();
    let large = fixture.keep(&caller, "list", "{}");
    let join = format!("select sum(b.cost) s from t join \"{name}\" b where t.number = 4200");
    assert!(fixture.ask(&caller, &json!({"id": large, "sql": join})).contains("\n12\n"));
    assert!(fixture.ask(&caller, &json!({"id": name, "path": "/1/cost"})).contains("\n7\n"));
}

#[test]
fn only_a_client_with_a_shell_is_offered_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let place = StoreLocation::Folder(Some(folder.path().to_owned()));
    for (client, is_in_shell, is_offered) in [
        ("claude-code", true, true),
        ("claude-code", false, false),
        ("somebody", true, false),
        ("Zed", true, false),
    ] {
        let mut fixture = Fixture::in_place(place.clone(), Rules::default());
        fixture.gate = fixture.gate.readable_in_shell(is_in_shell);
        fixture.caller.name(client);
        let answer = fixture.overflow();
        let command = format!("; shell: tidegate query {} -o FILE", name_in(&answer));
        assert_eq!(answer.ends_with(&command), is_offered, "{client}: {answer}");
        assert!(fixture.caller.profile.meter.count(&answer) <= Tokens(1000));
        assert!(Meter::default().count(&command) <= Tokens(25), "few tokens");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let broken = StoreLocation::Folder(Some(file.path().join("data")));
    let mut fixture = Fixture::in_place(broken, Rules::default());
    fixture.gate = fixture.gate.readable_in_shell(true);
    fixture.caller.name("claude-code");
    let answer = fixture.overflow();
    assert!(answer.contains("kept in memory") && !answer.contains("shell:"), "{answer}");
}
