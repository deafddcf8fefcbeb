//! Reads one setting of a client, such as an output limit, from its configuration file.

use std::path::Path;

use crate::document::Notation;
use crate::text::{read, split_bom};

/// A value in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The value as it is written in the file.
    pub written: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// Returns the value at a path of keys; `None` if the file cannot be read or has no such key.
pub fn setting(path: &Path, notation: Notation, keys: &[&str]) -> Option<Setting> {
    let content = read(path).ok()??;
    let (_, text) = split_bom(&content);
    let root = notation.syntax().parse(text).ok()?;
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    let value = root.at(&keys)?;
    let line = text.get(..value.span.start)?.matches('\n').count() + 1;
    Some(Setting { written: text.get(value.span.clone())?.to_owned(), line })
}
