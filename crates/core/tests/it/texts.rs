//! Every text is content wherever it is: in a string inside JSON, in any block, and beside a picture.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tidegate_core::shape::Step;
use tidegate_core::view::arguments::Arguments;
use tidegate_core::view::{Query, View};
use tidegate_testkit::{make, sample};

use crate::shaped;
use crate::views::Kept;

/// A picture of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn diff() -> String {
    let file = |n: usize| {
        let lines: String = (0..40).map(|line| format!("-old {n} {line}\n+new {n} {line}\n")).collect();
        format!(
            "diff --git a/src/f{n}.rs b/src/f{n}.rs\n--- a/src/f{n}.rs\n+++ b/src/f{n}.rs\n@@ -1,40 +1,40 @@\n{lines}"
        )
    };
    (0..7).map(file).collect()
}

fn markdown() -> String {
    let part = |n: usize| format!("## Part {n}\n\n{}\n\n", "Some words about this part. ".repeat(12));
    format!("# The guide\n\n{}", (0..12).map(part).collect::<String>())
}

fn rows(count: usize) -> Vec<Value> {
    (0..count).map(|n| json!({"id": n, "name": format!("name {n}"), "state": if n % 3 == 0 { "open" } else { "closed" }})).collect()
}

fn blocks(texts: &[&str]) -> Value {
    let blocks: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
    json!({ "content": blocks })
}

fn overview(result: &Value) -> String {
    let result = result.to_string().into_bytes();
    let shaped = shaped(&result.as_slice(), 900);
    assert_eq!(shaped.step, Step::Overview, "{}", shaped.text);
    shaped.text
}

#[test]
fn the_fields_of_records_with_a_string_that_is_most_of_the_result_are_named() {
    let words = "long text ".repeat(150);
    let records =
        json!([{"count": 1, "body": words, "state": "open"}, {"count": 2, "body": "b", "name": null}]);
    let result = make::text_result(&records.to_string());
    let shaped = shaped(&result.as_slice(), 300);
    assert!(shaped.text.contains("the string at /0/body"), "{}", shaped.text);
    assert!(shaped.text.contains("2 objects with "), "{}", shaped.text);
    for name in ["count", "body", "state", "name"] {
        assert!(shaped.text.contains(name), "{name}: {}", shaped.text);
    }
}

#[test]
fn a_string_that_is_most_of_the_result_is_shaped_as_its_kind() {
    let wrapped = json!({"base": "v1", "head": "v2", "diff": diff()}).to_string();
    let result = make::text_result(&wrapped);
    let shaped = shaped(&result.as_slice(), 900);
    assert_eq!((shaped.kind, shaped.strategy), ("diff", "diff"));
    for expected in
        ["a diff of 7 files", "the string at /diff", "src/f3.rs +40 -40", "base=v1; head=v2", "\"lines\":"]
    {
        assert!(shaped.text.contains(expected), "{expected}: {}", shaped.text);
    }
    let rows = json!({"ok": true, "result": json!(rows(300)).to_string()}).to_string();
    for text in [rows, json!(json!(self::rows(300)).to_string()).to_string()] {
        let text = overview(&blocks(&[&text]));
        for expected in ["300 rows", "state: closed=200 open=100", "\"page\":1"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
    // A result inside a result.
    let inner = json!({"content": [{"type": "text", "text": json!({"stdout": diff()}).to_string()}]});
    let text = overview(&blocks(&[&inner.to_string()]));
    assert!(text.contains("a diff of 7 files") && text.contains("/content/0/text/stdout"), "{text}");
}

#[test]
fn long_texts_in_records_are_shaped_under_their_paths() {
    let files = json!({"files": [
        {"path": "CHANGES.diff", "content": diff()},
        {"path": "GUIDE.md", "content": markdown()},
        {"path": "rows.json", "content": json!(rows(60)).to_string()},
    ]});
    let text = overview(&blocks(&[&files.to_string()]));
    for expected in [
        "at /files/0/content (CHANGES.diff), diff",
        "src/f6.rs +40 -40",
        "at /files/1/content (GUIDE.md), markdown",
        "at /files/2/content (rows.json), json",
        "state: closed=40 open=20",
        "of /files/0/content",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn blocks_of_different_kinds_are_shaped_one_by_one() {
    let rows = json!(rows(200)).to_string();
    let text = overview(&blocks(&["Found these:", &rows, &markdown(), &diff()]));
    for expected in [
        "/content/0: Found these:",
        "at //content/1/text, json",
        "state: closed=133 open=67",
        "at //content/2/text, markdown",
        "at //content/3/text, diff",
        "of //content/3/text",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let resource =
        |uri: &str, text: String| json!({"type": "resource", "resource": {"uri": uri, "text": text}});
    let result = json!({"content": [
        resource("file:///a.md", markdown()),
        resource("file:///b.md", markdown().replace("Part", "Chapter")),
        {"type": "resource_link", "uri": "file:///c.md", "name": "the third"},
    ]});
    let text = overview(&result);
    for expected in ["(file:///a.md), markdown", "(file:///b.md), markdown", "link the third: file:///c.md"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_block_per_entry_is_one_list() {
    let entries: Vec<String> = rows(120).iter().map(Value::to_string).collect();
    let text = overview(&blocks(&entries.iter().map(String::as_str).collect::<Vec<_>>()));
    assert!(text.contains("120 rows") && text.contains("state: closed=80 open=40"), "{text}");
}

#[test]
fn data_in_several_blocks_is_shown_once() {
    let rows = json!(rows(200));
    let pretty = serde_json::to_string_pretty(&rows).unwrap();
    let text = overview(&blocks(&[&rows.to_string(), &pretty]));
    assert!(text.contains("200 rows") && text.contains("/content/1 repeats an earlier text"), "{text}");
    // A heading before the data, or words in another block, are not other data.
    for texts in [vec![format!("Found 200:\n{pretty}")], vec!["Found 200:".to_owned(), pretty.clone()]] {
        let mut result = blocks(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        result["structuredContent"] = json!({ "result": rows });
        let text = overview(&result);
        assert!(!text.contains("structuredContent"), "{text}");
    }
    let mut result = blocks(&[&pretty]);
    result["structuredContent"] = json!({ "other": self::rows(80) });
    assert!(overview(&result).contains("at //structuredContent, json"));
}

/// Returns the calls that an overview offers, the first one and those instead of it.
fn offered(text: &str) -> Vec<Query> {
    let next = text.lines().last().unwrap().strip_prefix("next: result_query ").unwrap();
    let (first, others) = next.split_once("; instead of ").unwrap_or((next, ""));
    let mut calls = vec![first.to_owned()];
    let others = others.split_once(": ").map_or("", |(_, others)| others);
    calls.extend(others.split(", ").filter(|other| !other.is_empty()).map(|other| format!("{{{other}}}")));
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let queries = calls.iter().filter_map(|call| {
        let call: Value = serde_json::from_str(call).ok()?;
        let arguments = Arguments {
            page: call["page"].as_u64(),
            path: text(&call["path"]),
            lines: text(&call["lines"]),
            range: text(&call["range"]),
            ..Arguments::default()
        };
        (arguments != Arguments::default()).then(|| arguments.into_query().unwrap())
    });
    queries.collect()
}

#[test]
fn no_call_that_is_offered_repeats_the_answer() {
    let config: Value = (0..60)
        .map(|n| (format!("option_{n}"), json!("a value of some length ".repeat(4))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let nested = json!({"a": {"b": {"c": config}}, "d": markdown()});
    let screenshot = json!({"content": [
        {"type": "text", "text": markdown()},
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
    ]});
    for result in [
        blocks(&[&json!({"diff": diff()}).to_string()]),
        blocks(&[&nested.to_string()]),
        blocks(&[&json!({"settings": config}).to_string()]),
        blocks(&[&markdown(), &json!(rows(90)).to_string()]),
        screenshot,
        serde_json::from_slice(&make::text_result(&sample::issues(60))).unwrap(),
    ] {
        let bytes = result.to_string().into_bytes();
        let text = shaped(&bytes.as_slice(), 700).text;
        let kept = Kept::new(bytes);
        let fenced = |text: &str| {
            text.split("\n~~").nth(1).map(|body| body.lines().skip(1).collect::<Vec<_>>().join("\n"))
        };
        let queries = offered(&text);
        assert!(!queries.is_empty(), "{text}");
        for query in queries {
            let answer = kept.ask(&query, 2000).unwrap_or_else(|error| panic!("{query:?}: {error}\n{text}"));
            assert_ne!(fenced(&answer.text), fenced(&text), "{query:?}");
        }
    }
}

#[test]
fn a_picture_can_be_asked_for() {
    let result = json!({"content": [
        {"type": "text", "text": markdown()},
        {"type": "image", "data": PIXEL, "mimeType": "image/png", "annotations": {"priority": 1}},
        {"type": "resource", "resource": {"uri": "x://y", "mimeType": "image/png", "blob": PIXEL}},
    ]});
    let kept = Kept::new(result.to_string().into_bytes());
    for path in ["/content/1", "//content/1", "$.content[1]", "/content/2"] {
        let answer = kept.ask(&Query::new(View::Path(path.into())), 2000).unwrap();
        let block: Value = serde_json::from_str(&answer.picture.unwrap()).unwrap();
        assert_eq!(block, json!({"type": "image", "mimeType": "image/png", "data": PIXEL}));
        assert!(answer.body.contains("1 x 1 px") && answer.cost.tokens.0 > 255, "{}", answer.text);
    }
    let error = kept.ask(&Query::new(View::Path("/content/1".into())), 250).unwrap_err().to_string();
    assert!(error.contains("--block 2"), "{error}");
    let full = kept.ask(&Query::new(View::Full), 4000).unwrap();
    assert!(full.text.contains("all of its text") && full.text.contains("an image"), "{}", full.text);
    // A value of the data has the path, too.
    let data = json!({"content": [1, {"x": 2}], "rows": rows(90)});
    let kept = Kept::new(
        json!({"content": [
            {"type": "text", "text": data.to_string()},
            {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        ]})
        .to_string()
        .into_bytes(),
    );
    assert_eq!(kept.ask(&Query::new(View::Path("/content/1".into())), 2000).unwrap().body, "{\"x\":2}");
    assert!(kept.ask(&Query::new(View::Path("//content/1".into())), 2000).unwrap().picture.is_some());
}

#[test]
fn a_picture_that_is_left_out_is_offered() {
    let big = {
        // The header of a picture of 1905 x 2053 pixels.
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend(1905u32.to_be_bytes());
        png.extend(2053u32.to_be_bytes());
        png.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
        STANDARD.encode(&png)
    };
    let text = overview(&json!({"content": [
        {"type": "text", "text": "Took a screenshot."},
        {"type": "image", "data": big, "mimeType": "image/png"},
    ]}));
    for expected in
        ["image at /content/1: image/png", "1905 x 2053 px", "Took a screenshot.", "1 of 1 pictures"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(text.ends_with("\"path\":\"/content/1\"}"), "{text}");
}
