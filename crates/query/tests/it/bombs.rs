//! Programs that try to take all time or all memory: each ends in time, and no process grows beyond its limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tidegate_core::view::View;
use tidegate_query::Limits;
use tidegate_testkit::sample;

use crate::Engine::{self, Grep, Jq, Sql};
use crate::Kept;

/// How long a program may run in these tests.
const TIME: Duration = Duration::from_secs(1);
/// When an answer is far too late: a loaded machine starts processes late and notices limits late.
const FAR_TOO_LATE: Duration = Duration::from_secs(8);
/// The most memory of a worker process.
const WORKER_BYTES: u64 = 768 << 20;
/// The most memory of the process that asks.
const CALLER_BYTES: u64 = 512 << 20;

const SQL: &[&str] = &[
    "with z as (select hex(zeroblob(16000000)) q) select q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q from z",
    "with z as (select hex(zeroblob(8000000)) q) select q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q,q from z",
    "select group_concat(hex(zeroblob(15000000)),'') over (order by number) from t",
    "select group_concat(hex(zeroblob(7000000)),'') over (order by number) from t",
    "select group_concat(a.body, b.body) over (order by a.number) from t a, t b, t c",
    "select hex(zeroblob(500000000))",
    "select zeroblob(2000000000)",
    "select randomblob(1000000000)",
    "select hex(randomblob(7900000)) from t a, t b",
    "select printf('%.*c', 1000000000, 'x')",
    "select printf('%10000000s', body) from t a, t b",
    "select replace(hex(zeroblob(4000000)), '0', 'xxxx')",
    "select replace(replace(replace(hex(zeroblob(1000)), '0', hex(zeroblob(1000))), '0', hex(zeroblob(1000))), '0', 'yy')",
    "select length(replace(hex(zeroblob(7900000)), '00', '0')) from t a, t b",
    "select count(*) from t a, t b, t c, t d, t e",
    "select max(a.body || b.body || c.body) from t a, t b, t c",
    "select * from t a, t b, t c order by a.body || b.body || c.body",
    "select distinct a.body || b.body || c.number from t a, t b, t c",
    "select a.body || b.body || c.number, count(*) from t a, t b, t c group by 1",
    "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r",
    "with recursive r(n) as (select 1 union all select n + 1 from r) select n from r",
    "with recursive r(s) as (select 'x' union all select s || s from r) select length(s) from r",
    "with recursive r(s) as (select 'x' union select s || s from r) select max(length(s)) from r",
    "with recursive r(n, s) as (select 1, zeroblob(1000000) union all select n + 1, s from r) select n from r order by s, n",
    "with recursive r(n) as (select 1 union all select n + 1 from r union all select n + 2 from r) select count(*) from r",
    "select json_group_array(a.body || b.body) from t a, t b, t c",
    "select json_group_object(a.number || '-' || b.number || '-' || c.number, a.body) from t a, t b, t c",
    "select count(*) from t a, json_tree('[' || substr(replace(hex(zeroblob(500000)), '0', ',1'), 2) || ']') b, t c",
    "select json_array(a.body, b.body, c.body), sum(length(a.body)) over () from t a, t b, t c",
    "select row_number() over (order by a.body || b.body || c.body) from t a, t b, t c",
    "select sum(length(a.body || b.body)) over (partition by c.number order by a.number rows between unbounded preceding and unbounded following) from t a, t b, t c",
    "select count(*) from t a, t b where a.body || b.body like '%a%b%c%d%e%f%g%h%i%j%k%l%m%n%o%p%z%'",
    "select hex(zeroblob(7000000)) like '%0%0%0%0%0%0%0%0%0%0%0%0%0%0%0%1%' from t a, t b",
    "select hex(zeroblob(7000000)) glob '*0*0*0*0*0*0*0*0*0*0*0*0*0*0*1*' from t a, t b",
    "select instr(hex(zeroblob(7000000)), hex(zeroblob(1000000)) || '1') from t",
    "select trim(hex(zeroblob(7900000)), hex(zeroblob(7900000))) from t a, t b",
    "select quote(zeroblob(7900000)) from t a, t b, t c",
    "select char(1,2,3), soundex(hex(zeroblob(7900000))) from t a, t b, t c",
    "select a.number from t a where (select count(*) from t b, t c, t d where b.number + c.number + d.number > a.number) > 0",
    "select exists(select 1 from t a, t b, t c, t d where a.number + b.number + c.number = d.number * -1000000)",
];

const JQ: &[&str] = &[
    "def f: f; f",
    "def f: 1 + f; f",
    "def f: [f]; f",
    "last(range(1e18))",
    "[range(1e12)]",
    "last(repeat(1))",
    "until(false; .)",
    "[recurse(.)]",
    "[limit(1e12; repeat(.))] | length",
    "[range(100)] | map(\"x\" * 100000000)",
    "[.. , ..] | [.[], .[], .[]] | [.,.,.] | tojson * 4000",
    "reduce range(60) as $i (\"ab\"; . + .)",
    "reduce range(60) as $i ([1]; . + .)",
    "\"x\" * 1e9",
    "[range(1e8)] | sort | length",
    "[range(3000) as $a | range(3000) as $b | {a: $a, b: $b}] | group_by(.a + .b)",
    "[.[] as $a | .[] as $b | .[] as $c | $a.body + $b.body + $c.body] | unique",
    "foreach range(1e15) as $i (0; . + $i)",
    "[foreach range(1e15) as $i ([]; . + [$i])]",
    "(\"a\" * 50000) | [match(\"(a*)*b\"; \"g\")] | length",
    "(\"a\" * 10000000) | gsub(\"a\"; \"bbbbbbbbbbbbbbbb\")",
    "[range(1e7)] | combinations(3)",
    "[range(100)] | [combinations(8)] | length",
    "def f(x): f(x | tojson); f(.)",
    "reduce range(1e7) as $i (.; {a: .})",
    "[paths] * 1",
    "tojson | explode | map([., .]) | flatten | implode | . * 500",
    "input_line_number as $x | [range(1e10)] | .[1e9]",
    ". as $d | [range(1e6) | $d] | tojson | length",
    "[splits(\"\")] , ([limit(1e9; repeat(\"\"))] | join(\"xxxxxxxx\"))",
];

const GREP: &[&str] = &[
    "(a+)+(a+)+(a+)+$!",
    "(x*)*(x*)*y{3}z",
    "(a{1000}){1000}",
    "((((a{100}){100}){100}){100})",
    "\\w{5000}\\d{5000}",
    "(\\w{100}){3}!",
    "(?:[a-z ]?){800}[a-z ]{800}!",
    "(?:a?){900}a{900}\u{1f}",
    "(?s).*.*.*.*.*!!!!",
    "(?s)[^!]*[^?]*[^;]*\u{1}",
    "(?:(?:.|\\n)*,){40}\u{1}",
    "[\\s\\S]{1000}\u{1}",
    ".*",
    "",
];

const PATHS: &[&str] = &[
    "/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0",
    "$[*][*][*][*][*][*][*][*]",
    "[*].*.*.*.*.*.*",
    "$[*].body",
    "/18446744073709551616",
    "/999999999999/999999999999",
    "//content/0/text/0",
    "//",
    "$[*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*][*]",
];

/// Watches this process and its children, and returns the most memory that each had at once.
struct Watch {
    ended: Arc<AtomicBool>,
    worker: Arc<AtomicU64>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Watch {
    fn start() -> Self {
        let (ended, worker) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (is_over, most) = (Arc::clone(&ended), Arc::clone(&worker));
        let thread = thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                for child in children() {
                    most.fetch_max(peak(&child).unwrap_or(0), Ordering::Relaxed);
                }
                thread::sleep(Duration::from_millis(3));
            }
        });
        Self { ended, worker, thread: Some(thread) }
    }

    fn end(mut self) -> (u64, u64) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        (peak("self").unwrap_or(0), self.worker.load(Ordering::Relaxed))
    }
}

/// Returns the ids of the children of this process.
fn children() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(String::from).collect::<Vec<_>>()).collect()
}

/// Returns the most resident memory that a process ever had.
fn peak(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
}

fn kept() -> Kept {
    let limits = Limits { time: TIME, memory_bytes: WORKER_BYTES, ..Limits::default() };
    Kept::with_limits(&sample::issues(400), limits)
}

fn explode(engine: Engine, bombs: &[&str]) {
    let kept = kept();
    let watch = Watch::start();
    for bomb in bombs {
        assert!(bomb.len() <= 4096);
        let started = Instant::now();
        let outcome = kept.ask(engine, bomb);
        let took = started.elapsed();
        assert!(took < FAR_TOO_LATE, "{bomb}: {took:?}");
        let size = outcome.as_ref().map_or(0, |found| found.results.iter().map(String::len).sum::<usize>());
        assert!(size <= 32 << 20, "{bomb}: {size} bytes of results");
        if let Err(error) = outcome {
            let error = error.to_string();
            assert!(!error.contains("another version"), "{bomb}: {error}");
        }
    }
    let (caller, worker) = watch.end();
    assert!(caller < CALLER_BYTES, "the caller had {} MB", caller >> 20);
    assert!(worker < WORKER_BYTES, "a worker had {} MB", worker >> 20);
}

#[test]
fn sql_bombs() {
    explode(Sql, SQL);
}

#[test]
fn jq_bombs() {
    explode(Jq, JQ);
}

#[test]
fn grep_bombs() {
    explode(Grep, GREP);
}

#[test]
fn path_bombs() {
    let kept = kept();
    let watch = Watch::start();
    for bomb in PATHS {
        let started = Instant::now();
        let _ = kept.view(View::Path((*bomb).to_owned()));
        assert!(started.elapsed() < FAR_TOO_LATE, "{bomb}");
    }
    assert!(watch.end().0 < CALLER_BYTES);
    assert!(SQL.len() + JQ.len() + GREP.len() + PATHS.len() >= 60);
}
