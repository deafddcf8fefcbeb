//! `tidegate stats`: the figures are those of what was really called.

use std::path::Path;

use serde_json::{Value, json};
use tidegate_core::measure::{Meter, cost};
use tidegate_core::payload::Payload;
use tidegate_store::{Call, Clock, CountMethod, Ledger, Millis, SqliteLedger, SystemClock};

use crate::place::Place;
use crate::session::{Session, handle};
use crate::{Outcome, tidegate, tidegate_in};

fn stats(home: &Path, arguments: &[&str]) -> Outcome {
    tidegate_in(Some(home), &[&["stats"], arguments].concat(), b"")
}

fn figures(home: &Path, arguments: &[&str]) -> Value {
    let outcome = stats(home, &[arguments, &["--format", "json"]].concat());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    serde_json::from_slice(&outcome.stdout).unwrap()
}

/// What a run showed, for a snapshot.
fn shown(outcome: &Outcome) -> String {
    format!("exit code {}\n-- stdout\n{}-- stderr\n{}", outcome.code, outcome.text(), outcome.stderr)
}

fn tokens(result: &[u8]) -> u64 {
    let payload = Payload::read_result(&result).unwrap();
    cost(&payload, &Meter::default()).unwrap().tokens.0
}

/// Calls a tool and returns the bytes of the result as they came over the wire.
fn result(session: &mut Session, tool: &str, arguments: Value) -> Vec<u8> {
    session.ask("tools/call", json!({"name": tool, "arguments": arguments}));
    let line = String::from_utf8(session.line().unwrap()).unwrap();
    let (_, result) = line.split_once("\"result\":").unwrap();
    result.trim_start().strip_suffix('}').unwrap().as_bytes().to_vec()
}

fn text(result: &[u8]) -> String {
    let result: Value = serde_json::from_slice(result).unwrap();
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// A call at noon of a day of November 2026, as the ledger holds it.
fn call(day: i64, tool: &str, step: &str, (raw, sent): (u64, u64)) -> Call {
    let noon = Millis::parse("2026-11-01T12:00:00Z").unwrap();
    Call {
        at: Millis(noon.0 + (day - 1) * 86_400_000),
        client: "claude-code".into(),
        server: "github".into(),
        tool: tool.into(),
        step: step.into(),
        raw_bytes: raw * 4,
        raw_tokens: raw,
        sent_bytes: sent * 4,
        sent_tokens: sent,
        added_micros: if step == "pass" { 20 } else { 12_300 },
        artifact: None,
        session: Some("process:1:a".into()),
        view: None,
        stored_bytes: 0,
        counted: Some(CountMethod { vocabulary: "o200k".into(), margin_percent: 30 }),
        budget_tokens: 0,
        owner: None,
    }
}

fn shaped(day: i64, tool: &str, raw: u64, artifact: &str) -> Call {
    Call { artifact: Some(artifact.into()), stored_bytes: raw, ..call(day, tool, "overview", (raw, 1500)) }
}

fn follow_up(day: i64, tool: &str, view: &str, sent: u64, artifact: &str) -> Call {
    let call = call(day, tool, "view", (sent, sent));
    Call { artifact: Some(artifact.into()), view: Some(view.into()), ..call }
}

fn note(home: &Path, calls: &[Call]) {
    let ledger = SqliteLedger::open(&home.join("ledger.db")).unwrap();
    calls.iter().for_each(|call| ledger.note(call.clone()));
}

/// Three days of two clients: a heavy tool, a light one, and one whose results are always read whole.
fn three_days(home: &Path) {
    let codex = |call: Call| Call {
        client: "codex-mcp-client".into(),
        session: Some("process:2:b".into()),
        counted: Some(CountMethod { vocabulary: "o200k".into(), margin_percent: 0 }),
        ..call
    };
    let mut calls = vec![
        shaped(1, "list_issues", 120_000, "aaaaaaaaaaa1"),
        follow_up(1, "list_issues", "summary", 1500, "aaaaaaaaaaa1"),
        follow_up(1, "list_issues", "sql", 300, "aaaaaaaaaaa1"),
        call(1, "get_issue", "pass", (400, 400)),
        codex(shaped(2, "list_issues", 80_000, "aaaaaaaaaaa2")),
        codex(call(2, "get_issue", "pass", (600, 600))),
    ];
    for at in 0..4 {
        let name = format!("bbbbbbbbbbb{at}");
        calls.push(shaped(4, "get.file", 2600 + at, &name));
        calls.push(follow_up(4, "get.file", "full", 2600 + at, &name));
    }
    note(home, &calls);
}

#[test]
fn the_figures_are_those_of_what_was_called() {
    let place = Place::new();
    let mut session = place.start(&["--server", "hub"]);
    let (mut raw, mut sent) = (Vec::new(), 0);
    for count in 0..7 {
        let result = result(&mut session, "rows", json!({"n": count}));
        sent += tokens(&result);
        raw.push(result);
    }
    let mut handles = Vec::new();
    for count in 400..403 {
        let answer = text(&result(&mut session, "rows", json!({"n": count})));
        sent += Meter::default().count(&answer).0;
        handles.push(handle(&answer));
    }
    let mut follow_ups = 0;
    for arguments in
        [json!({"id": handles[0], "sql": "select count(*) from t"}), json!({"id": handles[2], "page": 2})]
    {
        let answer = text(&result(&mut session, "result_query", arguments));
        follow_ups += Meter::default().count(&answer).0;
    }
    session.end();
    raw.extend(handles.iter().map(|name| place.export(name)));
    let raw_tokens: u64 = raw.iter().map(|result| tokens(result)).sum();
    let sent = sent + follow_ups;
    let stored: u64 = handles
        .iter()
        .map(|name| {
            let shown = tidegate_in(Some(&place.home()), &["show", name, "--format", "json"], b"");
            serde_json::from_slice::<Value>(&shown.stdout).unwrap()["stored_bytes"].as_u64().unwrap()
        })
        .sum();

    let found = figures(&place.home(), &["--by", "tool"]);
    for (name, value) in [
        ("calls", json!(10)),
        ("shaped", json!(3)),
        ("follow_ups", json!(2)),
        ("follow_ups_per_shaped", json!(0.67)),
        ("reruns_avoided", json!(2)),
        ("raw_tokens", json!(raw_tokens)),
        ("raw_bytes", json!(raw.iter().map(Vec::len).sum::<usize>())),
        ("sent_tokens", json!(sent)),
        ("follow_up_tokens", json!(follow_ups)),
        ("over_10_kb_before", json!(3)),
        ("observed_calls", json!(0)),
        ("sessions", json!(1)),
        ("stored_bytes_per_session", json!(stored)),
        ("store_results", json!(3)),
        ("store_bytes", json!(stored)),
        ("advice", json!([])),
    ] {
        assert_eq!(found[name], value, "{name} in {found:#}");
    }
    let saved = 100.0 * (1.0 - sent as f64 / raw_tokens as f64);
    assert!((found["saved_percent"].as_f64().unwrap() - saved).abs() <= 0.05, "{found:#}");
    assert!(found["added_micros_p50"].as_u64() <= found["added_micros_p99"].as_u64(), "{found:#}");
    assert_eq!(found["counted"][0]["vocabulary"], "o200k");
    assert_eq!(found["counted"][0]["clients"], json!(["somebody"]));
    let of_tool = &found["groups"][0];
    assert_eq!(
        (&of_tool["server"], &of_tool["tool"], &of_tool["calls"]),
        (&json!("hub"), &json!("rows"), &json!(10))
    );
    assert_eq!(of_tool["follow_ups"], 2, "they count for the tool whose result they read");
}

#[test]
fn follow_ups_of_every_kind_are_noted() {
    let place = Place::new();
    let mut session = place.start(&["--server", "first"]);
    let id = session.keep_rows(400);
    session.text("result_query", json!({"id": id}));
    session.request("resources/read", json!({"uri": format!("ax://rows/{}?grep=399", &id[5..])}));
    session.end();
    // Through another server: the result is still that of the first.
    let mut other = place.start(&["--server", "second"]);
    other.text("result_query", json!({"id": id, "mode": "full"}));
    let refused = other.text("result_query", json!({"id": id, "jq": "]"}));
    other.end();
    let found = figures(&place.home(), &["--by", "server"]);
    assert_eq!(
        (&found["follow_ups"], &found["reruns_avoided"]),
        (&json!(4), &json!(2)),
        "a summary is no news, nor is a refusal"
    );
    assert_eq!(found["groups"].as_array().unwrap().len(), 2, "{found:#}");
    let second = &found["groups"][1];
    assert_eq!(
        (&second["server"], &second["sent_tokens"]),
        (&json!("second"), &json!(Meter::default().count(&refused).0))
    );
    assert_eq!((&found["groups"][0]["server"], &found["sessions"]), (&json!("first"), &json!(2)));
}

#[test]
fn calls_that_were_only_observed_are_apart() {
    let place = Place::new();
    let mut session = place.start(&["--observe"]);
    session.text("rows", json!({"n": 400}));
    session.end();
    let found = figures(&place.home(), &[]);
    assert_eq!(
        (&found["calls"], &found["raw_tokens"], &found["observed_calls"]),
        (&json!(0), &json!(0), &json!(1))
    );
    let outcome = stats(&place.home(), &[]);
    assert!(outcome.text().starts_with("Only observed so far: 1 call, "), "{}", outcome.text());
}

#[test]
fn figures_are_shown_in_every_format() {
    let place = Place::new();
    three_days(&place.home());
    insta::assert_snapshot!("stats", shown(&stats(&place.home(), &[])));
    insta::assert_snapshot!("stats_by_tool", shown(&stats(&place.home(), &["--by", "tool"])));
    insta::assert_snapshot!(
        "stats_by_client_csv",
        shown(&stats(&place.home(), &["--by", "client", "--format", "csv"]))
    );
    insta::assert_snapshot!(
        "stats_by_day_json",
        shown(&stats(&place.home(), &["--by", "day", "--format", "json"]))
    );
    insta::assert_snapshot!("stats_graph", shown(&stats(&place.home(), &["--graph"])));
    insta::assert_snapshot!(
        "stats_graph_by_tool",
        shown(&stats(&place.home(), &["--graph", "--by", "tool"]))
    );
}

#[test]
fn statistics_of_a_ledger_of_an_earlier_version_show_what_it_has() {
    let place = Place::new();
    let path = place.home().join("ledger.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(
        "CREATE TABLE call (at INTEGER NOT NULL, client TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL,
            step TEXT NOT NULL, raw_bytes INTEGER NOT NULL, raw_tokens INTEGER NOT NULL, sent_bytes INTEGER NOT NULL,
            sent_tokens INTEGER NOT NULL, added_micros INTEGER NOT NULL, artifact TEXT);
         INSERT INTO call VALUES (1793534400000, 'x', 's', 't', 'overview', 40000, 9000, 4000, 900, 1500, 'aaaaaaaaaaa1');
         INSERT INTO call VALUES (1793534400001, 'x', 's', 't', 'view', 400, 90, 400, 90, 1500, 'aaaaaaaaaaa1');",
    )
    .unwrap();
    drop(old);
    let found = figures(&place.home(), &[]);
    for (name, value) in [
        ("saved_percent", json!(89.0)),
        ("reruns_avoided", json!(1)),
        ("sessions", json!(0)),
        ("stored_bytes_per_session", Value::Null),
    ] {
        assert_eq!(found[name], value, "{name}");
    }
    assert_eq!(found["counted"][0]["vocabulary"], Value::Null);
    let text = stats(&place.home(), &[]);
    assert!(text.text().contains("counted with an unknown vocabulary;"), "{}", text.text());
}

#[test]
fn since_and_server_select_calls() {
    let place = Place::new();
    let now = SystemClock.now();
    let ago = |hours: i64, server: &str| Call {
        at: Millis(now.0 - hours * 3_600_000),
        server: server.into(),
        ..call(1, "t", "pass", (100, 100))
    };
    note(&place.home(), &[ago(100, "old"), ago(30, "a"), ago(3, "a"), ago(1, "b")]);
    let calls = |arguments: &[&str]| figures(&place.home(), arguments)["calls"].as_u64().unwrap();
    let day = Millis(now.0 - 72 * 3_600_000).day();
    for (arguments, expected) in [
        (&[][..], 4),
        (&["--since", "2h"], 1),
        (&["--since", "7d"], 4),
        (&["--since", "2d"], 3),
        (&["--since", &day], 3),
        (&["--server", "a"], 2),
        (&["--server", "a", "--since", "4h"], 1),
        (&["--server", "A"], 0),
    ] {
        assert_eq!(calls(arguments), expected, "{arguments:?}");
    }
}

/// A result that the store could not take is read from memory, and no bytes of it were stored.
#[test]
fn answers_from_memory_are_reported() {
    let place = Place::new();
    let line = |home: &Path| {
        let page = stats(home, &[]);
        let line = page.text().lines().find(|line| line.starts_with("re-runs avoided")).unwrap();
        line.trim_start_matches("re-runs avoided").trim().to_owned()
    };
    let in_memory = Call { stored_bytes: 0, ..shaped(1, "list_issues", 9000, "aaaaaaaaaaa1") };
    note(&place.home(), &[in_memory, follow_up(1, "list_issues", "sql", 300, "aaaaaaaaaaa1")]);
    assert_eq!(line(&place.home()), "1, answered from memory instead");
    let stored = shaped(2, "list_issues", 9000, "aaaaaaaaaaa2");
    let pages = [1, 2].map(|_| follow_up(2, "list_issues", "page", 300, "aaaaaaaaaaa2"));
    note(&place.home(), &[&[stored][..], &pages].concat());
    assert_eq!(line(&place.home()), "3, answered 2 from the store and 1 from memory instead");
    let report = figures(&place.home(), &["--by", "day"]);
    assert_eq!((&report["reruns_avoided"], &report["reruns_avoided_from_memory"]), (&json!(3), &json!(1)));
    assert_eq!(report["groups"][1]["reruns_avoided_from_memory"], 0);
}

/// What is advised is right: with it set, the results come whole.
#[test]
fn following_the_advice_lets_the_results_pass() {
    let place = Place::new();
    let mut session = place.start(&["--server", "my hub"]);
    for count in 70..74 {
        let id = session.keep_rows(count);
        session.text("result_query", json!({"id": id, "mode": "full"}));
    }
    session.end();
    let advice = figures(&place.home(), &[])["advice"][0].take();
    assert_eq!((&advice["server"], &advice["tool"]), (&json!("my hub"), &json!("rows")));
    assert_eq!((&advice["shaped"], &advice["read_whole"]), (&json!(4), &json!(4)));
    let policy = advice["policy"].as_str().unwrap();
    assert!(policy.starts_with("[server.\"my hub\".tool.rows]\nline_tokens = "), "{policy}");
    place.configure(policy);
    let mut session = place.start(&["--server", "my hub"]);
    let text = session.text("rows", json!({"n": 72}));
    assert_eq!(serde_json::from_str::<Vec<Value>>(&text).unwrap().len(), 72, "whole");
}

#[test]
fn empty_reports_and_bad_options_say_what_to_do() {
    let place = Place::new();
    let nothing = stats(&place.home(), &[]);
    insta::assert_snapshot!("stats_of_nothing", shown(&nothing));
    assert_eq!(std::fs::read_dir(place.home()).unwrap().count(), 0, "looking makes nothing");
    three_days(&place.home());
    insta::assert_snapshot!("stats_of_nobody", shown(&stats(&place.home(), &["--server", "nobody"])));
    insta::assert_snapshot!("stats_since_when", shown(&stats(&place.home(), &["--since", "yesterday"])));
    insta::assert_snapshot!(
        "stats_two_formats",
        shown(&stats(&place.home(), &["--graph", "--format", "csv"]))
    );
    std::fs::write(place.home().join("ledger.db"), "not a ledger\n".repeat(500)).unwrap();
    let damaged = stats(&place.home(), &[]);
    assert_eq!((damaged.code, damaged.text()), (3, ""));
    assert!(
        damaged.stderr.contains("ledger.db") && damaged.stderr.contains("move the file away"),
        "{}",
        damaged.stderr
    );
}

#[test]
fn help_and_its_examples() {
    let help = tidegate(&["stats", "--help"], b"");
    insta::assert_snapshot!("stats_help", help.text());
    let place = Place::new();
    three_days(&place.home());
    note(&place.home(), &[Call { at: SystemClock.now(), ..call(1, "get_issue", "pass", (400, 400)) }]);
    let examples: Vec<&str> =
        help.text().lines().filter_map(|line| line.strip_prefix("  tidegate stats")).collect();
    assert_eq!(examples.len(), 4);
    for example in examples {
        let arguments: Vec<&str> = example.split_whitespace().collect();
        let outcome = stats(&place.home(), &arguments);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{example}");
    }
}

/// The figures are still right where nothing can be stored, and why nothing can be is told.
#[test]
fn a_store_that_cannot_be_used_is_reported() {
    let place = Place::new();
    three_days(&place.home());
    let stats = |format: &str| tidegate_in(Some(&place.home()), &["stats", "--format", format], b"");
    let report = |outcome: &Outcome| serde_json::from_slice::<Value>(&outcome.stdout).unwrap();
    let before = report(&stats("json"));
    assert_eq!((&before["store_problem"], &before["store_results"]), (&Value::Null, &json!(0)));
    std::fs::write(place.home().join("artifacts.db"), "not a database\n".repeat(500)).unwrap();
    let outcome = stats("json");
    let after = report(&outcome);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("tidegate: nothing can be stored in "), "{}", outcome.stderr);
    assert!(after["store_problem"].as_str().unwrap().contains("is damaged"), "{after}");
    assert_eq!((&after["calls"], &after["store_results"]), (&before["calls"], &Value::Null));
    let text = stats("text");
    assert!(
        text.text().lines().any(|line| line.split_whitespace().eq(["store", "unknown"])),
        "{}",
        text.text()
    );
}
