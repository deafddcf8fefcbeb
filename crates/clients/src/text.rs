//! Reads a client's file from disk: its text, its byte order mark, and its parsed tree.
//!
//! Every other module reads files through here, so that a missing file, invalid UTF-8 and a syntax error are reported in
//! one way.

use std::io;
use std::path::Path;

use crate::document::{Node, Notation};
use crate::error::{Broken, FileError};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Reads a file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, FileError> {
    match std::fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                let text = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()])
                    .into_owned();
                let broken = Broken::at(&text, text.len(), "invalid UTF-8");
                Err(FileError::Broken { path: path.to_owned(), broken })
            }
        },
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(source) => Err(FileError::Unusable { path: path.to_owned(), source }),
    }
}

/// Splits a leading byte order mark from the text that follows it.
pub(crate) fn split_bom(text: &str) -> (&str, &str) {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => (BYTE_ORDER_MARK, rest),
        None => ("", text),
    }
}

/// Parses the content of a file; a byte order mark is skipped, so spans count from behind it.
pub(crate) fn parse(path: &Path, notation: Notation, content: &str) -> Result<Node, FileError> {
    let (_, text) = split_bom(content);
    let parsed = notation.syntax().parse(text);
    parsed.map_err(|broken| FileError::Broken { path: path.to_owned(), broken })
}
