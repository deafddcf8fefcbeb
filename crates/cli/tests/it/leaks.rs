//! Nothing is left behind, however often a client comes and however it goes: no process, no file, no descriptor.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tidegate_testkit::hostile::Mode;

use crate::http::{Listening, call, modern, modern_headers};
use crate::place::{Place, hostile_program, processes};
use crate::session::Session;

/// How often a client comes.
const CYCLES: usize = 1000;
/// How many are there at once: each of them waits for seconds until its server has been told to end.
const AT_ONCE: usize = 64;

/// One client: says hello, has a result kept now and then, and is killed or closes its side.
fn cycle(place: &Place, temporary: &Path, number: usize) {
    let (program, mark) = (hostile_program(), place.mark());
    let program = program.to_str().unwrap();
    // A launcher that stays when its server has ended; and now and then one that does not even go when it is told to.
    let launcher = ["sh", "-c", "\"$0\" hang \"$1\"; sleep 300; true", program, &mark];
    let never_closes = [program, Mode::NeverCloses.name(), &mark];
    let server: &[&str] = if number % 25 < 2 { &never_closes } else { &launcher };
    let environment = [("TMPDIR", temporary.to_str().unwrap())];
    let mut session = Session::command(&place.home(), &[], &environment, server).greeted("somebody");
    if number.is_multiple_of(9) {
        session.text("big", json!({"bytes": 20_000 + number}));
    }
    if number.is_multiple_of(2) {
        session.child.kill().unwrap();
        session.child.wait().unwrap();
    } else {
        let (code, stderr) = session.end();
        assert_eq!(code, 0, "{stderr}");
    }
}

#[test]
fn a_thousand_clients_leave_nothing() {
    let place = Place::new();
    let temporary = place.folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    std::thread::scope(|scope| {
        for first in 0..AT_ONCE {
            let (place, temporary) = (&place, &temporary);
            scope.spawn(move || (first..CYCLES).step_by(AT_ONCE).for_each(|n| cycle(place, temporary, n)));
        }
    });
    place.assert_empty();
    assert_eq!(names(&temporary), [""; 0], "no file is left");
    let kept = ["artifacts", "ledger", "seal"];
    for name in names(&place.home()) {
        assert!(kept.iter().any(|kept| name.starts_with(kept)), "{name}");
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Descriptors and threads of a process.
fn held(process: u32) -> [usize; 2] {
    ["fd", "task"].map(|kind| std::fs::read_dir(format!("/proc/{process}/{kind}")).unwrap().count())
}

/// One client over HTTP: with a session that it ends, after it has broken off a call or not; or without one.
fn visit(listening: &Listening, number: usize) {
    let mut connection = listening.connect();
    if number % 4 == 3 {
        let body = modern(1, "trouble", json!({}));
        connection.send("POST", &modern_headers("trouble"), &body);
        std::thread::sleep(Duration::from_millis(5));
        return;
    }
    let session = connection.greet();
    let headers = [("Mcp-Session-Id", session.as_str())];
    let answer = connection.post(&headers, &call(2, "echo", json!({"value": "here"})));
    assert!(answer.text().contains("here"), "{}", answer.text());
    if number % 4 == 1 {
        connection.send("POST", &headers, &call(3, "trouble", json!({})));
        connection = listening.connect();
    }
    if number % 4 == 2 {
        connection.send("GET", &headers, "");
        assert_eq!(connection.reply_head(), 200);
        connection = listening.connect();
    }
    connection.send("DELETE", &headers, "");
    let ended = connection.reply();
    assert!(ended.status < 300, "{} {}", ended.status, ended.text());
}

#[test]
fn a_bridge_holds_nothing_of_clients_that_left() {
    let place = Place::new();
    let (program, mark) = (hostile_program(), place.mark());
    let server = ["--", program.to_str().unwrap(), Mode::Hang.name(), &mark];
    let listening = Listening::start(&place.home(), &server);
    let process = listening.child.id();
    let visits = |count: usize| {
        std::thread::scope(|scope| {
            for first in 0..4 {
                let listening = &listening;
                scope.spawn(move || (first..count).step_by(4).for_each(|n| visit(listening, n / 4)));
            }
        });
    };
    let settled = |most: [usize; 2]| {
        let started = Instant::now();
        // One server stays, for those without a session; it and its guard, and the bridge itself, have the mark.
        while held(process)[0] > most[0] || held(process)[1] > most[1] || processes(&mark) > 3 {
            let state = (held(process), processes(&mark));
            assert!(started.elapsed() < Duration::from_secs(20), "{state:?}, and no more than {most:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    visits(32);
    std::thread::sleep(Duration::from_secs(1));
    settled([200, 100]);
    let before = held(process);
    visits(400);
    settled([before[0] + 2, before[1] + 2]);
    drop(listening);
    place.assert_empty();
}
