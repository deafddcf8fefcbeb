//! Values of a notation without types: which of them are numbers.
//!
//! The same rule as for separated values: a text that is written as a JSON number is one, unless the column has texts
//! that are different but equal as numbers, as the versions `1.1` and `1.10`.

use crate::csv::NumberForms;
use crate::json::{strict, string};

/// The values of one column.
#[derive(Debug, Default, Clone)]
pub(super) struct Column {
    forms: NumberForms,
}

impl Column {
    /// Adds a value.
    pub(super) fn add(&mut self, value: &str) {
        self.forms.add(value);
    }

    /// Adds the values of another part of the column.
    pub(super) fn merge(&mut self, other: &Self) {
        self.forms.merge(&other.forms);
    }

    /// Writes a value as JSON; an empty one as null.
    pub(super) fn write(&self, value: &str, out: &mut String) {
        if value.is_empty() {
            out.push_str("null");
        } else if is_number(value) && !self.forms.are_texts() {
            out.push_str(value);
        } else {
            string::write(value, out);
        }
    }
}

/// Returns whether a text is a JSON number.
pub(super) fn is_number(value: &str) -> bool {
    matches!(value.as_bytes().first(), Some(b'0'..=b'9' | b'-')) && strict::is_number(value)
}

/// Returns distinct names for columns: an empty one becomes `c3`, a second `name` becomes `name_2`.
pub(super) fn column_names<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (at, name) in names.enumerate() {
        let base = if name.is_empty() { format!("c{}", at + 1) } else { name.to_owned() };
        let mut name = base.clone();
        let mut number = 2;
        while all.contains(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        all.push(name);
    }
    all
}
