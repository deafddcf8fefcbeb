//! The view `sql`: a query over the table `t` with one row per record and columns from all records.
//!
//! The database is in memory and read-only, and a query is interrupted when its time is over. A member of an object is a
//! column (`title`, `author.login`); lists and objects are columns too, as JSON for SQLite's JSON functions. Numbers that
//! SQLite cannot hold exactly are TEXT, and the answer says so.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use tidegate_core::view::{
    Dataset, EngineOutput, ResultWindow, Scalar, Total, ViewError, flatten, visible_text,
};

use crate::hint;
use crate::limits::Limits;

/// The most levels of objects that become columns.
const MAX_COLUMN_DEPTH: usize = 3;
/// The most columns; SQLite's own limit is 2,000.
const MAX_COLUMNS: usize = 1500;
/// The most bytes of a value that a query computes.
const MAX_VALUE_BYTES: i32 = 32 << 20;
/// SQLite virtual machine steps between checks of the time.
const STEPS_PER_CHECK: i32 = 4000;

pub(crate) fn run(
    limits: &Limits,
    data: &Dataset<'_>,
    query: &str,
    window: ResultWindow,
) -> Result<EngineOutput, ViewError> {
    if data.record_count() == 0 {
        return Err(ViewError::bad(format!("sql needs records. {}; use grep or lines", hint::shape(data))));
    }
    let mut table = Table::load(limits, data)?;
    table.query(limits, data, query, window)
}

/// The records, loaded into the table `t`.
struct Table {
    connection: Connection,
    /// Per column, values that are TEXT because SQLite cannot hold them exactly.
    inexact: Vec<(String, u64)>,
    rows: u64,
}

impl Table {
    fn load(limits: &Limits, data: &Dataset<'_>) -> Result<Self, ViewError> {
        let connection = Connection::open_in_memory().map_err(internal)?;
        // An in-memory table need not survive a crash.
        connection
            .execute_batch("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN")
            .map_err(internal)?;
        let mut loader = Loader::new(&connection, data, limits)?;
        let mut failed: Option<ViewError> = None;
        data.records(0, usize::MAX, &mut |record| match loader.add(record.key, record.json) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        let (inexact, rows) = loader.finish();
        connection.execute_batch("COMMIT").map_err(internal)?;
        Ok(Self { connection, inexact, rows })
    }

    fn query(
        &mut self,
        limits: &Limits,
        data: &Dataset<'_>,
        query: &str,
        window: ResultWindow,
    ) -> Result<EngineOutput, ViewError> {
        let stopped = self.restrict(limits)?;
        let wrong = |error: rusqlite::Error| explain(&error, data, limits, &stopped);
        let mut statement = self.connection.prepare(query).map_err(wrong)?;
        if statement.column_count() == 0 {
            return Err(ViewError::Engine("the table can only be read; write a select over t".into()));
        }
        let names: Vec<String> = statement.column_names().map(cell_of_text).collect();
        let mut rows = statement.query([]).map_err(wrong)?;
        let (mut results, mut bytes, mut count) = (Vec::new(), 0, 0u64);
        let mut cut = false;
        loop {
            match rows.next() {
                Ok(None) => break,
                Ok(Some(row)) => {
                    count += 1;
                    if count > window.skip && bytes <= window.bytes {
                        let cells: Vec<String> = (0..names.len())
                            .map(|at| row.get_ref(at).map_or_else(|_| String::new(), cell))
                            .collect();
                        let line = cells.join(",");
                        bytes += line.len();
                        results.push(line);
                    }
                    cut = count >= limits.rows;
                }
                Err(_) if count > 0 && stopped.load(Ordering::Relaxed) => cut = true,
                Err(error) => return Err(wrong(error)),
            }
            if cut {
                break;
            }
        }
        let total = if cut { Total::AtLeast(count) } else { Total::Exactly(count) };
        Ok(EngineOutput {
            header: Some(names.join(",")),
            results,
            total,
            what: "rows".into(),
            notes: self.notes(query, count, cut, limits),
        })
    }

    /// Makes the database read-only and limits its time; the flag is set when the time is over.
    fn restrict(&mut self, limits: &Limits) -> Result<Arc<AtomicBool>, ViewError> {
        let connection = &mut self.connection;
        for (limit, value) in [
            (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
            (Limit::SQLITE_LIMIT_ATTACHED, 0),
            (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
            (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
        ] {
            connection.set_limit(limit, value).map_err(internal)?;
        }
        connection
            .authorizer(Some(|context: AuthContext<'_>| match context.action {
                AuthAction::Select | AuthAction::Recursive | AuthAction::Read { .. } => Authorization::Allow,
                AuthAction::Function { function_name } if function_name != "load_extension" => {
                    Authorization::Allow
                }
                _ => Authorization::Deny,
            }))
            .map_err(internal)?;
        let stopped = Arc::new(AtomicBool::new(false));
        let (flag, until) = (Arc::clone(&stopped), Instant::now() + limits.time);
        let over = move || {
            let over = Instant::now() > until;
            if over {
                flag.store(true, Ordering::Relaxed);
            }
            over
        };
        connection.progress_handler(STEPS_PER_CHECK, Some(over)).map_err(internal)?;
        Ok(stopped)
    }

    fn notes(&self, query: &str, count: u64, cut: bool, limits: &Limits) -> Vec<String> {
        let mut notes = vec!["CSV: a quoted cell is text, an empty one null.".to_owned()];
        if count == 0 {
            notes.push(format!("No rows; {} records were searched.", self.rows));
        }
        if cut {
            notes.push(limits.out_of_time("the query"));
        }
        let named =
            self.inexact.iter().filter(|(name, _)| query.contains(name.as_str()) || query.contains('*'));
        for (name, count) in named {
            notes.push(format!("{count} numbers in {name} are TEXT, since SQLite cannot hold them exactly."));
        }
        notes
    }
}

/// Loads records one by one; a field that no earlier record had becomes a new column.
struct Loader<'c> {
    connection: &'c Connection,
    names: Vec<String>,
    /// The column expected next, since records repeat the order of their fields.
    next_column: usize,
    row: Vec<Value>,
    inexact: Vec<u64>,
    insert: String,
    textual: bool,
    /// The columns whose numbers are texts.
    text_fields: Vec<String>,
    rows: u64,
    until: Instant,
    limits: &'c Limits,
}

impl<'c> Loader<'c> {
    fn new(connection: &'c Connection, data: &Dataset<'_>, limits: &'c Limits) -> Result<Self, ViewError> {
        let mut names: Vec<String> = Vec::new();
        for field in data.fields().iter().filter(|field| !field.contains(['[', '*']) && !field.is_empty()) {
            let twin = names.iter().any(|name| name.eq_ignore_ascii_case(field));
            if !twin && field.matches('.').count() < MAX_COLUMN_DEPTH && names.len() < MAX_COLUMNS {
                names.push(field.clone());
            }
        }
        if names.is_empty() {
            names.push("value".into());
        }
        let columns: Vec<String> = names.iter().map(|name| quoted_name(name)).collect();
        connection.execute_batch(&format!("CREATE TABLE t ({})", columns.join(", "))).map_err(internal)?;
        let mut loader = Self {
            connection,
            next_column: 0,
            row: Vec::new(),
            inexact: vec![0; names.len()],
            insert: String::new(),
            textual: data.is_textual(),
            text_fields: data.text_fields().to_vec(),
            rows: 0,
            until: Instant::now() + limits.load_time,
            limits,
            names,
        };
        loader.prepare_insert();
        Ok(loader)
    }

    fn prepare_insert(&mut self) {
        let columns: Vec<String> = self.names.iter().map(|name| quoted_name(name)).collect();
        let marks = vec!["?"; columns.len()].join(",");
        self.insert = format!("INSERT INTO t ({}) VALUES ({marks})", columns.join(","));
    }

    fn add(&mut self, key: Option<&str>, json: &str) -> Result<(), ViewError> {
        self.rows += 1;
        if self.rows.is_multiple_of(1000) && Instant::now() > self.until {
            return Err(ViewError::Engine(self.limits.out_of_time("loading the table")));
        }
        self.row.clear();
        self.row.resize(self.names.len(), Value::Null);
        self.next_column = 0;
        let mut failed = None;
        if let Some(key) = key {
            failed = self.set("key", Scalar::Text(key)).err();
        }
        flatten(json, MAX_COLUMN_DEPTH, &mut |path, scalar| {
            if failed.is_none() {
                let path = if path.is_empty() { "value" } else { path };
                failed = self.set(path, scalar).err();
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let mut statement = self.connection.prepare_cached(&self.insert).map_err(internal)?;
        statement.execute(params_from_iter(&self.row)).map_err(internal)?;
        Ok(())
    }

    fn set(&mut self, path: &str, scalar: Scalar<'_>) -> Result<(), ViewError> {
        let hit = self.names.get(self.next_column).is_some_and(|name| name == path);
        let at = match hit
            .then_some(self.next_column)
            .or_else(|| self.names.iter().position(|name| name.eq_ignore_ascii_case(path)))
        {
            Some(at) => at,
            None if self.names.len() < MAX_COLUMNS => self.add_column(path)?,
            None => return Ok(()),
        };
        self.next_column = at + 1;
        let textual = self.textual && !self.text_fields.iter().any(|field| field == path);
        let (value, exact) = value_of(scalar, textual);
        self.inexact[at] += u64::from(!exact);
        self.row[at] = value;
        Ok(())
    }

    fn add_column(&mut self, path: &str) -> Result<usize, ViewError> {
        self.connection
            .execute_batch(&format!("ALTER TABLE t ADD COLUMN {}", quoted_name(path)))
            .map_err(internal)?;
        self.names.push(path.to_owned());
        self.row.push(Value::Null);
        self.inexact.push(0);
        self.prepare_insert();
        Ok(self.names.len() - 1)
    }

    fn finish(self) -> (Vec<(String, u64)>, u64) {
        let inexact = self.names.into_iter().zip(self.inexact).filter(|(_, count)| *count > 0);
        (inexact.collect(), self.rows)
    }
}

fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a value as SQLite holds it, and whether that is exact.
fn value_of(scalar: Scalar<'_>, textual: bool) -> (Value, bool) {
    match scalar {
        Scalar::Null => (Value::Null, true),
        Scalar::Bool(value) => (Value::Integer(i64::from(value)), true),
        Scalar::Number(raw) => {
            number(raw).map_or_else(|| (Value::Text(raw.to_owned()), false), |value| (value, true))
        }
        // In separated values only its form tells a number from text.
        Scalar::Text(text) if textual && looks_numeric(text) => {
            (number(text).unwrap_or_else(|| Value::Text(text.to_owned())), true)
        }
        Scalar::Text(text) => (Value::Text(text.to_owned()), true),
        Scalar::Json(json) => (Value::Text(json.to_owned()), true),
    }
}

fn looks_numeric(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let leading_zero = digits.starts_with('0') && digits.len() > 1 && !digits.starts_with("0.");
    !leading_zero
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Returns a number as an integer or a float, if that is exactly what was written.
fn number(raw: &str) -> Option<Value> {
    if let Ok(integer) = raw.parse::<i64>() {
        return Some(Value::Integer(integer));
    }
    let float: f64 = raw.parse().ok().filter(|float: &f64| float.is_finite())?;
    let digits = significant(raw);
    // Fifteen digits always survive a float; more may, so the float is written and compared.
    (digits.len() <= 15 || significant(&format!("{float:e}")) == digits).then_some(Value::Real(float))
}

/// Returns the digits of a number from the first to the last that is not zero.
fn significant(raw: &str) -> String {
    let mantissa = raw.split(['e', 'E']).next().unwrap_or(raw);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

/// Returns a value of a row as a cell; text that looks like a number is quoted.
fn cell(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(integer) => integer.to_string(),
        ValueRef::Real(float) => float_text(float),
        ValueRef::Text(bytes) => cell_of_text(&String::from_utf8_lossy(bytes)),
        ValueRef::Blob(bytes) => format!("\"{} bytes\"", bytes.len()),
    }
}

fn float_text(float: f64) -> String {
    let text = format!("{float}");
    if text.contains(['.', 'e', 'N', 'i']) || text.len() > 20 { text } else { format!("{text}.0") }
}

fn cell_of_text(text: &str) -> String {
    let shown = visible_text(text).replace('\n', "\\n").replace('\r', "\\r");
    let plain = !shown.is_empty()
        && !shown.contains([',', '"'])
        && shown.trim() == shown
        && !shown.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+'));
    if plain { shown } else { format!("\"{}\"", shown.replace('"', "\"\"")) }
}

fn explain(error: &rusqlite::Error, data: &Dataset<'_>, limits: &Limits, stopped: &AtomicBool) -> ViewError {
    if stopped.load(Ordering::Relaxed) {
        return ViewError::Engine(limits.out_of_time("the query"));
    }
    let message = match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::MultipleStatement => return ViewError::Engine("write one select at a time".into()),
        other => other.to_string(),
    };
    if message.contains("not authorized")
        || message.contains("prohibited")
        || message.contains("too many attached")
    {
        return ViewError::Engine("the table can only be read; write a select over t".into());
    }
    if let Some(column) = message.strip_prefix("no such column: ") {
        let column = column.split(" - ").next().unwrap_or(column);
        let meant = hint::meant(data, column.rsplit('.').next().unwrap_or(column));
        return ViewError::NotThere(format!("no column {column:?} in t. {meant}{}", hint::shape(data)));
    }
    if let Some(table) = message.strip_prefix("no such table: ") {
        return ViewError::NotThere(format!(
            "no table {table:?}; the records are in t. {}",
            hint::shape(data)
        ));
    }
    ViewError::Engine(format!("SQL error: {message}. {}", hint::shape(data)))
}

fn internal(error: rusqlite::Error) -> ViewError {
    ViewError::Source(io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_text() {
        for (raw, exact) in [
            ("12", Some(Value::Integer(12))),
            ("9007199254740993", Some(Value::Integer(9_007_199_254_740_993))),
            ("18446744073709551617", None),
            ("1.50", Some(Value::Real(1.5))),
            ("0.1", Some(Value::Real(0.1))),
            ("123456789.123456789123", None),
            ("1e400", None),
            ("1e3", Some(Value::Real(1000.0))),
            ("2.5e-8", Some(Value::Real(2.5e-8))),
        ] {
            assert_eq!(number(raw), exact, "{raw}");
        }
    }

    #[test]
    fn cells_tell_numbers_from_text() {
        assert_eq!(cell(ValueRef::Text(b"12")), "\"12\"");
        assert_eq!(cell(ValueRef::Integer(12)), "12");
        assert_eq!(cell(ValueRef::Real(2.0)), "2.0");
        assert_eq!(cell(ValueRef::Text(b"a,b")), "\"a,b\"");
        assert_eq!(cell(ValueRef::Text(b"plain words")), "plain words");
        assert_eq!(cell(ValueRef::Null), "");
    }
}
