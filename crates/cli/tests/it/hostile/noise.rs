//! Other things than messages on stdout, and messages in other dress.

use serde_json::json;
use tidegate_testkit::hostile::Mode;

use super::{assert_ends, assert_sound};
use crate::place::Place;

#[test]
fn text_logs() {
    let place = Place::new();
    let mut session = place.hostile(Mode::TextLogs, &[]);
    assert_sound(&place, &mut session);
    assert!(session.is_silent());
    let stderr = assert_ends(&place, session);
    for words in ["Listening on stdio...", "[INFO] got a line", "{ not json }", "answered \u{fffd}"] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
}

#[test]
fn json_logs() {
    let place = Place::new();
    let mut session = place.hostile(Mode::JsonLogs, &[]);
    assert_sound(&place, &mut session);
    assert!(session.is_silent());
    let stderr = assert_ends(&place, session);
    for words in [r#"{"level":"info","id":1}"#, r#"[1,{"msg":"x"}]"#, "\"text\"", ": 42\n", ": null\n"] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
}

#[test]
fn half_lines() {
    let place = Place::new();
    let mut session = place.hostile(Mode::HalfLines, &[]);
    assert_sound(&place, &mut session);
    assert!(assert_ends(&place, session).contains("(not JSON): a log l\u{ef}ne in pieces\n"));
}

/// A line of text and an answer is no message. It is logged, and the request is answered once its time is over.
#[test]
fn glued_text() {
    let place = Place::new();
    let mut session = place.hostile(Mode::GluedText, &["--timeout", "1s"]);
    let answer = session.request("tools/call", json!({"name": "trouble", "arguments": {}}));
    let words = answer.to_string();
    assert!(words.contains("glued") || words.contains("no answer to the call of trouble"), "{words}");
    assert_eq!(session.text("count", json!({})), "2");
    assert!(session.is_silent(), "one answer");
    let stderr = assert_ends(&place, session);
    assert!(stderr.contains("Loading 10%"), "{stderr}");
}

#[test]
#[ignore = "needs answers to be found behind text on their line"]
fn glued_text_loses_no_answer() {
    let place = Place::new();
    let mut session = place.hostile(Mode::GluedText, &[]);
    assert_eq!(session.text("trouble", json!({})), "glued");
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn byte_order_marks() {
    let place = Place::new();
    let mut session = place.hostile(Mode::Bom, &[]);
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn lines_that_end_in_cr_lf() {
    let place = Place::new();
    let mut session = place.hostile(Mode::CrLf, &[]);
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn cr_between_the_parts() {
    let place = Place::new();
    let mut session = place.hostile(Mode::LoneCr, &[]);
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}
