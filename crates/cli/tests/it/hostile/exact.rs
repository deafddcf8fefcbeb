//! Results that a parser would refuse or change: those that fit are forwarded byte for byte, others are stored byte for
//! byte.

use serde_json::json;
use tidegate_testkit::hostile::{Mode, payload};

use super::{MEMORY, assert_ends, assert_sound};
use crate::place::Place;
use crate::session::{Session, handle};

/// Calls `trouble` for the small result and the large one of a mode, and returns the overview of the large one.
fn exact(place: &Place, session: &mut Session, mode: Mode) -> String {
    let id = session.ask("tools/call", json!({"name": "trouble", "arguments": {"small": true}}));
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#).into_bytes();
    assert!(session.line().unwrap() == [head.as_slice(), &payload::small(mode), b"}"].concat());
    large(place, session, mode)
}

fn large(place: &Place, session: &mut Session, mode: Mode) -> String {
    let id = session.ask("tools/call", json!({"name": "trouble", "arguments": {}}));
    let line = session.line().unwrap();
    assert!(line.len() < 12_000, "{} bytes", line.len());
    let answer: serde_json::Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(answer["id"], id);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("trouble returned"), "{text}");
    assert!(place.export(&handle(&text)) == payload::result(mode), "kept as it came");
    text
}

/// Checks that a text has no character that is invisible or controls a terminal.
fn assert_visible(text: &str) {
    let hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200b}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    assert_eq!(text.chars().find(|c| hidden(*c)), None, "{text}");
}

#[test]
fn invalid_utf8() {
    let place = Place::new();
    let mut session = place.hostile(Mode::InvalidUtf8, &[]);
    let text = exact(&place, &mut session, Mode::InvalidUtf8);
    assert!(text.contains('\u{fffd}'), "{text}");
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn separators() {
    let place = Place::new();
    let mut session = place.hostile(Mode::Separators, &[]);
    let text = exact(&place, &mut session, Mode::Separators);
    assert_visible(&text);
    for view in [json!({"lines": "5-9"}), json!({"grep": "line 700:"}), json!({"range": "0-900"})] {
        let mut arguments = view.clone();
        arguments["id"] = handle(&text).into();
        let part = session.text("result_query", arguments);
        assert_visible(&part);
        // A range is shown exactly or as base64, so it stops before them.
        let escaped = part.contains("\\u{2028}|\\u{2029}|\\u{85}");
        assert_eq!(escaped, view.get("range").is_none(), "{part}");
    }
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn control_characters() {
    let place = Place::new();
    let mut session = place.hostile(Mode::Controls, &[]);
    let text = exact(&place, &mut session, Mode::Controls);
    for view in [json!({"lines": "5-9"}), json!({"grep": "line 700:"}), json!({"range": "0-900"})] {
        let mut arguments = view.clone();
        arguments["id"] = handle(&text).into();
        assert_visible(&session.text("result_query", arguments));
    }
    assert_visible(&text);
    // Statistics quote such values as JSON strings.
    for (shown, quoted) in [
        ("\\u{1b}[2J", "\\u001b[2J"),
        ("\\u{7}", "\\u0007"),
        ("\\u{202e}", "\\u202e"),
        ("\\u{e0041}", "\\udb40\\udc41"),
        ("\\u{200b}", "\\u200b"),
        ("\\u{9b}", "\\u009b"),
    ] {
        assert!(text.contains(shown) || text.contains(quoted), "{shown}: {text}");
    }
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn halves_of_surrogate_pairs() {
    let place = Place::new();
    let mut session = place.hostile(Mode::Surrogates, &[]);
    exact(&place, &mut session, Mode::Surrogates);
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn huge_numbers() {
    let place = Place::new();
    let mut session = place.hostile(Mode::HugeNumbers, &[]);
    let text = exact(&place, &mut session, Mode::HugeNumbers);
    for (path, number) in [("/399/big", "18446744073709551617"), ("/399/n", "1e400"), ("/399/f", "399.0")] {
        let part = session.text("result_query", json!({"id": handle(&text), "path": path}));
        assert!(part.contains(number), "{path}: {part}");
    }
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn duplicate_keys() {
    let place = Place::new();
    let mut session = place.hostile(Mode::DuplicateKeys, &[]);
    exact(&place, &mut session, Mode::DuplicateKeys);
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn deep_nesting() {
    let place = Place::new();
    let mut session = place.hostile(Mode::DeepNesting, &[]);
    large(&place, &mut session, Mode::DeepNesting);
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn a_million_keys() {
    let place = Place::new();
    let mut session = place.hostile(Mode::ManyKeys, &[]);
    let text = large(&place, &mut session, Mode::ManyKeys);
    let part = session.text("result_query", json!({"id": handle(&text), "path": "/k999999"}));
    assert!(part.contains("999999"), "{part}");
    assert_sound(&place, &mut session);
    assert!(session.peak() < MEMORY, "{} MiB", session.peak());
    assert_ends(&place, session);
}

#[test]
fn an_error_of_many_words() {
    let place = Place::new();
    let mut session = place.hostile(Mode::LongError, &[]);
    let answer = session.request("tools/call", json!({"name": "trouble", "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32050);
    let text = answer["error"]["message"].as_str().unwrap().to_owned();
    assert!(text.contains("Complete result: \"trouble-") && text.len() < 10_240, "{text}");
    let kept: serde_json::Value = serde_json::from_slice(&place.export(&handle(&text))).unwrap();
    assert_eq!(kept["message"].as_str().unwrap().len(), 37 * 6000, "the error is kept whole");
    assert_eq!(kept["data"]["x"], json!(1.0));
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}
