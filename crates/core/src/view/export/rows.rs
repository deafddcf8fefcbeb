//! Writes rows to a file one by one, in the file's format.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::cells::{KEY, VALUE, cell, distinct, json_cell, leaves};
use super::{ExportFormat, Exported, Output, json_string};
use crate::json::string;
use crate::shape::quoted_cell;

/// One row.
pub(super) enum RowText<'r> {
    /// A record as JSON, with its key where the records are members of an object.
    Record { key: Option<&'r str>, json: &'r str },
    /// The JSON of each cell, in the order of the columns.
    Cells(&'r [String]),
}

/// Writes rows.
pub(super) struct RowWriter<'w, 'o> {
    format: ExportFormat,
    out: &'w mut Output<'o>,
    columns: Vec<String>,
    /// The position of each column, by its name.
    numbers: BTreeMap<String, usize>,
    rows: u64,
}

impl<'w, 'o> RowWriter<'w, 'o> {
    pub(super) fn new(format: ExportFormat, out: &'w mut Output<'o>) -> Self {
        Self { format, out, columns: Vec::new(), numbers: BTreeMap::new(), rows: 0 }
    }

    /// Sets the columns, before the first row.
    pub(super) fn set_columns(&mut self, columns: Vec<String>) {
        self.numbers = columns.iter().enumerate().map(|(at, name)| (name.clone(), at)).collect();
        // A record that is not an object has the empty path.
        let shown = |name: String| if name.is_empty() { VALUE.to_owned() } else { name };
        self.columns = distinct(&columns.into_iter().map(shown).collect::<Vec<_>>());
    }

    /// Writes a row.
    pub(super) fn push(&mut self, row: &RowText<'_>) -> io::Result<()> {
        let is_first = self.rows == 0;
        self.rows += 1;
        match (self.format, row) {
            (ExportFormat::Csv, row) => {
                if is_first {
                    self.header()?;
                }
                let line = self.csv_line(row)?;
                self.out.write_all(line.as_bytes())
            }
            (ExportFormat::Json, row) => {
                self.out.write_all(if is_first { b"[\n" } else { b",\n" })?;
                let value = self.json(row);
                self.out.write_all(value.as_bytes())
            }
            // The rows of a query are written as a table, even to a text file.
            (ExportFormat::Text | ExportFormat::Bytes, RowText::Cells(cells)) => {
                if is_first {
                    self.header()?;
                }
                let line = joined(cells.iter().map(|cell| json_cell(cell)));
                self.out.write_all(line.as_bytes())
            }
            (ExportFormat::Text | ExportFormat::Bytes, RowText::Record { key: None, json })
                if json.starts_with('"') =>
            {
                let text = string::decode(&json.as_bytes()[1..json.len() - 1]);
                self.out.write_all(&text)?;
                self.out.write_all(b"\n")
            }
            (_, row) => {
                let value = self.json(row);
                self.out.write_all(value.as_bytes())?;
                self.out.write_all(b"\n")
            }
        }
    }

    /// Ends the file.
    pub(super) fn finish(mut self) -> io::Result<Exported> {
        match (self.format, self.rows) {
            (ExportFormat::Json, 0) => self.out.write_all(b"[]\n")?,
            (ExportFormat::Json, _) => self.out.write_all(b"\n]\n")?,
            (ExportFormat::Csv, 0) if !self.columns.is_empty() => self.header()?,
            _ => {}
        }
        let columns = if self.format == ExportFormat::Csv { self.columns } else { Vec::new() };
        Ok(Exported { rows: Some(self.rows), columns, ..Exported::default() })
    }

    fn header(&mut self) -> io::Result<()> {
        let header = joined(self.columns.iter().map(|name| quoted_cell(name)));
        self.out.write_all(header.as_bytes())
    }

    fn csv_line(&self, row: &RowText<'_>) -> io::Result<String> {
        let (key, json) = match row {
            RowText::Cells(cells) => return Ok(joined(cells.iter().map(|cell| json_cell(cell)))),
            RowText::Record { key, json } => (key, json),
        };
        let mut cells = vec![String::new(); self.columns.len()];
        let mut unknown = false;
        leaves(json, &mut |path, scalar| match self.numbers.get(path) {
            Some(at) => cells[*at] = cell(scalar),
            None => unknown = true,
        });
        if let Some((key, first)) = key.zip(cells.first_mut()) {
            *first = quoted_cell(key);
        }
        if unknown {
            return Err(io::Error::other(
                "the jq program returned other columns when it ran again; write JSON lines instead",
            ));
        }
        Ok(joined(cells.into_iter()))
    }

    /// Returns a row as one JSON value; the key of a record is its first member.
    fn json(&self, row: &RowText<'_>) -> String {
        match row {
            RowText::Record { key: None, json } => (*json).to_owned(),
            RowText::Record { key: Some(key), json } => {
                let key = json_string(key);
                match json.strip_prefix('{') {
                    Some("}") => format!("{{\"{KEY}\":{key}}}"),
                    Some(members) if !has_member(json, KEY) => format!("{{\"{KEY}\":{key},{members}"),
                    _ => format!("{{\"{KEY}\":{key},\"{VALUE}\":{json}}}"),
                }
            }
            RowText::Cells(cells) => {
                let members = self.columns.iter().zip(*cells);
                let members: Vec<String> =
                    members.map(|(name, cell)| format!("{}:{cell}", json_string(name))).collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }
}

/// Returns whether an object has a member.
fn has_member(json: &str, name: &str) -> bool {
    let mut found = false;
    crate::view::flatten::flatten(json, 1, &mut |path, _| found |= path == name);
    found
}

fn joined(cells: impl Iterator<Item = String>) -> String {
    let mut line = String::new();
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            line.push(',');
        }
        line.push_str(&cell);
    }
    line.push('\n');
    line
}
