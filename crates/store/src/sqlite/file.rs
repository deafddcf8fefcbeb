//! The database file: which one it is, and how it is opened.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// The file that a store was opened with.
pub(super) struct DatabaseFile {
    path: PathBuf,
    number: Option<(u64, u64)>,
}

impl DatabaseFile {
    /// Remembers the file that is at a path now.
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), number: number(path) }
    }

    /// Returns whether that file is still there, and no other in its place.
    pub(super) fn is_there(&self) -> bool {
        number(&self.path) == self.number
    }

    /// Opens a further connection that only reads.
    pub(super) fn reader(&self, busy: Duration) -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(busy)?;
        Ok(connection)
    }
}

/// What tells a file from another one of its name.
#[cfg(unix)]
fn number(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn number(_: &Path) -> Option<(u64, u64)> {
    None
}

/// Opens a database where nothing can be written, not even the files beside it.
pub(crate) fn open_unwritable(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let mut log = OsString::from(path);
    log.push("-wal");
    // A log that is there must be read too, with its index; without one the file is all there is, and stays as it is.
    let alone = std::fs::metadata(&log).map_or(true, |log| log.len() == 0);
    Connection::open_with_flags(address(path, alone), flags)
}

fn address(path: &Path, alone: bool) -> String {
    let mut address = String::from("file:");
    for character in path.to_string_lossy().chars() {
        match character {
            '%' => address.push_str("%25"),
            '?' => address.push_str("%3f"),
            '#' => address.push_str("%23"),
            other => address.push(other),
        }
    }
    address + if alone { "?immutable=1" } else { "" }
}
