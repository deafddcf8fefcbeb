//! Tables that are written as lists: how their records get named columns.
//!
//! A list of lists is a table whose columns are named by its first list, by a list beside it, or by their positions. An
//! object of equally long lists is a table with one record per position. A [`RowForm`] says which of these it is, so that
//! records are read as objects wherever they are shown or queried.

use serde::{Deserialize, Serialize};

use super::node::{NodeId, SparseIndex};
use crate::json::StringToken;

/// The maximum number of columns; longer lists are vectors, whose elements share one path.
pub(crate) const MAX_COLUMNS: usize = 256;
/// The maximum number of bytes of a list that is held until it is known whether it is a header row.
const MAX_HELD_BYTES: usize = 16 * 1024;

/// How the records of a table that is written as lists get their columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowForm {
    /// The names of the elements of each record, which is a list; empty if the table consists of lists of `columns`.
    pub(crate) names: Vec<String>,
    /// How many lists at the beginning are not records, because they name the columns.
    pub(crate) header_rows: u64,
    /// The lists whose elements belong to the records, one by one.
    pub(crate) columns: Vec<ListColumn>,
    /// Whether all values are texts though some are numbers, so that texts which look like numbers are meant as such.
    pub(crate) untyped: bool,
}

/// A list whose elements belong to the records of a table, one by one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ListColumn {
    pub(crate) name: String,
    /// Whether it is written as an object with the keys `0`, `1`, `2` and so on.
    pub(crate) keyed: bool,
    pub(crate) index: SparseIndex,
    /// The offset of the list and that after it.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The first list inside a list, which may be a header row.
#[derive(Debug, Clone)]
pub(crate) struct HeldRow {
    /// The node of the lists inside the list.
    pub(super) row: NodeId,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) cells: Vec<(HeldCell, u64)>,
    pub(super) bytes: usize,
}

/// An element of a held list.
#[derive(Debug, Clone)]
pub(crate) enum HeldCell {
    String { raw: Box<[u8]>, length: u64, escapes: bool },
    Number(Box<[u8]>),
    Bool(bool),
    Null,
}

impl HeldCell {
    pub(super) fn string(token: &StringToken<'_>) -> Self {
        Self::String { raw: token.raw.into(), length: token.length, escapes: token.escapes }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::String { raw, .. } | Self::Number(raw) => raw.len(),
            Self::Bool(_) | Self::Null => 0,
        }
    }
}

impl HeldRow {
    pub(super) fn new(row: NodeId, start: u64) -> Self {
        Self { row, start, end: start, cells: Vec::new(), bytes: 0 }
    }

    /// Returns whether an element can be added without exceeding what is held.
    pub(super) fn has_room(&self) -> bool {
        self.cells.len() < MAX_COLUMNS && self.bytes < MAX_HELD_BYTES
    }

    pub(super) fn push(&mut self, cell: HeldCell, at: u64) {
        self.bytes += cell.bytes();
        self.cells.push((cell, at));
    }

    /// Returns the elements as names of columns; `None` if they cannot be. Names such as years may be numbers if the first
    /// is none.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        let names: Vec<String> = self.cells.iter().map(|(cell, _)| name(cell)).collect::<Option<_>>()?;
        let named = names.iter().filter(|name| !name.is_empty()).count();
        let repeated = |(at, name): (usize, &String)| !name.is_empty() && names[..at].contains(name);
        let distinct = !names.iter().enumerate().any(repeated);
        let begins = names.iter().find(|name| !name.is_empty()).is_some_and(|name| is_name(name));
        (begins && named * 2 >= names.len() && distinct).then_some(names)
    }
}

/// The maximum number of bytes of the name of a column.
const MAX_NAME_BYTES: usize = 80;

/// Returns the name that an element of a header row gives to its column, empty if it has none; `None` for an element
/// that no header row has.
fn name(cell: &HeldCell) -> Option<String> {
    match cell {
        HeldCell::Null => Some(String::new()),
        HeldCell::String { raw, escapes: false, .. } if raw.len() <= MAX_NAME_BYTES => {
            let text = std::str::from_utf8(raw).ok()?.trim();
            is_label(text).then(|| text.to_owned())
        }
        _ => None,
    }
}

/// Returns whether a text can be the name of a column: no number, no point in time, no sentence.
pub(super) fn is_name(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let number = super::number::Number::parse_text(text.as_bytes());
    // `5xx` and `3d` are names.
    let value = number.is_some_and(|(_, marks)| marks.after.is_empty())
        || super::time::parse(text.as_bytes()).is_some()
        || digits * 2 > text.len();
    !value && is_label(text)
}

/// Returns whether a text is short enough and without what only values contain.
fn is_label(text: &str) -> bool {
    !text.contains(['\n', '\r', '{', '}']) && !text.contains("://") && text.split_whitespace().count() <= 8
}

/// Returns the names of `count` columns: those given, made distinct, and `c4` for the fourth if it has none.
pub(super) fn column_names(given: &[String], count: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for at in 0..count.max(given.len()) {
        let given_name = given.get(at).filter(|name| !name.is_empty());
        let wanted = given_name.cloned().unwrap_or_else(|| format!("c{}", at + 1));
        let is_taken = |name: &String, names: &[String]| {
            names.contains(name) || given_name.is_none() && given.contains(name)
        };
        let mut name = wanted.clone();
        let mut number = 2;
        while is_taken(&name, &names) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_a_name_are_numbered() {
        let given: Vec<String> = ["id", "", "c4", "id"].map(String::from).into();
        assert_eq!(column_names(&given, 5), ["id", "c2", "c4", "id_2", "c5"]);
        assert_eq!(column_names(&["".into(), "c1".into()], 2), ["c1_2", "c1"]);
    }

    #[test]
    fn column_names_are_told_from_values() {
        for name in ["year", "Price (EUR)", "2nd quarter", "Größe", "x1", "% of total"] {
            assert!(is_name(name), "{name}");
        }
        for value in ["12", "$9.99", "2024-01-01", "2024", "https://example.org/x", "12:30", "v3"] {
            assert!(!is_name(value), "{value}");
        }
    }
}
