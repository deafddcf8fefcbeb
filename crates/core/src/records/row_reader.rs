//! Reads records that are written as lists as objects with named columns.

use std::io;
use std::ops::Range;

use super::Notation;
use crate::json::compact::{self, CompactJson};
use crate::json::value::{Elements, ReadLimits, Value};
use crate::json::{Dialect, Event, ScanError, Scanner, string};
use crate::profile::lists::{ListColumn, RowForm};
use crate::text::Text;

/// Turns the lists of a table into objects, together with the elements of the lists that belong to it.
pub(super) struct RowReader<'t> {
    pub(super) form: &'t RowForm,
    /// A scanner of each further column, at the element of the next record.
    columns: Vec<(&'t ListColumn, Scanner<'t>)>,
}

/// Starts to read the elements of a column at element `number`.
fn column_scanner<'t>(
    column: &'t ListColumn,
    text: &'t Text<'t>,
    dialect: Dialect,
    number: u64,
) -> io::Result<Option<Scanner<'t>>> {
    let Some((start, offset)) = column.index.before(number) else { return Ok(None) };
    let mut scanner = Scanner::inside(text, offset, column.keyed, dialect)?;
    for _ in start..number {
        match skip_element(&mut scanner, column.keyed) {
            Ok(true) => {}
            Ok(false) | Err(ScanError::Syntax { .. }) => break,
            Err(ScanError::Source(error)) => return Err(error),
        }
    }
    Ok(Some(scanner))
}

/// Begins the next element of a column; returns false after the last.
fn begin_element(scanner: &mut Scanner<'_>, keyed: bool) -> Result<bool, ScanError> {
    if keyed {
        return Ok(matches!(scanner.next()?, Event::Key(_)));
    }
    Ok(scanner.has_element()? == Some(true))
}

/// Skips an element of a column; returns false after the last.
fn skip_element(scanner: &mut Scanner<'_>, keyed: bool) -> Result<bool, ScanError> {
    let more = begin_element(scanner, keyed)?;
    if more {
        Value::read(scanner, ReadLimits::NOTHING)?;
    }
    Ok(more)
}

fn dialect_of(notation: &Notation) -> Dialect {
    match notation {
        Notation::Json(dialect) | Notation::JsonLines(dialect) => *dialect,
        Notation::Table(_) | Notation::Pattern(_) => Dialect::Json,
    }
}

/// Returns the number of the record one of whose columns has an element at `offset`.
pub(super) fn position_in_columns(
    form: &RowForm,
    text: &Text<'_>,
    notation: &Notation,
    offset: u64,
) -> io::Result<Option<u64>> {
    let Some(column) = form.columns.iter().find(|column| (column.start..column.end).contains(&offset)) else {
        return Ok(None);
    };
    let Some((mut number, from)) = column.index.at_or_before(offset) else { return Ok(None) };
    let mut scanner = Scanner::inside(text, from, column.keyed, dialect_of(notation))?;
    loop {
        match skip_element(&mut scanner, column.keyed) {
            Ok(true) if scanner.position() <= offset => number += 1,
            Ok(true) => return Ok(Some(number)),
            Ok(false) | Err(ScanError::Syntax { .. }) => return Ok(None),
            Err(ScanError::Source(error)) => return Err(error),
        }
    }
}

impl<'t> RowReader<'t> {
    /// Returns a reader of the records from an element of the container on.
    pub(super) fn new(
        form: &'t RowForm,
        text: &'t Text<'t>,
        notation: &Notation,
        element: u64,
    ) -> io::Result<Self> {
        let number = element.saturating_sub(form.header_rows);
        let mut columns = Vec::new();
        for column in &form.columns {
            let scanner = column_scanner(column, text, dialect_of(notation), number)?;
            columns.extend(scanner.map(|scanner| (column, scanner)));
        }
        Ok(Self { form, columns })
    }

    /// Reads a record as JSON: a list as an object, anything else as it is.
    pub(super) fn json(
        &mut self,
        scanner: &mut Scanner<'_>,
        dialect: Dialect,
        max_bytes: usize,
    ) -> Result<CompactJson, ScanError> {
        if !scanner.begins_list()? {
            for (column, scanner) in &mut self.columns {
                skip_element(scanner, column.keyed)?;
            }
            return compact::value(scanner, dialect, max_bytes);
        }
        let mut object = ObjectWriter::new(max_bytes);
        for (column, scanner) in &mut self.columns {
            if begin_element(scanner, column.keyed)? {
                object.member(&column.name, scanner, dialect)?;
            }
        }
        scanner.next()?;
        let mut names = self.form.names.iter();
        while scanner.has_element()? == Some(true) {
            match names.next() {
                Some(name) => object.member(name, scanner, dialect)?,
                None => {
                    Value::read(scanner, ReadLimits::NOTHING)?;
                }
            }
        }
        // Reads the closing bracket, or returns the error.
        match scanner.next()? {
            Event::EndArray => Ok(object.finish()),
            _ => Ok(CompactJson { whole: false, ..object.finish() }),
        }
    }

    /// Reads a record that consists of the elements of columns, and the range of the first of them; `None` after the last.
    pub(super) fn columns_json(
        &mut self,
        dialect: Dialect,
        max_bytes: usize,
    ) -> Result<Option<(Range<u64>, CompactJson)>, ScanError> {
        let mut object = ObjectWriter::new(max_bytes);
        let mut range = None;
        for (column, scanner) in &mut self.columns {
            if !begin_element(scanner, column.keyed)? {
                return Ok(None);
            }
            let start = scanner.value_start()?;
            object.member(&column.name, scanner, dialect)?;
            range.get_or_insert(start..scanner.position());
        }
        Ok(range.map(|range| (range, object.finish())))
    }

    /// Returns a record that is a list as an object, anything else as it is; `None` after the last element of a column.
    pub(super) fn object(&mut self, value: Value, limits: ReadLimits) -> Result<Option<Value>, ScanError> {
        let mut members = Vec::new();
        for (column, scanner) in &mut self.columns {
            if !begin_element(scanner, column.keyed)? {
                return Ok(None);
            }
            members.push((column.name.as_str().into(), Value::read(scanner, limits)?));
        }
        Ok(Some(match value {
            Value::Array(Elements { read, .. }) => {
                let named = self.form.names.iter().zip(read);
                members.extend(named.map(|(name, cell)| (name.as_str().into(), cell)));
                Value::object(members)
            }
            Value::Object(_) if self.form.names.is_empty() => Value::object(members),
            other => other,
        }))
    }
}

/// Writes an object member by member.
struct ObjectWriter {
    text: String,
    whole: bool,
    max_bytes: usize,
}

impl ObjectWriter {
    fn new(max_bytes: usize) -> Self {
        Self { text: String::from("{"), whole: true, max_bytes }
    }

    /// Adds the next value of a scanner as a member.
    fn member(&mut self, name: &str, scanner: &mut Scanner<'_>, dialect: Dialect) -> Result<(), ScanError> {
        self.whole &= self.text.len() <= self.max_bytes;
        let left = self.max_bytes.saturating_sub(self.text.len());
        let value = compact::value(scanner, dialect, left)?;
        if self.whole {
            if self.text.len() > 1 {
                self.text.push(',');
            }
            string::write_visible(name, &mut self.text);
            self.text.push(':');
            self.text.push_str(&value.text);
            self.whole = value.whole;
        }
        Ok(())
    }

    fn finish(mut self) -> CompactJson {
        self.text.push('}');
        CompactJson { text: self.text, whole: self.whole }
    }
}
