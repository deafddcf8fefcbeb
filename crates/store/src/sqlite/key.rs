//! Which key the store has: the row of the table `encryption`. A store without it is not encrypted.

use std::sync::PoisonError;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::SqliteStore;
use crate::codec::Codec;
use crate::error::StoreError;
use crate::key::KeyMismatch;

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS encryption (id INTEGER PRIMARY KEY CHECK (id = 1), record BLOB NOT NULL)";

/// Refuses what is not sealed: `TGs1` is what everything sealed begins with. Version 0.1.0 does not know of keys, and would put
/// results into an encrypted store as they are, which nobody with the key could read.
const REFUSE_PLAIN: &str = "
    CREATE TRIGGER IF NOT EXISTS only_sealed_chunks BEFORE INSERT ON chunk WHEN substr(NEW.data, 1, 4) <> x'54477331'
        BEGIN SELECT RAISE(ABORT, 'the store is encrypted; update tidegate'); END;
    CREATE TRIGGER IF NOT EXISTS only_sealed_outlines BEFORE INSERT ON artifact WHEN substr(NEW.outline, 1, 4) <> x'54477331'
        BEGIN SELECT RAISE(ABORT, 'the store is encrypted; update tidegate'); END;";

/// Returns what is recorded about the key.
pub(crate) fn record(connection: &Connection) -> Result<Option<Vec<u8>>, StoreError> {
    let table = "SELECT 1 FROM sqlite_master WHERE name = 'encryption'";
    let has_table = connection.prepare_cached(table)?.query_row([], |_| Ok(())).optional()?.is_some();
    if !has_table {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached("SELECT record FROM encryption")?;
    Ok(statement.query_row([], |row| row.get(0)).optional()?)
}

/// Records the key.
pub(super) fn set_record(transaction: &Transaction<'_>, record: &[u8]) -> Result<(), StoreError> {
    transaction.execute(CREATE, [])?;
    transaction.execute_batch(REFUSE_PLAIN)?;
    transaction.execute("INSERT OR REPLACE INTO encryption (id, record) VALUES (1, ?1)", [record])?;
    Ok(())
}

fn is_empty(connection: &Connection) -> Result<bool, StoreError> {
    let body = connection.query_row("SELECT 1 FROM body LIMIT 1", [], |_| Ok(())).optional()?;
    Ok(body.is_none())
}

impl SqliteStore {
    /// Returns the codec for the key that the store has now.
    pub(super) fn codec(&self, connection: &Connection) -> Result<Codec, StoreError> {
        let record = record(connection)?;
        let mut codec = self.codec.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = codec.record() == record.as_deref();
        if !is_same || (record.is_none() && self.keys.current.is_some()) {
            *codec = Codec::resolve(&self.keys, record.as_deref(), || is_empty(connection))?;
        }
        Ok(codec.clone())
    }

    /// Fails if the store no longer has the key of a codec. Within the transaction that writes, so that everything in a store
    /// has the key that it records.
    pub(super) fn check_codec(&self, transaction: &Transaction<'_>, codec: &Codec) -> Result<(), StoreError> {
        match record(transaction)?.as_deref() == codec.record() {
            true => Ok(()),
            false => Err(KeyMismatch::Changed.into()),
        }
    }

    /// Encrypts a store that holds nothing, if there is a key.
    pub(super) fn take_key(&self) -> Result<(), StoreError> {
        let mut connection = self.lock();
        if self.codec(&connection)?.record() == record(&connection)?.as_deref() {
            return Ok(());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have put something into it, or encrypted it, meanwhile.
        if let (Some(new), None) = (self.codec(&transaction)?.record(), record(&transaction)?) {
            set_record(&transaction, new)?;
        }
        Ok(transaction.commit()?)
    }
}
