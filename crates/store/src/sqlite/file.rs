//! The database file: whether it was replaced since it was opened, and how it is opened for reading only.
//!
//! A long-running proxy notices when its store was moved away or deleted, and opens the new one; a store on a read-only disk
//! can still be read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::files::identity;

/// The file that a store has open.
pub(super) struct DatabaseFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl DatabaseFile {
    /// Remembers which file is at a path now.
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path) }
    }

    /// Returns whether the path still leads to that file.
    pub(super) fn is_unchanged(&self) -> bool {
        identity(&self.path) == self.identity
    }

    /// Opens a second connection that only reads.
    pub(super) fn reader(&self, busy_timeout: Duration) -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(busy_timeout)?;
        Ok(connection)
    }
}

/// Opens a database on a disk where nothing can be written, not even SQLite's side files.
pub(crate) fn open_on_read_only_disk(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let mut log = OsString::from(path);
    log.push("-wal");
    // `immutable` spares the side files, but also ignores the write-ahead log: it is right only if that has no content.
    let immutable = std::fs::metadata(&log).map_or(true, |log| log.len() == 0);
    Connection::open_with_flags(uri(path, immutable), flags)
}

fn uri(path: &Path, immutable: bool) -> String {
    let mut uri = String::from("file:");
    for character in path.to_string_lossy().chars() {
        match character {
            '%' => uri.push_str("%25"),
            '?' => uri.push_str("%3f"),
            '#' => uri.push_str("%23"),
            other => uri.push(other),
        }
    }
    uri + if immutable { "?immutable=1" } else { "" }
}
