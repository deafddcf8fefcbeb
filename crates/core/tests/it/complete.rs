//! Complete means complete: an answer that claims the whole result can be read back to the whole result, and what does
//! not belong to the data is never dropped in silence.

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_core::shape::Step;
use tidegate_testkit::make;

use crate::exact::{body, read_back};
use crate::shaped;

/// Returns a result with these text blocks and this structured content.
fn result_of(blocks: &[String], structured: Option<&Value>) -> Vec<u8> {
    let blocks: Vec<Value> = blocks.iter().map(|text| json!({"type": "text", "text": text})).collect();
    let mut result = json!({"content": blocks});
    if let Some(structured) = structured {
        result["structuredContent"] = structured.clone();
    }
    result.to_string().into_bytes()
}

/// Asserts that an answer that claims to be complete has all of the blocks and of the structured content.
fn assert_complete(blocks: &[String], structured: Option<&Value>, tokens: u64) {
    let result = result_of(blocks, structured);
    let shaped = shaped(&result.as_slice(), tokens);
    if shaped.step != Step::Lossless {
        return;
    }
    let body = body(&shaped.text);
    let parsed = serde_json::from_str::<Value>(&blocks[0]);
    if shaped.text.contains(": all of it, as JSON without white space.") {
        assert_eq!(blocks.len(), 1);
        assert_eq!(serde_json::from_str::<Value>(body).unwrap(), parsed.as_ref().unwrap().clone());
    } else if shaped.text.contains(": all of it as CSV") {
        assert_eq!(blocks.len(), 1);
        assert_eq!(read_back(&shaped.text), parsed.as_ref().unwrap().clone());
    } else {
        assert_eq!(body, blocks.join("\n"), "{}", shaped.text);
    }
    if let Some(structured) = structured {
        let text = parsed.unwrap_or_else(|_| Value::from(blocks[0].as_str()));
        let only = structured.as_object().filter(|members| members.len() == 1);
        let inside = only.and_then(|members| members.values().next());
        // A string with the text itself is the same data.
        let is_same = |value: &Value| *value == text || value.as_str() == Some(&blocks[0]);
        assert!(*structured == text || inside.is_some_and(is_same), "{structured} is not in {}", shaped.text);
    }
}

fn record() -> impl Strategy<Value = Value> {
    ("[a-z ]{0,12}", any::<i32>(), prop::option::of("[a-z\"\\\\\u{e9}\u{202e}\n,]{0,6}"))
        .prop_map(|(name, count, note)| json!({"name": name, "count": count, "note": note}))
}

/// A JSON text: one value, several, or lines of them.
fn json_text() -> impl Strategy<Value = String> {
    let records = || prop::collection::vec(record(), 0..60);
    prop_oneof![
        records().prop_map(|records| Value::from(records).to_string()),
        records().prop_map(|records| serde_json::to_string_pretty(&records).unwrap()),
        records().prop_map(|records| json!({"status": "ok", "items": records}).to_string()),
        records().prop_map(|records| records.iter().map(|record| format!("{record}\n")).collect()),
        Just("{\"status\":\"ok\"}".to_owned()),
        Just("[0] a message".to_owned()),
        Just("[1, 2,]".to_owned()),
        Just("[NaN]".to_owned()),
        Just("\"a text\"".to_owned()),
    ]
}

/// A text that is JSON, begins with it, ends with it, or has it among other lines.
fn mixed_text() -> impl Strategy<Value = String> {
    let words = || "([a-z ]{0,30}\n){0,40}[a-z ]{1,20}";
    prop_oneof![
        3 => json_text(),
        2 => (json_text(), words()).prop_map(|(json, tail)| format!("{json}\n{tail}")),
        1 => (json_text(), words()).prop_map(|(json, tail)| format!("{json} {tail}")),
        1 => (words(), json_text()).prop_map(|(head, json)| format!("{head}\n{json}")),
        2 => (prop::collection::vec(record(), 1..80), words(), any::<prop::sample::Index>()).prop_map(
            |(records, stray, at)| {
                let mut lines: Vec<String> = records.iter().map(Value::to_string).collect();
                lines.insert(at.index(lines.len() + 1), stray);
                lines.join("\n")
            }
        ),
        1 => words(),
    ]
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(10_000))]

    #[test]
    fn a_complete_answer_has_all_of_the_result(
        blocks in prop_oneof![3 => prop::collection::vec(mixed_text(), 1), 1 => prop::collection::vec(mixed_text(), 1..4)],
        structured in prop::option::of(prop_oneof![2 => Just(0u8), 1 => Just(1), 1 => Just(2), 1 => Just(3)]),
        other in record(),
        tokens in 300u64..1500,
    ) {
        let first: Option<Value> = serde_json::from_str(&blocks[0]).ok();
        let structured = structured.map(|kind| match (kind, first) {
            (0, Some(value)) => value,
            (1, Some(value)) => json!({"result": value}),
            (2, _) => json!({"result": blocks[0]}),
            _ => other,
        });
        assert_complete(&blocks, structured.as_ref(), tokens);
    }
}

/// Returns whether an answer within some budget claims to be complete.
fn is_claimed_complete(result: &[u8]) -> bool {
    (300..1500).step_by(60).any(|tokens| shaped(&result, tokens).step == Step::Lossless)
}

#[test]
fn json_with_anything_after_it_is_not_the_whole() {
    let lines: String = (0..300).map(|n| format!("2024-01-01 line {n} of the report\n")).collect();
    for text in [
        format!("{{\"status\":\"ok\"}}\n{lines}NEEDLE"),
        format!("[0] a message\n{lines}NEEDLE"),
        (0..800).map(|n| if n == 300 { "NEEDLE\n".into() } else { format!("{{\"ts\":{n}}}\n") }).collect(),
    ] {
        let shaped = shaped(&make::text_result(&text).as_slice(), 700);
        assert!(shaped.step == Step::Overview, "{}", shaped.text);
        let blocks = result_of(&["{\"status\":\"ok\"}".into(), text.clone()], None);
        assert_eq!(crate::shaped(&blocks.as_slice(), 700).step, Step::Overview);
    }
    let tail = format!("{}\n\nThat is all, NEEDLE.", sample_rows(300));
    let shown = shaped(&make::text_result(&tail).as_slice(), 900);
    assert!(shown.text.contains("Text after the data: \"lines\":\"3-3\".") && shown.text.contains("NEEDLE"));
}

fn sample_rows(count: usize) -> String {
    let rows: Vec<Value> = (0..count).map(|n| json!({"id": n, "name": format!("thing {n}")})).collect();
    Value::from(rows).to_string()
}

#[test]
fn other_members_and_blocks_are_not_left_out_of_the_whole() {
    let rows: Value = serde_json::from_str(&sample_rows(60)).unwrap();
    let quoted = make::quoted(&serde_json::to_string_pretty(&rows).unwrap());
    let plain = format!("{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}]}}");
    assert!(is_claimed_complete(plain.as_bytes()));
    for result in [
        format!(
            "{{\"content\":[{{\"type\":\"text\",\"text\":{quoted},\"annotations\":{{\"priority\":1}}}}]}}"
        ),
        format!(
            "{{\"content\":[{{\"type\":\"resource\",\"resource\":{{\"uri\":\"x\",\"text\":{quoted}}}}}]}}"
        ),
        format!("{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}},{{\"type\":\"odd\"}}]}}"),
        format!(
            "{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}],\"structuredContent\":{{\"id\":1}}}}"
        ),
    ] {
        assert!(!is_claimed_complete(result.as_bytes()), "{result}");
    }
}

#[test]
fn hidden_characters_are_not_shown_raw_in_separated_values() {
    let rows: String =
        (0..40).map(|n| format!("{{\"id\": {n},   \"name\": \"a\\u202e\\u0000 {n}\"}},\n      ")).collect();
    let result = make::text_result(&format!("[{}]", rows.trim_end().trim_end_matches(',')));
    for tokens in (300..2000).step_by(100) {
        let text = shaped(&result.as_slice(), tokens).text;
        assert!(!text.contains(['\u{202e}', '\0']), "{text}");
    }
}

/// What replaces the blocks is not part of `structuredContent`, and no client shows it.
#[test]
fn content_that_is_not_a_list_is_named_as_left_out() {
    let rows: Vec<Value> = (0..400).map(|n| json!({"id": n, "name": format!("thing {n}")})).collect();
    for content in [json!("all is well"), json!({"text": "all is well"}), json!(["all is well"])] {
        let result = json!({"content": content, "structuredContent": {"rows": rows}}).to_string();
        let shaped = shaped(&result.as_bytes(), 1000);
        let bytes = content.to_string().len();
        assert!(shaped.text.contains(&format!("{bytes} of {bytes} bytes of content")), "{}", shaped.text);
        let answer = String::from_utf8(shaped.result.unwrap()).unwrap();
        assert_eq!(answer.matches("\"content\":").count(), 1, "{answer}");
    }
}
