//! Any program over any data, through the engines.
//!
//! Holds: it ends in time; the answer is within its budget; and nothing but reading is allowed.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::hints::Hints;
use tidegate_core::measure::Meter;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::arguments::Arguments;
use tidegate_core::view::{Asked, answer};
use tidegate_query::{Limits, Queries, Worker, worker};

use crate::input;

/// The program that runs jq.
static WORKER: OnceLock<PathBuf> = OnceLock::new();

/// Uses a program to run jq; the first one named is used.
pub fn work_with(program: PathBuf) {
    WORKER.get_or_init(|| program);
}

/// Makes a fuzzer its own worker: to be called before anything else.
pub fn begin() {
    if std::env::args().nth(1).is_some_and(|argument| argument == worker::SUBCOMMAND) {
        std::process::exit(i32::from(!worker::main()));
    }
    work_with(std::env::current_exe().expect("a program knows where it is"));
}

/// How long a program may run here; a loaded machine may take longer to notice.
const TIME: Duration = Duration::from_millis(400);
const LATE: Duration = Duration::from_secs(6);

/// The largest result of this target.
const LARGEST: usize = 8 << 10;

/// Runs one input: a byte for the engine, a piece that is the program, a byte for the form, then the data.
pub fn target(mut data: &[u8]) {
    let pick = input::byte(&mut data);
    let program = String::from_utf8_lossy(input::piece(&mut data)).into_owned();
    let form = input::byte(&mut data);
    let result = input::result(form, data, LARGEST);
    let source = result.as_slice();
    let payload = Payload::read_result(&source).expect("bytes in memory can be read");
    let outline = Outline::read(&payload).expect("bytes in memory can be read");
    let limits =
        Limits { time: TIME, load_time: TIME, memory_bytes: 512 << 20, rows: 10_000, ..Limits::default() };
    let worker = WORKER.get().expect("a worker was named").clone();
    let Ok(query) = arguments(pick, &program).into_query() else { return };
    let budget = Budget::of_tokens(Tokens(500));
    let asked = Asked {
        source: &source,
        outline: &outline,
        hints: &Hints::default(),
        tool: "list_things",
        handle: Handle::kept("list_things-3f9c2kq7m0xw", "kept 24 h"),
        query: &query,
        budget,
        meter: Meter::default(),
        engines: &Queries::new(limits, Worker::new(worker)),
        seal: &|_| [7; 12],
    };
    let started = Instant::now();
    let answer = answer(&asked);
    assert!(started.elapsed() < LATE, "it ends in time");
    if let Ok(answer) = answer {
        let cost = answer.cost;
        assert!(cost.tokens <= budget.tokens, "{} tokens\n{}", cost.tokens, answer.text);
        assert!(cost.bytes <= budget.bytes, "{} bytes\n{}", cost.bytes, answer.text);
        assert!(answer.shown > 0 || answer.next.is_none(), "a step goes on: {}", answer.text);
        assert!(query_is_sql(pick).is_none_or(|()| !writes(&program)), "nothing is written: {program}");
    }
}

/// The view that is picked. jq starts a process each time, so it is picked least.
fn arguments(pick: u8, program: &str) -> Arguments {
    let program = Some(program.to_owned());
    match pick & 15 {
        0 => Arguments { jq: program, ..Arguments::default() },
        1..=8 => Arguments { sql: program, ..Arguments::default() },
        context => Arguments { grep: program, context: Some(u64::from(context - 9)), ..Arguments::default() },
    }
}

fn query_is_sql(pick: u8) -> Option<()> {
    (1..=8).contains(&(pick & 15)).then_some(())
}

/// Whether a statement is one of those that change something or reach out of the table.
fn writes(program: &str) -> bool {
    const WRITES: [&str; 14] = [
        "insert",
        "update",
        "delete",
        "replace",
        "create",
        "drop",
        "alter",
        "attach",
        "detach",
        "vacuum",
        "pragma",
        "reindex",
        "begin",
        "savepoint",
    ];
    let first: String = program.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    WRITES.contains(&first.to_ascii_lowercase().as_str())
}
