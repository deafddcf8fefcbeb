//! Exactness: an overview shows values as written, and a lossless answer can be read back.

use proptest::prelude::*;
use serde_json::Value;
use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::hints::Hints;
use tidegate_core::measure::Meter;
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Fill, Prepared, Request, Step};
use tidegate_testkit::make;

use crate::shaped;

#[test]
fn numbers_keys_and_escapes_are_shown_as_written() {
    let rows: Vec<String> = (0..400)
        .map(|n| {
            format!(
                "{{\"zeta\":1.0,\"id\":{},\"alpha\":1e400,\"big\":18446744073709551617,\"n\":{n}}}",
                9_007_199_254_740_993u64 + n
            )
        })
        .collect();
    let result = make::text_result(&format!("[{}]", rows.join(",")));
    let text = shaped(&result.as_slice(), 2000).text;
    for exact in ["9007199254740993", "9007199254741392", "18446744073709551617", "1e400", "1.0"] {
        assert!(text.contains(exact), "{exact} in\n{text}");
    }
    let order = ["zeta", "id", "alpha", "big"].map(|key| text.find(key).unwrap_or(usize::MAX));
    assert!(order.iter().all(|at| *at != usize::MAX));
}

#[test]
fn duplicate_keys_are_reported() {
    let filler: Vec<String> = (0..900).map(|n| format!("\"case{n}\":[{n}]")).collect();
    let json = format!("{{{},\"twice\":{{\"a\":\"b\",\"a\":\"c\"}}}}", filler.join(","));
    let text = shaped(&make::text_result(&json).as_slice(), 2000).text;
    assert!(text.contains("keys that occur twice in one object"), "{text}");
}

#[test]
fn what_a_list_is_too_short_for_is_counted() {
    let filler: Vec<String> = (0..900).map(|n| format!("\"case{n}\":[{n}]")).collect();
    let twice: Vec<String> = (0..11).map(|n| format!("\"k{n}\":1,\"k{n}\":2")).collect();
    let json = format!("{{{},\"twice\":{{{}}}}}", filler.join(","), twice.join(","));
    let text = shaped(&make::text_result(&json).as_slice(), 2000).text;
    assert!(text.contains("*.k3 (in twice), and 3 more"), "{text}");
    let list = |name: usize| {
        let rows: Vec<String> = (0..90).map(|n| format!("{{\"id\":{n},\"size\":{}}}", n * n % 97)).collect();
        format!("\"list{name}\":[{}]", rows.join(","))
    };
    let json = format!("{{{}}}", (0..9).map(list).collect::<Vec<_>>().join(","));
    let several = shaped(&make::text_result(&json).as_slice(), 600);
    let more = several.left_out.len() - 4;
    assert!(several.text.contains(&format!("and more in {more} other places")), "{}", several.text);
}

#[test]
fn data_that_is_too_large_to_be_read_as_such_says_so() {
    let yaml: String = (0..300_000).map(|n| format!("- name: thing {n}\n  size: {n}\n")).collect();
    assert!(yaml.len() > 8 << 20);
    let note = "It begins like data (yaml), but it is larger than 8 MiB and is read by line.";
    assert!(shaped(&make::text_result(&yaml).as_slice(), 1000).text.contains(note));
    assert!(!shaped(&make::text_result(&yaml[..40_000]).as_slice(), 1000).text.contains(note));
}

#[test]
fn text_that_repeats_structured_content_is_counted_once() {
    let rows: Vec<String> = (0..60).map(|n| format!("{{\"id\":{n},\"name\":\"thing {n}\"}}")).collect();
    let data = format!("[{}]", rows.join(", "));
    let once = make::text_result(&data);
    let twice = [
        format!(
            "{{\"content\":[{{\"type\":\"text\",\"text\":{}}}],\"structuredContent\":{{\"result\":{data}}}}}",
            make::quoted(&data)
        ),
        format!(
            "{{\"content\":[{{\"type\":\"text\",\"text\":{0}}}],\"structuredContent\":{{\"content\":{0}}}}}",
            make::quoted(&data)
        ),
    ];
    let alone = shaped(&once.as_slice(), 300);
    for result in twice {
        let both = shaped(&result.as_bytes(), 300);
        assert_eq!(both.raw.tokens, alone.raw.tokens);
        assert!(!both.left_out.iter().any(|left_out| left_out.path == "structuredContent"));
    }
}

/// The fields that a policy names are shown of an object as they are of rows, however much else it has.
#[test]
fn the_fields_of_an_object_are_those_of_the_policy() {
    let filler: Vec<String> =
        (0..25).map(|n| format!("\"other{n}\":\"{n}{}\"", "words ".repeat(40))).collect();
    let json = format!(
        "{{{},\"state\":\"closed\",\"user\":{{\"login\":\"ada\",\"id\":7}},\"tags\":[{{\"a\":1}},{{\"a\":2}}]}}",
        filler.join(",")
    );
    let result = make::text_result(&json);
    let source = result.as_slice();
    let payload = Payload::read(&source).unwrap();
    let text = payload.joined_text();
    let fields = ["state", "user.login", "nothing", "tags.a"].map(str::to_owned).to_vec();
    let hints = Hints { fields, ..Hints::default() };
    let request = Request {
        tool: "get",
        arguments: None,
        handle: Handle::kept(crate::HANDLE, "kept 24 h"),
        budget: Budget::of_tokens(Tokens(400)),
        meter: Meter::default(),
        fill: Fill::Useful,
    };
    let prepared = Prepared::with_hints(&payload, text.as_ref(), &hints).unwrap();
    let shaped = prepared.fit(&request).unwrap();
    assert!(shaped.text.contains("\nfields: state=closed; user.login=ada\n"), "{}", shaped.text);
    assert!(shaped.shaped.tokens.0 <= 400);
    let plain = Prepared::new(&payload, text.as_ref()).unwrap().fit(&request).unwrap();
    assert!(!plain.text.contains("fields: state"), "{}", plain.text);
}

/// Some SDKs make one text block of each item of a list, and the list itself `structuredContent`.
#[test]
fn a_list_that_is_sent_item_by_item_is_counted_once() {
    let objects: Vec<String> =
        (0..40).map(|n| format!("{{\n  \"id\": {n},\n  \"name\": \"thing {n}\"\n}}")).collect();
    let words: Vec<String> = (0..40).map(|n| format!("the {n}th \"item\"")).collect();
    let numbers: Vec<String> = (0..400).map(|n| n.to_string()).collect();
    let quoted = |texts: &[String]| texts.iter().map(|text| make::quoted(text)).collect::<Vec<_>>();
    let blocks = |texts: &[String]| {
        let blocks =
            texts.iter().map(|text| format!("{{\"type\":\"text\",\"text\":{}}}", make::quoted(text)));
        blocks.collect::<Vec<_>>().join(",")
    };
    let with = |texts: &[String], items: &str| {
        let structured =
            if items.is_empty() { String::new() } else { format!(",\"structuredContent\":{items}") };
        shaped(&format!("{{\"content\":[{}]{structured}}}", blocks(texts)).as_bytes(), 300).raw.tokens
    };
    for (texts, items) in [
        (&objects[..], objects.join(",")),
        (&objects[..1], objects[0].clone()),
        (&words[..], quoted(&words).join(",")),
        (&numbers[..], numbers.join(",")),
        (&numbers[..], quoted(&numbers).join(",")),
    ] {
        let once = with(texts, "");
        assert_eq!(with(texts, &format!("{{\"result\":[{items}]}}")), once, "{items}");
        assert_eq!(with(texts, &format!("[{items}]")), once, "{items}");
        assert!(with(texts, &format!("{{\"result\":[{items},0]}}")) > once, "one more item");
        assert!(with(texts, &format!("{{\"result\":[{items}],\"n\":1}}")) > once, "one more member");
    }
}

#[test]
fn structured_content_that_differs_is_shown_or_announced() {
    let rows: Vec<String> = (0..60).map(|n| format!("{{\"id\":{n},\"name\":\"thing {n}\"}}")).collect();
    let both = |text: &str| {
        format!(
            "{{\"content\":[{{\"type\":\"text\",\"text\":{}}}],\"structuredContent\":{{\"more\":[{}]}},\"x\":1}}",
            make::quoted(text),
            rows.join(", ")
        )
    };
    let data = shaped(&both("see there").as_bytes(), 300);
    assert!(data.text.contains("60 rows in more") && data.text.contains("text: see there"), "{}", data.text);
    let words = shaped(&both(&"some words. ".repeat(500)).as_bytes(), 300);
    assert!(
        words.left_out.iter().any(|left_out| left_out.path.ends_with("structuredContent")),
        "{}",
        words.text
    );
}

#[test]
fn rows_show_the_values_of_any_key() {
    let long = "z".repeat(130);
    let rows: Vec<Value> = (0..400)
        .map(|n| serde_json::json!({"id": n, "a\"b": 1000 + n, "c\nd": 3000 + n, long.as_str(): 5000 + n}))
        .collect();
    let text = shaped(&make::text_result(&Value::from(rows).to_string()).as_slice(), 1000).text;
    let last = text.lines().find(|line| line.starts_with("400,")).unwrap();
    assert_eq!(last.split(',').skip(1).collect::<Vec<_>>(), ["399", "1399", "3399", "5399"], "{text}");
}

#[test]
fn strings_are_equal_however_they_are_escaped() {
    let rows = (0..900)
        .map(|n| format!("{{\"id\":{n},\"s\":\"{}\"}}", if n % 3 == 0 { "\\u00fcber" } else { "über" }));
    let text = format!("[{}]", rows.collect::<Vec<_>>().join(","));
    let text = shaped(&make::text_result(&text).as_slice(), 700).text;
    assert!(text.contains("in all: s=über"), "{text}");
}

#[test]
fn versions_are_not_numbers() {
    let rows: String = (0..900).map(|n| format!("package-{n},1.{}\n", ["1", "10", "100"][n % 3])).collect();
    let text = shaped(&make::text_result(&format!("pkg,version\n{rows}")).as_slice(), 700).text;
    assert!(text.contains("version: 1.1=300 1.10=300 1.100=300"), "{text}");
}

#[test]
fn statistics_of_lines_say_which_lines_have_the_fields() {
    let line = |n: usize| {
        if n == 500 {
            "NEEDLE !!! odd line\n".into()
        } else {
            format!("2024-01-01 INFO svc{} did {n}\n", n % 5)
        }
    };
    let text = shaped(&make::text_result(&(0..1500).map(line).collect::<String>()).as_slice(), 700).text;
    assert!(text.contains("over 1499 of 1500 lines:") && text.contains("L501 NEEDLE"), "{text}");
}

/// The body between the fences.
pub(crate) fn body(text: &str) -> &str {
    let fence = text.lines().find(|line| line.starts_with("~~")).expect("a fence");
    let start = text.find(&format!("\n{fence}\n")).unwrap() + fence.len() + 2;
    let end = text.rfind(&format!("\n{fence}\n")).unwrap();
    &text[start..end]
}

/// Reads one cell back: quoted is a string, empty is null.
fn read_cell(cell: &str, quoted: bool) -> Value {
    match cell {
        _ if quoted => Value::String(cell.into()),
        "" => Value::Null,
        other => serde_json::from_str(other).unwrap_or_else(|_| Value::String(other.into())),
    }
}

/// Reads a lossless body back: JSON, or separated values as the frame says.
pub(crate) fn read_back(text: &str) -> Value {
    let body = body(text);
    if body.starts_with(['[', '{']) {
        return serde_json::from_str(body).unwrap();
    }
    let (constants, csv) = match text.contains("the first line is true of every row") {
        true => body.split_at(end_of_record(body)),
        false => ("", body),
    };
    let mut records = read_csv(csv.trim_start_matches('\n'));
    for record in records.as_array_mut().unwrap() {
        let record = record.as_object_mut().unwrap();
        record.extend(read_constants(constants));
        if text.contains("a.b is the member b of a") {
            *record = nested(std::mem::take(record));
        }
    }
    records
}

/// Returns the end of the first line, line breaks in quotes aside.
fn end_of_record(csv: &str) -> usize {
    let mut inside = false;
    let is_end = |(_, character): &(usize, char)| {
        inside ^= *character == '"';
        !inside && *character == '\n'
    };
    csv.char_indices().find(is_end).map_or(csv.len(), |(at, _)| at)
}

/// Reads `name=value` pairs.
fn read_constants(line: &str) -> Vec<(String, Value)> {
    let (mut pairs, mut cells, mut inside) = (Vec::new(), vec![(String::new(), false)], false);
    for character in line.chars().chain([',']) {
        match character {
            '"' => {
                // Two quotes in a row inside quotes are one.
                let last = cells.last_mut().unwrap();
                if !inside && last.1 {
                    last.0.push('"');
                }
                (inside, last.1) = (!inside, true);
            }
            '=' if !inside && cells.len() == 1 => cells.push((String::new(), false)),
            ',' if !inside => {
                if let [(name, _), (value, quoted)] = cells.as_slice() {
                    pairs.push((name.clone(), read_cell(value, *quoted)));
                }
                cells = vec![(String::new(), false)];
            }
            other => cells.last_mut().unwrap().0.push(other),
        }
    }
    pairs
}

/// Puts members such as `a.b` into objects.
fn nested(flat: serde_json::Map<String, Value>) -> serde_json::Map<String, Value> {
    let mut out = serde_json::Map::new();
    for (path, value) in flat {
        let mut keys = path.split('.').collect::<Vec<_>>();
        let last = keys.pop().unwrap();
        let object = keys.into_iter().fold(&mut out, |object, key| {
            object.entry(key).or_insert_with(|| serde_json::json!({})).as_object_mut().unwrap()
        });
        object.insert(last.to_owned(), value);
    }
    out
}

/// Reads separated values back into records.
pub(crate) fn read_csv(csv: &str) -> Value {
    let mut rows: Vec<Vec<(String, bool)>> = vec![vec![]];
    let (mut cell, mut quoted, mut inside) = (String::new(), false, false);
    let mut characters = csv.chars().chain(['\n']).peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if inside && characters.peek() == Some(&'"') => {
                cell.push('"');
                characters.next();
            }
            '"' => {
                inside = !inside;
                quoted = true;
            }
            ',' | '\n' if !inside => {
                rows.last_mut().unwrap().push((std::mem::take(&mut cell), std::mem::take(&mut quoted)));
                if character == '\n' {
                    rows.push(vec![]);
                }
            }
            other => cell.push(other),
        }
    }
    rows.pop();
    let names: Vec<String> = rows.remove(0).into_iter().map(|(name, _)| name).collect();
    let record = |row: Vec<(String, bool)>| {
        assert_eq!(row.len(), names.len());
        let members =
            names.iter().cloned().zip(row.into_iter().map(|(cell, quoted)| read_cell(&cell, quoted)));
        Value::Object(members.collect())
    };
    Value::Array(rows.into_iter().map(record).collect())
}

fn flat_records() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        "[a-z ]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "12",
            "-1.5",
            "true",
            "null",
            "a,b",
            "say \"hi\"",
            " padded ",
            "two\nlines",
            "1e5",
            "+7"
        ])
        .prop_map(Value::from),
    ];
    let rows = prop::collection::vec(prop::collection::vec(value.clone(), 4), 30..90);
    // Two more members have the same value in all records; the form decides whether there is an object in each.
    (rows, value.clone(), value, 0..4u8).prop_map(|(rows, one, two, form)| {
        let record = |row: Vec<Value>| {
            let names = ["id", "name", "state", "some note"];
            let mut record: serde_json::Map<String, Value> =
                names.iter().map(ToString::to_string).zip(row).collect();
            match form {
                0 => {}
                1 => record.extend([("a=\"b\"".to_owned(), one.clone()), ("x.y".to_owned(), two.clone())]),
                2 => record.extend([("user".to_owned(), serde_json::json!({"id": one, "of": {"id": two}}))]),
                _ => {
                    let moved = record.remove("name");
                    record.extend([("user".to_owned(), serde_json::json!({"name": moved, "kind": one}))]);
                }
            }
            Value::Object(record)
        };
        Value::Array(rows.into_iter().map(record).collect())
    })
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(1000))]

    /// An answer that claims to be complete can be read back.
    #[test]
    fn a_lossless_answer_reads_back(records in flat_records()) {
        let pretty = serde_json::to_string_pretty(&records).unwrap();
        let result = make::text_result(&pretty);
        let source = result.as_slice();
        let raw = shaped(&source, 300).raw.tokens.0;
        let shaped = shaped(&source, (raw * 3 / 4).max(300));
        if shaped.step == Step::Lossless {
            prop_assert_eq!(read_back(&shaped.text), records);
        }
    }

    /// So can the shorter form of a result that would pass, and it is shorter.
    #[test]
    fn a_compact_answer_reads_back(records in flat_records(), tokens in 300u64..4000) {
        let pretty = serde_json::to_string_pretty(&records).unwrap();
        let result = make::text_result(&pretty);
        let source = result.as_slice();
        let payload = Payload::read(&source).unwrap();
        let text = payload.joined_text();
        let prepared = Prepared::new(&payload, text.as_ref()).unwrap();
        let request = Request {
            tool: "list",
            arguments: None,
            handle: Handle::kept("list-3f9c2kq7m0xw", "kept 24 h"),
            budget: Budget::of_tokens(Tokens(tokens)),
            meter: Meter::default(),
            fill: Fill::Useful,
        };
        if let Some(compact) = prepared.compact(&request).unwrap() {
            prop_assert!(compact.shaped.tokens < compact.raw.tokens && compact.shaped.tokens <= Tokens(tokens));
            prop_assert_eq!(read_back(&compact.text), records);
        } else {
            prop_assert!(tokens < 3000, "these records have a shorter form");
        }
    }
}
