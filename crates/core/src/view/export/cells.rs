//! The columns and cells of a table that is written to a file.
//!
//! The columns are those of `t` in SQL: members of objects by their dotted paths, down to three levels. An object whose
//! members are columns has no column of its own.

use std::collections::BTreeSet;
use std::io;

use super::json_string;
use crate::json::string;
use crate::json::value::Value;
use crate::shape::{field_value, quoted_cell};
use crate::view::flatten::{Scalar, flatten};
use crate::view::records::parse;

/// The column for records that are not objects.
pub(super) const VALUE: &str = "value";
/// The column for the keys of records.
pub(super) const KEY: &str = "key";
/// The maximum depth of nested objects whose members become columns.
const MAX_DEPTH: usize = 3;
/// The maximum number of columns of a file.
const MAX_COLUMNS: usize = 20_000;

/// The columns of records, in the order in which they are first seen.
pub(super) struct Columns {
    names: Vec<String>,
    known: BTreeSet<String>,
}

impl Columns {
    pub(super) fn new(is_keyed: bool) -> Self {
        let names = if is_keyed { vec![KEY.to_owned()] } else { Vec::new() };
        Self { names, known: BTreeSet::new() }
    }

    /// Adds the columns of a record.
    pub(super) fn add(&mut self, json: &str) -> io::Result<()> {
        leaves(json, &mut |path, _| {
            if !self.known.contains(path) {
                self.known.insert(path.to_owned());
                self.names.push(path.to_owned());
            }
        });
        match self.names.len() {
            ..=MAX_COLUMNS => Ok(()),
            _ => Err(io::Error::other(format!(
                "the records have more than {MAX_COLUMNS} columns; name fields, or write JSON lines"
            ))),
        }
    }

    /// Returns the names. A record that is not an object has the empty path.
    pub(super) fn into_names(self) -> Vec<String> {
        self.names
    }
}

/// Makes names unique: a name that occurred before gets a number.
pub(super) fn distinct(names: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for name in names {
        let mut unique = name.clone();
        let mut number = 2;
        while out.contains(&unique) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        out.push(unique);
    }
    out
}

/// Calls `visit` for the members of a record that have a column, with their paths.
pub(super) fn leaves(json: &str, visit: &mut dyn FnMut(&str, Scalar<'_>)) {
    let is_below =
        |path: &str, object: &str| path.strip_prefix(object).is_some_and(|rest| rest.starts_with('.'));
    let mut pending: Option<(String, String)> = None;
    flatten(json, MAX_DEPTH, &mut |path, scalar| {
        if let Some((object, text)) = pending.take().filter(|(object, _)| !is_below(path, object)) {
            visit(&object, Scalar::Json(&text));
        }
        match scalar {
            Scalar::Json(text) if text.starts_with('{') && !path.is_empty() => {
                pending = Some((path.to_owned(), text.to_owned()));
            }
            scalar => visit(path, scalar),
        }
    });
    if let Some((object, text)) = pending {
        visit(&object, Scalar::Json(&text));
    }
}

/// Returns the cell of a value: empty for null, the decoded text for a string.
pub(super) fn cell(scalar: Scalar<'_>) -> String {
    match scalar {
        Scalar::Null => String::new(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Number(raw) => raw.to_owned(),
        // An empty string differs from null.
        Scalar::Text("") => "\"\"".to_owned(),
        Scalar::Text(text) | Scalar::Json(text) => quoted_cell(text),
    }
}

/// Returns the cell of a value in JSON.
pub(super) fn json_cell(json: &str) -> String {
    match json.strip_prefix('"').and_then(|inside| inside.strip_suffix('"')) {
        Some(inside) => cell(Scalar::Text(&string::decode_text(inside.as_bytes()))),
        None if json == "null" => String::new(),
        None => quoted_cell(json),
    }
}

/// Selects some fields of records, as cells in JSON.
pub(super) struct Projection<'f> {
    fields: &'f [String],
    is_keyed: bool,
    seen: Vec<bool>,
}

impl<'f> Projection<'f> {
    pub(super) fn new(fields: &'f [String], is_keyed: bool) -> Self {
        Self { fields, is_keyed, seen: vec![false; fields.len()] }
    }

    pub(super) fn columns(&self) -> Vec<String> {
        let key = self.is_keyed.then(|| KEY.to_owned());
        key.into_iter().chain(self.fields.iter().cloned()).collect()
    }

    pub(super) fn cells(&mut self, key: Option<&str>, json: &str) -> Vec<String> {
        let record = parse(json);
        let mut cells: Vec<String> =
            self.is_keyed.then(|| json_string(key.unwrap_or_default())).into_iter().collect();
        for (field, seen) in self.fields.iter().zip(&mut self.seen) {
            let value = record.as_ref().and_then(|record| field_value(record, field));
            *seen |= value.is_some();
            cells.push(value.map_or_else(|| "null".to_owned(), Value::to_json));
        }
        cells
    }

    /// Returns the fields that no record had.
    pub(super) fn unseen(&self) -> impl Iterator<Item = &'f str> {
        self.fields.iter().zip(&self.seen).filter(|(_, seen)| !**seen).map(|(field, _)| field.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_whose_members_are_columns_has_no_column_itself() {
        let mut columns = Columns::new(false);
        columns.add(r#"{"id":1,"a":{"b":{"c":1},"d":null},"e":{},"l":[1]}"#).unwrap();
        columns.add(r#"{"id":2,"a":7,"late":true}"#).unwrap();
        assert_eq!(columns.into_names(), ["id", "a.b.c", "a.d", "e", "l", "a", "late"]);
    }

    #[test]
    fn cells_can_be_read_back() {
        for (json, expected) in [
            ("null", ""),
            (r#""""#, "\"\""),
            (r#""a,b""#, "\"a,b\""),
            (r#""a\n\"b\"""#, "\"a\n\"\"b\"\"\""),
            ("1.50", "1.50"),
            (r#"[1,"x"]"#, r#""[1,""x""]""#),
        ] {
            assert_eq!(json_cell(json), expected, "{json}");
        }
        assert_eq!(distinct(&["a".into(), "b".into(), "a".into(), "a".into()]), ["a", "b", "a_2", "a_3"]);
    }
}
