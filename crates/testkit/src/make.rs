//! Generators of tool results for property tests.
//!
//! JSON is written as text, not by a library, so that it can contain what a library would normalise: duplicate keys,
//! numbers that fit no type, lone surrogates, odd white space.

use std::fmt::Write;

use proptest::prelude::*;

/// Returns a text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Returns a `CallToolResult` with one text block.
pub fn text_result(text: &str) -> Vec<u8> {
    format!("{{\"content\":[{{\"type\":\"text\",\"text\":{}}}]}}", quoted(text)).into_bytes()
}

/// Numbers as servers write them, including odd ones.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<i32>().prop_map(|number| number.to_string()),
        2 => (any::<i16>(), 0..1_000_000u32).prop_map(|(whole, part)| format!("{whole}.{part:06}")),
        1 => prop::sample::select(vec![
            "0", "-0", "1.0", "1e400", "-1E-400", "18446744073709551617", "9007199254740993", "0.1", "1e5", "NaN",
        ])
        .prop_map(String::from),
    ]
}

/// The text between the quotes of a JSON string, still escaped.
fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z]{1,8}",
        3 => "[A-Za-z0-9 _./:-]{0,40}",
        1 => "\\PC{0,30}".prop_map(|text| quoted(&text).trim_matches('"').replace('"', "'").replace('\\', "/")),
        1 => prop::sample::select(vec![
            "", "\\ud800", "\\udc00x", "\\u0000", "\\ud834\\udd1e", "a\\nb\\nc", "\\u001b[31mred", "\\u202eevil", "\\\\\\\"",
            "2024-01-02T03:04:05Z", "true", "null", "12", "v12", "error: it failed", "~~m0xw", "next: result_query",
        ])
        .prop_map(String::from),
        1 => (1..2000usize).prop_map(|length| "long text ".repeat(length / 10 + 1)),
    ]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => string().prop_map(|text| format!("\"{text}\"")),
        3 => number(),
        1 => prop::sample::select(vec!["true", "false", "null"]).prop_map(String::from),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec!["id", "name", "state", "count", "created_at", "body", "a", "b", "key with space", "x.y"]),
        1 => prop::sample::select(vec!["", "é", "\\u00e9", "[]", "*", "a\\nb", "__proto__"]),
    ]
    .prop_map(String::from)
}

/// Generates any JSON value, nested a few levels.
pub fn json() -> impl Strategy<Value = String> {
    scalar().prop_recursive(5, 120, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec((key(), inner), 0..10).prop_map(|members| object(&members)),
        ]
    })
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// Generates a list of records with mostly the same fields.
pub fn records() -> impl Strategy<Value = String> {
    let fields = prop::collection::vec((key(), scalar()), 1..8);
    (fields, prop::collection::vec(prop::collection::vec(scalar(), 8), 1..120)).prop_map(|(fields, rows)| {
        let rows: Vec<String> = rows
            .into_iter()
            .enumerate()
            .map(|(number, values)| {
                let members: Vec<(String, String)> = fields
                    .iter()
                    .zip(values)
                    .enumerate()
                    .filter(|(at, _)| (number + at) % 17 != 0)
                    .map(|(at, ((key, first), value))| {
                        let value = if at % 2 == 0 { value } else { first.clone() };
                        (key.clone(), value)
                    })
                    .collect();
                object(&members)
            })
            .collect();
        format!("[{}]", rows.join(",\n"))
    })
}

/// Generates lines of text: logs, prose, lists, code, or anything else.
pub fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-z ,.]{0,80}",
        "2024-01-0[1-9] 1[0-9]:00:00 (INFO|WARN|ERROR) [a-z]{3,9} [0-9]{1,4}",
        "#{1,3} [A-Z][a-z ]{2,20}",
        "- (link|button|heading) \"[a-z]{1,9}\" \\[ref=e[0-9]{1,3}\\]",
        "[+-][a-z(){};= ]{0,40}",
        "(fn|def|class|function) [a-z]{2,9}\\(\\) \\{",
        "[a-z]{1,6},[0-9]{1,4},[a-z]{1,6}",
        "/[a-z]{2,8}/[a-z]{2,8}\\.json:",
        Just("---".to_owned()),
        Just("diff --git a/x b/x".to_owned()),
        Just("<html><body><h1>Title</h1>".to_owned()),
        "\\PC{0,60}",
    ];
    prop::collection::vec(line, 0..300).prop_map(|lines| lines.join("\n"))
}

/// Generates a text of any kind.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        json(),
        records(),
        lines(),
        records().prop_map(|records| format!("Here is what was found:\n{records}\nThat is all.")),
        records().prop_map(|records| records.replace("},\n{", "}\n{").trim_matches(['[', ']']).to_owned()),
        (0..40_000usize)
            .prop_map(|length| "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODkw".repeat(length / 44)),
    ]
}

/// A content block of any kind, as JSON.
fn block() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => text().prop_map(|text| format!("{{\"type\":\"text\",\"text\":{}}}", quoted(&text))),
        1 => (0..3000usize).prop_map(|length| {
            format!("{{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"{}\"}}", "iVBORw0KGgo".repeat(length / 11))
        }),
        1 => (0..9000usize).prop_map(|length| {
            format!("{{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"{}\"}}", "UklGRg".repeat(length / 6))
        }),
        1 => lines().prop_map(|text| {
            format!("{{\"type\":\"resource\",\"resource\":{{\"uri\":\"x://y\",\"mimeType\":\"text/plain\",\"text\":{}}}}}", quoted(&text))
        }),
        1 => string().prop_map(|name| format!("{{\"type\":\"resource_link\",\"uri\":\"x://y\",\"name\":\"{name}\"}}")),
        1 => json().prop_map(|value| format!("{{\"type\":\"hologram\",\"value\":{value}}}")),
    ]
}

/// Generates a `CallToolResult`: blocks of any kind, with or without structured content, flags and other members.
pub fn result() -> impl Strategy<Value = Vec<u8>> {
    let structured = prop_oneof![2 => Just(None), 1 => json().prop_map(Some)];
    let members = prop::sample::select(vec![
        "",
        ",\"isError\":true",
        ",\"isError\":false",
        ",\"resultType\":\"complete\",\"ttlMs\":5",
    ]);
    let meta = prop_oneof![4 => Just(String::new()), 1 => "[a-z]{0,900}".prop_map(|meta| format!(",\"_meta\":{{\"x/y\":\"{meta}\"}}"))];
    (prop::collection::vec(block(), 0..4), structured, members, meta).prop_map(
        |(blocks, structured, members, meta)| {
            let mut out = format!("{{\"content\":[{}]", blocks.join(","));
            if let Some(structured) = structured {
                let _ = write!(out, ",\"structuredContent\":{structured}");
            }
            let _ = write!(out, "{members}{meta}}}");
            out.into_bytes()
        },
    )
}
