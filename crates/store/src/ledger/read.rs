//! Reads the ledger call by call, so that three months of calls need not fit in memory.
//!
//! `tidegate stats` and `tidegate scan` read the file of running proxies: nothing is written, and a file of an earlier schema
//! or on a read-only disk is read as it is.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row, params};

use super::{Call, CountMethod, schema};
use crate::clock::Millis;
use crate::error::StoreError;
use crate::sqlite::open_on_read_only_disk;

/// Reads the calls since a time from the ledger at a path, oldest first.
///
/// Nothing is written. A file that does not exist has no calls.
///
/// # Errors
///
/// The file cannot be read or is not a ledger.
pub fn read_calls(path: &Path, since: Millis, each: &mut dyn FnMut(Call)) -> Result<(), StoreError> {
    if !path.exists() {
        return Ok(());
    }
    let read_only = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    read_only.busy_timeout(Duration::from_secs(5))?;
    // On a read-only disk SQLite cannot create the index of the write-ahead log, which the first query shows.
    let connection = match has_call_table(&read_only) {
        Ok(_) => read_only,
        Err(_) => open_on_read_only_disk(path)?,
    };
    // A file that another process has just created has no table yet.
    if has_call_table(&connection)? { for_each_call(&connection, since, usize::MAX, each) } else { Ok(()) }
}

fn has_call_table(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) FROM sqlite_master WHERE name = 'call'", [], |row| row.get(0))
}

/// Reads at most `limit` calls since a time, oldest first.
pub(super) fn for_each_call(
    connection: &Connection,
    since: Millis,
    limit: usize,
    each: &mut dyn FnMut(Call),
) -> Result<(), StoreError> {
    let columns = schema::columns(connection)?;
    let query = format!("SELECT {columns} FROM call WHERE at >= ?1 ORDER BY at, rowid LIMIT ?2");
    let mut statement = connection.prepare(&query)?;
    let mut rows = statement.query(params![since.0, i64::try_from(limit).unwrap_or(i64::MAX)])?;
    while let Some(row) = rows.next()? {
        each(call_from_row(row)?);
    }
    Ok(())
}

fn call_from_row(row: &Row<'_>) -> rusqlite::Result<Call> {
    let number = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
    let (vocabulary, margin): (Option<String>, Option<u32>) = (row.get(14)?, row.get(15)?);
    Ok(Call {
        at: Millis(row.get(0)?),
        client: row.get(1)?,
        server: row.get(2)?,
        tool: row.get(3)?,
        step: row.get(4)?,
        raw_bytes: number(5)?,
        raw_tokens: number(6)?,
        sent_bytes: number(7)?,
        sent_tokens: number(8)?,
        added_micros: number(9)?,
        artifact: row.get(10)?,
        session: row.get(11)?,
        view: row.get(12)?,
        stored_bytes: number(13)?,
        counted: vocabulary
            .map(|vocabulary| CountMethod { vocabulary, margin_percent: margin.unwrap_or_default() }),
        budget_tokens: number(16)?,
        owner: row.get(17)?,
    })
}
