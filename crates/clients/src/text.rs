//! A client's file as it is on disk: its text, and the byte order mark that may come before it.

use std::io;
use std::path::{Path, PathBuf};

use crate::document::{Broken, Notation};

const MARK: &str = "\u{feff}";

/// Why a file is left alone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It does not follow its notation.
    #[error("{path}:{line}:{column}: {message}", path = .path.display(), line = .broken.line, column = .broken.column,
        message = .broken.message)]
    Broken {
        /// Which file.
        path: PathBuf,
        /// Where, and what is wrong.
        broken: Broken,
    },
    /// Its owner does not want it to be changed.
    #[error("{path} is read-only; make it writable first", path = .0.display())]
    ReadOnly(PathBuf),
    /// It is not what it was when the change was shown.
    #[error("{path} was changed by another program meanwhile; nothing was written to it; try again", path = .0.display())]
    Moved(PathBuf),
    /// A server cannot be undone.
    #[error("{path}: {server} was left as it is: {why}", path = .path.display())]
    Server {
        /// Which file.
        path: PathBuf,
        /// Which server.
        server: String,
        /// Why.
        why: String,
    },
}

impl FileError {
    /// Returns the file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Unusable { path, .. } | Self::Broken { path, .. } | Self::Server { path, .. } => path,
            Self::ReadOnly(path) | Self::Moved(path) => path,
        }
    }
}

/// Reads a file; `None` if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, FileError> {
    match std::fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                let text = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()])
                    .into_owned();
                let broken = Broken::at(&text, text.len(), "this is not UTF-8");
                Err(FileError::Broken { path: path.to_owned(), broken })
            }
        },
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(source) => Err(FileError::Unusable { path: path.to_owned(), source }),
    }
}

/// What a file says at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The value as it is written.
    pub written: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// Returns what a file has at the end of a path of keys; `None` where it cannot be read or has nothing there.
pub fn setting(path: &Path, notation: Notation, keys: &[&str]) -> Option<Setting> {
    let content = read(path).ok()??;
    let (_, text) = unmarked(&content);
    let root = notation.syntax().parse(text).ok()?;
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    let value = root.at(&keys)?;
    let line = text.get(..value.span.start)?.matches('\n').count() + 1;
    Some(Setting { written: text.get(value.span.clone())?.to_owned(), line })
}

/// Splits a byte order mark from what follows it.
pub(crate) fn unmarked(text: &str) -> (&str, &str) {
    match text.strip_prefix(MARK) {
        Some(rest) => (MARK, rest),
        None => ("", text),
    }
}
