//! One mistake in a file: where, what, and what would be right.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One mistake.
#[derive(Debug)]
pub(super) struct Mistake {
    path: PathBuf,
    line: Option<usize>,
    message: String,
}

impl Mistake {
    /// A mistake at a place in a text.
    pub(super) fn at(
        path: &Path,
        text: &str,
        place: Option<Range<usize>>,
        message: impl Into<String>,
    ) -> Self {
        let line = place.map(|place| text[..place.start.min(text.len())].matches('\n').count() + 1);
        Self { path: path.to_owned(), line, message: message.into() }
    }

    /// Where it is, for the order in which mistakes are told.
    pub(super) fn line(&self) -> Option<usize> {
        self.line
    }

    /// Whether it is in a file.
    pub(super) fn is_in(&self, path: &Path) -> bool {
        self.path == path
    }

    /// A file that cannot be read.
    pub(super) fn of_file(path: &Path, error: &io::Error) -> Self {
        Self { path: path.to_owned(), line: None, message: format!("cannot be read: {error}") }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.path.display(), self.message),
            None => write!(formatter, "{}: {}", self.path.display(), self.message),
        }
    }
}
