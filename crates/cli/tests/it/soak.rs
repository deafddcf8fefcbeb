//! A long run with faults: a hundred thousand calls over stdio and HTTP, one in twenty of which goes wrong somehow.
//! Nothing is lost, crossed, answered twice or run twice, and memory stays flat.
//!
//! `./check soak` runs it; `TIDEGATE_SOAK_CALLS` says how many calls.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::http::{Listening, modern, modern_headers};
use crate::session::{Session, handle};

/// Clients on stdio, each with a proxy and a server of its own.
const ON_STDIO: u64 = 4;
/// Clients over HTTP, who share a proxy and a server.
const OVER_HTTP: u64 = 4;
/// Calls that a client on stdio has open at once.
const OPEN: usize = 8;
/// One call in so many goes wrong.
const FAULTY: u64 = 20;
/// One call in so many is larger than the budget.
const LARGE: u64 = 50;
/// One call in so many ends the server, is never answered, or has its proxy killed.
const FATAL: u64 = 2000;

struct Soak {
    folder: tempfile::TempDir,
    next: AtomicU64,
    calls: u64,
    /// Calls that were answered with a result, with an error, and not at all since the proxy was killed.
    results: AtomicU64,
    errors: AtomicU64,
    killed: AtomicU64,
    violations: Mutex<Vec<String>>,
}

/// One call.
#[derive(Clone, Copy)]
struct Work {
    tag: u64,
    rows: u64,
    fault: &'static str,
}

impl Work {
    /// The call of a tag; the same for every run.
    fn of(tag: u64, fatal: &[&'static str]) -> Self {
        // Spread, so that faults do not come in a rhythm.
        let mixed = (tag + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let harmless = ["noise", "half", "twice", "wrong", "progress", "stderr"];
        let fault = match mixed {
            _ if !fatal.is_empty() && mixed.is_multiple_of(FATAL) => {
                fatal[(mixed / FATAL) as usize % fatal.len()]
            }
            _ if mixed.is_multiple_of(FAULTY) => harmless[(mixed / FAULTY) as usize % harmless.len()],
            _ => "",
        };
        Self { tag, rows: if mixed % LARGE == 1 { 400 } else { 3 }, fault }
    }

    fn arguments(self) -> Value {
        json!({"tag": self.tag, "rows": self.rows, "fault": self.fault})
    }
}

impl Soak {
    fn new(calls: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        Self {
            folder,
            next: AtomicU64::new(0),
            calls,
            results: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            killed: AtomicU64::new(0),
            violations: Mutex::default(),
        }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn executed(&self) -> PathBuf {
        self.folder.path().join("executed")
    }

    fn next(&self, fatal: &[&'static str]) -> Option<Work> {
        let tag = self.next.fetch_add(1, Ordering::Relaxed);
        (tag < self.calls).then(|| Work::of(tag, fatal))
    }

    fn wrong(&self, words: String) {
        self.violations.lock().unwrap().push(words);
    }

    /// Looks at an answer; returns the name of a result that was kept.
    fn look_at(&self, work: Work, answer: &Value) -> Option<String> {
        if let Some(error) = answer.get("error") {
            self.errors.fetch_add(1, Ordering::Relaxed);
            let message = error["message"].as_str().unwrap_or_default();
            let known = message.contains("the server") || message.contains("no answer to");
            if !known {
                self.wrong(format!("{}: {message}", work.tag));
            }
            return None;
        }
        self.results.fetch_add(1, Ordering::Relaxed);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        if work.rows > 3 {
            if !text.starts_with("work returned 400 rows") {
                self.wrong(format!("{} is not shaped: {answer}", work.tag));
            }
            return Some(handle(text));
        }
        if !text.starts_with(&format!("[{{\"tag\":{},\"row\":0,", work.tag)) {
            self.wrong(format!("{} got {answer}", work.tag));
        }
        None
    }

    fn look_at_kept(&self, work: Work, answer: &Value) {
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        if !text.contains(&work.tag.to_string()) {
            self.wrong(format!("what is kept of {} is {answer}", work.tag));
        }
    }
}

/// A client on stdio: calls several at once, and begins anew when its proxy has ended.
fn on_stdio(soak: &Soak, server: &Path) {
    let fatal = ["crash", "hang", "kill"];
    let executed = soak.executed();
    let start = || {
        let environment = [("FLAKY_EXECUTED", executed.to_str().unwrap())];
        Session::command(&soak.home(), &["--timeout", "2s"], &environment, &[server.to_str().unwrap()])
            .greeted("somebody")
    };
    let mut session = start();
    loop {
        let works: Vec<Work> = (0..OPEN).map_while(|_| soak.next(&fatal)).collect();
        if works.is_empty() {
            break;
        }
        let mut open: HashMap<u64, (Work, bool)> = HashMap::new();
        for work in &works {
            let id = session.ask("tools/call", json!({"name": "work", "arguments": work.arguments()}));
            open.insert(id, (*work, false));
        }
        if works.iter().any(|work| work.fault == "kill") {
            session.child.kill().unwrap();
        }
        while !open.is_empty() {
            let Some(line) = session.line() else { break };
            let answer: Value = serde_json::from_slice(&line).unwrap_or_else(|_| panic!("{line:?}"));
            let Some(id) = answer["id"].as_u64() else { continue };
            let Some((work, kept)) = open.remove(&id) else {
                soak.wrong(format!("an answer to nobody: {answer}"));
                continue;
            };
            if kept {
                soak.look_at_kept(work, &answer);
            } else if let Some(name) = soak.look_at(work, &answer) {
                let query = json!({"name": "result_query", "arguments": {"id": name, "path": "/399/tag"}});
                open.insert(session.ask("tools/call", query), (work, true));
            }
        }
        let lost = open.values().filter(|(_, kept)| !kept).count() as u64;
        if works.iter().any(|work| work.fault == "kill") {
            soak.killed.fetch_add(lost, Ordering::Relaxed);
        } else if lost > 0 {
            soak.wrong(format!("{lost} calls were never answered"));
        }
        if works.iter().any(|work| ["kill", "crash"].contains(&work.fault)) {
            session.ended();
            session = start();
        }
    }
    session.end();
}

/// A client over HTTP: every call has the id 1.
fn over_http(soak: &Soak, listening: &Listening) {
    let mut connection = listening.connect();
    while let Some(work) = soak.next(&["crash"]) {
        let reply = connection.post(&modern_headers("work"), &modern(1, "work", work.arguments()));
        let answer = reply.json();
        if answer["id"] != 1 {
            soak.wrong(format!("{}: an answer to another: {answer}", work.tag));
        }
        if let Some(name) = soak.look_at(work, &answer) {
            let arguments = json!({"id": name, "path": "/399/tag"});
            let query = modern(1, "result_query", arguments);
            soak.look_at_kept(work, &connection.post(&modern_headers("result_query"), &query).json());
        }
    }
}

fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
#[ignore = "it takes two minutes; ./check soak runs it"]
fn nothing_is_lost_crossed_doubled_or_run_twice() {
    let calls = std::env::var("TIDEGATE_SOAK_CALLS").ok().and_then(|calls| calls.parse().ok());
    let soak = Soak::new(calls.unwrap_or(100_000));
    let server = Path::new(env!("CARGO_BIN_EXE_tidegate")).parent().unwrap().join("examples/flaky");
    assert!(server.is_file(), "{} is built with the tests", server.display());
    let executed = soak.executed();
    let environment = format!("FLAKY_EXECUTED={}", executed.display());
    let listening =
        Listening::start(&soak.home(), &["--", "/usr/bin/env", &environment, server.to_str().unwrap()]);
    let started = Instant::now();
    let mut sizes = Vec::new();
    thread::scope(|scope| {
        let stdio: Vec<_> = (0..ON_STDIO).map(|_| scope.spawn(|| on_stdio(&soak, &server))).collect();
        let http: Vec<_> = (0..OVER_HTTP).map(|_| scope.spawn(|| over_http(&soak, &listening))).collect();
        // How large it is after a quarter of the calls, when everything was used once, and then on.
        while stdio.iter().chain(&http).any(|client| !client.is_finished()) {
            thread::sleep(std::time::Duration::from_millis(200));
            if soak.next.load(Ordering::Relaxed) > soak.calls / 4 {
                sizes.push(resident(listening.child.id()));
            }
        }
    });
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (results, errors, killed) = (count(&soak.results), count(&soak.errors), count(&soak.killed));
    let mut times: HashMap<String, u64> = HashMap::new();
    for tag in std::fs::read_to_string(soak.executed()).unwrap().lines() {
        *times.entry(tag.to_owned()).or_default() += 1;
    }
    let (first, most) = (sizes[0], *sizes.iter().max().unwrap());
    eprintln!(
        "{} calls in {:.0} s: {results} results, {errors} errors, {killed} lost with a killed proxy; {} executed; \
         {first} MiB after a quarter, at most {most} MiB from there on",
        soak.calls,
        started.elapsed().as_secs_f64(),
        times.len(),
    );
    let violations = soak.violations.lock().unwrap();
    assert!(
        violations.is_empty(),
        "{} wrong, such as {:#?}",
        violations.len(),
        &violations[..violations.len().min(5)]
    );
    assert_eq!(results + errors + killed, soak.calls, "every call has one outcome");
    let twice: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "run twice: {twice:?}");
    assert!(times.len() as u64 >= results, "a result was made up");
    assert!(most <= first + 8, "memory grows: {sizes:?}");
}
