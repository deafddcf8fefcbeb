//! Why a client's file cannot be read, changed or restored.
//!
//! Each error names the file, so that a command can go on with the other files and report this one.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file is not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not valid JSON or TOML.
    #[error("{path}:{line}:{column}: {message}", path = .path.display(), line = .broken.line, column = .broken.column,
        message = .broken.message)]
    Broken {
        /// The file.
        path: PathBuf,
        /// The position and the cause.
        broken: Broken,
    },
    /// The file is read-only.
    #[error("{path} is read-only; make it writable first", path = .0.display())]
    ReadOnly(PathBuf),
    /// The file changed after the plan was made.
    #[error("{path} was changed by another program; nothing was written; try again", path = .0.display())]
    Moved(PathBuf),
    /// A server cannot be undone.
    #[error("{path}: {server} was not changed: {why}", path = .path.display())]
    Server {
        /// The file.
        path: PathBuf,
        /// The server's name.
        server: String,
        /// The reason.
        why: String,
    },
}

impl FileError {
    /// Returns the file that the error is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Unusable { path, .. } | Self::Broken { path, .. } | Self::Server { path, .. } => path,
            Self::ReadOnly(path) | Self::Moved(path) => path,
        }
    }
}

/// A syntax error and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl Broken {
    /// Returns the error for a byte offset in a text.
    pub(crate) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            message: message.into(),
        }
    }
}
