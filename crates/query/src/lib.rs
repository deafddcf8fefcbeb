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

use order::{Order, Program, Progress, WantedResults};
use remote::RemoteError;
use slots::Slots;
use tidegate_core::view::{
    Dataset, EngineOutput, EngineProgram, EngineSink, Engines, QueryLanguages, ResultWindow, ViewError,
};

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

    /// Returns engines with other limits and slots of their own, so that long programs hold up none of these.
    #[must_use]
    pub fn apart(&self, change: impl FnOnce(Limits) -> Limits) -> Self {
        Self::new(change(self.limits), self.worker.clone())
    }

    /// Returns these engines for programs that name other results besides their main one.
    pub fn beside<'q>(&'q self, others: &'q [NamedResult<'q>]) -> QueriesBeside<'q> {
        QueriesBeside { queries: self, others }
    }

    fn run_order(
        &self,
        input: &Input<'_>,
        program: Program,
        results: WantedResults,
        sink: &mut EngineSink<'_>,
    ) -> Result<EngineOutput, ViewError> {
        let order = Order { program, results, limits: self.limits };
        let _slot = self.slots.take();
        match remote::run(&self.worker, &order, input, sink) {
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
                Program::Sql(_) | Program::Grep { .. } => {
                    engine::run(&order, input, Host::Caller, &mut |progress| match progress {
                        Progress::Loaded => Ok(()),
                        Progress::Event(event) => sink(event),
                    })
                }
            },
        }
    }
}

fn needs_worker(what: &str, instead: &str, error: &std::io::Error) -> ViewError {
    ViewError::Engine(format!(
        "{what} needs the tidegate program, which could not be started: {error}. Use {instead}"
    ))
}

/// Another stored result that a program names.
pub struct NamedResult<'r> {
    /// The name, as the program writes it.
    pub name: String,
    /// The result.
    pub data: Dataset<'r>,
}

/// What a program reads: its main result, and the others that it names.
pub(crate) struct Input<'i> {
    pub(crate) data: &'i Dataset<'i>,
    pub(crate) others: &'i [NamedResult<'i>],
}

/// The engines for programs that name other results.
pub struct QueriesBeside<'q> {
    queries: &'q Queries,
    others: &'q [NamedResult<'q>],
}

impl Engines for QueriesBeside<'_> {
    /// Returns the languages that can be run: those of the worker, and SQL if its engine is built in.
    fn languages(&self) -> QueryLanguages {
        let QueryLanguages { jq, sql } = self.queries.worker.languages();
        QueryLanguages { jq, sql: sql || cfg!(feature = "sql") }
    }

    fn run(
        &self,
        data: &Dataset<'_>,
        program: EngineProgram<'_>,
        window: ResultWindow,
    ) -> Result<EngineOutput, ViewError> {
        // Only a query for a file gets its results one by one.
        let mut sink = |_: tidegate_core::view::EngineEvent<'_>| Ok(());
        let input = Input { data, others: self.others };
        self.queries.run_order(&input, program.into(), WantedResults::Window(window), &mut sink)
    }

    fn each(
        &self,
        data: &Dataset<'_>,
        program: EngineProgram<'_>,
        sink: &mut EngineSink<'_>,
    ) -> Result<Vec<String>, ViewError> {
        let input = Input { data, others: self.others };
        Ok(self.queries.run_order(&input, program.into(), WantedResults::Each, sink)?.notes)
    }
}

impl Engines for Queries {
    fn languages(&self) -> QueryLanguages {
        self.beside(&[]).languages()
    }

    fn run(
        &self,
        data: &Dataset<'_>,
        program: EngineProgram<'_>,
        window: ResultWindow,
    ) -> Result<EngineOutput, ViewError> {
        self.beside(&[]).run(data, program, window)
    }

    fn each(
        &self,
        data: &Dataset<'_>,
        program: EngineProgram<'_>,
        sink: &mut EngineSink<'_>,
    ) -> Result<Vec<String>, ViewError> {
        self.beside(&[]).each(data, program, sink)
    }
}
