//! Which key the content is sealed with: the row of the table `encryption`. A store without it is not encrypted.

use super::database::{Database, Transaction};
use super::failure::Failure;
use crate::codec::Codec;
use crate::error::StoreError;
use crate::key::{KeyMismatch, StoreKeys};

/// The record of the key. In the transaction that stores a result it is compared with the one of the codec.
pub(super) const RECORD: &str = "SELECT record FROM encryption";

/// Returns the codec for the key of a store. One that holds nothing gets the configured key.
pub(super) async fn take_key(database: &Database, keys: &StoreKeys) -> Result<Codec, Failure> {
    let connection = database.connection().await?;
    // Nobody can store anything between the look and the record.
    connection.batch("BEGIN; LOCK TABLE encryption IN SHARE ROW EXCLUSIVE MODE").await?;
    let record: Option<Vec<u8>> = connection.query_one(RECORD, &[]).await?.map(|row| row.get(0));
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

async fn is_empty(connection: &Transaction) -> Result<bool, Failure> {
    let sql = "SELECT artifacts = 0 AND stored = 0 FROM quota_use WHERE scope = 0";
    Ok(connection.query_one(sql, &[]).await?.is_some_and(|row| row.get(0)))
}

/// Fails if the store no longer has the key of a codec.
pub(super) fn check(codec: &Codec, record: Option<&[u8]>) -> Result<(), StoreError> {
    match codec.record() == record {
        true => Ok(()),
        false => Err(KeyMismatch::Changed.into()),
    }
}
