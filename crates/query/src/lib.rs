//! The engines behind the `jq`, `sql` and `grep` views, each under limits of time, memory and rows.
//!
//! jq runs in a separate process with an empty environment and a memory limit, which is killed when its time is over: a
//! jq program can loop or allocate without end, and nothing inside the process can stop it. SQL runs in a read-only
//! in-memory database and is interrupted when its time is over. A regular expression takes time linear in the text.

mod grep;
mod hint;
mod jq;
mod limits;
mod sql;
pub mod worker;

pub use limits::Limits;
pub use worker::Worker;

use tidegate_core::view::{Dataset, EngineOutput, Engines, ResultWindow, ViewError};

/// The engines.
#[derive(Debug, Clone)]
pub struct Queries {
    limits: Limits,
    worker: Worker,
}

impl Queries {
    /// Returns the engines; `worker` says how to start the process that runs jq.
    pub fn new(limits: Limits, worker: Worker) -> Self {
        Self { limits, worker }
    }
}

impl Engines for Queries {
    fn jq(&self, data: &Dataset<'_>, program: &str, window: ResultWindow) -> Result<EngineOutput, ViewError> {
        jq::run(&self.worker, &self.limits, data, program, window)
    }

    fn sql(&self, data: &Dataset<'_>, query: &str, window: ResultWindow) -> Result<EngineOutput, ViewError> {
        sql::run(&self.limits, data, query, window)
    }

    fn grep(
        &self,
        data: &Dataset<'_>,
        pattern: &str,
        context: u64,
        window: ResultWindow,
    ) -> Result<EngineOutput, ViewError> {
        grep::run(&self.limits, data, pattern, context, window)
    }
}
