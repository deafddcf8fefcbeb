//! The columns of the table: one for each path of the records, under a name that SQLite tells from all others.
//!
//! SQLite ignores the case of names, and the key of a record is a column beside its members. So a later path gets another
//! name where its own is taken, and the answer says so.

use std::collections::{HashMap, HashSet};

use super::number::CellForms;
use crate::hint;

/// The maximum number of columns; SQLite's own limit is 2,000.
const MAX_COLUMNS: usize = 1500;

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// The key of the record.
    Key,
    /// The record itself, where it is not an object.
    Value,
    /// The member at a path.
    Member(String),
}

/// One column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) origin: Origin,
    /// Whether the name is not that of the member, since another column has it.
    renamed: bool,
    /// Numbers that are TEXT, because SQLite cannot hold them exactly.
    pub(super) inexact: u64,
    pub(super) forms: Option<CellForms>,
}

impl Column {
    /// Says that numbers of the column are text, if some are.
    fn text_note(&self) -> Option<String> {
        let name = hint::plain_name(&self.name).unwrap_or("a column");
        if self.inexact > 0 {
            let count = self.inexact;
            return Some(format!(
                "{count} numbers in {name} are TEXT, since SQLite cannot hold them exactly."
            ));
        }
        self.forms.as_ref().is_some_and(CellForms::are_partly_numbers).then(|| {
            format!(
                "{name} is TEXT, since not all its numbers can be written back as they are; compare cast({name} as real)."
            )
        })
    }
}

/// The columns of the table.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) all: Vec<Column>,
    members: HashMap<String, usize>,
    /// The names in lower case, as SQLite compares them.
    taken: HashSet<String>,
    key: Option<usize>,
    value: Option<usize>,
    left_out: bool,
}

impl Columns {
    /// Returns the number of a column that exists.
    pub(super) fn find(&self, origin: OriginRef<'_>) -> Option<usize> {
        match origin {
            OriginRef::Key => self.key,
            OriginRef::Value => self.value,
            OriginRef::Member(path) => self.members.get(path).copied(),
        }
    }

    /// Returns whether a column holds the member at a path.
    pub(super) fn is_member(&self, at: usize, path: &str) -> bool {
        matches!(self.all.get(at).map(|column| &column.origin), Some(Origin::Member(member)) if member == path)
    }

    /// Adds a column and returns its number; `None` if there are too many.
    pub(super) fn add(&mut self, origin: OriginRef<'_>, forms: Option<CellForms>) -> Option<usize> {
        if self.all.len() >= MAX_COLUMNS {
            self.left_out = true;
            return None;
        }
        let at = self.all.len();
        let wanted = match origin {
            OriginRef::Key => "key",
            OriginRef::Value => "value",
            OriginRef::Member(path) => path,
        };
        let mut name = wanted.to_owned();
        let mut number = 2;
        while !self.taken.insert(name.to_ascii_lowercase()) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        match origin {
            OriginRef::Key => self.key = Some(at),
            OriginRef::Value => self.value = Some(at),
            OriginRef::Member(path) => {
                self.members.insert(path.to_owned(), at);
            }
        }
        let renamed = name != wanted;
        self.all.push(Column { name, origin: origin.to_origin(), renamed, inexact: 0, forms });
        Some(at)
    }

    /// Returns what a reader of the rows of a query must know about the columns it names.
    pub(super) fn notes(&self, query: &str) -> Vec<String> {
        let query = query.to_ascii_lowercase();
        let named = |column: &&Column| {
            query.contains('*') || query.contains(column.name.to_ascii_lowercase().as_str())
        };
        let renamed = self.all.iter().filter(|column| column.renamed).map(|column| self.renaming(column));
        let texts = self.all.iter().filter(named).filter_map(Column::text_note);
        let mut notes: Vec<String> = renamed.chain(texts).collect();
        if notes.len() > MAX_NOTES {
            let more = notes.len() - MAX_NOTES;
            notes.truncate(MAX_NOTES);
            notes.push(format!("{more} more columns are renamed or TEXT."));
        }
        if self.left_out {
            notes.push(format!(
                "Members beyond the first {MAX_COLUMNS} are not columns of t; use fields or path for them."
            ));
        }
        notes
    }

    /// Says which member a renamed column is, and what has its name.
    fn renaming(&self, column: &Column) -> String {
        let name = hint::plain_name(&column.name).unwrap_or("a column");
        let (wanted, what) = match &column.origin {
            Origin::Key => ("key", "the key of the record".to_owned()),
            Origin::Value => ("value", "the record itself".to_owned()),
            Origin::Member(path) => {
                let plain = hint::plain_name(path)
                    .map_or_else(|| "a member".into(), |path| format!("the member {path}"));
                (path.as_str(), plain)
            }
        };
        let holder = self.all.iter().find(|other| other.name.eq_ignore_ascii_case(wanted));
        let holder = match holder.map(|other| &other.origin) {
            Some(Origin::Key) => "the key of the record".to_owned(),
            Some(Origin::Value) => "the record itself".to_owned(),
            Some(Origin::Member(path)) => hint::plain_name(path).unwrap_or("another member").to_owned(),
            None => "another column".to_owned(),
        };
        format!("Column {name} is {what}, since {holder} has its name (SQLite ignores case).")
    }
}

/// The maximum number of columns about which an answer says something.
const MAX_NOTES: usize = 6;

/// What a column holds, borrowed.
#[derive(Debug, Clone, Copy)]
pub(super) enum OriginRef<'o> {
    Key,
    Value,
    Member(&'o str),
}

impl OriginRef<'_> {
    fn to_origin(self) -> Origin {
        match self {
            Self::Key => Origin::Key,
            Self::Value => Origin::Value,
            Self::Member(path) => Origin::Member(path.to_owned()),
        }
    }
}
