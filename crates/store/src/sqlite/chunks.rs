//! Chunks of a body: each is compressed by itself and has a hash of its bytes, which every read checks.
//!
//! `put` writes them in batches, `StoredSource` reads them one at a time. A chunk that does not match its hash is an error:
//! wrong bytes are never returned.

use rusqlite::{Connection, OptionalExtension, params};
use tidegate_core::source::{Source, Span};

use crate::artifact::{BodyRef, CHUNK_BYTES};
use crate::error::StoreError;

/// The low bits of a chunk's row id are its number in the body; the others are the id of the body.
const NUMBER_BITS: u32 = 24;
/// Fast, and compresses typical tool results to about a quarter.
const COMPRESSION_LEVEL: i32 = 1;
/// Bytes stored of the hash of a chunk.
const HASH_BYTES: usize = 16;

/// Returns the row id of a chunk.
pub(super) fn row_id(body: BodyRef, number: u64) -> i64 {
    (body.0 << NUMBER_BITS) | i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the first row id after the chunks of a body.
pub(super) fn end_row_id(body: BodyRef) -> i64 {
    (body.0 + 1) << NUMBER_BITS
}

/// A chunk ready to be written.
pub(super) struct Packed {
    pub(super) number: u64,
    pub(super) hash: [u8; HASH_BYTES],
    pub(super) data: Vec<u8>,
}

/// Compresses the chunks of a source one after another.
pub(super) struct Packer<'s> {
    source: &'s dyn Source,
    compressor: zstd::bulk::Compressor<'static>,
    next: u64,
}

impl<'s> Packer<'s> {
    pub(super) fn new(source: &'s dyn Source) -> Result<Self, StoreError> {
        let compressor = zstd::bulk::Compressor::new(COMPRESSION_LEVEL).map_err(StoreError::Source)?;
        Ok(Self { source, compressor, next: 0 })
    }

    /// Returns the next chunks, up to about `max_bytes` before compression; none at the end of the source.
    pub(super) fn batch(&mut self, max_bytes: u64) -> Result<Vec<Packed>, StoreError> {
        let mut batch = Vec::new();
        while (batch.len() as u64) * CHUNK_BYTES < max_bytes {
            let start = self.next * CHUNK_BYTES;
            if start >= self.source.len() {
                break;
            }
            let end = (start + CHUNK_BYTES).min(self.source.len());
            let packed = match self.source.as_slice() {
                Some(bytes) => self.pack(&bytes[start as usize..end as usize])?,
                None => {
                    let bytes = Span { start, end }.read(self.source).map_err(StoreError::Source)?;
                    self.pack(&bytes)?
                }
            };
            batch.push(packed);
            self.next += 1;
        }
        Ok(batch)
    }

    fn pack(&mut self, bytes: &[u8]) -> Result<Packed, StoreError> {
        let data = self.compressor.compress(bytes).map_err(StoreError::Source)?;
        Ok(Packed { number: self.next, hash: hash(bytes), data })
    }
}

fn hash(bytes: &[u8]) -> [u8; HASH_BYTES] {
    let mut hash = [0; HASH_BYTES];
    hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..HASH_BYTES]);
    hash
}

/// Returns the hash of all bytes of a source.
pub(super) fn hash_all(source: &dyn Source) -> Result<[u8; 32], StoreError> {
    if let Some(bytes) = source.as_slice() {
        return Ok(*blake3::hash(bytes).as_bytes());
    }
    let mut hasher = blake3::Hasher::new();
    let mut start = 0;
    while start < source.len() {
        let end = (start + 4 * CHUNK_BYTES).min(source.len());
        hasher.update(&Span { start, end }.read(source).map_err(StoreError::Source)?);
        start = end;
    }
    Ok(*hasher.finalize().as_bytes())
}

/// Writes chunks of a body.
pub(super) fn write(connection: &Connection, body: BodyRef, batch: &[Packed]) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare_cached("INSERT INTO chunk (id, hash, data) VALUES (?1, ?2, ?3)")?;
    for packed in batch {
        statement.execute(params![row_id(body, packed.number), packed.hash, packed.data])?;
    }
    Ok(())
}

/// Returns whether every chunk of a body of this size can be read as it was stored.
pub(super) fn are_intact(connection: &Connection, body: BodyRef, bytes: u64) -> Result<bool, StoreError> {
    for number in 0..bytes.div_ceil(CHUNK_BYTES) {
        match read(connection, body, number) {
            Ok(_) => {}
            Err(StoreError::Damaged { .. } | StoreError::NotFound) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Reads a chunk and checks its hash.
pub(super) fn read(connection: &Connection, body: BodyRef, number: u64) -> Result<Vec<u8>, StoreError> {
    let row: Option<(Vec<u8>, Vec<u8>)> = connection
        .prepare_cached("SELECT hash, data FROM chunk WHERE id = ?1")?
        .query_row([row_id(body, number)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (expected, data) = row.ok_or(StoreError::NotFound)?;
    let bytes = zstd::bulk::decompress(&data, CHUNK_BYTES as usize)
        .map_err(|_| StoreError::Damaged { what: "a chunk" })?;
    if hash(&bytes) != expected.as_slice() {
        return Err(StoreError::Damaged { what: "a chunk" });
    }
    Ok(bytes)
}
