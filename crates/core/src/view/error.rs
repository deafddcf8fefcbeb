//! The errors of views. Every message says what to do instead.

use std::io;

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The result could not be read.
    #[error("the result could not be read")]
    Source(#[from] io::Error),
    /// The query makes no sense.
    #[error("{0}")]
    Bad(String),
    /// A path, field or column that does not exist.
    #[error("{0}")]
    NotThere(String),
    /// A program that failed or reached a limit.
    #[error("{0}")]
    Engine(String),
}

impl ViewError {
    /// Returns the error for a query that makes no sense.
    pub fn bad(message: impl Into<String>) -> Self {
        Self::Bad(message.into())
    }
}
