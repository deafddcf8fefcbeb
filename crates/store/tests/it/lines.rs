//! The ledger as JSON lines: order, months, several processes, torn lines.

use std::fs;
use std::path::Path;

use tidegate_store::{Call, CountMethod, Ledger, LineLedger, Millis, read_lines};

const DAY: i64 = 24 * 3600 * 1000;
/// 2026-11-14.
const START: i64 = 1_794_614_400_000;

fn call(at: i64) -> Call {
    Call {
        at: Millis(START + at),
        client: "claude-code".into(),
        server: "git\nhub".into(),
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
        budget_tokens: 1000,
        owner: None,
        counted: (at % 5 != 0).then(|| CountMethod { vocabulary: "o200k".into(), margin_percent: 30 }),
    }
}

/// Returns the calls since a time, and how many lines were skipped.
fn read(folder: &Path, since: i64) -> (Vec<Call>, u64) {
    let mut calls = Vec::new();
    let skipped = read_lines(folder, Millis(since), &mut |call| calls.push(call)).unwrap();
    (calls, skipped)
}

#[test]
fn calls_are_recorded_in_order_and_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let expected: Vec<Call> = (0..2500).map(call).collect();
    {
        let ledger = LineLedger::open(folder.path()).unwrap();
        expected.iter().for_each(|call| ledger.note(call.clone()));
        assert_eq!(ledger.calls(Millis(0), 10_000).unwrap(), expected);
        assert_eq!(ledger.calls(Millis(0), 3).unwrap(), expected[..3]);
        ledger.note(call(9999));
    }
    let ledger = LineLedger::open(folder.path()).unwrap();
    assert_eq!(ledger.calls(Millis(START + 2499), 10).unwrap(), [call(2499), call(9999)]);
}

#[test]
fn each_month_has_a_file_and_old_ones_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = LineLedger::open(folder.path()).unwrap();
    for month in 0..4 {
        ledger.note(call(month * 30 * DAY));
    }
    assert_eq!(ledger.calls(Millis(0), 10).unwrap().len(), 4);
    for name in ["calls-2026-11.jsonl", "calls-2026-12.jsonl", "calls-2027-01.jsonl", "calls-2027-02.jsonl"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
    assert_eq!(read(folder.path(), START + 30 * DAY).0.len(), 3);
    ledger.note(call(150 * DAY));
    ledger.flush();
    let times: Vec<i64> = read(folder.path(), 0).0.iter().map(|call| (call.at.0 - START) / DAY).collect();
    assert_eq!(times, [60, 90, 150], "a month is deleted when its last day is 90 days ago");
}

#[test]
fn several_processes_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let ledgers: Vec<LineLedger> = (0..4).map(|_| LineLedger::open(folder.path()).unwrap()).collect();
    std::thread::scope(|scope| {
        for ledger in &ledgers {
            scope.spawn(move || (0..500).for_each(|at| ledger.note(call(at))));
        }
    });
    ledgers.iter().for_each(Ledger::flush);
    let (calls, skipped) = read(folder.path(), 0);
    assert_eq!((calls.len(), skipped), (2000, 0));
    assert!(calls.is_sorted_by_key(|call| call.at), "oldest first, whoever wrote them");
}

#[test]
fn a_torn_line_is_skipped_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = LineLedger::open(folder.path()).unwrap();
    ledger.note(call(1));
    ledger.note(call(2));
    ledger.flush();
    let path = folder.path().join("calls-2026-11.jsonl");
    let lines = fs::read(&path).unwrap();
    // Wherever the second line is cut, the first is read, and what follows is not part of it.
    let first = lines.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in (first + 1..lines.len() - 1).step_by(17) {
        fs::write(&path, &lines[..cut]).unwrap();
        assert_eq!(read(folder.path(), 0), (vec![call(1)], 1));
        let ledger = LineLedger::open(folder.path()).unwrap();
        ledger.note(call(3));
        ledger.flush();
        assert_eq!(read(folder.path(), 0), (vec![call(1), call(3)], 1));
    }
}

#[test]
fn reading_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    assert_eq!(read(&missing, 0), (Vec::new(), 0));
    assert!(!missing.exists());
    fs::write(folder.path().join("calls-of-nobody.jsonl"), "text").unwrap();
    assert_eq!(read(folder.path(), 0), (Vec::new(), 0), "not a file of ours");
    fs::write(folder.path().join("calls-2026-11.jsonl"), [0xff; 50]).unwrap();
    assert_eq!(read(folder.path(), 0), (Vec::new(), 1));
}
