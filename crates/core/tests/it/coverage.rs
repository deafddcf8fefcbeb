//! Every view states what it covers: all pages together hold every line and every cell, and `next` is given until then.

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::{Query, View};
use tidegate_testkit::make;

use crate::views::{Kept, read_back};

fn kind(text: &str) -> String {
    let result = make::text_result(text);
    let source = result.as_slice();
    Outline::read(&Payload::read(&source).unwrap()).unwrap().kind().to_owned()
}

/// Returns all pages of a text, as one text.
fn all_pages(kept: &Kept, size: Option<u64>, tokens: u64) -> Vec<tidegate_core::view::Answer> {
    let pages = kept.walk(Query::new(View::Page { number: 1, size }), tokens);
    let last = pages.last().unwrap();
    assert!(last.text.ends_with("end: nothing follows"), "{}", last.text);
    pages
}

/// Returns the letters and digits of the values of a record, sorted.
fn letters(value: &Value) -> String {
    letters_of(&match value {
        Value::Object(members) => members.values().map(letters).collect(),
        Value::String(text) => text.clone(),
        other => other.to_string().replace("null", ""),
    })
}

fn letters_of(line: &str) -> String {
    let mut letters: Vec<char> = line.chars().filter(|character| character.is_alphanumeric()).collect();
    letters.sort_unstable();
    letters.into_iter().collect()
}

/// Lines of a log, most of one form.
fn log() -> impl Strategy<Value = Vec<String>> {
    let line = prop_oneof![
        12 => (0..60u8, "[a-z]{2,8}", "[a-z0-9]{1,5}[,;]{0,2}").prop_map(|(second, name, word)| {
            format!("2024-01-01 10:00:{second:02} INFO [{name}] did {word}")
        }),
        1 => "[a-zé ,;]{0,40}",
        1 => Just(String::new()),
        1 => Just("  File \"x.py\", line 3".to_owned()),
        // A line of hidden characters alone would read as letters, those of its escapes.
        1 => "k\\PC{0,30}",
    ];
    prop::collection::vec(line, 12..160)
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(2000))]

    /// Each line of a log is a record, whatever its form.
    #[test]
    fn pages_of_a_log_hold_every_line(lines in log(), size in prop::option::of(1u64..80), tokens in 400u64..2000) {
        let text = lines.join("\n");
        let kept = Kept::new(make::text_result(&text));
        let read = if kept.record_count().is_some() {
            let pages = all_pages(&kept, size, tokens);
            pages.iter().flat_map(read_back).map(|record| letters(&record)).collect::<Vec<_>>()
        } else {
            let pages = all_pages(&kept, size, tokens);
            pages.iter().flat_map(|page| page.body.lines().map(letters_of).collect::<Vec<_>>()).collect()
        };
        let read: Vec<String> = read.into_iter().filter(|line| !line.is_empty()).collect();
        // A hidden character is written as an escape, which has letters of its own.
        let expected: Vec<String> = lines.iter().map(|line| letters_of(line)).filter(|line| !line.is_empty()).collect();
        prop_assert_eq!(read.len(), expected.len());
        for (read, expected) in read.iter().zip(&expected) {
            prop_assert!(read == expected || read.contains("u") && read.len() > expected.len(), "{} {}", read, expected);
        }
    }

    /// Pages of a text without records are its lines.
    #[test]
    fn pages_of_a_text_hold_every_line(
        blocks in prop::collection::vec("([a-z ]{0,90}\r?\n){0,120}", 1..4),
        size in prop::option::of(1u64..200),
        tokens in 400u64..2000,
    ) {
        let blocks: Vec<Value> = blocks.iter().map(|text| json!({"type": "text", "text": text})).collect();
        let all: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        let text = all.join("\n");
        prop_assume!(!text.is_empty());
        let kept = Kept::new(json!({"content": blocks}).to_string().into_bytes());
        prop_assume!(kept.record_count().is_none());
        let pages = all_pages(&kept, size, tokens);
        let read: Vec<String> =
            pages.iter().flat_map(|page| page.body.split('\n').map(|line| line.trim_end().to_owned()).collect::<Vec<_>>()).collect();
        let expected: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
        prop_assert_eq!(read, expected);
        let lines = kept.walk(Query::new(View::Lines { from: 1, to: Some(7) }), tokens);
        let read: Vec<String> =
            lines.iter().flat_map(|page| page.body.split('\n').map(|line| line.trim_end().to_owned()).collect::<Vec<_>>()).collect();
        prop_assert_eq!(read, text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>());
    }

    /// JSON lines with other lines among them: each is a record.
    #[test]
    fn pages_of_json_lines_hold_every_line(
        records in prop::collection::vec(("[a-z]{0,9}", any::<i32>()), 8..80),
        strays in prop::collection::vec(("[A-Z][a-z: ]{0,30}[a-z]", any::<prop::sample::Index>()), 1..5),
        tokens in 400u64..1500,
    ) {
        let mut lines: Vec<Value> = records.iter().map(|(name, count)| json!({"name": name, "count": count})).collect();
        for (stray, at) in &strays {
            lines.insert(at.index(lines.len()) + 1, json!({"line": stray}));
        }
        let text = lines.iter().map(|line| line["line"].as_str().map_or_else(|| line.to_string(), str::to_owned));
        let kept = Kept::new(make::text_result(&text.collect::<Vec<_>>().join("\n")));
        let read: Vec<Value> = all_pages(&kept, None, tokens).iter().flat_map(read_back).collect();
        prop_assert_eq!(read, lines);
    }
}

/// A cell, and whether it is written in quotes though it needs none.
fn cell() -> impl Strategy<Value = (String, bool)> {
    let text = prop_oneof![
        4 => "[a-zé0-9. ]{0,9}",
        1 => "[a-z,\"\n]{0,9}",
        1 => Just("two\r\nlines".to_owned()),
        1 => Just("5\" pipe".to_owned()),
        1 => "\\PC{0,6}",
    ];
    (text, any::<bool>())
}

fn written((text, quoted): &(String, bool), delimiter: char) -> String {
    if *quoted || text.contains([delimiter, '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.clone()
    }
}

fn csv_value(cells: &[(String, bool)], names: &[&str]) -> Value {
    let members = names.iter().zip(cells).map(|(name, (text, _))| {
        ((*name).to_owned(), if text.is_empty() { Value::Null } else { text.as_str().into() })
    });
    Value::Object(members.collect())
}

const NAMES: [&str; 3] = ["id", "item", "note"];

/// Regression: a row with spaces before a comma was taken for the header of aligned columns.
#[test]
fn separated_values_with_spaces_are_not_aligned_columns() {
    let text = "id,item,note\néaé.0.,.a  ,¡\n\"éa0\",00 , 0\n,,\n,,\n";
    assert_eq!(kind(text), "csv");
    assert_eq!(Kept::new(make::text_result(text)).record_count(), Some(4));
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(10_000))]

    /// The records of well-formed separated values are those that RFC 4180 defines.
    #[test]
    fn separated_values_are_read_as_they_are(
        rows in prop::collection::vec(prop::collection::vec(cell(), 3), 4..60),
        delimiter in prop::sample::select(vec![',', ';', '\t']),
        crlf in any::<bool>(),
        tokens in 600u64..2000,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let separator = delimiter.to_string();
        let line = |row: &Vec<(String, bool)>| row.iter().map(|cell| written(cell, delimiter)).collect::<Vec<_>>().join(&separator);
        // A row of spaces and tabs alone is a blank line.
        let rows: Vec<_> = rows.into_iter().filter(|row| !line(row).trim().is_empty()).collect();
        prop_assume!(rows.len() >= 3);
        let lines: Vec<String> = [NAMES.join(&separator)].into_iter().chain(rows.iter().map(line)).collect();
        let kept = Kept::new(make::text_result(&(lines.join(end) + end)));
        prop_assert_eq!(kept.record_count(), Some(rows.len() as u64));
        let read: Vec<Value> = all_pages(&kept, None, tokens).iter().flat_map(read_back).collect();
        let expected: Vec<Value> = rows.iter().map(|row| csv_value(row, &NAMES)).collect();
        prop_assert_eq!(read, expected);
    }

    /// Stray quotes and further cells change nothing else.
    #[test]
    fn sloppy_separated_values_keep_every_cell(
        rows in prop::collection::vec((prop::collection::vec("[a-z0-9]{1,6}(\" ?[a-z]{1,4})?", 3), 0..40u8), 30..90),
    ) {
        let mut text = String::from("id,item,note\n");
        let mut expected = Vec::new();
        for (cells, kind) in &rows {
            let mut cells = cells.clone();
            match kind {
                0 => cells.push("further".into()),
                1 => cells[1] = "\"open".into(),
                2 => cells[1] = "\"closed\" too late".into(),
                _ => {}
            }
            text.push_str(&format!("{}\n", cells.join(",")));
            let names = ["id", "item", "note", "c4"];
            let quoted: Vec<(String, bool)> = cells.into_iter().map(|cell| (cell, false)).collect();
            expected.push(csv_value(&quoted, &names));
        }
        prop_assume!(kind(&text) == "csv");
        let kept = Kept::new(make::text_result(&text));
        let read: Vec<Value> = all_pages(&kept, None, 1500).iter().flat_map(read_back).collect();
        prop_assert_eq!(read, expected);
    }
}

#[test]
fn a_page_says_what_stands_beside_its_records() {
    let rows: Vec<Value> = (0..300).map(|n| json!({"id": n, "v": format!("x{n}")})).collect();
    let kept = Kept::new(make::text_result(
        &json!({"errors": [{"m": 1}], "warning": "STALE", "items": rows}).to_string(),
    ));
    let page = kept.ask(&Query::new(View::Page { number: 1, size: None }), 1500).unwrap();
    assert!(page.text.contains("2 values beside this list: \"path\":\"/\"."), "{}", page.text);
    let around = Kept::new(make::text_result(&format!("Found:\n{}\nEnd of it.", Value::from(rows.clone()))));
    let page = around.ask(&Query::new(View::Page { number: 1, size: None }), 1500).unwrap();
    assert!(
        page.text.contains("Text before the data: \"lines\":\"1-1\", after it: \"lines\":\"3-3\"."),
        "{}",
        page.text
    );
    let text = Value::from(rows).to_string();
    let result =
        json!({"content": [{"type": "text", "text": text}, {"type": "odd"}], "structuredContent": {"a": 1}});
    let kept = Kept::new(result.to_string().into_bytes());
    let page = kept.ask(&Query::new(View::Page { number: 1, size: None }), 1500).unwrap();
    assert!(page.text.contains("Beside this text: structuredContent (\"range\":\""), "{}", page.text);
    assert!(page.text.contains("a block (\"range\":\""), "{}", page.text);
}

#[test]
fn only_the_end_of_a_text_is_its_end() {
    let text: String = (1..=700).map(|n| format!("line {n}{}\n", " and more".repeat(n % 7))).collect();
    let kept = Kept::new(make::text_result(&text));
    let page = kept.ask(&Query::new(View::Page { number: 1, size: Some(10) }), 1500).unwrap();
    assert!(page.text.ends_with("\"page\":2,\"page_size\":10}"), "{}", page.text);
    let lines = kept.ask(&Query::new(View::Lines { from: 11, to: Some(20) }), 1500).unwrap();
    assert!(lines.text.ends_with("\"lines\":\"21-30\"}"), "{}", lines.text);
    let range = kept.ask(&Query::new(View::Range { from: 10, to: Some(19) }), 1500).unwrap();
    assert_eq!(range.next.unwrap().view, View::Range { from: 20, to: Some(29) });
    let beyond = kept.ask(&Query::new(View::Page { number: 8, size: Some(100) }), 1500).unwrap_err();
    assert_eq!(beyond.to_string(), "page 8 is beyond the end: 700 lines make 7 pages of 100");
}
