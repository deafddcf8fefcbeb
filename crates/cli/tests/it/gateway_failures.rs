//! Servers behind `tidegate gateway` that fail: what counts as a failure, and what callers are told.

use std::path::Path;

use serde_json::{Value, json};

use crate::gateway::{Gateway, repeat, section};
use crate::http::{Connection, Remote};

/// How many failures in a row open the circuit of a server.
const FAILURES_TO_OPEN: usize = 5;

/// Returns the outcomes of all requests to tools so far, from the audit log.
fn outcomes(home: &Path) -> Vec<String> {
    let lines = std::fs::read_to_string(home.join("audit.jsonl")).unwrap_or_default();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let requests = lines.filter(|line| line["event"] == "request" && line["method"] == "tools/call");
    requests.map(|line| line["outcome"].as_str().unwrap_or("refused").to_owned()).collect()
}

const AUDIT: &str = "[gateway]\naudit_file = \"audit.jsonl\"\n";

fn metrics(gateway: &Gateway) -> String {
    Connection::to(gateway.port).get("/metrics", &[]).text()
}

#[test]
fn a_process_that_dies_in_every_call_opens_the_circuit() {
    let home = tempfile::tempdir().unwrap();
    let config = AUDIT.to_owned() + &section("one", "sharing = \"shared\"") + &section("two", "");
    let gateway = Gateway::start(home.path(), &config);
    let mut client = gateway.client();
    for _ in 0..FAILURES_TO_OPEN {
        let dead = client.call("one__die", json!({"code": 3}));
        assert!(dead.contains("ended with exit code 3"), "{dead}");
    }
    let refused = client.call("one__echo", json!({"value": "x"}));
    assert!(refused.contains("has failed several times in a row"), "{refused}");
    assert_eq!(client.call("two__echo", json!({"value": "other"})), "other");
    repeat("the audit log has all requests", || outcomes(home.path()).len() == FAILURES_TO_OPEN + 2);
    let mut expected = vec!["unreachable"; FAILURES_TO_OPEN];
    expected.extend(["refused", "answered"]);
    assert_eq!(outcomes(home.path()), expected);
    let metrics = metrics(&gateway);
    for line in [
        "tidegate_requests_total{server=\"one\",tool=\"die\",outcome=\"unreachable\"} 5",
        "tidegate_upstream_circuit_open{server=\"one\"} 1",
        "tidegate_upstream_up{server=\"two\"} 1",
        "tidegate_requests_waiting{server=\"one\"} 0",
        "tidegate_upstream_processes{server=\"two\"} ",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[test]
fn a_server_that_goes_down_after_the_handshake_opens_the_circuit() {
    let home = tempfile::tempdir().unwrap();
    let remote = Remote::start();
    let gateway = Gateway::start(home.path(), &format!("{AUDIT}[upstream.far]\nurl = {:?}\n", remote.url));
    let mut client = gateway.client();
    let rows = client.call("far__rows", json!({"n": 400}));
    assert!(rows.starts_with("far__rows returned 400 rows"), "{rows}");
    drop(remote);
    for _ in 0..FAILURES_TO_OPEN {
        let down = client.call("far__rows", json!({"n": 1}));
        assert!(down.contains("cannot be reached") || down.contains("before it answered"), "{down}");
    }
    let refused = client.call("far__rows", json!({"n": 1}));
    assert!(refused.contains("has failed several times in a row"), "{refused}");
    repeat("the audit log has all requests", || outcomes(home.path()).len() == FAILURES_TO_OPEN + 2);
    assert_eq!(outcomes(home.path())[1..=FAILURES_TO_OPEN], ["unreachable"; FAILURES_TO_OPEN]);
}

/// Servers may use any code, also the one with which the gateway says that a server is silent.
#[test]
fn errors_of_a_server_never_open_its_circuit() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &(AUDIT.to_owned() + &section("one", "")));
    let (mut one, mut two) = (gateway.client(), gateway.client());
    for code in [-32001, -32000, -32603] {
        for _ in 0..=FAILURES_TO_OPEN {
            let failed = one.call("one__error", json!({"code": code}));
            assert!(failed.contains("as told"), "{failed}");
        }
    }
    assert_eq!(two.call("one__echo", json!({"value": "works"})), "works");
    repeat("the audit log has all requests", || {
        outcomes(home.path()).len() == 3 * (FAILURES_TO_OPEN + 1) + 1
    });
    assert!(outcomes(home.path()).iter().all(|outcome| outcome == "failed" || outcome == "answered"));
}

#[test]
fn a_silent_server_opens_the_circuit() {
    let home = tempfile::tempdir().unwrap();
    let config = AUDIT.to_owned() + &section("one", "timeout_seconds = 1");
    let gateway = Gateway::start(home.path(), &config);
    let calls: Vec<_> = (0..FAILURES_TO_OPEN)
        .map(|_| {
            let mut client = gateway.client();
            std::thread::spawn(move || client.call("one__never", json!({})))
        })
        .collect();
    for call in calls {
        let silent = call.join().unwrap();
        assert!(silent.contains("within 1 s"), "{silent}");
    }
    let refused = gateway.client().call("one__echo", json!({"value": "x"}));
    assert!(refused.contains("has failed several times in a row"), "{refused}");
}
