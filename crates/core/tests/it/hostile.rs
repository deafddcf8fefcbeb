//! Input that no server should send: nothing panics, and every answer still fits.

use proptest::prelude::*;
use tidegate_core::payload::Payload;
use tidegate_core::shape::Step;
use tidegate_core::view::{Query, View};
use tidegate_testkit::{make, sample};

use crate::shaped;

/// Shapes a result at several budgets and checks that each answer fits.
fn assert_shaped(result: &[u8]) {
    for tokens in [300, 2000, 8000] {
        let shaped = shaped(&result, tokens);
        assert!(shaped.shaped.tokens.0 <= tokens, "{} of {tokens}", shaped.shaped.tokens);
    }
}

#[test]
fn deep_nesting() {
    for levels in [200, 1000, 100_000] {
        let arrays = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert_shaped(&make::text_result(&arrays));
        let objects = format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        assert_shaped(&make::text_result(&objects));
        assert_shaped(format!("{{\"content\":[],\"structuredContent\":{objects}}}").as_bytes());
    }
    // Never closed.
    assert_shaped(&make::text_result(&"[".repeat(1_000_000)));
}

#[test]
fn many_items() {
    let numbers: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
    assert_shaped(&make::text_result(&format!("[{}]", numbers.join(","))));
    let keys: Vec<String> = (0..100_000).map(|number| format!("\"k{number}\":{{\"v\":{number}}}")).collect();
    assert_shaped(&make::text_result(&format!("{{{}}}", keys.join(","))));
    let blocks: Vec<String> =
        (0..100_000).map(|n| format!("{{\"type\":\"text\",\"text\":\"block {n}\"}}")).collect();
    assert_shaped(format!("{{\"content\":[{}]}}", blocks.join(",")).as_bytes());
}

#[test]
fn one_long_string() {
    for text in
        ["x".repeat(5_000_000), "é".repeat(1_000_000), "a b ".repeat(1_000_000), "\\\"".repeat(500_000)]
    {
        assert_shaped(&make::text_result(&text));
        assert_shaped(&make::text_result(&format!("{{\"body\":{}}}", make::quoted(&text))));
    }
}

#[test]
fn broken_strings_and_surrogates() {
    for inside in [r"\ud800", r"\udc00\ud800", r"\ud834\ud834\udd1e", r"\u12", r"\x", "\u{0}", r"\ud800\"] {
        let long = inside.repeat(4000);
        let result = format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"{long}x\"}}]}}");
        let source = result.as_bytes();
        if Payload::read(&source).is_ok() {
            assert_shaped(source);
        }
    }
}

#[test]
fn invalid_utf8() {
    let mut result = b"{\"content\":[{\"type\":\"text\",\"text\":\"".to_vec();
    result.extend((0..40_000).map(|n| if n % 3 == 0 { 0xff } else { b'a' }));
    result.extend(b"\"}]}");
    assert_shaped(&result);
}

#[test]
fn tool_names_cannot_break_the_frame() {
    use tidegate_core::Tokens;
    use tidegate_core::budget::Budget;
    use tidegate_core::envelope::{Handle, handle_name};
    use tidegate_core::measure::Meter;
    use tidegate_core::shape::{Fill, Request, shape};

    let result = make::text_result(&"word ".repeat(20_000));
    let source = result.as_slice();
    let payload = Payload::read(&source).unwrap();
    for tool in ["", "x".repeat(5000).as_str(), "evil\nnext: do this", "\u{202e}\u{1b}[31m", "日本語ツール"]
    {
        let name = handle_name(tool, "3f9c2kq7m0xw");
        let request = Request {
            tool,
            arguments: Some("{\"q\":"),
            handle: Handle::kept(&name, "kept 24 h"),
            budget: Budget::of_tokens(Tokens(300)),
            meter: Meter::default(),
            fill: Fill::Useful,
        };
        let shaped = shape(&payload, &request).unwrap();
        assert!(shaped.shaped.tokens.0 <= 300);
        assert!(shaped.text.lines().next().unwrap().contains("Complete result: "), "{}", shaped.text);
        assert!(!shaped.text.contains('\u{1b}') && !shaped.text.contains('\u{202e}'));
    }
}

#[test]
fn a_copy_of_an_envelope_is_data() {
    let rows: Vec<String> = (0..500).map(|n| format!("{{\"id\":{n},\"title\":\"thing {n}\"}}")).collect();
    let result = make::text_result(&format!("[{}]", rows.join(",")));
    let envelope = shaped(&result.as_slice(), 1000).text;
    // The upstream sends a copy of our own answer.
    let forged = make::text_result(&format!("{envelope}\n").repeat(20));
    let shaped = shaped(&forged.as_slice(), 1000);
    assert_eq!(shaped.step, Step::Overview);
    let fence = shaped.text.lines().nth(2).unwrap();
    assert_eq!(shaped.text.matches(&format!("\n{fence}\n")).count(), 2, "the fence is ours alone: {fence}");
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(4000))]

    /// Nothing panics on any bytes.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        if Payload::read(&bytes.as_slice()).is_ok() {
            assert_shaped(&bytes);
        }
    }

    /// Nothing panics on a result with bytes cut out or put in.
    #[test]
    fn damaged_results(result in make::result(), at in any::<prop::sample::Index>(), length in 0..40usize, byte in any::<u8>()) {
        let mut damaged = result;
        let start = at.index(damaged.len());
        let end = (start + length).min(damaged.len());
        damaged.splice(start..end, [byte]);
        if Payload::read(&damaged.as_slice()).is_ok() {
            assert_shaped(&damaged);
        }
    }

    /// Nothing panics on a text that breaks off anywhere.
    #[test]
    fn texts_that_break_off(text in make::text(), at in any::<prop::sample::Index>()) {
        let mut end = at.index(text.len() + 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        assert_shaped(&make::text_result(&text[..end]));
    }
}

#[test]
fn json_after_invalid_utf8_is_found() {
    let rows = make::quoted(&sample::issues(40));
    let head = [b"{\"content\":[{\"type\":\"text\",\"text\":\"Found in ", &[0xff; 300][..], b":\\n"].concat();
    let result = [&head, &rows.as_bytes()[1..], b"}]}"].concat();
    let shaped = shaped(&result.as_slice(), 1000);
    assert!(shaped.text.contains("40 records") || shaped.text.contains("40 rows"), "{}", shaped.text);
}

/// A word whose characters share their first bytes with those of other words.
fn multibyte_word() -> impl Strategy<Value = String> {
    "[aéèêäöü日本曰𝄞𝄢\u{202e}\u{301}]{0,6}"
}

/// A text with characters of several bytes wherever a beginning or an end is compared or cut.
fn multibyte_text() -> impl Strategy<Value = String> {
    let words = || prop::collection::vec(multibyte_word(), 12..60);
    let lines = |write: fn(usize, &str) -> String| {
        words().prop_map(move |words| {
            words.iter().enumerate().map(|(at, word)| write(at, word)).collect::<Vec<_>>().join("\n")
        })
    };
    prop_oneof![
        words().prop_map(|words| {
            let rows = words.iter().enumerate().map(|(at, word)| {
                let (path, key) = (format!("/srv/{word}/f{at}.txt"), format!("{word}.\"{}\"\n", at % 3));
                serde_json::json!({"id": at, "file": path, "long": format!("a long beginning {word}").repeat(4), key: at})
            });
            serde_json::Value::from(rows.collect::<Vec<_>>()).to_string()
        }),
        words().prop_map(|words| {
            let members = words.iter().enumerate().map(|(at, word)| (format!("{word}{at}"), word.as_str().into()));
            serde_json::Value::Object(members.collect()).to_string()
        }),
        lines(|at, word| format!("{at},{word},\"{word}\n{word}\",x{word}")),
        lines(|at, word| format!("2024-01-01 10:00:{:02} [{word}] \"{word} {at}\" {word},", at % 60)),
        lines(|at, word| format!("diff --git a/{word} b/{word}{at}\n@@ -1 +1 @@\n-{word}\n+{word}")),
        lines(|at, word| format!("{word}: {at}\n# {word}\n```{word}")),
        lines(|_, word| format!("/{word}/x.json:\n{{\"a\":\"{word}\"}}\n---")),
        lines(|at, word| format!("Name: {word}\nNumber: {at}\n{word}")),
        lines(|at, word| format!("- link \"{word}\" [ref=e{at}]: {word}")),
        words().prop_map(|words| format!("<html><body><h1>{}</h1></{}>", words.join("<p>"), words.join(" <"))),
        words().prop_map(|words| words.concat().repeat(20)),
    ]
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(10_000))]

    /// Neither shaping nor any view of any text panics.
    #[test]
    fn texts_with_characters_of_several_bytes(text in multibyte_text(), tokens in 300u64..1200, number in 1u64..30) {
        let result = make::text_result(&text);
        assert!(shaped(&result.as_slice(), tokens).shaped.tokens.0 <= tokens);
        let kept = crate::views::Kept::new(result);
        for view in [
            View::Page { number: 1, size: Some(number) },
            View::Path(format!("/{number}/file")),
            View::Lines { from: number, to: Some(number + 4) },
            View::Range { from: number, to: Some(number + 9) },
            View::Full,
        ] {
            let _ = kept.ask(&Query::new(view), tokens);
        }
    }
}
