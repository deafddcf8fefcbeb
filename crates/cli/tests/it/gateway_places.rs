//! Who waits for whom at `tidegate gateway`: the processes of a server, and the requests that it works on at once.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gateway::{Client, Gateway, repeat, section};
use crate::http::{Connection, modern, modern_headers};

/// What nothing here may take: the time that a request waits in vain.
const SOON: Duration = Duration::from_secs(8);

/// Calls a tool with a client of revision 2026-07-28.
fn call_modern(port: u16, tool: &str, arguments: Value) -> String {
    let mut connection = Connection::to(port);
    let answer = connection.post(&modern_headers(tool), &modern(1, tool, arguments)).json();
    let text = answer["result"]["content"][0]["text"].as_str();
    text.map_or_else(|| answer.to_string(), str::to_owned)
}

/// Returns what some work returned, and asserts that it was done soon.
fn soon<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = work();
    assert!(began.elapsed() < SOON, "{what} took {:?}", began.elapsed());
    done
}

/// Calls a tool on a thread.
fn begin_call(port: u16, session: &str, tool: &str, arguments: Value) -> JoinHandle<String> {
    let mut client = Client { connection: Connection::to(port), session: session.to_owned(), next: 100 };
    let tool = tool.to_owned();
    std::thread::spawn(move || client.call(&tool, arguments))
}

fn echo() -> Value {
    json!({"value": "x"})
}

#[test]
fn one_process_is_enough_for_clients_of_both_eras() {
    for keys in ["", "sharing = \"shared\"\n", "env = [\"UPSTREAM_LEGACY=1\"]\n"] {
        let home = tempfile::tempdir().unwrap();
        let limits = format!("max_processes = 1\nqueue_seconds = 30\n{keys}");
        let gateway = Gateway::start(home.path(), &section("one", &limits));
        let mut client = gateway.client();
        let called = soon("the first call", || client.call("one__echo", echo()));
        assert_eq!(called, "x", "the process that reads lists does not stay in the way: {keys}");
    }
    for keys in ["", "sharing = \"shared\"\n", "env = [\"UPSTREAM_LEGACY=1\"]\n"] {
        let home = tempfile::tempdir().unwrap();
        let limits = format!("max_processes = 1\nqueue_seconds = 30\n{keys}");
        let gateway = Gateway::start(home.path(), &section("one", &limits));
        let called = soon("the first call", || call_modern(gateway.port, "one__echo", echo()));
        assert_eq!(called, "x", "{keys}");
    }
    let home = tempfile::tempdir().unwrap();
    let limits = "max_processes = 1\nqueue_seconds = 30\nsharing = \"shared\"";
    let gateway = Gateway::start(home.path(), &section("one", limits));
    let mut client = gateway.client();
    for _ in 0..3 {
        assert_eq!(soon("a call of one era", || client.call("one__echo", echo())), "x");
        assert_eq!(soon("a call of the other", || call_modern(gateway.port, "one__echo", echo())), "x");
    }
}

#[test]
fn an_idle_process_ends_for_a_caller_that_waits_and_a_busy_one_does_not() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &section("one", "max_processes = 2\nqueue_seconds = 1"));
    let (mut idle, busy, mut third) = (gateway.client(), gateway.client(), gateway.client());
    assert_eq!(idle.call("one__echo", echo()), "x");
    let late = begin_call(gateway.port, &busy.session, "one__late", json!({"seconds": 6}));
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(soon("the third session", || third.call("one__echo", echo())), "x");
    assert_eq!(soon("the first again", || idle.call("one__echo", echo())), "x");
    assert_eq!(late.join().unwrap(), "late", "a process that works is never ended");
}

#[test]
fn calls_that_wait_together_give_up_together() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &section("one", "max_processes = 1\nqueue_seconds = 2"));
    let (busy, waiting) = (gateway.client(), gateway.client());
    let late = begin_call(gateway.port, &busy.session, "one__late", json!({"seconds": 12}));
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    let calls: Vec<_> =
        (0..6).map(|_| begin_call(gateway.port, &waiting.session, "one__echo", echo())).collect();
    for call in calls {
        let full = call.join().unwrap();
        assert!(full.contains("all 1 of its processes are in use"), "{full}");
    }
    assert!(began.elapsed() < SOON, "one after another: {:?}", began.elapsed());
    assert_eq!(late.join().unwrap(), "late");
    let mut after = Client { connection: Connection::to(gateway.port), session: waiting.session, next: 1 };
    assert_eq!(soon("once it is free", || after.call("one__echo", echo())), "x");
}

/// One caller sends a server more calls than it can work on, and none of them ends.
#[test]
fn a_greedy_caller_and_a_slow_server_delay_nobody_else() {
    let home = tempfile::tempdir().unwrap();
    let config = "[gateway]\nmax_in_flight = 4\n".to_owned()
        + &section("slow", "sharing = \"shared\"")
        + &section("other", "sharing = \"shared\"");
    let gateway = Gateway::start(home.path(), &config);
    let (mut greedy, mut second) = (gateway.client(), gateway.client());
    assert_eq!(greedy.call("slow__echo", echo()), "x");
    let _calls: Vec<_> = (0..12)
        .map(|_| begin_call(gateway.port, &greedy.session, "slow__late", json!({"seconds": 20})))
        .collect();
    let metrics = || Connection::to(gateway.port).get("/metrics", &[]).text();
    repeat("half of the places are taken", || {
        metrics().contains("tidegate_requests_in_flight{server=\"slow\"} 2\n")
    });
    assert_eq!(soon("another caller", || second.call("slow__echo", echo())), "x");
    assert_eq!(soon("another server", || greedy.call("other__echo", echo())), "x");
    assert_eq!(soon("both", || call_modern(gateway.port, "other__echo", echo())), "x");
}
