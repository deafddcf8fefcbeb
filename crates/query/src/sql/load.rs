//! Loads the records of a result into a table, one by one; a path that no earlier record had becomes a new column.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::time::Instant;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use tidegate_core::view::{Dataset, Scalar, ViewError, flatten};

use super::columns::{Columns, OriginRef};
use super::number::{CellForms, number};
use crate::limits::Limits;

/// The maximum number of levels of objects that become columns.
const MAX_COLUMN_DEPTH: usize = 3;
/// Records between checks of the time.
const RECORDS_PER_CHECK: u64 = 1000;
/// The declared type of a column whose numbers have fixed decimals, before their number.
const FIXED_DECIMALS: &str = "REAL_";

/// Returns the fixed decimals that a declared type names.
pub(super) fn decimals_of_type(declared: &str) -> Option<usize> {
    declared.strip_prefix(FIXED_DECIMALS)?.parse().ok()
}

/// What was loaded.
pub(super) struct Loaded {
    pub(super) columns: Columns,
    pub(super) rows: u64,
    /// Bytes of the longest value.
    pub(super) longest: usize,
}

/// Loads the records of a result into a new table.
pub(super) fn load(
    connection: &Connection,
    table: &str,
    data: &Dataset<'_>,
    limits: &Limits,
) -> Result<Loaded, ViewError> {
    let until = Instant::now() + limits.load_time;
    let forms = if data.is_textual() { cell_forms(data)? } else { HashMap::new() };
    let mut loader = Loader {
        connection,
        table: quoted_name(table),
        columns: Columns::default(),
        created: 0,
        without_columns: 0,
        next_column: 0,
        row: Vec::new(),
        insert: String::new(),
        forms,
        textual: data.is_textual(),
        rows: 0,
        longest: 0,
    };
    if data.is_keyed() {
        loader.columns.add(OriginRef::Key, None);
    }
    let mut failed: Option<ViewError> = None;
    data.records(0, usize::MAX, &mut |record| {
        let added = if loader.rows.is_multiple_of(RECORDS_PER_CHECK) && Instant::now() > until {
            Err(ViewError::Engine(limits.out_of_load_time()))
        } else {
            loader.add(record.key, record.json)
        };
        failed = added.err();
        if failed.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    match failed {
        Some(error) => Err(error),
        None => loader.finish(),
    }
}

/// Reads how the cells of each column are written.
fn cell_forms(data: &Dataset<'_>) -> io::Result<HashMap<String, CellForms>> {
    let mut forms: HashMap<String, CellForms> = HashMap::new();
    data.records(0, usize::MAX, &mut |record| {
        flatten(record.json, MAX_COLUMN_DEPTH, &mut |path, scalar| {
            if let Scalar::Text(cell) = scalar {
                match forms.get_mut(path) {
                    Some(forms) => forms.add(cell),
                    None => forms.entry(path.to_owned()).or_default().add(cell),
                }
            }
        });
        ControlFlow::Continue(())
    })?;
    Ok(forms)
}

struct Loader<'c> {
    connection: &'c Connection,
    /// The name of the table, quoted.
    table: String,
    columns: Columns,
    /// How many of the columns the table has already.
    created: usize,
    /// Rows before the first that has a column.
    without_columns: u64,
    /// The column expected next, since records repeat the order of their fields.
    next_column: usize,
    row: Vec<Value>,
    insert: String,
    forms: HashMap<String, CellForms>,
    textual: bool,
    rows: u64,
    longest: usize,
}

impl Loader<'_> {
    fn add(&mut self, key: Option<&str>, json: &str) -> Result<(), ViewError> {
        self.rows += 1;
        self.row.clear();
        self.row.resize(self.columns.all.len(), Value::Null);
        self.next_column = 0;
        if let Some(key) = key {
            self.set(OriginRef::Key, Scalar::Text(key));
        }
        flatten(json, MAX_COLUMN_DEPTH, &mut |path, scalar| {
            self.set(if path.is_empty() { OriginRef::Value } else { OriginRef::Member(path) }, scalar);
        });
        if self.columns.all.is_empty() {
            self.without_columns += 1;
            return Ok(());
        }
        self.create_columns().map_err(internal)?;
        let mut statement = self.connection.prepare_cached(&self.insert).map_err(internal)?;
        statement.execute(params_from_iter(&self.row)).map_err(internal)?;
        Ok(())
    }

    fn set(&mut self, origin: OriginRef<'_>, scalar: Scalar<'_>) {
        let at = match self.column(origin) {
            Some(at) => at,
            None => return,
        };
        self.next_column = at + 1;
        let column = &mut self.columns.all[at];
        let numeric = column.forms.as_ref().is_some_and(CellForms::are_numbers);
        let (value, exact) = value_of(scalar, numeric);
        column.inexact += u64::from(!exact);
        if let Value::Text(text) = &value {
            self.longest = self.longest.max(text.len());
        }
        self.row[at] = value;
    }

    fn column(&mut self, origin: OriginRef<'_>) -> Option<usize> {
        if let OriginRef::Member(path) = origin
            && self.columns.is_member(self.next_column, path)
        {
            return Some(self.next_column);
        }
        if let Some(at) = self.columns.find(origin) {
            return Some(at);
        }
        let forms = match origin {
            OriginRef::Member(path) if self.textual => {
                Some(self.forms.get(path).cloned().unwrap_or_default())
            }
            _ => None,
        };
        let at = self.columns.add(origin, forms)?;
        self.row.push(Value::Null);
        Some(at)
    }

    /// Creates the columns that the table does not have yet.
    fn create_columns(&mut self) -> rusqlite::Result<()> {
        let (columns, table) = (&self.columns.all, &self.table);
        if self.created == columns.len() {
            return Ok(());
        }
        let declare = |column: &super::columns::Column| {
            let decimals = column.forms.as_ref().and_then(CellForms::fixed_decimals);
            let declared =
                decimals.map_or_else(String::new, |decimals| format!(" {FIXED_DECIMALS}{decimals}"));
            format!("{}{declared}", quoted_name(&column.name))
        };
        if self.created == 0 {
            let all: Vec<String> = columns.iter().map(declare).collect();
            self.connection.execute_batch(&format!("CREATE TABLE {table} ({})", all.join(", ")))?;
            for _ in 0..self.without_columns {
                self.connection.execute_batch(&format!("INSERT INTO {table} DEFAULT VALUES"))?;
            }
        } else {
            for column in &columns[self.created..] {
                self.connection
                    .execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {}", declare(column)))?;
            }
        }
        self.created = columns.len();
        let names: Vec<String> = columns.iter().map(|column| quoted_name(&column.name)).collect();
        let marks = vec!["?"; names.len()].join(",");
        self.insert = format!("INSERT INTO {table} ({}) VALUES ({marks})", names.join(","));
        Ok(())
    }

    fn finish(mut self) -> Result<Loaded, ViewError> {
        if self.columns.all.is_empty() {
            self.columns.add(OriginRef::Value, None);
            self.create_columns().map_err(internal)?;
        }
        Ok(Loaded { columns: self.columns, rows: self.rows, longest: self.longest })
    }
}

fn quoted_name(name: &str) -> String {
    // A name cannot hold a zero character.
    format!("\"{}\"", name.replace('"', "\"\"").replace('\0', "\\0"))
}

/// Returns a value as SQLite holds it, and whether that is exact.
fn value_of(scalar: Scalar<'_>, numeric: bool) -> (Value, bool) {
    match scalar {
        Scalar::Null => (Value::Null, true),
        Scalar::Bool(value) => (Value::Integer(i64::from(value)), true),
        Scalar::Number(raw) => {
            number(raw).map_or_else(|| (Value::Text(raw.to_owned()), false), |value| (value, true))
        }
        Scalar::Text(text) if numeric => (number(text).unwrap_or_else(|| Value::Text(text.to_owned())), true),
        Scalar::Text(text) | Scalar::Json(text) => (Value::Text(text.to_owned()), true),
    }
}

pub(super) fn internal(error: rusqlite::Error) -> ViewError {
    ViewError::Source(io::Error::other(error))
}
