//! Room set aside on the disk. A full disk refuses even to delete, since that is a write to the log first; then this
//! room is given up, and taken again when there is enough.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::error::StoreError;
use crate::home::make_private_file;

/// Enough to delete a few large artifacts.
const BYTES: usize = 2 * 1024 * 1024;

/// Room set aside on the disk, for a store in a file.
pub(super) struct Reserve(Option<PathBuf>);

impl Reserve {
    /// Sets room aside beside a database, if there is none yet.
    pub(super) fn beside(database: &Path) -> Self {
        let reserve = Self(Some(database.with_extension("reserve")));
        reserve.take();
        reserve
    }

    /// No room: for a store in memory.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Does what gives room back; on a full disk with the room set aside.
    pub(super) fn with_room<T>(
        &self,
        connection: &mut Connection,
        work: impl Fn(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match work(connection) {
            Err(StoreError::DiskFull) => {}
            done => return done,
        }
        if let Some(path) = &self.0 {
            // If it is gone already, the second try shows it.
            let _ = std::fs::remove_file(path);
        }
        let done = work(connection);
        // The log takes up what was freed until it is emptied into the file.
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        self.take();
        done
    }

    /// Takes the room, as far as there is any: a store without it works, but for deleting on a full disk.
    fn take(&self) {
        let Some(path) = &self.0 else { return };
        if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() >= BYTES as u64) {
            return;
        }
        if fill(path).is_err() {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn fill(path: &Path) -> io::Result<()> {
    make_private_file(path)?;
    let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
    file.write_all(&vec![0xa5; BYTES])
}
