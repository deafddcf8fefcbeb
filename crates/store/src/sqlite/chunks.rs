//! The rows of chunks: `put` writes them in batches, `StoredSource` reads them one at a time.

use rusqlite::{Connection, OptionalExtension, params};

use super::{BodyId, RowBody};
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

/// Reads a chunk and checks its hash. The statement names the owner and the digest of the body as well: its row may be
/// gone, and another body may have its id.
pub(super) fn read(
    connection: &Connection,
    body: &RowBody,
    number: u64,
    key: &BodyKey,
) -> Result<Vec<u8>, StoreError> {
    let sql = "SELECT chunk.hash, data FROM chunk, body
               WHERE chunk.id = ?1 AND body.id = ?2 AND body.owner = ?3 AND body.hash = ?4";
    let parameters = params![row_id(body.id, number), body.id.0, body.owner.as_str(), body.hash];
    let row: Option<(Vec<u8>, Vec<u8>)> = connection
        .prepare_cached(sql)?
        .query_row(parameters, |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (expected, data) = row.ok_or(StoreError::NotFound)?;
    key.unpack(number, &data, &expected)
}
