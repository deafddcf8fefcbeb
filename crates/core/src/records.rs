//! Reads single records again, by number or by an offset inside them.
//!
//! The pass that built the profile left a sparse index of record offsets; a record is found by a short scan from the
//! nearest indexed one. Works on every [`Notation`], and on stored results as well as on those just read. Records that
//! are written as lists are read as objects with named columns ([`RowForm`]).

mod row_reader;

use std::io;
use std::ops::{ControlFlow, Range};

use serde::{Deserialize, Serialize};

use crate::csv;
use crate::json::value::{ReadLimits, read_text};
use crate::json::{Dialect, Event, ScanError, Scanner, Value, compact};
use crate::lines::Lines;
use crate::pattern::{self, Pattern};
use crate::profile::lists::RowForm;
use crate::profile::node::SparseIndex;
use crate::text::{DataText, Text};
use row_reader::RowReader;

/// The notation in which a text holds its records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Notation {
    /// Elements of a JSON array or values of a JSON object.
    Json(Dialect),
    /// One JSON value after another.
    JsonLines(Dialect),
    /// Rows of separated values under a header row.
    Table(csv::Format),
    /// Lines or groups of lines that follow a pattern.
    Pattern(Pattern),
}

impl Notation {
    /// Returns whether values have no types, so that text which looks like a number is meant as one.
    pub(crate) fn is_textual(&self) -> bool {
        match self {
            Self::Table(_) => true,
            Self::Pattern(pattern) => pattern.is_textual(),
            Self::Json(_) | Self::JsonLines(_) => false,
        }
    }
}

/// One record.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// Its number, from 0.
    pub(crate) number: u64,
    /// Its key, where the container is an object.
    pub(crate) key: Option<String>,
    pub(crate) value: Value,
}

/// One record as JSON.
#[derive(Debug, Clone)]
pub(crate) struct JsonRecord {
    /// Its number, from 0.
    pub(crate) number: u64,
    /// Its key, where the container is an object.
    pub(crate) key: Option<String>,
    pub(crate) json: String,
    /// Whether `json` is the whole record.
    pub(crate) whole: bool,
    /// The offset of its value, if known.
    pub(crate) at: Option<u64>,
    /// Its range in the text, from its key or its value to its end.
    pub(crate) range: Range<u64>,
}

/// Access to the records of one container of a text.
pub(crate) struct Records<'t> {
    pub(crate) text: DataText<'t>,
    pub(crate) notation: &'t Notation,
    pub(crate) index: &'t SparseIndex,
    /// Whether the container is an object, whose records have keys.
    pub(crate) keyed: bool,
    /// How records that are written as lists get their columns; `None` to read them as they are.
    pub(crate) form: Option<&'t RowForm>,
}

impl Records<'_> {
    /// Returns how many records there are.
    pub(crate) fn count(&self) -> u64 {
        self.index.count - self.header_rows().min(self.index.count)
    }

    /// Returns whether the records have no types, so that queries read text which looks like a number as one.
    pub(crate) fn is_textual(&self) -> bool {
        self.notation.is_textual() || self.form.is_some_and(|form| form.untyped)
    }

    /// Returns how many elements of the container come before its first record.
    fn header_rows(&self) -> u64 {
        self.form.map_or(0, |form| form.header_rows)
    }

    /// Reads record `number`.
    pub(crate) fn nth(&self, number: u64) -> io::Result<Option<Record>> {
        self.nth_within(number, ReadLimits::RECORD)
    }

    /// Reads record `number` up to other limits than usual.
    pub(crate) fn nth_within(&self, number: u64, limits: ReadLimits) -> io::Result<Option<Record>> {
        match self.walk_from(number)? {
            Some(mut walk) => {
                (walk.unread_before, walk.limits) = (number, limits);
                walk.find(|record, _| record.number == number)
            }
            None => Ok(None),
        }
    }

    /// Reads the record that contains `offset`.
    pub(crate) fn holding(&self, offset: u64) -> io::Result<Option<Record>> {
        if let Some(form) = self.form
            && let Some(number) = row_reader::position_in_columns(form, &self.text, self.notation, offset)?
        {
            return self.nth(number);
        }
        match self.index.at_or_before(offset) {
            Some((start, from)) => self.walk(start, from)?.find(|_, end| end > offset),
            None => Ok(None),
        }
    }

    /// Reads records as JSON from number `from` on, until `visit` breaks; keeps at most about `max_bytes` of each.
    pub(crate) fn each_json(
        &self,
        from: u64,
        max_bytes: usize,
        mut visit: impl FnMut(JsonRecord) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let Some(mut walk) = self.walk_from(from)? else { return Ok(()) };
        loop {
            match walk.next_json(max_bytes) {
                Ok(Some(record)) if record.number < from => {}
                Ok(Some(record)) => {
                    if visit(record).is_break() {
                        return Ok(());
                    }
                }
                Ok(None) | Err(ScanError::Syntax { .. }) => return Ok(()),
                Err(ScanError::Source(error)) => return Err(error),
            }
        }
    }

    /// Reads all records, front to back.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Record)) -> io::Result<()> {
        let Some(walk) = self.walk_from(0)? else { return Ok(()) };
        walk.find(|record, _| {
            visit(record);
            false
        })?;
        Ok(())
    }

    /// Starts to walk at the last indexed record up to `number`; `None` if there is no such record.
    fn walk_from(&self, number: u64) -> io::Result<Option<RecordWalk<'_>>> {
        if number >= self.count() {
            return Ok(None);
        }
        let indexed = self.index.before(number + self.header_rows());
        indexed.map(|(start, offset)| self.walk(start, offset)).transpose()
    }

    /// Starts to walk at an indexed element.
    fn walk(&self, element: u64, offset: u64) -> io::Result<RecordWalk<'_>> {
        let reader = match self.notation {
            Notation::Json(dialect) if self.form.is_some_and(|form| form.names.is_empty()) => {
                RecordReader::Columns(*dialect)
            }
            Notation::Json(dialect) => {
                let scanner = Scanner::inside(&self.text, offset, self.keyed, *dialect)?;
                RecordReader::Elements { scanner, keyed: self.keyed, dialect: *dialect }
            }
            Notation::JsonLines(dialect) => {
                RecordReader::Values(Scanner::at(&self.text, offset, *dialect)?, *dialect)
            }
            Notation::Table(format) => {
                RecordReader::Rows(csv::Rows::new(Lines::from(&self.text, offset)?, format.delimiter), format)
            }
            Notation::Pattern(pattern) => {
                RecordReader::Pattern(pattern.reader(Lines::from(&self.text, offset)?))
            }
        };
        let rows = match self.form {
            Some(form) => Some(RowReader::new(form, &self.text, self.notation, element)?),
            None => None,
        };
        Ok(RecordWalk { element, unread_before: 0, limits: ReadLimits::RECORD, reader, rows })
    }
}

/// The maximum number of bytes of the key of a record that is read as a value.
const MAX_VALUE_KEY_BYTES: usize = 256;

/// A walk over records of any notation.
struct RecordWalk<'t> {
    /// The number of the next element of the container.
    element: u64,
    /// Records before this one are skipped without reading their values.
    unread_before: u64,
    limits: ReadLimits,
    reader: RecordReader<'t>,
    /// Turns records that are written as lists into objects.
    rows: Option<RowReader<'t>>,
}

enum RecordReader<'t> {
    Elements {
        scanner: Scanner<'t>,
        keyed: bool,
        dialect: Dialect,
    },
    Values(Scanner<'t>, Dialect),
    Rows(csv::Rows<'t>, &'t csv::Format),
    Pattern(pattern::PatternReader<'t>),
    /// Records consist of the elements of several lists.
    Columns(Dialect),
}

impl RecordWalk<'_> {
    /// Reads on until `found(record, end offset)` is true.
    fn find(mut self, mut found: impl FnMut(&Record, u64) -> bool) -> io::Result<Option<Record>> {
        loop {
            match self.next() {
                Ok(Some((record, end))) if found(&record, end) => return Ok(Some(record)),
                Ok(Some(_)) => {}
                // There are no records after the point where a text breaks off.
                Ok(None) | Err(ScanError::Syntax { .. }) => return Ok(None),
                Err(ScanError::Source(error)) => return Err(error),
            }
        }
    }

    /// Skips the elements before the first record, and returns the number of the next one.
    fn begin_record(&mut self) -> Result<u64, ScanError> {
        let header_rows = self.rows.as_ref().map_or(0, |rows| rows.form.header_rows);
        while self.element < header_rows {
            self.element += 1;
            let (scanner, is_next) = match &mut self.reader {
                RecordReader::Elements { scanner, .. } => {
                    let is_next = scanner.has_element()? == Some(true);
                    (scanner, is_next)
                }
                RecordReader::Values(scanner, _) => {
                    let is_next = scanner.begin_next()?;
                    (scanner, is_next)
                }
                _ => continue,
            };
            if is_next {
                Value::read(scanner, ReadLimits::NOTHING)?;
            }
        }
        self.element += 1;
        Ok(self.element - 1 - header_rows)
    }

    fn next_json(&mut self, max_bytes: usize) -> Result<Option<JsonRecord>, ScanError> {
        let number = self.begin_record()?;
        let mut key = None;
        let mut at = None;
        let rows = &mut self.rows;
        let mut row_json = |scanner: &mut Scanner<'_>, dialect: Dialect| match rows {
            Some(rows) => rows.json(scanner, dialect, max_bytes),
            None => compact::value(scanner, dialect, max_bytes),
        };
        let (range, json, whole) = match &mut self.reader {
            RecordReader::Elements { scanner, keyed, dialect } => {
                match begin_element(scanner, *keyed, usize::MAX)? {
                    Some(found) => key = found,
                    None => return Ok(None),
                }
                let key_start = scanner.token_start();
                let start = scanner.value_start()?;
                at = Some(start);
                let compact = row_json(scanner, *dialect)?;
                let begin = if *keyed { key_start } else { start };
                (begin..scanner.position(), compact.text, compact.whole)
            }
            RecordReader::Values(scanner, dialect) => {
                if !scanner.begin_next()? {
                    return Ok(None);
                }
                let start = scanner.value_start()?;
                at = Some(start);
                let compact = row_json(scanner, *dialect)?;
                (start..scanner.position(), compact.text, compact.whole)
            }
            RecordReader::Rows(rows, format) => match rows.next()? {
                Some(row) => (row.at..rows.position(), format.json(&row.cells), row.whole),
                None => return Ok(None),
            },
            RecordReader::Pattern(reader) => match reader.next_json()? {
                Some((start, json, whole)) => (start..reader.position(), json, whole),
                None => return Ok(None),
            },
            RecordReader::Columns(dialect) => {
                match rows.as_mut().map(|rows| rows.columns_json(*dialect, max_bytes)).transpose()?.flatten()
                {
                    Some((range, compact)) => (range, compact.text, compact.whole),
                    None => return Ok(None),
                }
            }
        };
        Ok(Some(JsonRecord { number, key, json, whole, at, range }))
    }

    fn next(&mut self) -> Result<Option<(Record, u64)>, ScanError> {
        let number = self.begin_record()?;
        let mut key = None;
        let limits = if number < self.unread_before { ReadLimits::NOTHING } else { self.limits };
        let (value, end) = match &mut self.reader {
            RecordReader::Elements { scanner, keyed, .. } => {
                match begin_element(scanner, *keyed, MAX_VALUE_KEY_BYTES)? {
                    Some(found) => key = found,
                    None => return Ok(None),
                }
                (Value::read(scanner, limits)?, scanner.position())
            }
            RecordReader::Values(scanner, _) => {
                if !scanner.begin_next()? {
                    return Ok(None);
                }
                (Value::read(scanner, limits)?, scanner.position())
            }
            RecordReader::Rows(rows, format) => match rows.next()? {
                Some(row) => (format.object(&row.cells), rows.position()),
                None => return Ok(None),
            },
            RecordReader::Pattern(reader) => match reader.next_value()? {
                Some(value) => (value, reader.position()),
                None => return Ok(None),
            },
            RecordReader::Columns(_) => (Value::object(Vec::new()), 0),
        };
        let value = match &mut self.rows {
            Some(rows) => match rows.object(value, limits)? {
                Some(value) => value,
                None => return Ok(None),
            },
            None => value,
        };
        Ok(Some((Record { number, key, value }, end)))
    }
}

/// Begins the next element of a container and returns its key, if the container is an object; `None` after the last.
fn begin_element(
    scanner: &mut Scanner<'_>,
    keyed: bool,
    max_key_bytes: usize,
) -> Result<Option<Option<String>>, ScanError> {
    if !keyed {
        return Ok((scanner.has_element()? == Some(true)).then_some(None));
    }
    Ok(match scanner.next()? {
        Event::Key(token) => Some(Some(read_text(&token, max_key_bytes).text.into())),
        _ => None,
    })
}

/// Reads the scalar at an offset of a JSON text.
pub(crate) fn scalar_at(text: &Text<'_>, offset: u64, dialect: Dialect) -> io::Result<Option<Value>> {
    let limits = ReadLimits { depth: 0, elements: 0, string_bytes: 4096, values: 1 };
    read_value_at(text, offset, dialect, limits)
}

/// Reads the value at an offset of a JSON text up to limits.
pub(crate) fn read_value_at(
    text: &Text<'_>,
    offset: u64,
    dialect: Dialect,
    limits: ReadLimits,
) -> io::Result<Option<Value>> {
    let mut scanner = Scanner::at(text, offset, dialect)?;
    match Value::read(&mut scanner, limits) {
        Ok(value) => Ok(Some(value)),
        Err(ScanError::Source(error)) => Err(error),
        Err(ScanError::Syntax { .. }) => Ok(None),
    }
}
