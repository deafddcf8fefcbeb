//! Servers that write too much: it is forwarded or stored, and memory stays bounded.

use std::time::Duration;

use serde_json::json;
use tidegate_testkit::hostile::{Mode, payload};

use super::{MEMORY, assert_ends, assert_sound};
use crate::place::Place;
use crate::session::handle;

/// Nobody reads the stderr of tidegate meanwhile.
#[test]
fn a_flood_on_stderr() {
    let place = Place::new();
    let mut session = place.hostile(Mode::StderrFlood, &[]);
    assert_eq!(session.text("trouble", json!({})), "after the flood");
    assert_sound(&place, &mut session);
    assert!(session.peak() < 64, "{} MiB", session.peak());
    let stderr = assert_ends(&place, session);
    assert!(stderr.contains("bytes of the server's stderr, because nobody read them"), "{}", stderr.len());
}

#[test]
fn a_flood_of_notifications() {
    let place = Place::new();
    let mut session = place.hostile(Mode::ProgressFlood, &[]);
    let id = session.ask("tools/call", json!({"name": "trouble", "arguments": {}}));
    for number in 0..100_000 {
        let line = session.line().unwrap();
        let expected = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{number}}}}}"#
        );
        assert!(line == expected.as_bytes(), "{number}: {}", String::from_utf8_lossy(&line));
    }
    assert_eq!(session.message()["id"], id);
    assert_sound(&place, &mut session);
    assert!(session.peak() < 64, "{} MiB", session.peak());
    assert_ends(&place, session);
}

#[test]
fn results_of_many_sizes() {
    let place = Place::new();
    let mut session = place.hostile(Mode::Hang, &[]);
    for bytes in [10_200, 65_535, 65_537, 1 << 20, (8 << 20) - 1, (8 << 20) + 1, (16 << 20) + 1] {
        let text = session.text("big", json!({"bytes": bytes}));
        assert!(place.export(&handle(&text)) == payload::big(bytes), "{bytes}");
    }
    assert_sound(&place, &mut session);
    assert!(session.peak() < MEMORY, "{} MiB", session.peak());
    assert_ends(&place, session);
}

/// A line above every limit becomes an error, and the connection stays usable.
#[test]
fn an_endless_line() {
    let place = Place::new();
    let mut session = place.hostile(Mode::EndlessLine, &[]);
    let id = session.ask("tools/call", json!({"name": "trouble", "arguments": {}}));
    let line = session.line_within(Duration::from_secs(120)).unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(answer["id"], id);
    assert!(answer.get("error").is_some() || answer["result"]["isError"] == true, "{answer}");
    assert_sound(&place, &mut session);
    assert!(session.peak() < 64, "{} MiB", session.peak());
    assert!(session.is_silent(), "one answer");
    assert_ends(&place, session);
}
