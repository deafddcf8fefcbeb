//! Opening the SQLite database of an example, and filling a new one.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// How long to wait for a writer in another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens a file, or a database in memory. A new one gets the schema, which must set `user_version`, and is filled.
///
/// # Errors
///
/// A file that cannot be opened, or that is not a database.
pub fn open_database(
    file: Option<&Path>,
    schema: &str,
    fill: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<Connection> {
    let mut connection = match file {
        Some(file) => Connection::open(file)?,
        None => Connection::open_in_memory()?,
    };
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Readers and a writer do not block each other.
    connection.pragma_update(None, "journal_mode", "wal")?;
    // A power failure can lose the last changes, but does not corrupt the file.
    connection.pragma_update(None, "synchronous", "normal")?;
    // If two processes start at once, only one of them fills the database.
    let filling = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if filling.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? == 0 {
        filling.execute_batch(schema)?;
        fill(&filling)?;
    }
    filling.commit()?;
    Ok(connection)
}
