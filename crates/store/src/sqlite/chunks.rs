//! The rows of chunks: `put` writes them in batches, `StoredSource` reads them one at a time.

use rusqlite::{Connection, OptionalExtension, params};

use super::BodyId;
use crate::chunks::Packed;
use crate::codec::BodyKey;
use crate::error::StoreError;

/// The low bits of a chunk's row id are its number in the body; the others are the id of the body.
const NUMBER_BITS: u32 = 24;

/// Returns the row id of a chunk.
pub(super) fn row_id(body: BodyId, number: u64) -> i64 {
    (body.0 << NUMBER_BITS) | i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the first row id after the chunks of a body.
pub(super) fn end_row_id(body: BodyId) -> i64 {
    (body.0 + 1) << NUMBER_BITS
}

/// Writes chunks of a body, from number `first` on.
pub(super) fn write(
    connection: &Connection,
    body: BodyId,
    first: u64,
    batch: &[Packed],
) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare_cached("INSERT INTO chunk (id, hash, data) VALUES (?1, ?2, ?3)")?;
    for (number, packed) in (first..).zip(batch) {
        statement.execute(params![row_id(body, number), packed.hash, packed.data])?;
    }
    Ok(())
}

/// Reads a chunk and checks its hash.
pub(super) fn read(
    connection: &Connection,
    body: BodyId,
    number: u64,
    key: &BodyKey,
) -> Result<Vec<u8>, StoreError> {
    let row: Option<(Vec<u8>, Vec<u8>)> = connection
        .prepare_cached("SELECT hash, data FROM chunk WHERE id = ?1")?
        .query_row([row_id(body, number)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (expected, data) = row.ok_or(StoreError::NotFound)?;
    key.unpack(number, &data, &expected)
}
