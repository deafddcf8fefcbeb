//! The worker process, which runs one program and exits.
//!
//! Its stdin is one line of JSON, the `Header`, followed by the outline and the bytes of each result. On its stdout a line
//! `l` says that the data is loaded, and a line `o...` is the `Outcome`. For a file, the lines before it are results: `c...`
//! the columns, `r...` a row, `v...` a value. The worker limits its own memory, writes no files and lowers its own priority;
//! the caller limits its time.

use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::process::Command;

use tidegate_core::outline::Outline;
use tidegate_core::view::{Dataset, EngineEvent, QueryLanguages};

use crate::order::{Header, InputHeader, Order, Outcome, Progress};
use crate::{Host, Input, NamedResult, engine};

/// The hidden subcommand under which a program that offers itself as a worker is started.
pub const SUBCOMMAND: &str = "__query-worker";

/// How to start the worker process.
#[derive(Debug, Clone)]
pub struct Worker {
    /// The program; `None` if there is none.
    program: Option<PathBuf>,
    /// The engines that the program has.
    languages: QueryLanguages,
}

impl Worker {
    /// Returns a worker that runs a program with [`SUBCOMMAND`] as its only argument; the program must call [`main`].
    pub fn new(program: PathBuf) -> Self {
        Self { program: Some(program), languages: QueryLanguages::ALL }
    }

    /// Returns no worker: grep runs in the caller's process, SQL too if its engine is built in, and jq not at all.
    pub fn none() -> Self {
        Self { program: None, languages: QueryLanguages { jq: false, sql: false } }
    }

    /// Returns a worker that runs the current program again, with the engines that are built in.
    ///
    /// # Errors
    ///
    /// The path of the current program is unknown.
    pub fn current() -> io::Result<Self> {
        let languages = QueryLanguages { jq: cfg!(feature = "jq"), sql: cfg!(feature = "sql") };
        Ok(Self { program: Some(std::env::current_exe()?), languages })
    }

    /// Returns the languages whose engines the program has.
    pub fn languages(&self) -> QueryLanguages {
        self.languages
    }

    /// Returns the command that starts the process; `None` if there is no program.
    pub(crate) fn command(&self) -> Option<Command> {
        let mut command = Command::new(self.program.as_ref()?);
        command.arg(SUBCOMMAND);
        Some(command)
    }
}

/// Runs one order from stdin, and returns whether that succeeded.
pub fn main() -> bool {
    let output = io::BufWriter::new(io::stdout().lock());
    let outcome = serve(&mut io::stdin().lock(), &mut { output });
    outcome.is_ok()
}

fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut header = String::new();
    input.read_line(&mut header)?;
    let header: Header<Order> = serde_json::from_str(&header)?;
    restrict(header.order.limits.memory_bytes);
    let mut inputs = Vec::new();
    for InputHeader { name, outline_bytes, source_bytes } in header.inputs {
        let outline = read_exactly(input, outline_bytes)?;
        let source = read_exactly(input, source_bytes)?;
        let outline =
            Outline::from_bytes(&outline).ok_or_else(|| invalid("the outline is of another version"))?;
        inputs.push((name, outline, source));
    }
    let mut results = inputs.iter().map(|(name, outline, source)| NamedResult {
        name: name.clone(),
        data: Dataset::new(source, outline),
    });
    let data = results.next().ok_or_else(|| invalid("there is no result"))?.data;
    let others: Vec<NamedResult<'_>> = results.collect();
    let found =
        engine::run(&header.order, &Input { data: &data, others: &others }, Host::Worker, &mut |progress| {
            write_progress(progress, output)
        });
    let outcome = Outcome::from(found);
    writeln!(output, "o{}", serde_json::to_string(&outcome)?)?;
    output.flush()
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

fn write_progress(progress: Progress<'_>, output: &mut impl Write) -> io::Result<()> {
    match progress {
        Progress::Loaded => {
            writeln!(output, "l")?;
            output.flush()
        }
        Progress::Event(EngineEvent::Columns(names)) => {
            writeln!(output, "c{}", serde_json::to_string(names)?)
        }
        Progress::Event(EngineEvent::Row(cells)) => writeln!(output, "r{}", serde_json::to_string(cells)?),
        Progress::Event(EngineEvent::Value(json)) => writeln!(output, "v{json}"),
    }
}

fn read_exactly(input: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    input.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Limits memory, forbids files, and gives way to other processes. Where the system refuses, the time limit remains.
#[cfg(unix)]
fn restrict(memory_bytes: u64) {
    use rustix::process::{Resource, Rlimit, nice, setrlimit};
    for (resource, most) in [(Resource::As, memory_bytes), (Resource::Core, 0), (Resource::Fsize, 0)] {
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
    let _ = nice(WORKER_NICENESS);
}

/// By how much the worker is nicer than the caller, whose results must not wait for queries.
#[cfg(unix)]
const WORKER_NICENESS: i32 = 10;

#[cfg(not(unix))]
fn restrict(_: u64) {}
