//! A file that is being written. It gets its final name when it is complete and durable; until then nobody reads it.
//!
//! The writer holds a lock on its draft, so that a sweep can tell the draft of a process that has ended, and delete it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::file::{self, Chunks};
use crate::chunks::Packed;
use crate::error::StoreError;
use crate::home::create_private_file;
use crate::index::Entry;

/// A file that is being written; deleted when it is dropped, unless it was published.
pub(super) struct Draft {
    file: File,
    path: PathBuf,
    table: Vec<u8>,
    /// Bytes of the chunks so far.
    pub(super) chunk_bytes: u64,
    is_published: bool,
}

impl Draft {
    /// Creates a draft. The caller holds the lock of the store, so that no sweep takes it for a leftover before it is
    /// locked.
    pub(super) fn create(path: PathBuf) -> Result<Self, StoreError> {
        let file = create_private_file(&path)?;
        let draft = Self { file, path, table: Vec::new(), chunk_bytes: 0, is_published: false };
        draft.file.lock()?;
        Ok(draft)
    }

    /// Writes further chunks.
    pub(super) fn append(&mut self, batch: &[Packed]) -> Result<(), StoreError> {
        let mut data = Vec::with_capacity(batch.iter().map(|packed| packed.data.len()).sum());
        for packed in batch {
            data.extend_from_slice(&packed.data);
            self.table.extend(file::row(packed, self.chunk_bytes + data.len() as u64));
        }
        self.file.write_all(&data)?;
        self.chunk_bytes += data.len() as u64;
        Ok(())
    }

    /// Writes what comes after the chunks, and makes the file durable.
    pub(super) fn finish(&mut self, entry: &Entry<Chunks>, outline: &[u8]) -> Result<(), StoreError> {
        let tail = file::tail(entry, self.chunk_bytes, &self.table, outline);
        self.file.write_all(&tail)?;
        let expires = Duration::from_millis(u64::try_from(entry.artifact.expires.0).unwrap_or(0));
        if let Some(expires) = UNIX_EPOCH.checked_add(expires) {
            // `touch` moves this time. Where a file cannot have such a time, the label says it.
            let _ = self.file.set_modified(expires);
        }
        Ok(self.file.sync_all()?)
    }

    /// Gives the file its final name. The folder is not durable yet.
    pub(super) fn publish(mut self, path: &Path) -> Result<(), StoreError> {
        std::fs::rename(&self.path, path)?;
        self.is_published = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_published {
            // Otherwise a sweep deletes it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
