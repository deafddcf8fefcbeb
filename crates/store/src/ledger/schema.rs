//! The table of the ledger, and how one of an earlier version becomes it.
//!
//! The version is in `user_version`; 0 is the table as version 0.1.0 made it. Columns are only ever added, each with a
//! default, and notes name their columns, so that processes of several versions can share a file from version 1 on.

use rusqlite::{Connection, TransactionBehavior};

/// What this program writes.
const VERSION: i64 = 1;

/// Version 0.
const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS call (
        at INTEGER NOT NULL, client TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, step TEXT NOT NULL,
        raw_bytes INTEGER NOT NULL, raw_tokens INTEGER NOT NULL, sent_bytes INTEGER NOT NULL,
        sent_tokens INTEGER NOT NULL, added_micros INTEGER NOT NULL, artifact TEXT
    );
    CREATE INDEX IF NOT EXISTS call_by_time ON call (at);
";

/// What version 1 added.
const ADDED: &str = "
    ALTER TABLE call ADD COLUMN session TEXT;
    ALTER TABLE call ADD COLUMN view TEXT;
    ALTER TABLE call ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE call ADD COLUMN vocabulary TEXT;
    ALTER TABLE call ADD COLUMN margin_percent INTEGER;
";

/// Notes one call.
pub(super) const INSERT: &str = "
    INSERT INTO call (at, client, server, tool, step, raw_bytes, raw_tokens, sent_bytes, sent_tokens, added_micros,
        artifact, session, view, stored_bytes, vocabulary, margin_percent)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";

/// Makes the table, or brings one of an earlier version up to date.
pub(super) fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? >= VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it while this one waited.
    if version(&transaction)? < VERSION {
        transaction.execute_batch(TABLE)?;
        transaction.execute_batch(ADDED)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

/// Returns the columns of a call, as far as the file has them: one that is only read is not brought up to date.
pub(super) fn columns(connection: &Connection) -> rusqlite::Result<String> {
    let added = match version(connection)? {
        0 => "NULL, NULL, 0, NULL, NULL",
        _ => "session, view, stored_bytes, vocabulary, margin_percent",
    };
    Ok(format!(
        "at, client, server, tool, step, raw_bytes, raw_tokens, sent_bytes, sent_tokens, added_micros, artifact, {added}"
    ))
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
