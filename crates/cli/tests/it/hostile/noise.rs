//! Output that is not a message, and messages in unusual forms.

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
fn lines_that_arrive_in_pieces_are_joined() {
    let place = Place::new();
    let mut session = place.hostile(Mode::HalfLines, &[]);
    assert_sound(&place, &mut session);
    assert!(assert_ends(&place, session).contains("(not JSON): a log l\u{ef}ne in pieces\n"));
}

/// A response that follows text on its line is forwarded; the text is logged.
#[test]
fn glued_text() {
    let place = Place::new();
    let mut session = place.hostile(Mode::GluedText, &[]);
    assert_eq!(session.text("trouble", json!({})), "glued");
    assert_sound(&place, &mut session);
    assert!(session.is_silent(), "one answer");
    let stderr = assert_ends(&place, session);
    assert!(stderr.contains("Loading 10%"), "{stderr}");
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
