//! Another process that holds the store, for a while or for too long.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Faulty, pause};
use crate::place::Place;

/// Nobody else can write.
fn lock(place: &Place) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(place.home().join("artifacts.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    connection
}

/// A little longer than a proxy waits, which is ten seconds.
#[test]
fn a_store_that_is_locked() {
    let place = Place::new();
    let mut faulty = Faulty::start(&place);
    let kept = faulty.keep();
    let lock = lock(&place);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // While the proxies wait: from outside, what was kept can be read.
            pause(500);
            assert!(place.export(&kept[0]).len() > 300_000);
        });
        faulty.assert_in_memory("another process");
    });
    drop(lock);
    faulty.keep();
    faulty.assert_readable(&kept[0]);
    faulty.end();
}

#[test]
fn a_store_that_is_locked_for_a_while() {
    let place = Place::new();
    let mut faulty = Faulty::start(&place);
    let kept = faulty.keep();
    let lock = lock(&place);
    let started = Instant::now();
    let id = faulty.overview.ask("tools/call", json!({"name": "big", "arguments": {"bytes": 200_000}}));
    faulty.calls += 1;
    // Nobody else waits, and what was kept is read meanwhile.
    pause(300);
    for session in [&mut faulty.overview, &mut faulty.error] {
        let part = session.text("result_query", json!({"id": kept[0], "lines": "6001"}));
        assert!(part.contains("line 6000 of a long text"), "{part}");
        assert_eq!(session.text("echo", json!({"value": "x"})), "x");
    }
    faulty.calls += 1;
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    pause(1800_u64.saturating_sub(started.elapsed().as_millis() as u64));
    drop(lock);
    let answer = faulty.overview.message();
    assert_eq!(answer["id"], id);
    assert!(answer.to_string().contains("Complete result:"), "{answer}");
    assert!(started.elapsed() > Duration::from_millis(1700));
    faulty.error.text("echo", json!({"value": "as many calls as the other"}));
    faulty.keep();
    faulty.end();
}
