//! A stored result as a source: its chunks are fetched as they are touched, a few of them held.

use std::cell::RefCell;
use std::io;

use tidegate_core::source::Source;

use crate::artifact::{Artifact, ArtifactStore, CHUNK, Opened, Owner};
use crate::error::StoreError;
use crate::id::ArtifactId;

/// Chunks held of one artifact.
const HELD: usize = 8;

/// A stored result that is being read.
pub struct StoredSource<'s> {
    store: &'s dyn ArtifactStore,
    opened: Opened,
    /// The chunks read last, newest at the end.
    held: RefCell<Vec<(u64, Vec<u8>)>>,
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
    Ok(StoredSource { store, opened: store.open(owner, id)?, held: RefCell::default() })
}

impl StoredSource<'_> {
    /// Returns what is known of the artifact.
    pub fn artifact(&self) -> &Artifact {
        &self.opened.artifact
    }

    /// Returns what was kept beside it.
    pub fn outline(&self) -> &[u8] {
        &self.opened.outline
    }

    fn with_chunk<T>(&self, number: u64, read: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        let mut held = self.held.borrow_mut();
        let at = match held.iter().position(|(known, _)| *known == number) {
            Some(at) => at,
            None => {
                let chunk = self.store.read_chunk(self.opened.body, number).map_err(io::Error::other)?;
                if held.len() == HELD {
                    held.remove(0);
                }
                held.push((number, chunk));
                held.len() - 1
            }
        };
        Ok(read(&held[at].1))
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
        self.with_chunk(offset / CHUNK, |chunk| {
            let from = (offset % CHUNK) as usize;
            let bytes = chunk.get(from..).unwrap_or_default();
            let count = bytes.len().min(buffer.len());
            buffer[..count].copy_from_slice(&bytes[..count]);
            count
        })
    }
}
