//! Chunks of a body: each is compressed by itself, sealed if the store is encrypted, and has a hash, which every read checks.
//!
//! Every backend packs a body with [`Packer`] and unpacks what it reads with the same [`BodyKey`]. A chunk that does not
//! match its hash, or does not open, is an error: wrong bytes are never returned.

use std::io;

use tidegate_core::source::{Source, Span};

use crate::artifact::CHUNK_BYTES;
use crate::codec::BodyKey;
use crate::error::StoreError;

/// Fast, and compresses typical tool results to about a quarter.
const COMPRESSION_LEVEL: i32 = 1;
/// Bytes stored of the hash of a chunk.
pub(crate) const HASH_BYTES: usize = 16;
/// Bytes before compression that are packed at a time: a large body is never in memory as a whole.
pub(crate) const BATCH_BYTES: u64 = 8 * 1024 * 1024;

/// A chunk ready to be written.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) hash: [u8; HASH_BYTES],
    pub(crate) data: Vec<u8>,
}

/// Compresses, and seals if needed, the chunks of a source one after another.
pub(crate) struct Packer<'s> {
    source: &'s dyn Source,
    key: BodyKey,
    compressor: zstd::bulk::Compressor<'static>,
    next: u64,
}

impl<'s> Packer<'s> {
    pub(crate) fn new(source: &'s dyn Source, key: BodyKey) -> Result<Self, StoreError> {
        let compressor = zstd::bulk::Compressor::new(COMPRESSION_LEVEL).map_err(StoreError::Source)?;
        Ok(Self { source, key, compressor, next: 0 })
    }

    /// Returns the next chunks, up to about [`BATCH_BYTES`] before compression; none at the end of the source.
    pub(crate) fn batch(&mut self) -> Result<Vec<Packed>, StoreError> {
        let mut batch = Vec::new();
        while (batch.len() as u64) * CHUNK_BYTES < BATCH_BYTES {
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
        Ok(self.key.pack(self.next, data, hash(bytes)))
    }
}

/// Returns the bytes of a chunk that is not sealed, if they have the hash that was stored with them.
pub(crate) fn unpack(data: &[u8], expected: &[u8]) -> Result<Vec<u8>, StoreError> {
    match zstd::bulk::decompress(data, CHUNK_BYTES as usize) {
        Ok(bytes) if hash(&bytes) == expected => Ok(bytes),
        _ => Err(StoreError::Damaged { what: "a chunk" }),
    }
}

/// Returns the part of the hash of some bytes that is stored with them.
pub(crate) fn hash(bytes: &[u8]) -> [u8; HASH_BYTES] {
    let mut hash = [0; HASH_BYTES];
    hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..HASH_BYTES]);
    hash
}

/// Returns the hash of all bytes of a source, to compare two of them. A store may find equal bodies by another digest.
///
/// # Errors
///
/// The source cannot be read.
pub fn body_hash(source: &dyn Source) -> Result<[u8; 32], StoreError> {
    let mut hasher = blake3::Hasher::new();
    hash_into(&mut hasher, source)?;
    Ok(*hasher.finalize().as_bytes())
}

/// Hashes a body.
pub(crate) fn hash_into(hasher: &mut blake3::Hasher, source: &dyn Source) -> Result<(), StoreError> {
    if let Some(bytes) = source.as_slice() {
        hasher.update(bytes);
        return Ok(());
    }
    let mut start = 0;
    while start < source.len() {
        let end = (start + 4 * CHUNK_BYTES).min(source.len());
        hasher.update(&Span { start, end }.read(source).map_err(StoreError::Source)?);
        start = end;
    }
    Ok(())
}

/// Copies into `buffer` what the chunk around `offset` holds from there on; returns how many bytes.
pub(crate) fn copy_from(chunk: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
    let bytes = chunk.get((offset % CHUNK_BYTES) as usize..).unwrap_or_default();
    let count = bytes.len().min(buffer.len());
    buffer[..count].copy_from_slice(&bytes[..count]);
    count
}

/// A body as a source, read chunk by chunk.
pub(crate) struct ChunkSource<R> {
    pub(crate) bytes: u64,
    pub(crate) read: R,
}

impl<R: Fn(u64) -> Result<Vec<u8>, StoreError>> Source for ChunkSource<R> {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.bytes || buffer.is_empty() {
            return Ok(0);
        }
        let chunk = (self.read)(offset / CHUNK_BYTES).map_err(io::Error::other)?;
        Ok(copy_from(&chunk, offset, buffer))
    }
}

/// Returns whether every chunk of a body of this size can be read as it was stored.
pub(crate) fn are_intact(
    bytes: u64,
    read: impl Fn(u64) -> Result<Vec<u8>, StoreError>,
) -> Result<bool, StoreError> {
    for number in 0..bytes.div_ceil(CHUNK_BYTES) {
        match read(number) {
            Ok(_) => {}
            Err(StoreError::Damaged { .. } | StoreError::NotFound) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
