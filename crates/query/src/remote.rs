//! The caller's side of the worker process: sends the program and the stored results, waits for the outcome, and kills the
//! process.
//!
//! Stored results are sent as they are read, so the caller holds no copy of them. Rows that the process passes on one by one
//! wait in the pipe until the caller reads them. The process is killed when its time is up, and always before this returns.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use tidegate_core::view::{Dataset, EngineEvent, EngineOutput, EngineSink, ViewError};

use crate::Input;
use crate::limits::out_of_memory;
use crate::order::{Header, InputHeader, Order, Outcome};
use crate::worker::Worker;

/// Why a worker gave no answer.
pub(crate) enum RemoteError {
    /// The process could not be started, or is not a worker that understands us.
    NotStarted(io::Error),
    /// The query failed, or reached a limit.
    Query(ViewError),
}

impl From<ViewError> for RemoteError {
    fn from(error: ViewError) -> Self {
        Self::Query(error)
    }
}

/// Runs an order in a worker process.
pub(crate) fn run(
    worker: &Worker,
    order: &Order,
    input: &Input<'_>,
    sink: &mut EngineSink<'_>,
) -> Result<EngineOutput, RemoteError> {
    let mut running = RunningWorker::start(worker)?;
    let outcome = running.run(order, input, sink);
    running.kill();
    outcome
}

/// A running worker process; killed when dropped.
struct RunningWorker {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

/// How long an engine that has stopped itself may take to write its answer.
const TO_ANSWER: Duration = Duration::from_millis(200);
/// How many bytes of a result are sent at a time.
const SENT_BYTES: usize = 256 * 1024;
/// How many lines of the process may wait to be read.
const WAITING_LINES: usize = 16;

impl RunningWorker {
    fn start(worker: &Worker) -> Result<Self, RemoteError> {
        let not_installed = || io::Error::other("it is not installed");
        let mut child = worker
            .command()
            .ok_or_else(|| RemoteError::NotStarted(not_installed()))?
            // The program must not see our environment.
            .env_clear()
            // An allocator that reserves gigabytes of address space would exceed the memory limit at once.
            .env("MIMALLOC_ARENA_RESERVE", "32MiB")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(RemoteError::NotStarted)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (sender, lines) = sync_channel(WAITING_LINES);
        std::thread::spawn(move || {
            let lines = stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines());
            for line in lines.map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, stdin, lines })
    }

    fn run(
        &mut self,
        order: &Order,
        input: &Input<'_>,
        sink: &mut EngineSink<'_>,
    ) -> Result<EngineOutput, RemoteError> {
        let until = Instant::now() + order.limits.load_time;
        self.send(order, input)?;
        self.wait(order, until, sink)
    }

    /// Sends the order and the results. A process that exits early does not read everything; `wait` finds out why.
    fn send(&mut self, order: &Order, input: &Input<'_>) -> Result<(), ViewError> {
        let Some(mut stdin) = self.stdin.take() else { return Ok(()) };
        let others = input.others.iter().map(|other| (other.name.as_str(), &other.data));
        let inputs: Vec<(&str, &Dataset<'_>, Vec<u8>)> = std::iter::once(("", input.data))
            .chain(others)
            .map(|(name, data)| (name, data, data.outline().to_bytes()))
            .collect();
        let headers = inputs.iter().map(|(name, data, outline)| InputHeader {
            name: (*name).to_owned(),
            outline_bytes: outline.len() as u64,
            source_bytes: data.source().len(),
        });
        let header = Header { order, inputs: headers.collect() };
        let mut head = serde_json::to_vec(&header).map_err(|error| ViewError::Engine(error.to_string()))?;
        head.push(b'\n');
        let mut is_read = stdin.write_all(&head).is_ok();
        for (_, data, outline) in inputs {
            is_read = is_read && stdin.write_all(&outline).is_ok() && send_source(data, &mut stdin)?;
        }
        Ok(())
    }

    /// Waits for the outcome until a time limit is over.
    fn wait(
        &mut self,
        order: &Order,
        mut until: Instant,
        sink: &mut EngineSink<'_>,
    ) -> Result<EngineOutput, RemoteError> {
        let limits = &order.limits;
        let mut loaded = false;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => match line.split_at_checked(1) {
                    Some(("l", _)) => {
                        loaded = true;
                        // An engine that checks the time itself can say how far it got, so it gets a little longer.
                        until = Instant::now() + limits.time + limits.time / 4 + TO_ANSWER;
                    }
                    Some(("o", outcome)) => {
                        let outcome: Outcome = serde_json::from_str(outcome)
                            .map_err(|error| ViewError::Engine(error.to_string()))?;
                        return Result::from(outcome).map_err(RemoteError::Query);
                    }
                    Some((kind @ ("c" | "r" | "v"), text)) => pass_on(kind, text, sink)?,
                    _ => {}
                },
                Err(RecvTimeoutError::Timeout) if loaded => {
                    return Err(ViewError::Engine(limits.out_of_time(order.program.name())).into());
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(ViewError::Engine(limits.out_of_load_time()).into());
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended_early(order)),
            }
        }
    }

    /// Returns why the process ended without an outcome: a signal means that it reached its memory limit.
    fn ended_early(&mut self, order: &Order) -> RemoteError {
        match self.child.wait().ok().and_then(|status| status.code()) {
            None => ViewError::Engine(out_of_memory(order.program.name(), order.limits.memory_bytes)).into(),
            Some(code @ (1 | 2)) => RemoteError::NotStarted(io::Error::other(format!(
                "it ended with code {code}; is another version installed?"
            ))),
            Some(code) => ViewError::Engine(format!(
                "the process that ran {} failed with code {code}; ask for another view",
                order.program.name()
            ))
            .into(),
        }
    }

    fn kill(&mut self) {
        // A process that has already ended is fine too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends the bytes of a result; returns whether the process read them.
fn send_source(data: &Dataset<'_>, stdin: &mut ChildStdin) -> Result<bool, ViewError> {
    let source = data.source();
    let mut block = vec![0; SENT_BYTES];
    let mut at = 0;
    while at < source.len() {
        let count = source.read_at(at, &mut block)?;
        if count == 0 {
            break;
        }
        if stdin.write_all(&block[..count]).is_err() {
            return Ok(false);
        }
        at += count as u64;
    }
    Ok(true)
}

/// Passes on a line from the process: the columns, a row or a value.
fn pass_on(kind: &str, text: &str, sink: &mut EngineSink<'_>) -> Result<(), ViewError> {
    if kind == "v" {
        return Ok(sink(EngineEvent::Value(text))?);
    }
    let texts: Vec<String> =
        serde_json::from_str(text).map_err(|error| ViewError::Engine(error.to_string()))?;
    Ok(sink(if kind == "c" { EngineEvent::Columns(&texts) } else { EngineEvent::Row(&texts) })?)
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}
