//! grep covers everything: what a plain search over all texts and all decoded strings of a result finds, it finds, and
//! every place that it names can be read.

use proptest::prelude::*;
use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};
use tidegate_core::view::{EngineOutput, Total, View};
use tidegate_query::Limits;

use crate::Engine::Grep;
use crate::Kept;

fn kept(result: &Value) -> Kept {
    Kept::in_process(result.to_string().into_bytes(), Limits::default())
}

fn of_blocks(blocks: &[String]) -> Value {
    let blocks: Vec<Value> = blocks.iter().map(|text| json!({"type": "text", "text": text})).collect();
    json!({ "content": blocks })
}

fn of_text(text: &str) -> Kept {
    kept(&of_blocks(&[text.to_owned()]))
}

fn count(found: &EngineOutput) -> u64 {
    match found.total {
        Total::Exactly(count) | Total::AtLeast(count) => count,
    }
}

#[test]
fn lists_beside_the_main_one_are_searched() {
    let errors: Vec<Value> = (0..40).map(|n| json!({"msg": format!("DISK FAILURE on node {n}")})).collect();
    let items: Vec<Value> = (0..600).map(|n| json!({"id": n, "v": format!("x{n}")})).collect();
    let kept = of_text(&json!({"errors": errors, "warning": "STALE", "items": items}).to_string());
    let found = kept.ask(Grep, "DISK FAILURE").unwrap();
    assert_eq!(found.total, Total::Exactly(40));
    assert_eq!(found.results[7], "/errors/7/msg DISK FAILURE on node 7");
    assert_eq!(kept.results(Grep, "STALE"), ["/warning STALE"]);
    assert_eq!(kept.results(Grep, "^x599$"), ["/items/599 {\"id\":599,\"v\":\"x599\"}"]);
    assert_eq!(kept.results(Grep, "^warning$"), ["/warning (key) STALE"]);
    let none = kept.ask(Grep, "nowhere").unwrap();
    assert_eq!((none.total, none.what.as_str()), (Total::Exactly(0), "matches"));
    assert_eq!(none.notes, ["Searched: 600 records, 43 other values, 1 line; that is all of it."]);
}

#[test]
fn cells_beyond_the_header_are_found_by_line() {
    let rows: Vec<String> =
        (0..1500).map(|n| format!("{n},bolt {n}{}", if n == 700 { ",NEEDLE" } else { "" })).collect();
    let kept = of_text(&format!("id,item\n{}\n", rows.join("\n")));
    assert!(kept.results(Grep, "NEEDLE")[0].contains("NEEDLE"));
    assert_eq!(kept.ask(Grep, "^bolt 70$").unwrap().total, Total::Exactly(1));
}

#[test]
fn text_around_data_and_other_blocks_are_searched() {
    let records: Vec<Value> = (0..50).map(|n| json!({"id": n, "name": format!("n{n}")})).collect();
    let json = json!(records).to_string();
    let blocks = [
        format!("Before NEEDLE1\n{json}\nafter NEEDLE2"),
        "{\"note\": \"a \\\"quoted\\\" NEEDLE3\"}".to_owned(),
    ];
    let mut result = of_blocks(&blocks);
    result["structuredContent"] = json!({"other": "NEEDLE4"});
    result["content"]
        .as_array_mut()
        .unwrap()
        .push(json!({"type": "resource_link", "uri": "file:///NEEDLE5"}));
    let kept = kept(&result);
    for (pattern, place) in [
        ("NEEDLE1", "1: Before"),
        ("NEEDLE2", "3: after"),
        ("^a \"quoted\" NEEDLE3$", "//content/1/text/note a"),
        ("NEEDLE4", "//structuredContent/other NEEDLE4"),
        ("NEEDLE5", "//content/2/uri file"),
        ("n49", "/49 {"),
    ] {
        let results = kept.results(Grep, pattern);
        assert!(results.len() == 1 && results[0].starts_with(place), "{pattern}: {results:?}");
    }
    let answer = kept.view(View::Path("//structuredContent/other".into())).unwrap();
    assert_eq!(answer.body, "\"NEEDLE4\"");
}

/// A text that merely begins with the value of `structuredContent` does not repeat it.
#[test]
fn a_word_of_a_text_is_not_its_structured_content() {
    for (text, structured) in [("true alpha", json!(true)), ("12 apples", json!({"result": 12}))] {
        let mut result = of_blocks(&[text.to_owned()]);
        result["structuredContent"] = structured;
        let pattern = text.split(' ').next().unwrap();
        assert_eq!(kept(&result).ask(Grep, pattern).unwrap().total, Total::Exactly(2), "{text}");
        result["content"][0]["text"] = json!(pattern);
        assert_eq!(kept(&result).ask(Grep, pattern).unwrap().total, Total::Exactly(1), "{text}");
    }
}

#[test]
fn a_path_beside_the_main_list_does_not_lead_into_it() {
    let records: Vec<Value> = (0..9).map(|n| json!({"id": n, "name": format!("name {n}")})).collect();
    let kept = of_text(&json!({" ": records, "0": [{"name": "NEEDLE"}]}).to_string());
    assert_eq!(kept.results(Grep, "NEEDLE"), ["/0/0/name NEEDLE"]);
    assert_eq!(kept.view(View::Path("/0/0/name".into())).unwrap().body, "\"NEEDLE\"");
    assert_eq!(kept.results(Grep, "name 8"), ["\"/ /8\" {\"id\":8,\"name\":\"name 8\"}"]);
    assert!(kept.view(View::Path("/ /8".into())).unwrap().body.contains("name 8"));
}

#[test]
fn each_line_of_a_text_beside_the_data_counts() {
    let records: Vec<Value> = (0..50).map(|n| json!({"id": n, "name": format!("name {n}")})).collect();
    let mut result = of_blocks(&["a NEEDLE\nb\nc NEEDLE".to_owned()]);
    result["structuredContent"] = json!({ "rows": records });
    assert_eq!(
        kept(&result).results(Grep, "NEEDLE"),
        ["//content/0/text 1: a NEEDLE", "//content/0/text 3: c NEEDLE"]
    );
}

#[test]
fn a_long_line_is_searched_to_its_end() {
    let kept = of_text(&format!("one\n{}NEEDLE{}\nthree", "é".repeat(100_000), "y".repeat(100_000)));
    let results = kept.results(Grep, "NEEDLE");
    assert!(results[0].starts_with("2: …é") && results[0].contains("NEEDLEyyy"), "{results:?}");
}

#[test]
fn base64_is_left_out_and_that_is_said() {
    let result = json!({"content": [
        {"type": "text", "text": "a picture"},
        {"type": "image", "data": "QUJDREVG", "mimeType": "image/png"},
    ]});
    let found = kept(&result).ask(Grep, "QUJD").unwrap();
    assert_eq!(found.total, Total::Exactly(0));
    assert!(
        found.notes.contains(&"8 bytes of base64 data were not searched.".to_owned()),
        "{:?}",
        found.notes
    );
}

/// A word that is searched for, among others.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "alpha",
        "beta",
        "NEEDLE",
        "needle",
        "gamma",
        "a\"b",
        "c\\d",
        "x\ny",
        "tab\there",
        "é",
        "日本",
        "",
        " ",
        "0",
        "17",
        "true",
        "\u{202e}odd",
        "~/x",
        "end.",
    ])
    .prop_map(String::from)
}

fn text_of_words() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 0..5).prop_map(|words| words.join(" "))
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["id", "name", "items", "errors", "msg", "key", "content"]).prop_map(String::from),
        2 => word(),
        1 => prop::sample::select(vec!["a/b", "~", "a b", "structuredContent", "*", "[0]"]).prop_map(String::from),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => text_of_words().prop_map(Value::String),
        2 => (0..100u32).prop_map(|number| json!(number)),
        1 => Just(Value::Bool(true)),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((key(), inner), 0..6).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// An object with several lists of records.
fn lists() -> impl Strategy<Value = Value> {
    let record = (text_of_words(), 0..50u32, word())
        .prop_map(|(text, number, name)| json!({"id": number, "text": text, "name": name}));
    let list = prop::collection::vec(record, 0..12).prop_map(Value::Array);
    prop::collection::vec((key(), prop_oneof![list, tree()]), 1..4)
        .prop_map(|members| members.into_iter().collect())
}

/// One text of a result, and its JSON if it is that.
#[derive(Debug, Clone)]
struct TextBlock {
    text: String,
    json: Option<Value>,
}

fn json_text() -> impl Strategy<Value = TextBlock> {
    (prop_oneof![tree(), lists()], any::<bool>(), any::<bool>(), 0..4usize).prop_map(
        |(value, pretty, escaped, around)| {
            let mut text =
                if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            if escaped {
                text = text.replace('é', "\\u00e9").replace('日', "\\u65e5");
            }
            let text = match around {
                0 => format!("Found these alpha:\n{text}\nThat is all, beta."),
                _ => text,
            };
            TextBlock { text, json: Some(value) }
        },
    )
}

fn plain_text() -> impl Strategy<Value = TextBlock> {
    let lines = prop::collection::vec(text_of_words(), 0..12).prop_map(|lines| lines.join("\n"));
    let rows =
        prop::collection::vec(prop::collection::vec("[a-z]{0,3}|NEEDLE|17|1\\.10|\"a\"\"b, c\"", 2..5), 3..9)
            .prop_map(|rows| {
                let rows: Vec<String> = rows.iter().map(|cells| cells.join(",")).collect();
                format!("id,name,state\n{}\n", rows.join("\n"))
            });
    let long = (text_of_words(), 60_000..140_000usize)
        .prop_map(|(words, length)| format!("{}{words}\nafter it", "z".repeat(length)));
    prop_oneof![20 => lines, 20 => rows, 1 => long].prop_map(|text| TextBlock { text, json: None })
}

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => word().prop_map(|word| regex::escape(&word)),
        1 => prop::sample::select(vec![
            "^NEEDLE", "needle$", "^beta$", "a\"b", "a\\\\\"b", "[0-9]+", "\\bend\\.$", "NEEDLE.*alpha", "alpha\\s+beta",
            "\"id\": ?17", "},", "zzz+N", "日.*é", "^$", "1\\.10", "name",
        ]).prop_map(String::from),
    ]
    .prop_filter("an empty expression is refused", |pattern| !pattern.is_empty())
}

/// Returns all keys and strings of a value.
fn strings(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => all.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| strings(value, all)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            all.push(key.clone());
            strings(value, all);
        }),
        other => all.push(other.to_string()),
    }
}

/// Returns the strings in double quotes of a text, decoded.
fn quoted_strings(text: &str) -> Vec<String> {
    let starts = text.match_indices('"');
    let first = |at: usize| serde_json::Deserializer::from_str(&text[at..]).into_iter::<String>().next();
    starts.filter_map(|(at, _)| first(at)?.ok()).collect()
}

fn any_string(regex: &Regex, value: &Value) -> bool {
    let mut all = Vec::new();
    strings(value, &mut all);
    all.iter().any(|text| regex.is_match(text))
}

/// Returns the place that a result of grep begins with.
pub(crate) fn place(result: &str) -> Result<u64, String> {
    let line = result.lines().next().unwrap();
    if let Some((number, _)) = line.split_once(": ").or(line.strip_suffix(':').map(|number| (number, "")))
        && let Ok(number) = number.parse()
    {
        return Ok(number);
    }
    if line.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(line).into_iter::<String>();
        return Err(values.next().unwrap().unwrap());
    }
    Err(line.split(' ').next().unwrap().to_owned())
}

/// Checks that the place of a result can be read, and that the match is there.
fn check_place(kept: &Kept, regex: &Regex, text: &str, result: &str) -> Result<(), TestCaseError> {
    match place(result) {
        Ok(number) => {
            let answer = kept.view(View::Lines { from: number, to: Some(number) });
            prop_assert!(answer.is_ok(), "line {number}: {:?}", answer.err());
            let start: usize = text.split_inclusive('\n').take(number as usize - 1).map(str::len).sum();
            let end = text[start..].find('\n').map_or(text.len(), |end| start + end);
            let begins = regex.find_at(text, start).is_some_and(|found| found.start() <= end);
            let line = text[start..end].trim_end_matches('\r');
            let quoted = quoted_strings(line).iter().any(|text| regex.is_match(text));
            prop_assert!(begins || quoted || regex.is_match(line), "line {number}: {line}");
        }
        Err(path) => {
            let answer = kept.view(View::Path(path.clone()));
            prop_assert!(answer.is_ok(), "{path:?} of {result}: {:?}", answer.err());
            let body = answer.unwrap().body;
            let there = serde_json::from_str::<Value>(&body).map(|value| {
                let mut all = Vec::new();
                strings(&value, &mut all);
                let inside = |text: &String| quoted_strings(text).iter().any(|text| regex.is_match(text));
                all.iter().any(|text| regex.is_match(text) || inside(text))
            });
            let named = path.split('/').any(|key| regex.is_match(&key.replace("~1", "/").replace("~0", "~")));
            let is_there = regex.is_match(&body) || there.unwrap_or(true) || named;
            prop_assert!(is_there, "{path:?} of {result}: {body}");
        }
    }
    Ok(())
}

/// Returns the value inside objects of one member, which are only a frame around it.
fn inmost(value: &Value) -> &Value {
    match value.as_object() {
        Some(members) if members.len() == 1 => members.values().next().map_or(value, inmost),
        _ => value,
    }
}

/// Returns whether a value is or contains another one, each without its frame.
fn contains(value: &Value, other: &Value) -> bool {
    let mut inside: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(elements) => Box::new(elements.iter()),
        Value::Object(members) => Box::new(members.values()),
        _ => Box::new(std::iter::empty()),
    };
    inmost(value) == inmost(other) || inside.any(|inside| contains(inside, other))
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(10_000))]

    /// At least as many hits as a plain search has, each at a place that can be read.
    #[test]
    fn grep_finds_every_match_in_every_block(
        blocks in prop::collection::vec(prop_oneof![json_text(), plain_text()], 1..4),
        structured in prop::option::weighted(0.3, tree()),
        pattern in pattern(),
    ) {
        let texts: Vec<String> = blocks.iter().map(|block| block.text.clone()).collect();
        let mut result = of_blocks(&texts);
        if let Some(structured) = &structured {
            result["structuredContent"] = json!({ "data": structured });
        }
        let kept = kept(&result);
        let any_case = !pattern.chars().any(char::is_uppercase);
        let regex = RegexBuilder::new(&pattern).multi_line(true).case_insensitive(any_case).build().unwrap();
        let found = kept.ask(Grep, &pattern).unwrap();

        let mut least = 0;
        for block in &blocks {
            let lines = block.text.lines().filter(|line| regex.is_match(line)).count() as u64;
            least += match &block.json {
                Some(json) => u64::from(lines > 0 || regex.is_match(&block.text) || any_string(&regex, json)),
                None => lines.max(u64::from(regex.is_match(&block.text) && !block.text.is_empty())),
            };
        }
        least += structured.as_ref().map_or(0, |value| u64::from(any_string(&regex, value)));
        // A line feed at the end of a block is the one between the blocks.
        let least = if pattern == "^$" { least.min(1) } else { least };
        let repeats = structured.as_ref().is_some_and(|value| {
            let same = |json: &Value| contains(json, value);
            let is_whole = |block: &TextBlock| serde_json::from_str(&block.text).is_ok_and(|json| same(&json));
            let is_text = |block: &TextBlock| inmost(value).as_str() == Some(&block.text);
            blocks.iter().any(|block| block.json.as_ref().is_some_and(same) || is_whole(block) || is_text(block))
        });
        let least = if repeats { least.min(1) } else { least };
        prop_assert!(count(&found) >= least || pattern == "^$", "{} of {least}: {:?}", count(&found), found.results);
        prop_assert_eq!(found.results.len() as u64, count(&found));

        let text = kept.text();
        let plain = RegexBuilder::new(&pattern).multi_line(true).case_insensitive(any_case).build().unwrap();
        for result in found.results.iter().take(8) {
            check_place(&kept, &plain, &text, result)?;
        }
    }
}
