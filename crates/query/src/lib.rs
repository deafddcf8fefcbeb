//! The engines behind the `jq`, `sql` and `grep` views, each under limits of time, memory and rows.
//!
//! A program runs in a separate process with an empty environment and a memory limit, which is killed when its time is
//! over: jq can loop or allocate without end, one function of SQL can build gigabytes, and nothing inside the process can
//! stop them. Where that process cannot be started, jq is refused; SQL and grep run in the caller's process under smaller
//! limits, which the engines themselves keep.
//!
//! The engines of jq and SQL are behind the features `jq` and `sql`. A caller without them can still send programs to a
//! worker that has them, such as an installed `tidegate`.

mod engine;
mod grep;
#[cfg(any(feature = "jq", feature = "sql"))]
mod hint;
#[cfg(feature = "jq")]
mod jq;
mod limits;
#[cfg(feature = "sql")]
mod memory;
mod order;
mod remote;
mod slots;
#[cfg(feature = "sql")]
mod sql;
pub mod worker;

pub use limits::Limits;
pub use worker::Worker;

use order::{Order, Program};
use remote::RemoteError;
use slots::Slots;
use tidegate_core::view::{Dataset, EngineOutput, Engines, QueryLanguages, ResultWindow, ViewError};

/// The process in which an engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// A process of its own, which can be killed and limited as a whole.
    Worker,
    /// The caller's process, which holds other things too.
    Caller,
}

/// The engines. Clones share a few slots: programs beyond them wait for each other.
#[derive(Debug, Clone)]
pub struct Queries {
    limits: Limits,
    worker: Worker,
    slots: Slots,
}

impl Queries {
    /// Returns the engines; `worker` says how to start the process that runs a program.
    pub fn new(limits: Limits, worker: Worker) -> Self {
        Self { limits, worker, slots: Slots::default() }
    }

    fn run(
        &self,
        data: &Dataset<'_>,
        program: Program,
        window: ResultWindow,
    ) -> Result<EngineOutput, ViewError> {
        let order = Order { program, window, limits: self.limits };
        let _slot = self.slots.take();
        match remote::run(&self.worker, &order, data) {
            Ok(found) => Ok(found),
            Err(RemoteError::Query(error)) => Err(error),
            Err(RemoteError::NotStarted(error)) => match order.program {
                Program::Jq(_) if cfg!(feature = "sql") => {
                    Err(needs_worker("jq", "path, fields, sql or grep", &error))
                }
                Program::Jq(_) => Err(needs_worker("jq", "path, fields or grep", &error)),
                Program::Sql(_) if !cfg!(feature = "sql") => {
                    Err(needs_worker("SQL", "path, fields or grep", &error))
                }
                Program::Sql(_) | Program::Grep { .. } => engine::run(&order, data, Host::Caller, &mut || {}),
            },
        }
    }
}

fn needs_worker(what: &str, instead: &str, error: &std::io::Error) -> ViewError {
    ViewError::Engine(format!(
        "{what} needs the tidegate program, which could not be started: {error}. Use {instead}"
    ))
}

impl Engines for Queries {
    /// Returns the languages that can be run: those of the worker, and SQL if its engine is built in.
    fn languages(&self) -> QueryLanguages {
        let QueryLanguages { jq, sql } = self.worker.languages();
        QueryLanguages { jq, sql: sql || cfg!(feature = "sql") }
    }

    fn jq(&self, data: &Dataset<'_>, program: &str, window: ResultWindow) -> Result<EngineOutput, ViewError> {
        self.run(data, Program::Jq(program.to_owned()), window)
    }

    fn sql(&self, data: &Dataset<'_>, query: &str, window: ResultWindow) -> Result<EngineOutput, ViewError> {
        self.run(data, Program::Sql(query.to_owned()), window)
    }

    fn grep(
        &self,
        data: &Dataset<'_>,
        pattern: &str,
        context: u64,
        window: ResultWindow,
    ) -> Result<EngineOutput, ViewError> {
        self.run(data, Program::Grep { pattern: pattern.to_owned(), context, count: false }, window)
    }

    fn grep_count(
        &self,
        data: &Dataset<'_>,
        pattern: &str,
        window: ResultWindow,
    ) -> Result<EngineOutput, ViewError> {
        self.run(data, Program::Grep { pattern: pattern.to_owned(), context: 0, count: true }, window)
    }
}
