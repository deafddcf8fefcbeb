//! The ledger.

use tidegate_store::{Call, Ledger, Millis, SqliteLedger};

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
    }
}

#[test]
fn calls_are_noted_in_order_and_survive_a_restart() {
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
fn old_notes_go() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SqliteLedger::open(&folder.path().join("ledger.db")).unwrap();
    ledger.note(call(1));
    ledger.flush();
    ledger.note(call(100 * 24 * 3600 * 1000));
    assert_eq!(ledger.calls(Millis(0), 10).unwrap().len(), 1);
}

#[test]
fn several_processes_note_into_one_file() {
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
