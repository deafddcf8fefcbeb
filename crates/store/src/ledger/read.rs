//! Reading the ledger: one call after the other, so that a quarter of a year of them need not fit in memory.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row, params};

use super::{Call, Counted, schema};
use crate::clock::Millis;
use crate::error::StoreError;
use crate::sqlite::open_unwritable;

/// Reads the calls since a time from the ledger at a path, oldest first. Nothing is written, and a file that is not
/// there has no calls.
///
/// # Errors
///
/// A file that cannot be read or is no ledger.
pub fn read_calls(path: &Path, since: Millis, each: &mut dyn FnMut(Call)) -> Result<(), StoreError> {
    if !path.exists() {
        return Ok(());
    }
    let ordinary = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    ordinary.busy_timeout(Duration::from_secs(5))?;
    // Where nothing can be written, the log's index cannot be made either, which the first look shows.
    let connection = match is_ledger(&ordinary) {
        Ok(_) => ordinary,
        Err(_) => open_unwritable(path)?,
    };
    // A file that was made a moment ago has no table yet.
    if is_ledger(&connection)? { self::each(&connection, since, usize::MAX, each) } else { Ok(()) }
}

fn is_ledger(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) FROM sqlite_master WHERE name = 'call'", [], |row| row.get(0))
}

/// Reads calls, oldest first.
pub(super) fn each(
    connection: &Connection,
    since: Millis,
    most: usize,
    each: &mut dyn FnMut(Call),
) -> Result<(), StoreError> {
    let columns = schema::columns(connection)?;
    let query = format!("SELECT {columns} FROM call WHERE at >= ?1 ORDER BY at, rowid LIMIT ?2");
    let mut statement = connection.prepare(&query)?;
    let mut rows = statement.query(params![since.0, i64::try_from(most).unwrap_or(i64::MAX)])?;
    while let Some(row) = rows.next()? {
        each(call(row)?);
    }
    Ok(())
}

fn call(row: &Row<'_>) -> rusqlite::Result<Call> {
    let number = |at: usize| row.get::<_, i64>(at).map(i64::unsigned_abs);
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
            .map(|vocabulary| Counted { vocabulary, margin_percent: margin.unwrap_or_default() }),
    })
}
