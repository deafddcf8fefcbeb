//! A stored result as a `Source`: chunks are read from the store when they are needed, and the last few are cached.
//!
//! Views read through it, so that a page of a large result costs the chunks of that page. Pages touch neighbouring chunks
//! again and again, which the cache serves.

use std::cell::RefCell;
use std::io;

use tidegate_core::source::Source;

use crate::artifact::{Artifact, ArtifactStore, CHUNK_BYTES, Clearance, Opened, Owner, TierLevel};
use crate::chunks::copy_from;
use crate::error::StoreError;
use crate::id::ArtifactId;

/// Chunks cached for each open artifact.
const CACHED_CHUNKS: usize = 8;

/// A stored result that is open for reading.
pub struct StoredSource<'s> {
    store: &'s dyn ArtifactStore,
    owner: Owner,
    tier: TierLevel,
    opened: Opened,
    /// The chunks read most recently, with their numbers; the newest is last.
    cache: RefCell<Vec<(u64, Vec<u8>)>>,
}

/// Opens an artifact for reading.
///
/// # Errors
///
/// [`StoreError::NotFound`] or [`StoreError::Expired`].
pub fn open<'s>(
    store: &'s dyn ArtifactStore,
    owner: &Owner,
    id: &ArtifactId,
) -> Result<StoredSource<'s>, StoreError> {
    open_with(store, Clearance::all_of(owner), id)
}

/// Opens an artifact for reading, if a clearance covers it.
///
/// # Errors
///
/// [`StoreError::NotFound`] or [`StoreError::Expired`].
pub fn open_with<'s>(
    store: &'s dyn ArtifactStore,
    clearance: Clearance<'_>,
    id: &ArtifactId,
) -> Result<StoredSource<'s>, StoreError> {
    let opened = store.open_with(clearance, id)?;
    let Clearance { owner, tier } = clearance;
    Ok(StoredSource { store, owner: owner.clone(), tier, opened, cache: RefCell::default() })
}

impl StoredSource<'_> {
    /// Returns the metadata of the artifact.
    pub fn artifact(&self) -> &Artifact {
        &self.opened.artifact
    }

    /// Returns the serialized outline.
    pub fn outline(&self) -> &[u8] {
        &self.opened.outline
    }

    /// Reads a chunk; from where it is now, if `rekey` has moved the body since it was opened.
    fn read_chunk(&self, number: u64) -> Result<Vec<u8>, StoreError> {
        match self.store.read_chunk(&self.opened, number) {
            Err(StoreError::NotFound) => {
                let clearance = Clearance { owner: &self.owner, tier: self.tier };
                let opened = self.store.open_with(clearance, &self.opened.artifact.id)?;
                self.store.read_chunk(&opened, number)
            }
            read => read,
        }
    }

    fn with_chunk<T>(&self, number: u64, read: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        let mut cache = self.cache.borrow_mut();
        let index = match cache.iter().position(|(cached, _)| *cached == number) {
            Some(index) => index,
            None => {
                let chunk = self.read_chunk(number).map_err(io::Error::other)?;
                if cache.len() == CACHED_CHUNKS {
                    cache.remove(0);
                }
                cache.push((number, chunk));
                cache.len() - 1
            }
        };
        Ok(read(&cache[index].1))
    }
}

impl Source for StoredSource<'_> {
    fn len(&self) -> u64 {
        self.opened.artifact.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.len() || buffer.is_empty() {
            return Ok(0);
        }
        self.with_chunk(offset / CHUNK_BYTES, |chunk| copy_from(chunk, offset, buffer))
    }
}
