//! A cache of the chunks that this process read last, because follow-ups read the same few chunks again and again.
//!
//! Chunks that were fetched ahead, or just written, are kept as they are stored: that is smaller, and they are decompressed only if
//! somebody reads them. The key is the owner and the hash of the whole body, so an entry always stands for the same bytes of the same owner,
//! whatever happens to the rows.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::read::{SharedBody, StoredChunk};
use crate::artifact::Owner;

type Key = (Owner, [u8; 32], u64);

/// A cache of chunks with a limit in bytes.
pub(super) struct ChunkCache {
    limit: usize,
    chunks: Mutex<Chunks>,
}

/// A chunk in the cache.
#[derive(Clone)]
pub(super) enum CachedChunk {
    /// Its bytes, which were read.
    Bytes(Vec<u8>),
    /// As it is stored: it was fetched ahead, or written.
    Stored(StoredChunk),
}

impl CachedChunk {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Stored(chunk) => chunk.data.len(),
        }
    }
}

#[derive(Default)]
struct Chunks {
    /// Each chunk with the time of its last use.
    by_key: HashMap<Key, (CachedChunk, u64)>,
    bytes: usize,
    /// The number of uses so far, which serves as the time.
    time: u64,
}

impl ChunkCache {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, chunks: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Chunks> {
        // After a panic of another thread, at worst the sum of bytes is wrong.
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, body: &SharedBody, number: u64) -> Option<CachedChunk> {
        let mut chunks = self.lock();
        chunks.time += 1;
        let now = chunks.time;
        let (chunk, used) = chunks.by_key.get_mut(&key(body, number))?;
        *used = now;
        Some(chunk.clone())
    }

    /// Returns whether a chunk was read, not only fetched ahead.
    pub(super) fn was_read(&self, body: &SharedBody, number: u64) -> bool {
        matches!(self.lock().by_key.get(&key(body, number)), Some((CachedChunk::Bytes(_), _)))
    }

    /// Adds a chunk that nobody has read yet, unless it is there already.
    pub(super) fn remember(&self, body: &SharedBody, chunk: StoredChunk) {
        if !self.lock().by_key.contains_key(&key(body, chunk.number)) {
            self.insert(body, chunk.number, CachedChunk::Stored(chunk));
        }
    }

    pub(super) fn insert(&self, body: &SharedBody, number: u64, chunk: CachedChunk) {
        let mut chunks = self.lock();
        chunks.time += 1;
        let now = chunks.time;
        chunks.bytes += chunk.len();
        if let Some((replaced, _)) = chunks.by_key.insert(key(body, number), (chunk, now)) {
            chunks.bytes -= replaced.len();
        }
        while chunks.bytes > self.limit {
            let oldest = chunks.by_key.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            let Some((removed, _)) = oldest.and_then(|key| chunks.by_key.remove(&key)) else { break };
            chunks.bytes -= removed.len();
        }
    }
}

fn key(body: &SharedBody, number: u64) -> Key {
    (body.owner.clone(), body.hash, number)
}
