//! Two replicas of `tidegate gateway` behind a plain load balancer, one of which is killed and started again every few
//! seconds, with a server that fails in one call of twenty: nothing is lost, crossed, answered twice or run twice.
//!
//! `TIDEGATE_REPLICA_CALLS` says how many calls; `./check long` makes 100,000.

mod balancer;
mod upstream;

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate_access::auth::key::{KeyHash, new_key};

use self::balancer::Balancer;
use self::upstream::{CountingServer, rows};
use crate::gateway::Gateway;
use crate::gateway_replicas::SharedPlace;
use crate::http::{Connection, Reply, call, modern, modern_headers};
use crate::session::handle;

const CALLERS: u64 = 200;
/// Calls on one connection, after which the load balancer may choose another replica.
const CALLS_PER_CONNECTION: u64 = 5;
/// One call in so many goes wrong.
const FAULTY: u64 = 20;
/// One call in so many has a result that is kept.
const LARGE: u64 = 8;
const LARGE_ROWS: u64 = 120;
/// How long both replicas run between two kills.
const CALM: Duration = Duration::from_secs(2);
/// How much later than the kill a client may learn of it.
const CUT_DELAY: Duration = Duration::from_secs(3);
/// How long an answer may take. One that never comes counts as cut without a kill.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a caller waits after its connection was cut, so that two hundred do not keep the replicas from starting.
const PAUSE: Duration = Duration::from_millis(20);
/// How often a caller tries to begin its session.
const MAX_INITIALIZE_ATTEMPTS: usize = 500;

/// One call.
#[derive(Clone, Copy)]
struct Work {
    tag: u64,
    rows: u64,
    fault: &'static str,
}

impl Work {
    /// The call of a tag; the same for every run.
    fn of(tag: u64) -> Self {
        // Spread, so that faults do not come in a rhythm.
        let mixed = (tag + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let faults = ["error", "failed", "drop", "half", "slow"];
        let fault = if mixed.is_multiple_of(FAULTY) { faults[(mixed / FAULTY) as usize % 5] } else { "" };
        Self { tag, rows: if mixed % LARGE == 1 { LARGE_ROWS } else { 2 }, fault }
    }
}

/// A result that was announced to a caller.
struct Announced {
    caller: u64,
    tag: u64,
    name: String,
}

struct ReplicaRun {
    port: u16,
    keys: Vec<String>,
    calls: u64,
    next: AtomicU64,
    is_over: AtomicBool,
    results: AtomicU64,
    errors: AtomicU64,
    cut: AtomicU64,
    kills: Mutex<Vec<Instant>>,
    announced: Mutex<Vec<Announced>>,
    violations: Mutex<Vec<String>>,
}

impl ReplicaRun {
    fn new(port: u16, keys: Vec<String>, calls: u64) -> Self {
        Self {
            port,
            keys,
            calls,
            next: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            results: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            cut: AtomicU64::new(0),
            kills: Mutex::default(),
            announced: Mutex::default(),
            violations: Mutex::default(),
        }
    }

    fn wrong(&self, words: String) {
        self.violations.lock().unwrap().push(words);
    }

    /// Notes that a connection was cut, which nothing but a kill may do.
    fn note_cut(&self, what: &str, began: Instant) {
        self.cut.fetch_add(1, Ordering::Relaxed);
        let kills = self.kills.lock().unwrap();
        let is_explained = kills.iter().any(|kill| *kill + CUT_DELAY >= began && began.elapsed() < PATIENCE);
        if !is_explained {
            self.wrong(format!("{what} was cut without a kill"));
        }
    }
}

/// A caller with a key: with a session, or without.
struct Caller<'r> {
    run: &'r ReplicaRun,
    number: u64,
    authorization: String,
    session: Option<String>,
    connection: Option<Connection>,
    left: u64,
}

impl<'r> Caller<'r> {
    fn new(run: &'r ReplicaRun, number: u64) -> Self {
        let authorization = format!("Bearer {}", run.keys[number as usize]);
        Self { run, number, authorization, session: None, connection: None, left: 0 }
    }

    fn with_session(run: &'r ReplicaRun, number: u64) -> Self {
        let mut caller = Self::new(run, number);
        caller.session = Some(caller.initialize());
        caller
    }

    /// Begins the only session of this caller.
    fn initialize(&mut self) -> String {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "somebody", "version": "1"}}}).to_string();
        let authorization = self.authorization.clone();
        for _ in 0..MAX_INITIALIZE_ATTEMPTS {
            let headers = [("Authorization", authorization.as_str())];
            let began = Instant::now();
            match self.connected().and_then(|connection| connection.try_post(&headers, &body)) {
                Ok(reply) if reply.status == 200 => {
                    return reply.header("mcp-session-id").unwrap().to_owned();
                }
                Ok(reply) => self.run.wrong(format!("initialize: {} {}", reply.status, reply.text())),
                Err(_) => self.run.note_cut("initialize", began),
            }
            self.connection = None;
            std::thread::sleep(PAUSE);
        }
        panic!("caller {} cannot begin a session", self.number)
    }

    /// Returns a connection, which the load balancer gives to some replica.
    fn connected(&mut self) -> io::Result<&mut Connection> {
        if self.left == 0 {
            self.connection = None;
            self.left = CALLS_PER_CONNECTION;
        }
        self.left -= 1;
        let open = match self.connection.take() {
            Some(open) => open,
            None => Connection::with_patience(self.run.port, PATIENCE)?,
        };
        Ok(self.connection.insert(open))
    }

    /// Sends a call once; `None` if its connection was cut.
    fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Option<Value> {
        let began = Instant::now();
        let authorization = self.authorization.clone();
        let mut headers = vec![("Authorization", authorization.as_str())];
        let session = self.session.clone();
        let body = match &session {
            Some(session) => {
                headers.push(("Mcp-Session-Id", session));
                call(id, tool, arguments)
            }
            None => {
                headers.extend(modern_headers(tool));
                modern(id, tool, arguments)
            }
        };
        match self.connected().and_then(|connection| connection.try_post(&headers, &body)) {
            Ok(reply) => self.only_answer(&reply, id, tool),
            Err(_) => {
                self.connection = None;
                self.run.note_cut(tool, began);
                std::thread::sleep(PAUSE);
                None
            }
        }
    }

    /// Returns the answer in a response, which has exactly one.
    fn only_answer(&self, reply: &Reply, id: u64, tool: &str) -> Option<Value> {
        let text = reply.text();
        let messages: Vec<Value> = match text.starts_with('{') {
            true => serde_json::from_str(&text).into_iter().collect(),
            false => {
                let data = text.lines().filter_map(|line| line.strip_prefix("data: {"));
                data.filter_map(|rest| serde_json::from_str(&format!("{{{rest}")).ok()).collect()
            }
        };
        let mut answers = messages.into_iter().filter(|message| message.get("method").is_none());
        let (answer, more) = (answers.next(), answers.next());
        let is_good = more.is_none() && answer.as_ref().is_some_and(|answer| answer["id"] == id);
        if !is_good {
            self.run.wrong(format!("{tool} of {} got {} {text}", self.number, reply.status));
            return None;
        }
        answer
    }

    /// Makes one call, and looks at what came back.
    fn work(&mut self, work: Work) {
        let Work { tag, rows: count, fault } = work;
        let arguments = json!({"tag": tag, "caller": self.number, "rows": count, "fault": fault});
        // Sessions tell answers apart by id; without one, all calls have the same.
        let id = if self.session.is_some() { tag + 10 } else { 1 };
        let Some(answer) = self.call(id, "one__work", arguments) else { return };
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        let is_error = answer.get("error").is_some() || answer["result"]["isError"] == json!(true);
        if is_error {
            self.run.errors.fetch_add(1, Ordering::Relaxed);
            if matches!(fault, "" | "slow") {
                self.run.wrong(format!("{tag} of {} failed: {answer}", self.number));
            }
            return;
        }
        self.run.results.fetch_add(1, Ordering::Relaxed);
        if !matches!(fault, "" | "slow") {
            return self.run.wrong(format!("{tag} did not fail: {answer}"));
        }
        if count < LARGE_ROWS {
            if text != rows(tag, self.number, count) {
                self.run.wrong(format!("{tag} of {} got {answer}", self.number));
            }
            return;
        }
        if !text.starts_with("one__work returned 120 rows") {
            return self.run.wrong(format!("{tag} of {} is not shaped: {answer}", self.number));
        }
        let announced = Announced { caller: self.number, tag, name: handle(text) };
        self.check_kept(&announced);
        self.run.announced.lock().unwrap().push(announced);
    }

    /// Reads a result back, as often as it takes: reading changes nothing.
    fn read(&mut self, arguments: &Value) -> String {
        for _ in 0..20 {
            if let Some(answer) = self.call(2, "result_query", arguments.clone()) {
                return answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
            }
        }
        "it cannot be read".to_owned()
    }

    /// Checks that a result is there, whole and its owner's.
    fn check_kept(&mut self, announced: &Announced) {
        let Announced { caller, tag, name } = announced;
        let expected: Value = serde_json::from_str(&rows(*tag, *caller, LARGE_ROWS)).unwrap();
        let bytes: usize =
            expected.as_array().unwrap().iter().map(|row| row["note"].as_str().unwrap().len()).sum();
        let sql = "select count(*) as n, min(tag) as a, max(tag) as b, min(caller) as c, max(caller) as d, \
                   sum(row) as r, sum(length(note)) as l from t";
        let read = self.read(&json!({"id": name, "sql": sql}));
        let numbers =
            [LARGE_ROWS, *tag, *tag, *caller, *caller, (LARGE_ROWS - 1) * LARGE_ROWS / 2, bytes as u64];
        let found: Vec<u64> = read
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|digits| digits.parse().ok())
            .collect();
        if !found.windows(numbers.len()).any(|window| window == numbers) {
            self.run.wrong(format!("{name} of {caller} ({tag}) reads {read}, not {numbers:?}"));
        }
        let row = tag % LARGE_ROWS;
        let note = self.read(&json!({"id": name, "path": format!("/{row}/note")}));
        if !note.contains(expected[row as usize]["note"].as_str().unwrap().trim()) {
            self.run.wrong(format!("row {row} of {name} reads {note}"));
        }
    }

    /// Checks that somebody else's result cannot be read.
    fn check_foreign(&mut self, announced: &Announced) {
        let read = self.read(&json!({"id": announced.name, "path": "/0"}));
        if !read.contains("no result is kept") {
            self.run
                .wrong(format!("{} reads {} of {}: {read}", self.number, announced.name, announced.caller));
        }
    }
}

/// Makes calls as one caller, of which every second one has a session.
fn make_calls(run: &ReplicaRun, number: u64) {
    let mut caller = match number.is_multiple_of(2) {
        true => Caller::with_session(run, number),
        false => Caller::new(run, number),
    };
    loop {
        let tag = run.next.fetch_add(1, Ordering::Relaxed);
        if tag >= run.calls {
            return;
        }
        caller.work(Work::of(tag));
    }
}

/// Kills one replica after the other, and starts it again.
fn kill_in_turns(
    run: &ReplicaRun,
    balancer: &Balancer,
    replicas: &mut [Gateway],
    start: impl Fn() -> Gateway,
) {
    for turn in 0.. {
        let until = Instant::now() + CALM;
        while Instant::now() < until {
            if run.is_over.load(Ordering::SeqCst) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let number = turn % replicas.len();
        balancer.set(number, 0);
        run.kills.lock().unwrap().push(Instant::now());
        replicas[number].child.kill().unwrap();
        replicas[number] = start();
        balancer.set(number, replicas[number].port);
    }
}

/// Returns the configuration of the callers with their keys.
fn callers(count: u64) -> (Vec<String>, String) {
    let keys: Vec<String> = (0..count).map(|_| new_key()).collect();
    let section = |(number, key): (usize, &String)| {
        format!("[gateway.key.c{number}]\nhash = \"{}\"\n", KeyHash::of(key))
    };
    let sections = keys.iter().enumerate().map(section).collect();
    (keys, sections)
}

#[test]
fn nothing_is_lost_crossed_or_run_twice_while_replicas_die() {
    let Some(place) = SharedPlace::new() else { return };
    let calls = std::env::var("TIDEGATE_REPLICA_CALLS").map_or(4000, |calls| calls.parse().unwrap());
    let server = CountingServer::start();
    let (keys, sections) = callers(CALLERS);
    let config = format!("[upstream.one]\nurl = {:?}\n{sections}", server.url);
    let balancer = Balancer::start(2);
    let host = format!("127.0.0.1:{}", balancer.port);
    let start = || place.replica_with(&config, &["--allow-host", &host]);
    let mut replicas = [start(), start()];
    for (number, replica) in replicas.iter().enumerate() {
        balancer.set(number, replica.port);
    }
    let run = ReplicaRun::new(balancer.port, keys, calls);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| kill_in_turns(&run, &balancer, &mut replicas, start));
        let callers: Vec<_> = (0..CALLERS)
            .map(|number| {
                scope.spawn({
                    let run = &run;
                    move || make_calls(run, number)
                })
            })
            .collect();
        let ended: Vec<bool> = callers.into_iter().map(|caller| caller.join().is_ok()).collect();
        run.is_over.store(true, Ordering::SeqCst);
        killer.join().unwrap();
        assert!(ended.iter().all(|ended| *ended), "a caller panicked");
    });
    let seconds = began.elapsed().as_secs();
    check(&run, &server, seconds);
}

/// Checks what is left when all calls are made.
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn check(run: &ReplicaRun, server: &CountingServer, seconds: u64) {
    let announced = std::mem::take(&mut *run.announced.lock().unwrap());
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(result) = announced.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    Caller::new(run, result.caller).check_kept(result);
                    let other = (result.caller + 1 + result.tag % (CALLERS - 1)) % CALLERS;
                    Caller::new(run, other).check_foreign(result);
                }
            });
        }
    });
    let runs = server.runs();
    let twice: Vec<_> = runs.iter().filter(|(_, count)| **count > 1).collect();
    let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (results, errors, cut) = (number(&run.results), number(&run.errors), number(&run.cut));
    let violations = run.violations.lock().unwrap();
    eprintln!(
        "{} calls of {CALLERS} callers in {seconds} s: {results} results, {errors} errors, {cut} cut by {} kills, \
         {} results kept and read back, {} calls run, {} of them twice, {} violations",
        run.calls,
        run.kills.lock().unwrap().len(),
        announced.len(),
        runs.len(),
        twice.len(),
        violations.len()
    );
    assert!(twice.is_empty(), "run twice: {twice:?}");
    let shown: Vec<&String> = violations.iter().take(5).collect();
    assert!(violations.is_empty(), "{} violations: {shown:#?}", violations.len());
    assert!(
        results + errors <= run.calls && results + errors + cut >= run.calls,
        "every call is answered or cut"
    );
    assert!(runs.len() as u64 >= results && !announced.is_empty());
}

/// What 1,000 callers that do nothing cost the gateway, each with a session and an open connection.
#[cfg(target_os = "linux")]
#[test]
fn a_thousand_idle_sessions_take_little_memory() {
    const SESSIONS: u64 = 1000;
    const MAX_MEGABYTES: u64 = 150;
    let home = tempfile::tempdir().unwrap();
    let server = CountingServer::start();
    let (keys, sections) = callers(SESSIONS);
    let config = format!("[upstream.one]\nurl = {:?}\n{sections}", server.url);
    let gateway = Gateway::start(home.path(), &config);
    let before = resident_megabytes(gateway.child.id());
    let run = ReplicaRun::new(gateway.port, keys, SESSIONS);
    let idle: Vec<Caller<'_>> = (0..SESSIONS)
        .map(|number| {
            let mut caller = Caller::with_session(&run, number);
            caller.work(Work { tag: number, rows: 2, fault: "" });
            caller
        })
        .collect();
    let after = resident_megabytes(gateway.child.id());
    eprintln!("{} idle sessions: {after} MB resident, before them {before} MB", idle.len());
    assert!(run.violations.lock().unwrap().is_empty(), "{:?}", run.violations.lock().unwrap());
    assert!(after < MAX_MEGABYTES, "{after} MB");
}

/// Returns the memory that a process has taken, with the pages of the program that it has used.
#[cfg(target_os = "linux")]
fn resident_megabytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1000
}
