//! Why a part could not be given. Every message says what to do instead.

use std::io;

/// Why a part could not be given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The result could not be read.
    #[error("the result could not be read")]
    Source(#[from] io::Error),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Bad(String),
    /// A path, field or column that does not exist.
    #[error("{0}")]
    NotThere(String),
    /// A program that fails, or that ran into a limit.
    #[error("{0}")]
    Engine(String),
}

impl ViewError {
    /// What was asked for makes no sense.
    pub fn bad(message: impl Into<String>) -> Self {
        Self::Bad(message.into())
    }
}
