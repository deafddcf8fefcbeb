//! The ledger in a SQLite file, which several processes share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, params};

use super::queue::CallQueue;
use super::{Call, Ledger, RETENTION, read, schema};
use crate::clock::Millis;
use crate::error::StoreError;
use crate::home::ensure_private_file;

/// A ledger in a SQLite file.
pub struct SqliteLedger {
    queue: CallQueue,
    path: PathBuf,
}

impl SqliteLedger {
    /// Opens the file at a path, and creates it if there is none.
    ///
    /// # Errors
    ///
    /// The file cannot be created, opened or written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        ensure_private_file(path)?;
        let mut connection = connect(path)?;
        schema::prepare(&mut connection)?;
        let queue = CallQueue::start(move |calls| drop(write_batch(&mut connection, calls)))?;
        Ok(Self { queue, path: path.to_owned() })
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

impl Ledger for SqliteLedger {
    fn note(&self, call: Call) {
        self.queue.push(call);
    }

    fn calls(&self, since: Millis, limit: usize) -> Result<Vec<Call>, StoreError> {
        self.queue.flush();
        let mut calls = Vec::new();
        read::for_each_call(&connect(&self.path)?, since, limit, &mut |call| calls.push(call))?;
        Ok(calls)
    }

    fn flush(&self) {
        self.queue.flush();
    }
}

fn write_batch(connection: &mut Connection, calls: &[Call]) -> rusqlite::Result<()> {
    let Some(newest) = calls.iter().map(|call| call.at).max() else { return Ok(()) };
    let transaction = connection.transaction()?;
    {
        let mut statement = transaction.prepare_cached(schema::INSERT)?;
        for call in calls {
            let counted = call.counted.as_ref();
            statement.execute(params![
                call.at.0,
                call.client,
                call.server,
                call.tool,
                call.step,
                call.raw_bytes.cast_signed(),
                call.raw_tokens.cast_signed(),
                call.sent_bytes.cast_signed(),
                call.sent_tokens.cast_signed(),
                call.added_micros.cast_signed(),
                call.artifact,
                call.session,
                call.view,
                call.stored_bytes.cast_signed(),
                counted.map(|counted| &counted.vocabulary),
                counted.map(|counted| counted.margin_percent),
                call.budget_tokens.cast_signed(),
                call.owner,
            ])?;
        }
    }
    transaction.execute("DELETE FROM call WHERE at < ?1", [newest.before(RETENTION).0])?;
    transaction.commit()
}
