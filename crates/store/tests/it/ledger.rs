//! Tests of the ledger: order, restarts, several processes, older schemas, read-only files.
//!
//! Losing the last batch of a killed process is allowed, so that no test here kills one.

use std::path::Path;

use rusqlite::Connection;
use tidegate_store::{Call, CountMethod, Ledger, Millis, SqliteLedger, read_calls};

fn call(at: i64) -> Call {
    Call {
        at: Millis(at),
        client: "claude-code".into(),
        server: "github".into(),
        tool: "list_issues".into(),
        step: "overview".into(),
        raw_bytes: 512_340,
        raw_tokens: 128_040,
        sent_bytes: 2100,
        sent_tokens: 605,
        added_micros: 1800,
        artifact: (at % 2 == 0).then(|| "3f9c2kq7m0xw".into()),
        session: Some("process:7:0".into()),
        view: (at % 3 == 0).then(|| "full".into()),
        stored_bytes: 31_000,
        counted: Some(CountMethod { vocabulary: "o200k".into(), margin_percent: 30 }),
        budget_tokens: 605,
        owner: (at % 5 == 0).then(|| "local:1".into()),
    }
}

/// A call as schema version 0 recorded it.
fn version_0_call(at: i64) -> Call {
    Call {
        session: None,
        view: None,
        stored_bytes: 0,
        counted: None,
        budget_tokens: 0,
        owner: None,
        ..call(at)
    }
}

/// Creates a ledger of schema version 0 with some calls.
fn create_version_0(path: &Path, times: std::ops::Range<i64>) {
    let file = Connection::open(path).unwrap();
    file.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE call (
            at INTEGER NOT NULL, client TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, step TEXT NOT NULL,
            raw_bytes INTEGER NOT NULL, raw_tokens INTEGER NOT NULL, sent_bytes INTEGER NOT NULL,
            sent_tokens INTEGER NOT NULL, added_micros INTEGER NOT NULL, artifact TEXT);
         CREATE INDEX call_by_time ON call (at);",
    )
    .unwrap();
    for at in times {
        let artifact = version_0_call(at).artifact;
        let texts = "'claude-code', 'github', 'list_issues', 'overview'";
        let insert = format!("INSERT INTO call VALUES (?1, {texts}, 512340, 128040, 2100, 605, 1800, ?2)");
        file.execute(&insert, (at, artifact)).unwrap();
    }
}

fn read(path: &Path, since: i64) -> Vec<Call> {
    let mut calls = Vec::new();
    read_calls(path, Millis(since), &mut |call| calls.push(call)).unwrap();
    calls
}

#[test]
fn calls_are_recorded_in_order_and_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let expected: Vec<Call> = (0..2500).map(call).collect();
    {
        let ledger = SqliteLedger::open(&path).unwrap();
        expected.iter().for_each(|call| ledger.note(call.clone()));
        assert_eq!(ledger.calls(Millis(0), 10_000).unwrap(), expected);
        ledger.note(call(9999));
    }
    let ledger = SqliteLedger::open(&path).unwrap();
    assert_eq!(ledger.calls(Millis(2499), 10).unwrap(), [call(2499), call(9999)]);
}

#[test]
fn old_calls_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SqliteLedger::open(&folder.path().join("ledger.db")).unwrap();
    ledger.note(call(1));
    ledger.flush();
    ledger.note(call(100 * 24 * 3600 * 1000));
    assert_eq!(ledger.calls(Millis(0), 10).unwrap().len(), 1);
}

#[test]
fn several_processes_share_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledgers: Vec<SqliteLedger> = (0..4).map(|_| SqliteLedger::open(&path).unwrap()).collect();
    std::thread::scope(|scope| {
        for ledger in &ledgers {
            scope.spawn(move || (0..500).for_each(|at| ledger.note(call(at))));
        }
    });
    ledgers.iter().for_each(SqliteLedger::flush);
    assert_eq!(ledgers[0].calls(Millis(0), 10_000).unwrap().len(), 2000);
}

#[test]
fn an_older_ledger_is_read_and_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    create_version_0(&path, 0..4);
    let mut expected: Vec<Call> = (0..4).map(version_0_call).collect();
    assert_eq!(read(&path, 0), expected, "read without being migrated");

    // Several processes may open it at once.
    let opened: Vec<SqliteLedger> = std::thread::scope(|scope| {
        let opening: Vec<_> = (0..4).map(|_| scope.spawn(|| SqliteLedger::open(&path).unwrap())).collect();
        opening.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    opened[3].note(call(4));
    expected.push(call(4));
    opened[3].flush();
    assert_eq!(opened[0].calls(Millis(0), 10).unwrap(), expected);
    assert_eq!(read(&path, 3), expected[3..]);
}

#[test]
fn reading_creates_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    assert_eq!(read(&path, 0), []);
    assert!(!path.exists());
    std::fs::write(&path, "").unwrap();
    assert_eq!(read(&path, 0), [], "an empty file has no calls");
    std::fs::write(&path, "not a ledger\n".repeat(500)).unwrap();
    assert!(read_calls(&path, Millis(0), &mut |_| ()).is_err());
}

#[cfg(unix)]
#[test]
fn a_read_only_ledger_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    {
        let ledger = SqliteLedger::open(&path).unwrap();
        ledger.note(call(1));
    }
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    mode(&path, 0o400).unwrap();
    mode(folder.path(), 0o500).unwrap();
    let calls = read(&path, 0);
    mode(folder.path(), 0o700).unwrap();
    assert_eq!(calls, [call(1)]);
}
