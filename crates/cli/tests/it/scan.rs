//! `tidegate scan`: which tools are heavy, from the ledger and by looking.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tidegate_core::measure::Meter;
use tidegate_testkit::hostile::Mode;

use crate::http::Listening;
use crate::place::{Place, hostile_program};
use crate::{Outcome, tidegate, tidegate_in};

fn probed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/probed.py")
}

fn shown(outcome: &Outcome) -> String {
    format!("exit code {}\n-- stdout\n{}-- stderr\n{}", outcome.code, outcome.text(), outcome.stderr)
}

fn json_of(outcome: &Outcome) -> Value {
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    serde_json::from_slice(&outcome.stdout).unwrap()
}

/// Runs `tidegate scan` with the environment that the probed server needs.
fn scan(place: &Place, arguments: &[&str], environment: &[(&str, &str)]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .arg("scan")
        .args(arguments)
        .env("COLUMNS", "100")
        .env("TIDEGATE_HOME", place.home())
        .env("PROBED_CALLS", place.folder.path().join("calls"))
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Probes the fixture.
fn probe(place: &Place, flags: &[&str], environment: &[(&str, &str)]) -> Outcome {
    let server = probed();
    let command = ["--", "python3", "-S", server.to_str().unwrap()];
    scan(place, &[&["--probe"], flags, &command].concat(), environment)
}

fn calls(place: &Place) -> Vec<Value> {
    let lines = std::fs::read_to_string(place.folder.path().join("calls")).unwrap_or_default();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn recorded_calls_are_measured() {
    let place = Place::new();
    let mut session = place.start(&["--server", "hub", "--observe"]);
    let mut sizes: Vec<u64> = (1..=40)
        .map(|count| Meter::default().count(&session.text("rows", json!({"n": 2 * count}))).0)
        .collect();
    session.text("given", json!({}));
    let listed = session.request("tools/list", json!({}))["result"]["tools"].take();
    session.end();
    let mut session = place.start(&["--server", "other"]);
    let id = session.keep_rows(400);
    session.text("result_query", json!({"id": id, "mode": "full"}));
    session.end();
    sizes.sort_unstable();

    let found = json_of(&tidegate_in(Some(&place.home()), &["scan", "--format", "json"], b""));
    let tools = found["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 3, "{found:#}");
    let of = |server: &str, tool: &str| {
        tools.iter().find(|row| row["server"] == server && row["tool"] == tool).unwrap()
    };
    let rows = of("hub", "rows");
    for (name, value) in [
        ("calls", 40),
        ("observed_calls", 40),
        ("median_tokens", sizes[19]),
        ("p95_tokens", sizes[37]),
        ("max_tokens", sizes[39]),
        ("total_tokens", sizes.iter().sum()),
    ] {
        assert_eq!(rows[name], value, "{name}");
    }
    assert_eq!(rows["heavy"], true);
    assert_eq!((&of("hub", "given")["heavy"], &of("other", "rows")["calls"]), (&json!(false), &json!(1)));
    let told = |tool: &Value| {
        let (name, description, parameters) = (&tool["name"], &tool["description"], &tool["inputSchema"]);
        json!({"name": name, "description": description, "parameters": parameters}).to_string()
    };
    let list: u64 = listed.as_array().unwrap().iter().map(|tool| Meter::default().count(&told(tool)).0).sum();
    assert_eq!(found["tools_list_tokens"]["hub"], list);
    assert_eq!(found["counted_with"], json!(["o200k"]));
    let shares: f64 = tools.iter().map(|row| row["share_percent"].as_f64().unwrap()).sum();
    assert!((shares - 100.0).abs() < 0.2, "{shares}");

    let outcome = tidegate_in(Some(&place.home()), &["scan"], b"");
    insta::assert_snapshot!("scan", shown(&outcome));
    let narrow = tidegate_in(Some(&place.home()), &["scan", "--server", "other", "--format", "csv"], b"");
    insta::assert_snapshot!("scan_csv", shown(&narrow));
}

#[test]
fn a_server_is_measured_by_calling_its_safe_tools() {
    let place = Place::new();
    let outcome = probe(&place, &["--timeout", "1s"], &[]);
    insta::assert_snapshot!("scan_probe", shown(&outcome));
    let expected = [
        json!(["list_all", {"level": 3}]),
        json!(["status", {}]),
        json!(["kinds", {"kind": "small"}]),
        json!(["wrong", {}]),
        json!(["slow", {}]),
    ];
    let called: Vec<Value> = calls(&place).into_iter().filter(|call| call[0] != "refused").collect();
    assert_eq!(called, expected);
    assert_eq!(std::fs::read_dir(place.home()).unwrap().count(), 0, "nothing is kept and nothing noted");
    place.assert_empty();
}

#[test]
fn what_a_probe_finds_adds_up() {
    let place = Place::new();
    let found = json_of(&probe(&place, &["--timeout", "1s", "--server", "mine", "--format", "json"], &[]));
    let listed = found["tools_list"].as_array().unwrap();
    assert_eq!(listed.len(), 10, "both pages of the list");
    let sum: u64 = listed.iter().map(|tool| tool["tokens"].as_u64().unwrap()).sum();
    assert_eq!(found["tools_list_tokens"], sum);
    let told = json!({"name": "status", "description": "Does status", "parameters": {"type": "object"}});
    assert_eq!(listed[1]["tokens"], Meter::default().count(&told.to_string()).0);
    let names: Vec<&str> =
        found["tools"].as_array().unwrap().iter().map(|row| row["tool"].as_str().unwrap()).collect();
    assert_eq!((names[0], names.len(), &found["tools"][0]["server"]), ("list_all", 3, &json!("mine")));
    let measured = listed.iter().filter(|tool| tool["not_measured"].is_null()).count();
    assert_eq!(measured, names.len());
    let csv = probe(&place, &["--timeout", "1s", "--format", "csv"], &[]);
    assert_eq!(csv.text().lines().count(), 1 + 10, "{}", csv.text());
}

#[test]
fn fail_above_fails_for_larger_results() {
    let place = Place::new();
    let fails = |flags: &[&str]| {
        let outcome = probe(&place, &[&["--timeout", "1s", "--format", "json"], flags].concat(), &[]);
        let found: Value = serde_json::from_slice(&outcome.stdout).unwrap();
        (outcome.code, outcome.stderr, found)
    };
    let (code, stderr, found) = fails(&["--fail-above", "100000"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    let largest = found["tools"][0]["max_tokens"].as_u64().unwrap();
    let list = found["tools_list_tokens"].as_u64().unwrap();
    assert!(largest > list, "{found:#}");
    assert_eq!(fails(&["--fail-above", &largest.to_string()]).0, 0, "the limit itself is allowed");
    let (code, stderr, _) = fails(&["--fail-above", &(largest - 1).to_string()]);
    assert_eq!(code, 1);
    assert!(stderr.contains("list_all (") && !stderr.contains("tool list"), "{stderr}");
    let (code, stderr, _) = fails(&["--fail-above", &(list - 1).to_string()]);
    assert!(code == 1 && stderr.contains("tool list of "), "{stderr}");

    let unmeasured = scan(&place, &["--fail-above", "8000"], &[]);
    assert_eq!(unmeasured.code, 1, "a gate that checks nothing is closed");
    assert!(unmeasured.stderr.contains("no result was measured"), "{}", unmeasured.stderr);
}

#[test]
fn a_server_over_http() {
    let place = Place::new();
    let server = probed();
    let calls_file = place.folder.path().join("calls");
    let command = format!("PROBED_CALLS={} exec python3 -S {}", calls_file.display(), server.display());
    let listening = Listening::start(&place.home(), &["--observe", "--", "sh", "-c", &command]);
    let url = format!("http://127.0.0.1:{}/mcp", listening.port);
    let found =
        json_of(&scan(&place, &["--probe", "--timeout", "1s", "--url", &url, "--format", "json"], &[]));
    assert_eq!((&found["server"], found["tools"].as_array().unwrap().len()), (&json!("127.0.0.1"), 3));
    assert_eq!(calls(&place)[0], json!(["list_all", {"level": 3}]));
}

#[test]
fn servers_that_cannot_be_measured() {
    let place = Place::new();
    let died = probe(&place, &[], &[("PROBED_DIES", "1")]);
    insta::assert_snapshot!("scan_of_one_that_dies", shown(&died));
    insta::assert_snapshot!("scan_of_none", shown(&scan(&place, &["--probe"], &[])));
    let missing = scan(&place, &["--probe", "--", "no-such-program"], &[]);
    assert_eq!((missing.code, missing.text()), (3, ""));
    assert!(missing.stderr.contains("there is no such program on the PATH"), "{}", missing.stderr);
    let ends = scan(&place, &["--probe", "--", "sh", "-c", "echo no luck >&2; exit 3"], &[]);
    assert_eq!((ends.code, ends.text()), (3, ""));
    assert!(
        ends.stderr
            .starts_with("tidegate: the server (sh) ended with exit code 3 before it answered initialize\n"),
        "{}",
        ends.stderr
    );
    assert!(ends.stderr.contains("\n  no luck\n"), "{}", ends.stderr);
    let closed = scan(&place, &["--probe", "--url", "http://127.0.0.1:1/mcp"], &[]);
    assert_eq!((closed.code, closed.text()), (3, ""));
    assert!(closed.stderr.contains("http://127.0.0.1:1 cannot be reached"), "{}", closed.stderr);
    let secret = [("ADDRESS", "http://127.0.0.1:1/mcp?key=SECRET")];
    let closed = scan(&place, &["--probe", "--url-env", "ADDRESS"], &secret);
    assert!(closed.code == 3 && !closed.stderr.contains("SECRET"), "{}", closed.stderr);
    let unset = scan(&place, &["--probe", "--url-env", "NOT_SET"], &[]);
    assert!(unset.code == 2 && unset.stderr.contains("NOT_SET is not set"), "{}", unset.stderr);
    let program = hostile_program();
    for mode in [Mode::TextLogs, Mode::OwnRequests, Mode::StderrFlood, Mode::NeverCloses] {
        let server = [program.to_str().unwrap(), mode.name(), &place.mark()];
        let found =
            json_of(&scan(&place, &[&["--probe", "--format", "json", "--"][..], &server].concat(), &[]));
        assert_eq!(found["tools"], json!([]), "{}", mode.name());
        let listed = found["tools_list"].as_array().unwrap();
        assert!(listed.iter().all(|tool| tool["not_measured"] == "not marked read-only"), "{found:#}");
    }
    place.assert_empty();
}

#[test]
fn empty_reports_and_bad_options_say_what_to_do() {
    let place = Place::new();
    insta::assert_snapshot!("scan_of_nothing", shown(&scan(&place, &[], &[])));
    insta::assert_snapshot!("scan_of_nobody", shown(&scan(&place, &["--server", "nobody"], &[])));
    for arguments in [
        &["--", "true"][..],
        &["--probe", "--since", "2h", "--", "true"],
        &["--url", "http://127.0.0.1:1/mcp"],
        &["--probe", "--url", "http://127.0.0.1:1/mcp", "--", "true"],
        &["--timeout", "5s"],
    ] {
        let outcome = scan(&place, arguments, &[]);
        assert_eq!((outcome.code, outcome.text()), (2, ""), "{arguments:?} {}", outcome.stderr);
    }
}

#[test]
fn help_and_its_examples() {
    let help = tidegate(&["scan", "--help"], b"");
    insta::assert_snapshot!("scan_help", help.text());
    let place = Place::new();
    // The program that the example starts, without what it would fetch.
    let folder = place.folder.path().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let npx = folder.join("npx");
    std::fs::write(&npx, format!("#!/bin/sh\nexec python3 -S {}\n", probed().display())).unwrap();
    Command::new("chmod").arg("+x").arg(&npx).status().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut session = place.start(&["--server", "github", "--observe"]);
    session.text("rows", json!({"n": 40}));
    session.end();
    let examples: Vec<&str> =
        help.text().lines().filter_map(|line| line.strip_prefix("  tidegate scan")).collect();
    assert_eq!(examples.len(), 4);
    for example in examples {
        let mut arguments: Vec<&str> = example.split_whitespace().collect();
        if arguments.contains(&"--probe") {
            // One of its tools never answers.
            arguments.splice(0..0, ["--timeout", "1s"]);
        }
        let outcome = scan(&place, &arguments, &[("PATH", &path)]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{example}");
        assert!(outcome.text().contains("SERVER"), "{example}: {}", outcome.text());
    }
}
