//! The real binary in front of a server that misbehaves: one test for each mode.
//!
//! No response is lost, each request gets one response with its id as written, noise is logged and never written back to the
//! server, results are stored exactly, no tool runs twice, and no process is left behind.

mod ends;
mod exact;
mod floods;
mod frame;
mod ids;
mod noise;

use serde_json::json;
use tidegate_testkit::hostile::{Mode, payload};

use crate::place::Place;
use crate::session::{Session, handle};

/// The largest memory of the proxy in MiB, whatever a server does, including a result that is being handled.
const MEMORY: u64 = 256;

#[test]
fn every_mode_has_a_name() {
    for mode in Mode::ALL {
        assert_eq!(Mode::parse(mode.name()), Some(*mode));
    }
    assert!(Mode::ALL.len() >= 24);
}

/// Checks what holds in front of any server that still answers: requests are answered, a large result is stored exactly and
/// read without the server, the server received what was sent and nothing else, and no tool ran twice.
fn assert_sound(place: &Place, session: &mut Session) {
    assert_sound_with(place, session, "result_query");
}

fn assert_sound_with(place: &Place, session: &mut Session, reader: &str) {
    assert_eq!(session.text("echo", json!({"value": "hello"})), "hello");
    let overview = session.text("big", json!({"bytes": 50_000}));
    assert!(overview.starts_with("big returned"), "{overview}");
    assert!(place.export(&handle(&overview)) == payload::big(50_000), "kept as it came");
    let part = session.text(reader, json!({"id": handle(&overview), "lines": "3"}));
    assert!(part.contains("line 2 of a long text, 2"), "{part}");
    // Requests for tidegate do not reach the server; all others arrive unchanged.
    let ours = format!("\"name\":\"{reader}\"");
    let theirs: Vec<String> = session.sent.iter().filter(|line| !line.contains(&ours)).cloned().collect();
    let heard = session.text("heard", json!({}));
    assert_eq!(place.complete(heard), theirs.join("\n"));
    let calls = theirs.iter().filter(|line| line.contains("\"method\":\"tools/call\"")).count();
    assert_eq!(session.text("count", json!({})), (calls + 2).to_string(), "each call ran once");
    assert!(session.peak() < MEMORY, "{} MiB", session.peak());
}

/// Ends a session, checks its end, and returns its stderr.
fn assert_ends(place: &Place, session: Session) -> String {
    let (code, stderr) = place.end(session);
    assert_eq!(code, 0, "{stderr}");
    stderr
}
