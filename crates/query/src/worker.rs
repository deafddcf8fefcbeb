//! The worker process, which runs one program and exits.
//!
//! Its stdin is one line of JSON, the `Header`, followed by the outline and the result. On its stdout a line `l` says that
//! the data is loaded, and a line `o...` is the `Outcome`. It limits its own memory, writes no files and gives way to other
//! processes; the caller limits its time.

use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::process::Command;

use tidegate_core::outline::Outline;
use tidegate_core::view::{Dataset, QueryLanguages};

use crate::order::{Header, Order, Outcome};
use crate::{Host, engine};

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
    let outcome = serve(&mut io::stdin().lock(), &mut io::stdout().lock());
    outcome.is_ok()
}

fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut header = String::new();
    input.read_line(&mut header)?;
    let header: Header<Order> = serde_json::from_str(&header)?;
    restrict(header.order.limits.memory_bytes);
    let outline = read_exactly(input, header.outline_bytes)?;
    let source = read_exactly(input, header.source_bytes)?;
    let outline = Outline::from_bytes(&outline)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the outline is of another version"))?;
    let data = Dataset::new(&source, &outline);
    let mut failed = None;
    let mut loaded = || failed = writeln!(output, "l").and_then(|()| output.flush()).err();
    let outcome = Outcome::from(engine::run(&header.order, &data, Host::Worker, &mut loaded));
    if let Some(error) = failed {
        return Err(error);
    }
    writeln!(output, "o{}", serde_json::to_string(&outcome)?)?;
    output.flush()
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
