//! What the caller and the worker process exchange: the program that an engine runs, and how it ended.

use std::io;

use serde::{Deserialize, Serialize};
use tidegate_core::view::{EngineEvent, EngineOutput, EngineProgram, ResultWindow, ViewError};

use crate::limits::Limits;

/// A program for one of the engines.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Program {
    /// A jq program.
    Jq(String),
    /// A query over the table `t`.
    Sql(String),
    /// A regular expression.
    Grep {
        pattern: String,
        /// Lines shown before and after a matching line.
        context: u64,
        /// Whether matches are only counted.
        count: bool,
    },
}

impl From<EngineProgram<'_>> for Program {
    fn from(program: EngineProgram<'_>) -> Self {
        match program {
            EngineProgram::Jq(program) => Self::Jq(program.to_owned()),
            EngineProgram::Sql(query) => Self::Sql(query.to_owned()),
            EngineProgram::Grep { pattern, context } => {
                Self::Grep { pattern: pattern.to_owned(), context, count: false }
            }
            EngineProgram::Count(pattern) => {
                Self::Grep { pattern: pattern.to_owned(), context: 0, count: true }
            }
        }
    }
}

impl Program {
    /// Returns what a message calls the program.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Jq(_) => "the jq program",
            Self::Sql(_) => "the query",
            Self::Grep { .. } => "grep",
        }
    }
}

/// A program with everything its run depends on, except the data.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) program: Program,
    pub(crate) results: WantedResults,
    pub(crate) limits: Limits,
}

/// Which results the caller wants, and how.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum WantedResults {
    /// Those in a window, for an answer.
    Window(ResultWindow),
    /// All of them, one by one, for a file.
    Each,
}

impl WantedResults {
    /// Returns the window; an empty one if results are passed on one by one.
    pub(crate) fn window(self) -> ResultWindow {
        match self {
            Self::Window(window) => window,
            Self::Each => ResultWindow { skip: u64::MAX, bytes: 0 },
        }
    }
}

/// The first line that the worker reads: the order, and how many bytes of outlines and of results follow.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Header<O> {
    pub(crate) order: O,
    /// The main result, then the others that the program names.
    pub(crate) inputs: Vec<InputHeader>,
}

/// A result that follows the header: its outline, then its bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InputHeader {
    /// The name, as the program writes it; empty for the main result.
    pub(crate) name: String,
    pub(crate) outline_bytes: u64,
    pub(crate) source_bytes: u64,
}

/// What an engine reports while it runs.
pub(crate) enum Progress<'p> {
    /// The data is loaded, and the program starts.
    Loaded,
    /// The columns, a row or a value that the caller gets at once.
    #[cfg_attr(
        not(any(feature = "jq", feature = "sql")),
        expect(dead_code, reason = "only jq and SQL have events")
    )]
    Event(EngineEvent<'p>),
}

/// Receives what an engine reports; if it returns an error, the program is stopped.
pub(crate) type Report<'r> = dyn FnMut(Progress<'_>) -> io::Result<()> + 'r;

/// How a program ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Found(EngineOutput),
    Bad(String),
    NotThere(String),
    Engine(String),
    Source(String),
}

impl From<Result<EngineOutput, ViewError>> for Outcome {
    fn from(result: Result<EngineOutput, ViewError>) -> Self {
        match result {
            Ok(found) => Self::Found(found),
            Err(ViewError::Bad(message)) => Self::Bad(message),
            Err(ViewError::NotThere(message)) => Self::NotThere(message),
            Err(ViewError::Source(error)) => Self::Source(error.to_string()),
            Err(error) => Self::Engine(error.to_string()),
        }
    }
}

impl From<Outcome> for Result<EngineOutput, ViewError> {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Found(found) => Ok(found),
            Outcome::Bad(message) => Err(ViewError::Bad(message)),
            Outcome::NotThere(message) => Err(ViewError::NotThere(message)),
            Outcome::Engine(message) => Err(ViewError::Engine(message)),
            Outcome::Source(message) => Err(ViewError::Source(io::Error::other(message))),
        }
    }
}

/// Cuts a result that is longer than the window, since the rest is never shown; what remains is still too long to fit.
#[cfg(any(feature = "jq", feature = "sql"))]
pub(crate) fn cut_result(text: &mut String, window_bytes: usize) {
    let mut end = window_bytes.saturating_add(4).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}
