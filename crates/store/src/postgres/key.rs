//! The record of the key that the content is sealed with: the row of the table `encryption`. A store without that row is not
//! encrypted.

use super::Shared;
use super::database::{Database, Scope, Transaction};
use super::failure::Failure;
use crate::codec::Codec;
use crate::error::StoreError;
use crate::key::{KeyMismatch, StoreKeys};

/// Reads the record. The transaction that stores a result compares it with the record of its codec.
pub(super) const RECORD: &str = "SELECT record FROM encryption";

/// Waits for all puts in progress and blocks new ones until the transaction ends, because every put reads the record, which locks
/// the table.
pub(super) const LOCK: &str = "LOCK TABLE encryption IN ACCESS EXCLUSIVE MODE";

/// Returns the codec for the key of a store. An empty store takes the configured key.
pub(super) async fn take_key(database: &Database, keys: &StoreKeys) -> Result<Codec, Failure> {
    let connection = database.connection().await?;
    connection.batch("BEGIN").await?;
    let mut record = read_record(&connection).await?;
    if record.is_none() && keys.current.is_some() {
        connection.batch(LOCK).await?;
        record = read_record(&connection).await?;
    }
    let is_empty = is_empty(&connection).await?;
    let codec = match Codec::resolve(keys, record.as_deref(), || Ok(is_empty)) {
        Ok(codec) => codec,
        Err(error) => {
            connection.rollback().await;
            return Err(error.into());
        }
    };
    if let (None, Some(new)) = (&record, codec.record()) {
        connection.execute("INSERT INTO encryption VALUES (1, $1)", &[&new]).await?;
    }
    connection.commit().await?;
    Ok(codec)
}

/// Returns what is recorded about the key.
pub(super) async fn read_record(transaction: &Transaction) -> Result<Option<Vec<u8>>, Failure> {
    Ok(transaction.query_one(RECORD, &[]).await?.map(|row| row.get(0)))
}

impl Shared {
    /// Looks at the key of the store again; returns whether it has changed.
    pub(super) async fn has_new_key(&self) -> Result<bool, StoreError> {
        let rows = self.query(&Scope::AllOwners, RECORD, &[]).await?;
        let record: Option<Vec<u8>> = rows.first().map(|row| row.get(0));
        if self.codec().record() == record.as_deref() {
            return Ok(false);
        }
        self.set_codec(Codec::resolve(&self.keys, record.as_deref(), || Ok(false))?);
        Ok(true)
    }
}

async fn is_empty(connection: &Transaction) -> Result<bool, Failure> {
    let sql = "SELECT artifacts = 0 AND stored = 0 FROM quota_use WHERE scope = 0";
    Ok(connection.query_one(sql, &[]).await?.is_some_and(|row| row.get(0)))
}

/// Fails if the store no longer has the key that something is sealed with.
pub(super) fn check(sealed_with: Option<&[u8]>, record: Option<&[u8]>) -> Result<(), StoreError> {
    match sealed_with == record {
        true => Ok(()),
        false => Err(KeyMismatch::Changed.into()),
    }
}
