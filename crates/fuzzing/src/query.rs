//! Runs any jq, SQL or grep program over any data.
//!
//! Invariants: it ends in time; the answer is within its budget; and SQL cannot write.

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
use tidegate_core::view::{ViewRequest, answer};
use tidegate_query::{Limits, Queries, Worker, worker};

use crate::input;

/// The program that runs jq in its own process.
static WORKER: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program that runs jq; later calls have no effect.
pub fn set_worker(program: PathBuf) {
    WORKER.get_or_init(|| program);
}

/// Lets a fuzzer run jq with a copy of itself. It must be called before anything else.
pub fn init() {
    if std::env::args().nth(1).is_some_and(|argument| argument == worker::SUBCOMMAND) {
        std::process::exit(i32::from(!worker::main()));
    }
    set_worker(std::env::current_exe().expect("the system knows the path of this program"));
}

/// How long a program may run.
const TIME_LIMIT: Duration = Duration::from_millis(400);
/// How long an answer may take; a loaded machine notices the limit late.
const ANSWER_DEADLINE: Duration = Duration::from_secs(6);
/// Size of the largest result of this target.
const MAX_RESULT_BYTES: usize = 8 << 10;

/// Runs one input: a byte for the engine, a piece with the program, a byte for the form, then the data.
pub fn target(mut data: &[u8]) {
    let pick = input::byte(&mut data);
    let program = String::from_utf8_lossy(input::piece(&mut data)).into_owned();
    let form = input::byte(&mut data);
    let result = input::result(form, data, MAX_RESULT_BYTES);
    let source = result.as_slice();
    let payload = Payload::read_result(&source).expect("bytes in memory can be read");
    let outline = Outline::read(&payload).expect("bytes in memory can be read");
    let limits = Limits {
        time: TIME_LIMIT,
        load_time: TIME_LIMIT,
        memory_bytes: 512 << 20,
        rows: 10_000,
        ..Limits::default()
    };
    let worker = if is_jq(pick) {
        WORKER.get().expect("a worker was set").clone()
    } else {
        // SQL and grep run in this process if there is no worker, which is much faster.
        PathBuf::from("/nonexistent")
    };
    let Ok(query) = arguments(pick, &program).into_query() else { return };
    let budget = Budget::of_tokens(Tokens(500));
    let asked = ViewRequest {
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
    assert!(started.elapsed() < ANSWER_DEADLINE, "a query ends in time");
    if let Ok(answer) = answer {
        let cost = answer.cost;
        assert!(cost.tokens <= budget.tokens, "{} tokens\n{}", cost.tokens, answer.text);
        assert!(cost.bytes <= budget.bytes, "{} bytes\n{}", cost.bytes, answer.text);
        assert!(answer.shown > 0 || answer.next.is_none(), "an answer makes progress: {}", answer.text);
        assert!(!(is_sql(pick) && writes(&program)), "a statement that writes was answered: {program}");
    }
}

/// Makes the arguments for an engine. jq starts a process each time, so it is picked least often.
fn arguments(pick: u8, program: &str) -> Arguments {
    let program = Some(program.to_owned());
    match pick & 15 {
        0 => Arguments { jq: program, ..Arguments::default() },
        1..=8 => Arguments { sql: program, ..Arguments::default() },
        context => Arguments { grep: program, context: Some(u64::from(context - 9)), ..Arguments::default() },
    }
}

fn is_jq(pick: u8) -> bool {
    pick & 15 == 0
}

fn is_sql(pick: u8) -> bool {
    (1..=8).contains(&(pick & 15))
}

/// Returns whether a statement writes, or reaches beyond the table.
fn writes(program: &str) -> bool {
    const WRITING_STATEMENTS: [&str; 14] = [
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
    WRITING_STATEMENTS.contains(&first.to_ascii_lowercase().as_str())
}
