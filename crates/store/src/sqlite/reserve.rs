//! A file that reserves disk space. Deleting from a database first writes to its log, so that a full disk would refuse even
//! that; then the file is removed to make room, and written again when there is space.
//!
//! Invariant: a user can always delete artifacts to make space, unless something else has taken the reserve as well.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::error::StoreError;
use crate::home::ensure_private_file;

/// Enough to delete a few large artifacts.
const RESERVED_BYTES: usize = 2 * 1024 * 1024;

/// The reserve of a store in a file; none for a store in memory.
pub(super) struct Reserve(Option<PathBuf>);

impl Reserve {
    /// Reserves space beside a database, if that was not done yet.
    pub(super) fn beside(database: &Path) -> Self {
        let reserve = Self(Some(database.with_extension("reserve")));
        reserve.fill();
        reserve
    }

    /// Returns no reserve, for a store in memory.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Runs work that frees space; if the disk is full, runs it again with the reserve released.
    pub(super) fn with_space<T>(
        &self,
        connection: &mut Connection,
        work: impl Fn(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match work(connection) {
            Err(StoreError::DiskFull) => {}
            done => return done,
        }
        if let Some(path) = &self.0 {
            // If it cannot be removed, the second try fails as the first did.
            let _ = std::fs::remove_file(path);
        }
        let done = work(connection);
        // The log occupies the freed space until it is written back to the database.
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        self.fill();
        done
    }

    /// Writes the file if there is space; without it, the store works but cannot delete on a full disk.
    fn fill(&self) {
        let Some(path) = &self.0 else { return };
        if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() >= RESERVED_BYTES as u64) {
            return;
        }
        if write_file(path).is_err() {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn write_file(path: &Path) -> io::Result<()> {
    ensure_private_file(path)?;
    let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
    file.write_all(&vec![0xa5; RESERVED_BYTES])
}
