//! Servers that end too early, too late or not at all: open requests get an error, and no process is left behind.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate_testkit::hostile::Mode;

use super::{assert_ends, assert_sound};
use crate::place::{Place, processes};
use crate::session::handle;

#[test]
fn a_crash_in_the_middle_of_a_line() {
    let place = Place::new();
    let mut session = place.hostile(Mode::CrashMidReply, &[]);
    let kept = handle(&session.text("big", json!({"bytes": 50_000})));
    let asked = [
        session.ask("tools/call", json!({"name": "trouble", "arguments": {}})),
        session.ask("tools/call", json!({"name": "echo", "arguments": {"value": "x"}})),
    ];
    let mut answered = [session.message(), session.message()];
    answered.sort_by_key(|answer| answer["id"].as_u64());
    for (answer, id) in answered.iter().zip(asked) {
        assert_eq!(answer["id"], id);
        let words = answer["error"]["message"].as_str().unwrap();
        assert!(words.contains("ended with exit code 3 before it answered the call of"), "{words}");
    }
    assert_eq!(session.line(), None, "nothing of the half line");
    assert_eq!(session.ended().0, 3);
    place.assert_empty();
    assert!(!place.export(&kept).is_empty(), "what was kept stays");
}

#[test]
fn a_call_that_is_never_answered() {
    let place = Place::new();
    let mut session = place.hostile(Mode::Hang, &["--timeout", "2s"]);
    let id = session.ask("tools/call", json!({"name": "trouble", "arguments": {}}));
    assert_eq!(session.text("echo", json!({"value": "meanwhile"})), "meanwhile", "others do not wait");
    let answer = session.message();
    assert_eq!(answer["id"], id);
    assert!(answer["error"]["message"].as_str().unwrap().contains("within 2 s"), "{answer}");
    // The client gets its error first, then the server gets the cancellation.
    std::thread::sleep(Duration::from_millis(200));
    let heard = session.text("heard", json!({}));
    let cancelled = format!(r#""method":"notifications/cancelled","params":{{"requestId":{id},"#);
    assert_eq!(heard.matches(&cancelled).count(), 1, "{heard}");
    assert_eq!(session.text("count", json!({})), "4", "nothing ran twice");
    assert_ends(&place, session);
}

#[test]
fn a_server_that_never_closes() {
    let place = Place::new();
    let mut session = place.hostile(Mode::NeverCloses, &[]);
    assert_sound(&place, &mut session);
    assert!(processes(&place.mark()) >= 4, "proxy, guard, server and its child");
    let started = Instant::now();
    assert_ends(&place, session);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn a_server_that_never_closes_behind_a_killed_proxy() {
    let place = Place::new();
    let mut session = place.hostile(Mode::NeverCloses, &[]);
    assert_eq!(session.text("echo", json!({"value": "x"})), "x");
    // The server answers before the processes it starts have their command lines.
    let started = Instant::now();
    while processes(&place.mark()) < 4 {
        assert!(started.elapsed() < Duration::from_secs(20), "the server did not start its processes");
        std::thread::sleep(Duration::from_millis(10));
    }
    session.child.kill().unwrap();
    session.child.wait().unwrap();
    place.assert_empty();
}

#[test]
fn a_server_that_closes_stdout() {
    let place = Place::new();
    let mut session = place.hostile(Mode::ClosesStdout, &[]);
    assert_sound(&place, &mut session);
    let id = session.ask("tools/call", json!({"name": "trouble", "arguments": {}}));
    let answer = session.message();
    assert_eq!(answer["id"], id);
    assert!(answer["error"]["message"].as_str().unwrap().contains("the call of trouble"), "{answer}");
    assert_eq!(session.line(), None);
    let (_, stderr) = session.ended();
    assert!(stderr.contains("closed its output but did not exit"), "{stderr}");
    place.assert_empty();
}

#[test]
fn a_server_that_reads_nothing() {
    let place = Place::new();
    let mut session = place.hostile(Mode::ReadsNothing, &["--timeout", "1s"]);
    let long = "x".repeat(20_000);
    let asked: Vec<u64> = (0..20)
        .map(|_| session.ask("tools/call", json!({"name": "echo", "arguments": {"value": long}})))
        .collect();
    // Local requests need no server.
    let own =
        session.ask("tools/call", json!({"name": "result_query", "arguments": {"id": "x-000000000000"}}));
    let first = session.message();
    assert_eq!(first["id"], own);
    let mut answered: Vec<Value> = asked.iter().map(|_| session.message()).collect();
    answered.sort_by_key(|answer| answer["id"].as_u64());
    for (answer, id) in answered.iter().zip(asked) {
        assert_eq!(answer["id"], id);
        assert!(answer["error"]["message"].as_str().unwrap().contains("no answer to the call of echo"));
    }
    let started = Instant::now();
    place.end(session);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
