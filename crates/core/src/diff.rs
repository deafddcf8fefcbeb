//! What changed between two results of the same call.
//!
//! [`compare`] reads both as views do. It pairs records by a key that it detects, or by their content if they have no key,
//! and the elements of accessibility snapshots by their references; it compares other texts line by line. [`patch`] is exact
//! for any bytes.
//!
//! Only the bytes decide whether two results are equal, and nothing here does: [`Changes`] can be empty if only white space
//! differs, and its summary then says so. Nothing larger than [`MAX_COMPARED_BYTES`] is compared.

mod key;
mod members;
mod patch;
mod records;
mod sequence;
mod texts;
mod words;

use std::io;

pub use patch::{ByteEdit, apply, patch};

use crate::view::{Dataset, open_within};

/// The largest result that is compared in detail; larger ones are compared for equality only.
pub const MAX_COMPARED_BYTES: u64 = 8 << 20;

/// What two results are compared by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit {
    /// Records in any notation.
    Records {
        /// What one record is called.
        noun: String,
        /// What pairs them.
        key: RecordKey,
    },
    /// The elements of an accessibility snapshot, by their references.
    Elements,
    /// Lines of text.
    Lines,
}

/// What pairs the records of two results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordKey {
    /// A field that is unique in each of the two results.
    Field(String),
    /// Their names, if the records are the members of an object.
    Member,
    /// Their content.
    Content,
}

/// What happened to a record, an element, a line or another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is in both results, with different content.
    Changed,
    /// It is in the old result only.
    Removed,
    /// It is in the new result only.
    Added,
    /// It is a value beside the records that changed, or is in only one of the results.
    Beside,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// The key, reference, line number or path that names it; empty if it has none.
    pub name: String,
    /// Its content in the old result: JSON of a record or value, otherwise text.
    pub old: Option<String>,
    /// Its content in the new result.
    pub new: Option<String>,
}

/// Everything that changed between two results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// What they were compared by.
    pub unit: Unit,
    /// The differences, in the order in which they are shown.
    pub list: Vec<Change>,
    /// Whether the records are the same, in another order.
    pub is_reordered: bool,
}

/// Compares two results, neither of which is larger than [`MAX_COMPARED_BYTES`].
///
/// # Errors
///
/// A source cannot be read.
pub fn compare(old: &Dataset<'_>, new: &Dataset<'_>) -> io::Result<Changes> {
    // If one string is most of each result, compare that string.
    if let (Some(in_old), Some(in_new)) = (old.outline().main_text(), new.outline().main_text())
        && in_old == in_new
        && let (Ok(old_text), Ok(new_text)) = (open_within(old, in_old), open_within(new, in_new))
    {
        let (old_bytes, new_bytes) = (old_text.bytes.as_slice(), new_text.bytes.as_slice());
        let old_text = Dataset::new(&old_bytes, &old_text.outline);
        let new_text = Dataset::new(&new_bytes, &new_text.outline);
        let mut changes = compare_texts(&old_text, &new_text)?;
        changes.list.extend(records::beside(old, new, Some(in_new))?);
        return Ok(changes);
    }
    compare_texts(old, new)
}

fn compare_texts(old: &Dataset<'_>, new: &Dataset<'_>) -> io::Result<Changes> {
    match records::compare(old, new)? {
        Some(changes) => Ok(changes),
        None => texts::compare(&old.decoded_text()?, &new.decoded_text()?),
    }
}
