//! The view `jq`: the program and the data go to a worker process, the results come back line by line.
//!
//! The process is killed when the limits of time are over, and in any case before the answer is given.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use tidegate_core::view::{
    Dataset, EngineOutput, ResultWindow, Total, ViewError, visible_json, visible_text,
};

use crate::hint;
use crate::limits::Limits;
use crate::worker::{Order, Outcome, Worker};

pub(crate) fn run(
    worker: &Worker,
    limits: &Limits,
    data: &Dataset<'_>,
    program: &str,
    window: ResultWindow,
) -> Result<EngineOutput, ViewError> {
    let Some(json) = data.to_json(limits.input_bytes)? else {
        return Err(ViewError::Engine(format!(
            "the result is too large for jq (the limit is {} MB); use page, path, grep or lines",
            limits.input_bytes >> 20
        )));
    };
    let order = Order {
        program: program.to_owned(),
        skip: window.skip,
        bytes: window.bytes,
        rows: limits.rows,
        memory_bytes: limits.memory_bytes,
    };
    let mut running = RunningWorker::start(worker, &order, json)?;
    let outcome = running.wait(limits);
    running.kill();
    let (results, outcome) = outcome?;
    found(data, program, results, outcome)
}

/// A running worker process; killed when dropped.
struct RunningWorker {
    child: Child,
    lines: Receiver<String>,
}

impl RunningWorker {
    fn start(worker: &Worker, order: &Order, json: Vec<u8>) -> Result<Self, ViewError> {
        let spawned = worker
            .command()
            // The program must not see our environment.
            .env_clear()
            // An allocator that reserves gigabytes of address space would exceed the memory limit at once.
            .env("MIMALLOC_ARENA_RESERVE", "32MiB")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = spawned.map_err(|error| {
            ViewError::Engine(format!(
                "jq is run by the program tidegate, which could not be started: {error}. Use path, fields, sql or grep"
            ))
        })?;
        let (mut stdin, stdout) = match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => (stdin, stdout),
            _ => return Err(ViewError::Engine("the jq process could not be talked to".into())),
        };
        let mut header = serde_json::to_vec(order).unwrap_or_default();
        header.push(b'\n');
        std::thread::spawn(move || {
            // A process that was killed early does not read everything, and need not.
            let _ = stdin.write_all(&header).and_then(|()| stdin.write_all(&json));
        });
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            for line in lines {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, lines })
    }

    /// Collects results until the outcome arrives or a time limit is over.
    fn wait(&mut self, limits: &Limits) -> Result<(Vec<String>, Outcome), ViewError> {
        let mut results = Vec::new();
        let mut until = Instant::now() + limits.load_time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => match line.split_at_checked(1) {
                    Some(("r", result)) => results.push(visible_json(result)),
                    Some(("l", _)) => until = Instant::now() + limits.time,
                    Some(("o", outcome)) => {
                        let outcome = serde_json::from_str(outcome)
                            .map_err(|error| ViewError::Engine(error.to_string()))?;
                        return Ok((results, outcome));
                    }
                    _ => {}
                },
                Err(RecvTimeoutError::Timeout) => {
                    return Err(ViewError::Engine(limits.out_of_time("the jq program")));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ViewError::Engine(format!(
                        "the jq program needed more than {} MB of memory; make it look at less, or read pages",
                        limits.memory_bytes >> 20
                    )));
                }
            }
        }
    }

    fn kill(&mut self) {
        // A process that has already ended is fine too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

fn found(
    data: &Dataset<'_>,
    program: &str,
    results: Vec<String>,
    outcome: Outcome,
) -> Result<EngineOutput, ViewError> {
    let mut notes = Vec::new();
    if let Some(error) = outcome.error.as_deref().map(brief) {
        if outcome.total == 0 {
            return Err(ViewError::Engine(format!(
                "jq error: {error}. {}{}",
                meant(data, program),
                hint::shape(data)
            )));
        }
        notes.push(format!("It then failed: {error}."));
    }
    let nothing = outcome.total == 0 || results.iter().all(|result| result == "null");
    if nothing {
        let searched = data.record_count();
        let what = if outcome.total == 0 { "No results" } else { "Nothing but null" };
        notes.push(format!(
            "{what}; {searched} records were searched. {}{}.",
            meant(data, program),
            hint::shape(data)
        ));
    }
    let total = if outcome.complete { Total::Exactly(outcome.total) } else { Total::AtLeast(outcome.total) };
    Ok(EngineOutput { header: None, results, total, what: "results".into(), notes })
}

/// Returns an error with its middle cut out: those of jq quote the whole input.
fn brief(error: &str) -> String {
    const MAX_END_CHARS: usize = 120;
    let shown = visible_text(error);
    let length = shown.chars().count();
    if length <= 2 * MAX_END_CHARS {
        return shown;
    }
    let head: String = shown.chars().take(MAX_END_CHARS).collect();
    let tail: String = shown.chars().skip(length - MAX_END_CHARS).collect();
    format!("{head} … {tail}")
}

/// Suggests known names for the unknown names in a program.
fn meant(data: &Dataset<'_>, program: &str) -> String {
    hint::unknown_names(data, program).iter().map(|name| hint::meant(data, name)).collect()
}
