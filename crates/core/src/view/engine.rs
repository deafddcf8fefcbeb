//! The boundary to the engines behind `jq`, `sql` and `grep`: what they get and what they return.
//!
//! The engines are in a crate of their own, under limits of time, memory and rows. An engine runs once for each query.
//! For an answer it returns the results that may fit; for a file it passes on all of them, one by one.

use std::io;

use serde::{Deserialize, Serialize};

use super::View;
use super::dataset::Dataset;
use super::error::ViewError;

/// The results that are wanted.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ResultWindow {
    /// Results to skip.
    pub skip: u64,
    /// Once the results have this many bytes, no more are wanted.
    pub bytes: usize,
}

/// How many results a query has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Total {
    /// Exactly this many.
    Exactly(u64),
    /// This many were found before a limit was reached.
    AtLeast(u64),
}

/// What an engine found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineOutput {
    /// A line above the results, such as the names of columns.
    pub header: Option<String>,
    /// The results after the skipped ones, each of one or a few lines; of one that is longer than the window the
    /// beginning.
    pub results: Vec<String>,
    /// How many results there are.
    pub total: Total,
    /// The noun for the results, in the plural.
    pub what: String,
    /// Facts that a reader must know, such as that some numbers are text.
    pub notes: Vec<String>,
}

/// What an engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineProgram<'p> {
    /// A jq program.
    Jq(&'p str),
    /// A query over the table `t`.
    Sql(&'p str),
    /// Finds what a regular expression matches, anywhere in the result.
    Grep {
        /// The regular expression.
        pattern: &'p str,
        /// Lines or records to show before and after each match.
        context: u64,
    },
    /// Counts what a regular expression matches, by place.
    Count(&'p str),
}

impl<'p> EngineProgram<'p> {
    /// Returns what the engine behind a view runs; `None` for a view that computes nothing.
    pub(super) fn of_view(view: &'p View) -> Option<Self> {
        match view {
            View::Jq(program) => Some(Self::Jq(program)),
            View::Sql(query) => Some(Self::Sql(query)),
            View::Grep { pattern, context } => Some(Self::Grep { pattern, context: *context }),
            View::Count(pattern) => Some(Self::Count(pattern)),
            _ => None,
        }
    }
}

/// What an engine passes on while it runs a program for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineEvent<'e> {
    /// The names of the columns of the rows that follow.
    Columns(&'e [String]),
    /// A row: the JSON of each cell.
    Row(&'e [String]),
    /// A result of jq, as JSON.
    Value(&'e str),
}

/// Receives what an engine passes on; if it returns an error, the program is stopped.
pub type EngineSink<'s> = dyn FnMut(EngineEvent<'_>) -> io::Result<()> + 's;

/// The query languages that can be run where a result is read. Those that cannot are not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLanguages {
    /// The view `jq`.
    pub jq: bool,
    /// The view `sql`.
    pub sql: bool,
}

impl QueryLanguages {
    /// Both languages.
    pub const ALL: Self = Self { jq: true, sql: true };

    /// Returns whether the arguments of a call that reads on, such as `"jq":".[0]"`, can be answered.
    pub(crate) fn can_answer(self, arguments: &str) -> bool {
        (self.jq || !arguments.starts_with("\"jq\"")) && (self.sql || !arguments.starts_with("\"sql\""))
    }
}

/// The engines behind the views that compute.
pub trait Engines {
    /// Returns the query languages that can be run; by default both.
    fn languages(&self) -> QueryLanguages {
        QueryLanguages::ALL
    }

    /// Runs a program over the data and returns the results that are wanted.
    ///
    /// # Errors
    ///
    /// A program that is wrong, would write, fails, or reaches a limit.
    fn run(
        &self,
        data: &Dataset<'_>,
        program: EngineProgram<'_>,
        window: ResultWindow,
    ) -> Result<EngineOutput, ViewError>;

    /// Runs a jq program or an SQL query and passes on all of its results; returns notes for their reader.
    ///
    /// # Errors
    ///
    /// A program that is wrong, fails, or reaches a limit; or an error of `sink`.
    fn each(
        &self,
        _data: &Dataset<'_>,
        _program: EngineProgram<'_>,
        _sink: &mut EngineSink<'_>,
    ) -> Result<Vec<String>, ViewError> {
        Err(NoEngines::refuse())
    }
}

/// An absence of engines: the views that need one are refused.
#[derive(Debug, Clone, Copy)]
pub struct NoEngines;

impl NoEngines {
    fn refuse() -> ViewError {
        ViewError::bad("jq, sql and grep are not available here; use page, fields, path, lines or range")
    }
}

impl Engines for NoEngines {
    fn languages(&self) -> QueryLanguages {
        QueryLanguages { jq: false, sql: false }
    }

    fn run(&self, _: &Dataset<'_>, _: EngineProgram<'_>, _: ResultWindow) -> Result<EngineOutput, ViewError> {
        Err(Self::refuse())
    }
}
