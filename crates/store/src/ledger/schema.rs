//! The table of the ledger, and the migration of older tables.
//!
//! The schema version is in `user_version`: 0 before release 0.1.0, 1 since then, 2 and 3 after it. Columns are only ever added, each with a
//! default, and inserts name their columns, so that processes of several releases can share a file from version 1 on.

use rusqlite::{Connection, TransactionBehavior};

/// The schema version that this program writes.
const VERSION: i64 = 3;

/// The table of version 0.
const CREATE_VERSION_0: &str = "
    CREATE TABLE IF NOT EXISTS call (
        at INTEGER NOT NULL, client TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, step TEXT NOT NULL,
        raw_bytes INTEGER NOT NULL, raw_tokens INTEGER NOT NULL, sent_bytes INTEGER NOT NULL,
        sent_tokens INTEGER NOT NULL, added_micros INTEGER NOT NULL, artifact TEXT
    );
    CREATE INDEX IF NOT EXISTS call_by_time ON call (at);
";

/// The columns that version 1 added.
const ADD_VERSION_1: &str = "
    ALTER TABLE call ADD COLUMN session TEXT;
    ALTER TABLE call ADD COLUMN view TEXT;
    ALTER TABLE call ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE call ADD COLUMN vocabulary TEXT;
    ALTER TABLE call ADD COLUMN margin_percent INTEGER;
";

/// The columns that version 2 added.
const ADD_VERSION_2: &str = "ALTER TABLE call ADD COLUMN budget_tokens INTEGER NOT NULL DEFAULT 0;";

/// The column that version 3 added.
const ADD_VERSION_3: &str = "ALTER TABLE call ADD COLUMN owner TEXT;";

/// Inserts one call.
pub(super) const INSERT: &str = "
    INSERT INTO call (at, client, server, tool, step, raw_bytes, raw_tokens, sent_bytes, sent_tokens, added_micros,
        artifact, session, view, stored_bytes, vocabulary, margin_percent, budget_tokens, owner)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";

/// Creates the table, or migrates one of an earlier version.
pub(super) fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? >= VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it while this one waited for the lock.
    let from = version(&transaction)?;
    if from < 1 {
        transaction.execute_batch(CREATE_VERSION_0)?;
        transaction.execute_batch(ADD_VERSION_1)?;
    }
    if from < 2 {
        transaction.execute_batch(ADD_VERSION_2)?;
    }
    if from < 3 {
        transaction.execute_batch(ADD_VERSION_3)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

/// Returns the columns to select, with defaults for those that an older file lacks: a file that is only read is not
/// migrated.
pub(super) fn columns(connection: &Connection) -> rusqlite::Result<String> {
    let added = match version(connection)? {
        0 => "NULL, NULL, 0, NULL, NULL, 0, NULL",
        1 => "session, view, stored_bytes, vocabulary, margin_percent, 0, NULL",
        2 => "session, view, stored_bytes, vocabulary, margin_percent, budget_tokens, NULL",
        _ => "session, view, stored_bytes, vocabulary, margin_percent, budget_tokens, owner",
    };
    Ok(format!(
        "at, client, server, tool, step, raw_bytes, raw_tokens, sent_bytes, sent_tokens, added_micros, artifact, {added}"
    ))
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
