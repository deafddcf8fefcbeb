//! The worker process, which runs one jq program and exits.
//!
//! Its stdin is one line of JSON, the `Order`, followed by the data. On its stdout a line `l` says that the data is
//! loaded, a line `r...` is a result, and a line `o...` is the `Outcome`. It limits its own memory; the caller limits its
//! time.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::Command;

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::Val;
use serde::{Deserialize, Serialize};

/// The hidden subcommand under which a program that offers itself as a worker is started.
pub const SUBCOMMAND: &str = "__query-worker";

/// How to start the worker process.
#[derive(Debug, Clone)]
pub struct Worker {
    program: PathBuf,
}

impl Worker {
    /// Returns a worker that runs a program with [`SUBCOMMAND`] as its only argument; the program must call [`main`].
    pub fn new(program: PathBuf) -> Self {
        Self { program }
    }

    /// Returns a worker that runs the current program again.
    ///
    /// # Errors
    ///
    /// Where the path of the current program is unknown.
    pub fn current() -> io::Result<Self> {
        Ok(Self::new(std::env::current_exe()?))
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(SUBCOMMAND);
        command
    }
}

/// What the worker is to run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) program: String,
    /// Results to skip.
    pub(crate) skip: u64,
    /// Bytes of results after which they are only counted.
    pub(crate) bytes: usize,
    /// Results after which counting stops.
    pub(crate) rows: u64,
    pub(crate) memory_bytes: u64,
}

/// How the program ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// How many results there were.
    pub(crate) total: u64,
    /// Whether these are all of them.
    pub(crate) complete: bool,
    pub(crate) error: Option<String>,
}

/// Runs one order from stdin, and returns whether that succeeded.
pub fn main() -> bool {
    let outcome = serve(&mut io::stdin().lock(), &mut io::stdout().lock());
    outcome.is_ok()
}

fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut header = String::new();
    input.read_line(&mut header)?;
    let order: Order = serde_json::from_str(&header)?;
    limit_memory(order.memory_bytes);
    let mut json = Vec::new();
    input.read_to_end(&mut json)?;
    let value = jaq_json::read::parse_single(&json);
    drop(json);
    let mut output = io::BufWriter::new(output);
    writeln!(output, "l")?;
    output.flush()?;
    let outcome = match value {
        Ok(value) => run(&order, value, &mut output)?,
        Err(error) => {
            Outcome { error: Some(format!("the data cannot be read as JSON: {error}")), ..Outcome::default() }
        }
    };
    writeln!(output, "o{}", serde_json::to_string(&outcome)?)?;
    output.flush()
}

#[cfg(unix)]
fn limit_memory(bytes: u64) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // Where the system sets no limit, the time limit remains.
    let _ = setrlimit(Resource::As, Rlimit { current: Some(bytes), maximum: Some(bytes) });
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

#[cfg(not(unix))]
fn limit_memory(_: u64) {}

fn run(order: &Order, value: Val, output: &mut impl Write) -> io::Result<Outcome> {
    let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let (loader, arena) = (Loader::new(definitions), Arena::default());
    let failed = |error: String| Ok(Outcome { error: Some(error), ..Outcome::default() });
    let modules = match loader.load(&arena, File { code: order.program.as_str(), path: () }) {
        Ok(modules) => modules,
        Err(errors) => return failed(load_message(&errors)),
    };
    let filter = match Compiler::default().with_funs(functions).compile(modules) {
        Ok(filter) => filter,
        Err(errors) => return failed(compile_message(&errors)),
    };
    let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
    let (mut outcome, mut bytes) = (Outcome { complete: true, ..Outcome::default() }, 0);
    for result in filter.id.run((context, value)).map(unwrap_valr) {
        let value = match result {
            Ok(value) => value,
            Err(error) => {
                outcome.error = Some(error.to_string());
                break;
            }
        };
        outcome.total += 1;
        if outcome.total > order.skip && bytes <= order.bytes {
            let text = value.to_string();
            bytes += text.len();
            writeln!(output, "r{text}")?;
        }
        if outcome.total >= order.rows {
            outcome.complete = false;
            break;
        }
    }
    Ok(outcome)
}

fn load_message(errors: &jaq_core::load::Errors<&str, ()>) -> String {
    use jaq_core::load::Error;
    let first = errors.iter().map(|(_, error)| match error {
        Error::Io(errors) => errors.first().map(|(_, error)| error.clone()).unwrap_or_default(),
        Error::Lex(errors) => {
            errors.first().map_or_else(String::new, |(expected, at)| near(expected.as_str(), at))
        }
        Error::Parse(errors) => {
            errors.first().map_or_else(String::new, |(expected, at)| near(expected.as_str(), at))
        }
    });
    first.collect::<Vec<_>>().join("; ")
}

fn near(expected: &str, at: &str) -> String {
    let rest: String = at.chars().take(30).collect();
    if rest.is_empty() {
        format!("{expected} expected at the end")
    } else {
        format!("{expected} expected at {rest:?}")
    }
}

fn compile_message(errors: &jaq_core::compile::Errors<&str, ()>) -> String {
    let undefined = errors.iter().flat_map(|(_, errors)| errors.iter());
    undefined
        .map(|(name, kind)| format!("{} {name:?} is not defined", kind.as_str()))
        .collect::<Vec<_>>()
        .join("; ")
}
