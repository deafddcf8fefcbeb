//! One SQLite file with several connections, as several processes have it: quotas are exact, and the number of a deleted
//! body never leads to another one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidegate_core::source::{Source, Span};
use tidegate_store::{
    ArtifactStore, Description, NewArtifact, Owner, Quotas, Session, SqliteStore, StoreError, open,
};
use tidegate_testkit::contract::noise;

use crate::{owner, put, store_in};

#[test]
fn quotas_are_exact_with_many_connections() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("artifacts.db");
    let limit = 1_000_000;
    let quotas = Quotas { session_bytes: limit, owner_bytes: limit, store_bytes: limit };
    let stored = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (path, stored) = (&path, &stored);
            scope.spawn(move || {
                let store = SqliteStore::open(path, quotas).unwrap();
                for number in 0..6 {
                    match put(&store, &noise(thread * 100 + number, 40_000)) {
                        Ok(kept) => drop(stored.fetch_add(kept.stored_bytes, Ordering::SeqCst)),
                        Err(StoreError::QuotaFull { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let stored = stored.into_inner();
    assert_eq!(SqliteStore::open(&path, quotas).unwrap().usage().unwrap().stored_bytes, stored);
    assert!(stored <= limit && stored > limit - 41_000, "{stored} of {limit} bytes are used");
}

/// SQLite gives the number of a deleted row to the next one. Before the statement named owner and digest as well, a
/// reader got the bytes of whoever stored next.
#[test]
fn an_open_result_is_gone_when_another_has_the_number_of_its_body() {
    let folder = tempfile::tempdir().unwrap();
    let (store, other_process) = (store_in(folder.path()), store_in(folder.path()));
    let mine = noise(1, 300_000);
    let kept = put(&store, &mine).unwrap();
    let source = open(&store, &owner(), &kept.id).unwrap();
    let mut first = vec![0; 1000];
    source.read_at(0, &mut first).unwrap();
    assert!(first == mine[..1000]);
    other_process.delete(&owner(), &kept.id).unwrap();
    let (other, session) = (Owner::new("local:2"), Session::new("two"));
    let new = NewArtifact::new(&other, &session, "tool", Duration::from_secs(3600));
    other_process.put(&new, &noise(2, 300_000), &|| Ok(Description::default())).unwrap();
    let rest = Span { start: 100_000, end: 300_000 }.read(&source);
    assert!(rest.is_err(), "the bytes of another owner");
}

/// A source that lets another process sweep between two batches of its body: what a process does that is stopped for longer
/// than unfinished bodies are kept.
struct Interrupted<'s> {
    bytes: Vec<u8>,
    at: u64,
    interrupt: &'s (dyn Fn() + Sync),
}

impl Source for Interrupted<'_> {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        if offset <= self.at && self.at < offset + buffer.len() as u64 {
            (self.interrupt)();
        }
        self.bytes.as_slice().read_at(offset, buffer)
    }
}

#[test]
fn a_body_that_was_swept_meanwhile_is_not_written_into_another() {
    let folder = tempfile::tempdir().unwrap();
    let (store, other_process) = (store_in(folder.path()), store_in(folder.path()));
    let connection = rusqlite::Connection::open(folder.path().join("artifacts.db")).unwrap();
    let theirs = noise(9, 200_000);
    let swept = std::sync::Mutex::new(None);
    let interrupt = || {
        let unfinished: i64 = connection_count(folder.path(), "SELECT count(*) FROM body WHERE visible = 0");
        if unfinished == 1 {
            connection_count(folder.path(), "UPDATE body SET created = 0 WHERE visible = 0 RETURNING 1");
            other_process.sweep().unwrap();
            *swept.lock().unwrap() = Some(put(&other_process, &theirs).unwrap().id);
        }
    };
    // The second batch begins after 8 MB.
    let source = Interrupted { bytes: noise(3, 20_000_000), at: 9_000_000, interrupt: &interrupt };
    let session = Session::new("one");
    let mine = owner();
    let new = NewArtifact::new(&mine, &session, "tool", Duration::from_secs(3600));
    let refused = store.put(&new, &source, &|| Ok(Description::default()));
    assert!(refused.is_err(), "{refused:?}");
    let id = swept.into_inner().unwrap().expect("it was interrupted");
    let kept = open(&store, &owner(), &id).unwrap();
    assert!(Span::whole(&kept).read(&kept).unwrap() == theirs, "what the other process stored is whole");
    let chunks: i64 = connection.query_row("SELECT count(*) FROM chunk", [], |row| row.get(0)).unwrap();
    assert_eq!(chunks, 4, "and nothing else is there");
}

fn connection_count(folder: &std::path::Path, sql: &str) -> i64 {
    let connection = rusqlite::Connection::open(folder.join("artifacts.db")).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}
