//! Law 2 for the views: all pages together hold every record once, all ranges every byte, whatever the budget.

use std::cell::Cell;

use proptest::prelude::*;
use serde_json::Value;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::hints::Hints;
use tidegate_core::measure::Meter;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::arguments::Arguments;
use tidegate_core::view::{
    Answer, Dataset, EngineOutput, EngineProgram, Engines, NoEngines, Query, ResultWindow, Total, View,
    ViewError, ViewRequest, answer,
};
use tidegate_core::{Bytes, Tokens};
use tidegate_testkit::{make, sample};

use crate::HANDLE;

/// A kept result, as the store would hand it out.
pub(crate) struct Kept {
    result: Vec<u8>,
    outline: Outline,
}

impl Kept {
    pub(crate) fn new(result: Vec<u8>) -> Self {
        let outline = Outline::read(&Payload::read(&result.as_slice()).unwrap()).unwrap();
        // As it comes back from the store.
        let outline = Outline::from_bytes(&outline.to_bytes()).unwrap();
        Self { result, outline }
    }

    /// The number of records of the main list, if there is one.
    pub(crate) fn record_count(&self) -> Option<u64> {
        self.outline.record_count()
    }

    pub(crate) fn ask(&self, query: &Query, tokens: u64) -> Result<Answer, ViewError> {
        self.ask_with(query, tokens, &NoEngines, &Hints::default())
    }

    fn ask_with(
        &self,
        query: &Query,
        tokens: u64,
        engines: &dyn Engines,
        hints: &Hints,
    ) -> Result<Answer, ViewError> {
        let asked = ViewRequest {
            source: &self.result.as_slice(),
            outline: &self.outline,
            hints,
            tool: "list_things",
            handle: Handle::kept(HANDLE, "kept 24 h"),
            query,
            budget: Budget::of_tokens(Tokens(tokens)),
            meter: Meter::default(),
            engines,
            seal: &|_| [7; 12],
        };
        let answer = answer(&asked)?;
        assert!(
            answer.cost.tokens <= Tokens(tokens).max(Budget::MIN_TOKENS),
            "{} of {tokens} tokens\n{}",
            answer.cost.tokens,
            answer.text
        );
        assert!(answer.cost.bytes <= Bytes(10_240.max(tokens * 5)));
        Ok(answer)
    }

    /// The answers from a query to the last that follows it.
    pub(crate) fn walk(&self, query: Query, tokens: u64) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut next = Some(query);
        while let Some(query) = next {
            let answer = self.ask(&query, tokens).unwrap();
            next = answer.next.clone();
            assert!(answer.shown > 0, "a step goes on: {}", answer.text);
            answers.push(answer);
            assert!(answers.len() < 20_000, "the walk ends");
        }
        answers
    }
}

/// Reads the records of one page back, from either form.
pub(crate) fn read_back(answer: &Answer) -> Vec<Value> {
    if answer.text.contains("CSV: a quoted cell") {
        return crate::exact::read_csv(&answer.body).as_array().unwrap().clone();
    }
    answer
        .body
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Records that serde can hold, so that they can be compared.
fn comparable_records() -> impl Strategy<Value = Vec<Value>> {
    let scalar = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        "\\PC{0,20}".prop_map(Value::from),
        "[a-z ,\"\n]{0,12}".prop_map(Value::from),
    ];
    let nested =
        prop_oneof![4 => scalar.clone(), 1 => prop::collection::vec(scalar, 0..4).prop_map(Value::from)];
    let record = (prop::collection::vec(nested, 3), 0..8u8).prop_map(|(values, missing)| {
        let names = ["id", "name", "some note"];
        let members = names.iter().map(ToString::to_string).zip(values);
        Value::Object(
            members.enumerate().filter(|(at, _)| *at as u8 != missing).map(|(_, member)| member).collect(),
        )
    });
    prop::collection::vec(record, 2..120)
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(600))]

    #[test]
    fn pages_hold_every_record_once(records in comparable_records(), tokens in 300u64..2500, size in prop::option::of(1u64..60)) {
        let json = serde_json::to_string_pretty(&records).unwrap();
        let kept = Kept::new(make::text_result(&json));
        let pages = kept.walk(Query::new(View::Page { number: 1, size }), tokens);
        let read: Vec<Value> = pages.iter().flat_map(read_back).collect();
        prop_assert_eq!(read, records);
    }

    #[test]
    fn ranges_hold_every_byte_once(result in make::result(), tokens in 300u64..3000) {
        let kept = Kept::new(result.clone());
        let mut bytes = Vec::new();
        for answer in kept.walk(Query::new(View::Range { from: 0, to: None }), tokens) {
            if answer.text.contains("written as base64") {
                use base64::Engine;
                bytes.extend(base64::engine::general_purpose::STANDARD.decode(&answer.body).unwrap());
            } else if answer.text.contains("written as a JSON string") {
                bytes.extend(serde_json::from_str::<String>(&answer.body).unwrap().into_bytes());
            } else {
                bytes.extend(answer.body.as_bytes());
            }
        }
        prop_assert_eq!(bytes, result);
    }

    #[test]
    fn lines_hold_every_line_once(text in "([a-z ]{0,90}\n){0,200}", tokens in 300u64..2000) {
        let kept = Kept::new(make::text_result(&format!("begin\n{text}")));
        let lines: Vec<String> = kept
            .walk(Query::new(View::Lines { from: 1, to: None }), tokens)
            .iter()
            .flat_map(|answer| answer.body.split('\n').map(str::to_owned))
            .collect();
        let expected: Vec<String> = format!("begin\n{text}").lines().map(|line| line.trim_end().to_owned()).collect();
        let shown: Vec<String> = lines.iter().map(|line| line.trim_end().to_owned()).collect();
        prop_assert_eq!(shown, expected);
    }

    /// Any view of any result within any budget: bounded, and no panic.
    #[test]
    fn every_view_is_bounded(result in make::result(), tokens in 300u64..2000, pick in 0..9usize, n in 1u64..400) {
        let kept = Kept::new(result);
        let view = match pick {
            0 => View::Summary,
            1 => View::Page { number: n, size: None },
            2 => View::Page { number: 1, size: Some(n) },
            3 => View::Path(format!("/{n}/id")),
            4 => View::Path("$[*].name".into()),
            5 => View::Path("/".into()),
            6 => View::Lines { from: n, to: Some(n + 30) },
            7 => View::Range { from: n, to: Some(n * 40) },
            _ => View::Full,
        };
        let _ = kept.ask(&Query::new(view), tokens);
    }
}

fn issues() -> Kept {
    Kept::new(make::text_result(&sample::issues(300)))
}

fn ask(kept: &Kept, set: impl FnOnce(&mut Arguments)) -> Result<Answer, String> {
    let mut arguments = Arguments::default();
    set(&mut arguments);
    let query = arguments.into_query().map_err(|error| error.to_string())?;
    kept.ask(&query, 1000).map_err(|error| error.to_string())
}

#[test]
fn a_page_has_fixed_boundaries() {
    let kept = issues();
    let page = ask(&kept, |a| (a.page, a.page_size) = (Some(3), Some(2))).unwrap();
    assert!(page.text.starts_with(&format!("{HANDLE}: rows 5-6 of 300.")), "{}", page.text);
    assert!(page.text.ends_with("\"page\":4,\"page_size\":2}"), "{}", page.text);
    let large = ask(&kept, |a| (a.page, a.page_size) = (Some(1), Some(100))).unwrap();
    assert!(large.shown < 100 && large.text.contains("\"cursor\":\""), "{}", large.text);
    let last = ask(&kept, |a| (a.page, a.page_size) = (Some(150), Some(2))).unwrap();
    assert!(last.next.is_none() && last.text.ends_with("end: nothing follows"));
    let beyond = ask(&kept, |a| a.page = Some(9999)).unwrap_err();
    assert!(beyond.starts_with("page 9999 is beyond the end: 300 rows make "), "{beyond}");
}

#[test]
fn fields_narrow_a_page() {
    let kept = issues();
    let page = ask(&kept, |a| a.fields = Some(vec!["number".into(), "author.login".into(), "state".into()]))
        .unwrap();
    assert!(page.body.starts_with("number,author.login,state\n4200,"), "{}", page.body);
    let nested = ask(&kept, |a| a.fields = Some(vec!["number".into(), "labels".into()])).unwrap();
    assert!(nested.body.starts_with("{\"number\":4200,\"labels\":["), "{}", nested.body);
    let star = ask(&kept, |a| (a.fields, a.page_size) = (Some(vec!["author.*".into()]), Some(3))).unwrap();
    assert!(star.body.starts_with("author.login,author.id\n"), "{}", star.body);
    let wrong = ask(&kept, |a| a.fields = Some(vec!["titel".into()])).unwrap_err();
    assert!(wrong.contains("Did you mean title?") && wrong.contains("Fields: number, title"), "{wrong}");
}

#[test]
fn a_path_leads_to_a_value() {
    let kept = issues();
    assert_eq!(ask(&kept, |a| a.path = Some("/77/number".into())).unwrap().body, "4277");
    assert_eq!(
        ask(&kept, |a| a.path = Some("$[77].author.login".into())).unwrap().body.matches('"').count(),
        2
    );
    let wrong = ask(&kept, |a| a.path = Some("/77/autor/login".into())).unwrap_err();
    assert!(wrong.contains("no key \"autor\". Did you mean author?"), "{wrong}");
    let far = ask(&kept, |a| a.path = Some("/900".into())).unwrap_err();
    assert!(far.contains("the list has 300 items, numbered from 0"), "{far}");
    let all = ask(&kept, |a| a.path = Some("$[*].number".into())).unwrap();
    assert!(
        all.body.starts_with("/0/number: 4200\n/1/number: 4201\n") && all.of == Some(300),
        "{}",
        all.text
    );
    let list = ask(&kept, |a| a.path = Some("/".into())).unwrap();
    assert!(list.text.contains("items 1-") && list.next.is_some(), "{}", list.text);
}

#[test]
fn a_record_larger_than_the_budget_gets_its_own_overview() {
    let rows: Vec<String> =
        (0..3).map(|n| format!("{{\"id\":{n},\"rows\":{}}}", sample::issues(60))).collect();
    let kept = Kept::new(make::text_result(&format!("[{}]", rows.join(","))));
    let first = ask(&kept, |a| a.page = Some(1)).unwrap();
    assert!(
        first.text.contains("record 1 of 3, which is larger than the budget; go deeper with \"path\":\"/0\""),
        "{}",
        first.text
    );
    assert!(first.body.contains("60 rows"), "{}", first.body);
    let deeper = ask(&kept, |a| a.path = Some("/0/rows/12/number".into())).unwrap();
    assert_eq!(deeper.body, "4212");
}

#[test]
fn texts_have_pages_of_lines() {
    let text: String = (1..=500).map(|n| format!("line {n}{}\n", " and more".repeat(n % 7))).collect();
    let kept = Kept::new(make::text_result(&text));
    let lines = ask(&kept, |a| a.lines = Some("250-252".into())).unwrap();
    assert!(lines.body.starts_with("line 250") && lines.body.lines().count() == 3, "{}", lines.body);
    assert!(ask(&kept, |a| a.lines = Some("501".into())).unwrap_err().contains("the text has 500 lines"));
    let page = ask(&kept, |a| (a.page, a.page_size) = (Some(2), Some(10))).unwrap();
    assert!(page.body.starts_with("line 11 and more"), "{}", page.text);
}

/// Bytes with something every few of them that cannot be shown as it is.
/// What is around a part repeats the question; one that leaves no room is refused, at once and in words.
#[test]
fn a_question_that_leaves_no_room_is_refused() {
    let long: String = (0..120).map(|number| format!("n{}", number * 37)).collect();
    let asked =
        || Arguments { fields: Some(vec![long.clone()]), ..Arguments::default() }.into_query().unwrap();
    let rows: Vec<Value> = (0..200).map(|row| serde_json::json!({long.as_str(): row, "b": "c"})).collect();
    let records = Kept::new(make::text_result(&Value::from(rows).to_string()));
    let message = records.ask(&asked(), 400).unwrap_err().to_string();
    assert!(message.contains("name fewer fields, or set a higher max_tokens"), "{message}");
    // Lines have no fields, so they take no room.
    let line: String = (0..3000).map(|number| format!("{number}!")).collect();
    let answers = Kept::new(make::text_result(&line)).walk(asked(), 400);
    assert_eq!(answers.iter().map(|answer| answer.body.as_str()).collect::<String>(), line);
}

#[test]
fn a_long_line_is_read_whole_though_it_is_not_valid() {
    let line = b"ab\xc4\xc4c\xe2\x82 d".repeat(600);
    let result = [br#"{"content":[{"type":"text","text":""#, line.as_slice(), br#""}]}"#].concat();
    let kept = Kept::new(result);
    let answers = kept.walk(Query::new(View::Lines { from: 1, to: None }), 400);
    let read: String = answers.iter().map(|answer| answer.body.as_str()).collect();
    assert!(answers.len() > 3 && read == String::from_utf8_lossy(&line), "{} answers: {read}", answers.len());
}

fn steps(unit: &[u8]) -> usize {
    let bytes = unit.repeat((64 << 10) / unit.len());
    let kept = Kept::new([b"{\"content\":[{\"type\":\"text\",\"text\":\"", &bytes[..], b"\"}]}"].concat());
    kept.walk(Query::new(View::Range { from: 0, to: None }), Budget::FOLLOW_UP_TOKENS.0).len()
}

#[test]
fn a_range_is_full_whatever_its_bytes() {
    for unit in
        ["a\u{200d}".as_bytes(), b"a\xff", b"a\xff\xc2\xa0\xe2\x80\x8d", "é\u{fe0f} done, ".as_bytes()]
    {
        let steps = steps(unit);
        assert!(steps <= 50, "{steps} steps of {}", unit.escape_ascii());
    }
}

#[test]
fn a_result_without_text_has_no_lines() {
    let kept = Kept::new(br#"{"content":[{"type":"text"}]}"#.to_vec());
    let error = kept.ask(&Query::new(View::Lines { from: 1, to: Some(100) }), 1000).unwrap_err();
    assert!(error.to_string().contains("0 lines"), "{error}");
}

/// Finds the same rows for every query, and counts how often it is asked.
#[derive(Default)]
struct CountingEngines {
    runs: Cell<u64>,
}

impl Engines for CountingEngines {
    fn run(&self, _: &Dataset<'_>, _: EngineProgram<'_>, _: ResultWindow) -> Result<EngineOutput, ViewError> {
        self.runs.set(self.runs.get() + 1);
        let results = (0..1000).map(|number| format!("{number},some words about it")).collect();
        let header = Some("number,words".to_owned());
        Ok(EngineOutput {
            header,
            results,
            total: Total::Exactly(1000),
            what: "rows".into(),
            notes: Vec::new(),
        })
    }
}

#[test]
fn an_engine_runs_once_for_an_answer_that_is_cut() {
    // The cursor of the next part repeats the query, so a long query makes the frame larger than the first guess.
    let long = format!("select number, words from t where {}", "number > 0 and ".repeat(40));
    for view in [
        View::Sql(format!("{long} true")),
        View::Jq(long.clone()),
        View::Grep { pattern: long.clone(), context: 0 },
    ] {
        let engines = CountingEngines::default();
        let answer = issues().ask_with(&Query::new(view), 900, &engines, &Hints::default()).unwrap();
        assert!(answer.shown < 1000 && answer.next.is_some(), "{} rows", answer.shown);
        assert_eq!(engines.runs.get(), 1);
    }
}

#[test]
fn a_summary_follows_the_hints_of_the_policy() {
    let summary =
        |hints: &Hints| issues().ask_with(&Query::new(View::Summary), 900, &NoEngines, hints).unwrap().text;
    let plain = summary(&Hints::default());
    let hinted = summary(&Hints { fields: vec!["number".into()], ..Hints::default() });
    assert_ne!(plain, hinted);
    assert!(hinted.lines().any(|line| line == "#,number"), "{hinted}");
    let text = summary(&Hints { kind: Some("text".into()), ..Hints::default() });
    assert_ne!(plain, text);
}
