//! The view `sql`: a query over the table `t` with one row per record and columns from all records. Other results that the
//! query names are tables under their names.
//!
//! The database is in memory, read-only and without temporary files; a query is interrupted when its time is over. A member
//! of an object is a column (`title`, `author.login`); lists and objects are columns too, as JSON for SQLite's JSON
//! functions. Numbers that SQLite cannot hold exactly are TEXT, and the answer says so.

mod cell;
mod columns;
mod load;
mod number;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, Statement};
use tidegate_core::view::{EngineEvent, EngineOutput, Total, ViewError};

use crate::limits::{Limits, out_of_memory, value_too_long};
use crate::order::{Progress, Report, WantedResults};
use crate::{Host, Input, hint, memory};
use cell::{CsvLine, cell_of_text, json_of_cell};
use load::{Loaded, decimals_of_type, internal};

/// The bounds of what one query may use, beyond what the table takes.
struct Bounds {
    /// Bytes of a value that it computes.
    value_bytes: usize,
    /// Memory for sorting, grouping and results.
    memory_bytes: u64,
    /// SQLite virtual machine steps between checks of time and memory.
    steps: i32,
}

impl Bounds {
    fn of(host: Host) -> Self {
        match host {
            Host::Worker => Self { value_bytes: 16 << 20, memory_bytes: 384 << 20, steps: 4000 },
            // The caller's process cannot be killed, so values are small and the checks many.
            Host::Caller => Self { value_bytes: 256 << 10, memory_bytes: 192 << 20, steps: 200 },
        }
    }
}

/// A query with everything its answer depends on.
pub(crate) struct Asked<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) input: &'a Input<'a>,
    pub(crate) query: &'a str,
    pub(crate) results: WantedResults,
    pub(crate) host: Host,
}

pub(crate) fn run(asked: &Asked<'_>, report: &mut Report<'_>) -> Result<EngineOutput, ViewError> {
    let Input { data, others } = asked.input;
    if data.record_count() == 0 {
        return Err(ViewError::bad(format!("sql needs records. {}; use grep or lines", hint::shape(data))));
    }
    if let Some(other) = others.iter().find(|other| other.data.record_count() == 0) {
        let (name, shape) = (&other.name, hint::shape(&other.data));
        return Err(ViewError::bad(format!("sql needs records, and {name:?} has none. {shape}")));
    }
    let mut table = Table::load(asked)?;
    report(Progress::Loaded)?;
    table.query(asked, report)
}

/// Why a query was interrupted.
#[derive(Debug, Default, Clone)]
struct Interrupted(Arc<AtomicU8>);

const BY_TIME: u8 = 1;
const BY_MEMORY: u8 = 2;

impl Interrupted {
    fn set(&self, why: u8) {
        self.0.store(why, Ordering::Relaxed);
    }

    fn is(&self, why: u8) -> bool {
        self.0.load(Ordering::Relaxed) == why
    }
}

/// The table of the main result of a query.
const TABLE: &str = "t";

/// The records, loaded into the table `t`.
struct Table {
    connection: Connection,
    loaded: Loaded,
    bounds: Bounds,
}

impl Table {
    fn load(asked: &Asked<'_>) -> Result<Self, ViewError> {
        let connection = Connection::open_in_memory().map_err(internal)?;
        // An in-memory table need not survive a crash, and nothing may be written to a disk.
        connection
            .execute_batch("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY; BEGIN")
            .map_err(internal)?;
        let loaded = load::load(&connection, TABLE, asked.input.data, asked.limits)?;
        for other in asked.input.others {
            load::load(&connection, &other.name, &other.data, asked.limits)?;
        }
        connection.execute_batch("COMMIT").map_err(internal)?;
        Ok(Self { connection, loaded, bounds: Bounds::of(asked.host) })
    }

    fn query(&mut self, asked: &Asked<'_>, report: &mut Report<'_>) -> Result<EngineOutput, ViewError> {
        let interrupted = self.restrict(asked)?;
        let wrong = |error: rusqlite::Error| self.explain(&error, asked, &interrupted);
        let mut statement = self.connection.prepare(asked.query).map_err(wrong)?;
        if statement.column_count() == 0 {
            return Err(ViewError::Engine("the table can only be read; write a select over t".into()));
        }
        let is_each = matches!(asked.results, WantedResults::Each);
        if is_each {
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            report(Progress::Event(EngineEvent::Columns(&names)))?;
        }
        let names: Vec<String> = statement.column_names().map(cell_of_text).collect();
        let decimals = fixed_decimals(&statement);
        let window = asked.results.window();
        let mut rows = statement.query([]).map_err(wrong)?;
        let (mut results, mut bytes, mut count) = (Vec::new(), 0, 0u64);
        let stop = loop {
            match rows.next() {
                Ok(None) => break None,
                Ok(Some(row)) => {
                    count += 1;
                    if is_each {
                        let cells = decimals.iter().enumerate();
                        let cells: rusqlite::Result<Vec<String>> = cells
                            .map(|(at, decimals)| Ok(json_of_cell(row.get_ref(at)?, *decimals)))
                            .collect();
                        report(Progress::Event(EngineEvent::Row(&cells.map_err(wrong)?)))?;
                        continue;
                    }
                    if count > window.skip && bytes <= window.bytes {
                        let mut line = CsvLine::new(window.bytes);
                        for (at, decimals) in decimals.iter().enumerate() {
                            line.push(row.get_ref(at).map_err(wrong)?, *decimals);
                        }
                        let line = line.finish();
                        bytes += line.len();
                        results.push(line);
                    }
                    if count >= asked.limits.rows {
                        break Some(asked.limits.out_of_rows("The query"));
                    }
                }
                // A reader would take a part of a file for the whole.
                Err(_) if count > 0 && !is_each && interrupted.is(BY_TIME) => {
                    break Some(asked.limits.out_of_time("the query"));
                }
                Err(error) => return Err(wrong(error)),
            }
        };
        let total = if stop.is_some() { Total::AtLeast(count) } else { Total::Exactly(count) };
        let mut notes = Vec::new();
        if !is_each {
            notes.push("CSV: a quoted cell is text, an empty one null.".to_owned());
        }
        if count == 0 {
            notes.push(format!("No rows; {} records were searched.", self.loaded.rows));
        }
        notes.extend(stop.map(|stop| format!("{stop}.")));
        notes.extend(self.loaded.columns.notes(asked.query));
        Ok(EngineOutput { header: Some(names.join(",")), results, total, what: "rows".into(), notes })
    }

    /// Makes the database read-only and limits time and memory.
    fn restrict(&mut self, asked: &Asked<'_>) -> Result<Interrupted, ViewError> {
        let (limits, bounds) = (asked.limits, &mut self.bounds);
        // A value of the data can be read, however long it is.
        bounds.value_bytes = bounds.value_bytes.max(2 * self.loaded.longest);
        if asked.host == Host::Worker {
            let pragma = |text: &str| self.connection.query_row(text, [], |row| row.get::<_, i64>(0));
            let pages = pragma("PRAGMA page_count").map_err(internal)?.unsigned_abs();
            let table = pages * pragma("PRAGMA page_size").map_err(internal)?.unsigned_abs();
            bounds.memory_bytes = (table + bounds.memory_bytes).min(limits.memory_bytes / 4 * 3);
            pragma(&format!("PRAGMA hard_heap_limit={}", bounds.memory_bytes)).map_err(internal)?;
        }
        for (limit, value) in [
            (Limit::SQLITE_LIMIT_LENGTH, i32::try_from(bounds.value_bytes).unwrap_or(i32::MAX)),
            (Limit::SQLITE_LIMIT_ATTACHED, 0),
            (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
            (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
        ] {
            self.connection.set_limit(limit, value).map_err(internal)?;
        }
        self.connection
            .authorizer(Some(|context: AuthContext<'_>| match context.action {
                AuthAction::Select | AuthAction::Recursive | AuthAction::Read { .. } => Authorization::Allow,
                AuthAction::Function { function_name } if function_name != "load_extension" => {
                    Authorization::Allow
                }
                _ => Authorization::Deny,
            }))
            .map_err(internal)?;
        let interrupted = Interrupted::default();
        let (flag, until) = (interrupted.clone(), Instant::now() + limits.time);
        let most = (asked.host == Host::Caller)
            .then(memory::resident_bytes)
            .flatten()
            .map_or(u64::MAX, |now| now + bounds.memory_bytes);
        let over = move || {
            if Instant::now() > until {
                flag.set(BY_TIME);
            } else if most < u64::MAX && memory::resident_bytes().is_some_and(|now| now > most) {
                flag.set(BY_MEMORY);
            }
            flag.is(BY_TIME) || flag.is(BY_MEMORY)
        };
        self.connection.progress_handler(bounds.steps, Some(over)).map_err(internal)?;
        Ok(interrupted)
    }

    fn explain(&self, error: &rusqlite::Error, asked: &Asked<'_>, interrupted: &Interrupted) -> ViewError {
        let engine = |message: String| ViewError::Engine(message);
        if interrupted.is(BY_TIME) {
            return engine(asked.limits.out_of_time("the query"));
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::OutOfMemory) => {
                return engine(out_of_memory("the query", self.bounds.memory_bytes));
            }
            Some(ErrorCode::TooBig) => {
                return engine(value_too_long("the query", self.bounds.value_bytes as u64));
            }
            _ if interrupted.is(BY_MEMORY) => {
                return engine(out_of_memory("the query", self.bounds.memory_bytes));
            }
            _ => {}
        }
        explain_message(error, asked.input)
    }
}

/// Returns for each column of a result the decimals with which its numbers were written, if they are fixed.
fn fixed_decimals(statement: &Statement<'_>) -> Vec<Option<usize>> {
    statement.columns().map(|column| column.decl_type().and_then(decimals_of_type)).collect()
}

fn explain_message(error: &rusqlite::Error, input: &Input<'_>) -> ViewError {
    let data = input.data;
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
        let place = if input.others.is_empty() { "t" } else { "t or the other results" };
        let others =
            input.others.iter().map(|other| format!(". {:?}: {}", other.name, hint::shape(&other.data)));
        let others: String = others.collect();
        return ViewError::NotThere(format!(
            "no column {column:?} in {place}. {meant}{}{others}",
            hint::shape(data)
        ));
    }
    if let Some(table) = message.strip_prefix("no such table: ") {
        return ViewError::NotThere(format!(
            "no table {table:?}; the records are in t, and another kept result is a table by its name in double \
             quotes. {}",
            hint::shape(data)
        ));
    }
    ViewError::Engine(format!("SQL error: {message}. {}", hint::shape(data)))
}
