//! Texts inside JSON and in several blocks: each line of them is searched, and each place that grep names can be read.

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_core::view::{Answer, Total, View};
use tidegate_query::Limits;

use crate::Engine::{Grep, Jq, Sql};
use crate::Kept;

fn kept(blocks: &[String]) -> Kept {
    let blocks: Vec<Value> = blocks.iter().map(|text| json!({"type": "text", "text": text})).collect();
    Kept::in_process(json!({ "content": blocks }).to_string().into_bytes(), Limits::default())
}

fn of_json(value: &Value) -> Kept {
    kept(&[value.to_string()])
}

/// A diff in which 61 lines were added.
fn diff() -> String {
    let hunk = |n: usize| format!("@@ -{n} +{n},2 @@\n context {n}\n+added line number {n}\n");
    let hunks: String = (0..61).map(hunk).collect();
    format!("diff --git a/src/x.rs b/src/x.rs\n--- a/src/x.rs\n+++ b/src/x.rs\n{hunks}")
}

fn inside(path: &str, view: View) -> View {
    View::Within { path: path.into(), view: Box::new(view) }
}

fn body(answer: Result<Answer, impl std::fmt::Debug>) -> String {
    answer.unwrap().body
}

#[test]
fn each_line_of_a_string_in_json_is_a_match() {
    let kept = of_json(&json!({"files": 1, "diff": diff()}));
    let found = kept.ask(Grep, "^\\+added").unwrap();
    assert_eq!(found.total, Total::Exactly(61));
    assert_eq!(found.results[0], "/diff 3- +++ b/src/x.rs\n6: +added line number 0");
    assert_eq!(found.results[1], "/diff 9: +added line number 1");
    assert_eq!(
        body(kept.view(inside("/diff", View::Lines { from: 6, to: Some(6) }))),
        "+added line number 0"
    );
    // The string is most of the result, so lines without a path are its lines.
    assert_eq!(body(kept.view(View::Lines { from: 6, to: Some(6) })), "+added line number 0");
    assert!(body(kept.view(View::Path("/diff".into()))).starts_with("diff --git a/src/x.rs"));
    assert_eq!(body(kept.view(View::Path("/files".into()))), "1");
}

#[test]
fn lines_of_long_texts_in_records_are_matches() {
    let files: Vec<Value> = (0..9)
        .map(|n| {
            let lines: Vec<String> = (0..80).map(|line| format!("line {line} of file {n}")).collect();
            json!({"path": format!("f{n}.txt"), "content": lines.join("\n")})
        })
        .collect();
    let kept = of_json(&json!({ "files": files }));
    let results = kept.results(Grep, "^line 7\\d of file 3$");
    assert_eq!(results.len(), 10);
    assert_eq!(results[0], "/files/3/content 71: line 70 of file 3");
    // A record is one match for what is beside its long texts.
    let named = kept.results(Grep, "^f4\\.txt$");
    assert!(named.len() == 1 && named[0].starts_with("/files/4 ("), "{named:?}");
    assert_eq!(
        body(kept.view(inside("/files/3/content", View::Lines { from: 71, to: Some(71) }))),
        "line 70 of file 3"
    );
}

#[test]
fn data_in_a_string_is_data() {
    let rows: Vec<Value> = (0..90).map(|n| json!({"id": n, "name": format!("name {n}")})).collect();
    for text in [json!(rows).to_string(), serde_json::to_string_pretty(&rows).unwrap()] {
        for wrapped in [json!({"result": text, "ok": true}).to_string(), json!(text).to_string()] {
            let kept = kept(std::slice::from_ref(&wrapped));
            let count = body(kept.view(View::Sql("select count(*), max(id) from t".into())));
            assert!(count.ends_with("90,89"), "{wrapped:.60}: {count}");
            let page = kept.view(View::Page { number: 2, size: Some(10) }).unwrap();
            assert!(page.body.contains("name 19"), "{}", page.text);
        }
    }
    let kept = of_json(&json!({"result": json!(rows).to_string(), "ok": true}));
    assert_eq!(body(kept.view(View::Path("/result/3/name".into()))), "\"name 3\"");
    assert_eq!(kept.results(Grep, "^name 7\\d?$").len(), 11);
    assert_eq!(kept.results(Grep, "^name 7$"), ["/result/7/name name 7"]);
    assert_eq!(kept.results(Grep, "\"id\":77,").len(), 1);
    let csv: String = (0..90).map(|n| format!("{n},name {n},{}\n", n % 7)).collect();
    let kept = of_json(&json!({"took": 3, "csv": format!("id,name,kind\n{csv}")}));
    assert!(body(kept.view(View::Sql("select count(*) from t where kind = 3".into()))).ends_with("13"));
}

#[test]
fn jq_reads_the_data_in_a_string_and_the_object_around_a_text() {
    let rows: Vec<Value> = (0..90).map(|n| json!({"id": n, "name": format!("name {n}")})).collect();
    let worker = Kept::new(&json!({"result": json!(rows).to_string()}).to_string());
    assert_eq!(body(worker.view(View::Jq(".[7].name".into()))), "\"name 7\"");
    let worker = Kept::new(&json!({"files": 4, "diff": diff()}).to_string());
    assert_eq!(body(worker.view(View::Jq(".files".into()))), "4");
    assert_eq!(worker.ask(Jq, ".diff | split(\"\\n\") | length").unwrap().results, ["187"]);
    assert!(worker.ask(Sql, "select 1").is_ok());
}

#[test]
fn a_view_of_a_value_alone() {
    let users: Vec<Value> = (0..30).map(|n| json!({"user": n})).collect();
    let orders: Vec<Value> =
        (0..90).map(|n| json!({"order": n, "user": n % 30, "note": "ask NEEDLE"})).collect();
    let kept = of_json(&json!({"users": users, "orders": orders, "note": "NEEDLE"}));
    let sql = |query: &str| View::Sql(query.into());
    assert!(body(kept.view(inside("/users", sql("select count(*) from t")))).ends_with("30"));
    let grep = View::Grep { pattern: "NEEDLE".into(), context: 0 };
    let found = kept.view(inside("/orders/7", grep)).unwrap();
    assert!(found.body.starts_with("/orders/7/note "), "{}", found.text);
    let page = kept.view(inside("/users", View::Page { number: 1, size: Some(20) })).unwrap();
    assert!(page.text.contains("\"path\":\"/users\"") || page.text.contains("\"cursor\""), "{}", page.text);
    assert_eq!(page.next.unwrap().view, inside("/users", View::Page { number: 2, size: Some(20) }));
}

#[test]
fn matches_are_counted_by_place() {
    let kept = of_json(&json!({
        "errors": (0..40).map(|n| json!({"msg": format!("disk {n}")})).collect::<Vec<_>>(),
        "rows": (0..60).map(|n| json!({"id": n, "at": format!("disk {}", n % 2), "v": [n, n, n]})).collect::<Vec<_>>(),
        "log": "disk full\nok\ndisk full\n",
    }));
    let counted = kept.view(View::Count("disk".into())).unwrap();
    assert_eq!(counted.body, "60 /rows\n40 $.errors[*].msg\n2 /log");
    assert!(counted.text.contains("102 matches in all"), "{}", counted.text);
    for path in ["/rows", "$.errors[*].msg", "/log"] {
        assert!(kept.view(View::Path(path.into())).is_ok());
    }
    assert_eq!(kept.view(View::Count("nowhere".into())).unwrap().body, "");
}

#[test]
fn context_shows_the_records_around_a_match() {
    let rows: Vec<Value> = (0..60).map(|n| json!({"id": n, "name": format!("n{n}")})).collect();
    let kept = of_json(&json!(rows));
    let grep = |pattern: &str| View::Grep { pattern: pattern.into(), context: 1 };
    assert_eq!(
        body(kept.view(grep("n3[05]"))),
        "/29- {\"id\":29,\"name\":\"n29\"}\n/30 {\"id\":30,\"name\":\"n30\"}\n/31- {\"id\":31,\"name\":\"n31\"}\n\
         /34- {\"id\":34,\"name\":\"n34\"}\n/35 {\"id\":35,\"name\":\"n35\"}\n/36- {\"id\":36,\"name\":\"n36\"}"
    );
    let kept = of_json(&json!({"files": 1, "diff": diff()}));
    assert_eq!(
        body(kept.view(grep("number 17$"))),
        "/diff 3- +++ b/src/x.rs\n56-  context 17\n57: +added line number 17\n58- @@ -18 +18,2 @@"
    );
}

#[test]
fn a_few_large_records_are_shown_whole() {
    let row = |n: usize| json!({"id": format!("id{n}"), "tags": vec!["long enough"; 60], "place": {"city": format!("c{}", n % 5)}});
    let rows: Vec<Value> = (0..50).map(row).collect();
    let kept = of_json(&json!({ "rows": rows }));
    assert_eq!(kept.results(Grep, "id7"), [format!("/rows/7 {}", rows[7])]);
    // Others mention it, and one is it.
    let mut mentions = rows.clone();
    for (n, row) in mentions.iter_mut().enumerate().skip(8) {
        row["note"] = json!(format!("like id7, but {n}"));
    }
    let found = of_json(&json!(mentions)).results(Grep, "id7");
    assert_eq!(found.len(), 43);
    assert_eq!(found[0], format!("/7 {}", mentions[7]));
    assert!(found[1].starts_with("/8 (") && found[1].contains("/8/note like id7"), "{}", found[1]);
    // Many are shown by the parts that match.
    let found = kept.results(Grep, "c4");
    assert!(
        found.len() == 10 && found.iter().all(|result| result.contains("/place {\"city\":\"c4\"}")),
        "{found:?}"
    );
    let around = body(kept.view(View::Grep { pattern: "id7".into(), context: 1 }));
    let lines: Vec<&str> = around.lines().collect();
    assert!(
        lines.len() == 3 && lines[1].starts_with("/rows/7 {\"id\"") && lines[2].starts_with("/rows/8- ("),
        "{around}"
    );
}

#[test]
fn the_object_of_a_single_value_is_shown_with_it() {
    let method =
        |n: usize| (format!("m{n}"), json!({"id": format!("api.things.m{n}"), "verb": "GET", "on": [n]}));
    let methods: serde_json::Map<String, Value> = (0..40).map(method).collect();
    let rows: Vec<Value> = (0..900).map(|n| json!({"n": n, "v": format!("v{n}")})).collect();
    let kept = of_json(&json!({"rows": rows, "api": {"things": {"methods": methods}}}));
    assert_eq!(kept.results(Grep, "things\\.m17$"), [format!("/api/things/methods/m17 {}", method(17).1)]);
    assert_eq!(kept.results(Grep, "things\\.m1")[0], "/api/things/methods/m1/id api.things.m1");
}

#[test]
fn strings_of_every_block_are_searched_by_line() {
    let log: Vec<String> = (0..50).map(|n| format!("2024-01-02 10:00:{n:02} INFO step {n}")).collect();
    let first = json!({"log": log.join("\n")}).to_string();
    let pages: Vec<String> =
        (0..8).map(|n| format!("[Page {n}]\nNEEDLE on page {n}\n\nand more text")).collect();
    let third = first.replace("INFO", "WARN");
    let kept = kept(&[first, pages.join("\n"), third]);
    assert_eq!(kept.ask(Grep, "^NEEDLE").unwrap().total, Total::Exactly(8));
    let found = kept.ask(Grep, "step 3\\d$").unwrap();
    assert_eq!(found.total, Total::Exactly(20), "{:?}", found.results);
    assert!(
        found.results.iter().any(|result| result.starts_with("//content/2/text/log 31: ")),
        "{:?}",
        found.results
    );
    let path = "//content/2/text/log";
    let line = body(kept.view(inside(path, View::Lines { from: 31, to: Some(31) })));
    assert_eq!(line, "2024-01-02 10:00:30 WARN step 30");
}

/// A line of some kind of text; `word` is what is searched for.
fn line(kind: usize, number: usize, word: &str) -> String {
    match kind {
        0 => format!("2024-01-02 10:00:{:02} INFO [worker] {word} step {number}", number % 60),
        1 => format!("{}{word} line {number}", ["+", "-", " "][number % 3]),
        2 => format!("{}{word} words {number}", if number.is_multiple_of(9) { "## " } else { "" }),
        3 => format!("{number},{word},{}", number % 5),
        4 => format!("    let {word} = call({number});"),
        _ => format!("{word} and so on for {number} times, as it was said before"),
    }
}

/// A long text of lines of one kind, in some of which the word to look for occurs; a short string is a value, not a text.
fn text() -> impl Strategy<Value = String> {
    let words =
        prop::collection::vec(prop::sample::select(vec!["needle", "thread", "cloth", "hay"]), 150..260);
    (0..6usize, words, any::<bool>()).prop_map(|(kind, words, feed)| {
        let lines = words.iter().enumerate().map(|(number, word)| line(kind, number, word));
        let head = ["", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "# Title\n", "id,name,kind\n", "", ""][kind];
        format!("{head}{}{}", lines.collect::<Vec<_>>().join("\n"), if feed { "\n" } else { "" })
    })
}

/// JSON with texts at random paths, and small values beside them.
fn wrapped() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec!["diff", "content", "a b", "x/y", "~", "stdout", "0"]);
    let leaf = prop_oneof![
        3 => text().prop_map(Value::String),
        1 => Just(json!(17)),
        1 => Just(json!("a short one")),
        1 => Just(json!({"id": 4, "state": "open"})),
    ];
    leaf.prop_recursive(3, 8, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Value::Array),
            prop::collection::vec((key.clone(), inner), 1..4).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

/// Returns how many lines of all strings hold the word.
fn needles(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.lines().filter(|line| line.contains("needle")).count() as u64,
        Value::Array(values) => values.iter().map(needles).sum(),
        Value::Object(members) => members.values().map(needles).sum(),
        _ => 0,
    }
}

/// Checks that the place a match begins with can be read, and shows the match.
fn check_place(kept: &Kept, result: &str) -> Result<(), TestCaseError> {
    // The line that names the file of a diff comes before the match.
    let joined = result.split_once('\n').and_then(|(first, second)| {
        let place = first[..first.find("- +++ ")?].trim_end_matches(|c: char| c.is_ascii_digit());
        Some(format!("{place}{second}"))
    });
    let result = joined.as_deref().unwrap_or(result);
    let mut values = serde_json::Deserializer::from_str(result).into_iter::<String>();
    let (path, rest) = match result.starts_with('"') {
        true => {
            let path = values.next().unwrap().unwrap();
            (path, result[values.byte_offset()..].trim_start())
        }
        false => match result.split_once(' ') {
            Some((path, rest)) if path.starts_with('/') => (path.to_owned(), rest),
            _ => (String::new(), result),
        },
    };
    let number = rest.split(':').next().and_then(|number| number.parse::<u64>().ok());
    let view = match (path.is_empty(), number) {
        (true, Some(number)) => View::Lines { from: number, to: Some(number) },
        (false, Some(number)) => inside(&path, View::Lines { from: number, to: Some(number) }),
        _ => View::Path(path.clone()),
    };
    let answer = kept.view(view);
    prop_assert!(answer.is_ok(), "{result}: {:?}", answer.err());
    let answer = answer.unwrap();
    prop_assert!(answer.body.contains("needle"), "{result}: {}", answer.text);
    Ok(())
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(2000))]

    /// A plain search over the lines of all texts finds what grep finds, and every place can be read.
    #[test]
    fn every_line_of_every_text_is_found_and_can_be_read(
        blocks in prop::collection::vec(prop_oneof![2 => wrapped().prop_map(Ok), 1 => text().prop_map(Err)], 1..4),
    ) {
        // Beside other blocks, one that is only a JSON string may be a record or a line.
        let is_alone = blocks.len() == 1;
        let listed = |value: Value| if is_alone || value.is_array() || value.is_object() { value } else { json!([value]) };
        let blocks: Vec<Result<Value, String>> = blocks.into_iter().map(|block| block.map(listed)).collect();
        // What an earlier block says is not counted again.
        prop_assume!(blocks.iter().enumerate().all(|(at, block)| !blocks[..at].contains(block)));
        let texts: Vec<String> =
            blocks.iter().map(|block| block.as_ref().map_or_else(Clone::clone, Value::to_string)).collect();
        let expected: u64 = blocks
            .iter()
            .map(|block| match block {
                Ok(value) => needles(value),
                Err(text) => needles(&Value::String(text.clone())),
            })
            .sum();
        let kept = kept(&texts);
        let found = kept.ask(Grep, "needle").unwrap();
        prop_assert_eq!(found.total, Total::Exactly(expected), "{:?}", found.results);
        for result in found.results.iter().step_by(found.results.len().div_ceil(4).max(1)) {
            check_place(&kept, result)?;
        }
    }
}
