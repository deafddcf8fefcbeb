//! Looks at a store from outside: what is in it, whether its file is sound, whether somebody holds it.
//!
//! Nothing is made, repaired or taken away, so that whoever asks sees it as it is; opening a store would make its files
//! private and set room aside.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::artifact::Usage;
use crate::clock::Millis;
use crate::error::StoreError;
use crate::sqlite::open_unwritable;

/// How long one who writes may take before the store counts as held: a large body takes a moment.
const HELD: Duration = Duration::from_secs(2);

/// What a store is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What is kept, with what has expired and is still there.
    pub usage: Usage,
    /// Artifacts whose time is over.
    pub expired: u64,
}

/// Looks at the store in a file.
///
/// # Errors
///
/// A file that is no store, is damaged, or cannot be read.
pub fn health(path: &Path, now: Millis) -> Result<Health, StoreError> {
    let connection = sound(path)?;
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
    let usage = Usage {
        artifacts: number("SELECT count(*) FROM artifact")?,
        stored_bytes: number("SELECT coalesce(sum(stored), 0) FROM body")?,
    };
    let expired =
        connection.query_row("SELECT count(*) FROM artifact WHERE expires <= ?1", [now.0], |row| {
            row.get::<_, i64>(0)
        })?;
    Ok(Health { usage, expired: expired.unsigned_abs() })
}

/// Checks that the pages of a database fit together; what they say is not looked at.
///
/// # Errors
///
/// A file that is no database, is damaged, or cannot be read.
pub fn check(path: &Path) -> Result<(), StoreError> {
    sound(path).map(drop)
}

/// Waits for a moment until nobody else writes.
///
/// # Errors
///
/// [`StoreError::Busy`] where somebody does not stop; a file that cannot be written.
pub fn can_write(path: &Path) -> Result<(), StoreError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(HELD)?;
    Ok(connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?)
}

/// Opens a database that is sound.
fn sound(path: &Path) -> Result<Connection, StoreError> {
    match quick_checked(path) {
        // Where there is no log, the file is taken for all there is; somebody may have begun to write meanwhile.
        Err(StoreError::DamagedFile) => quick_checked(path),
        checked => checked,
    }
}

fn quick_checked(path: &Path) -> Result<Connection, StoreError> {
    let connection = open_unwritable(path)?;
    connection.busy_timeout(HELD)?;
    let told: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if told == "ok" { Ok(connection) } else { Err(StoreError::DamagedFile) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{ArtifactStore, Description, NewArtifact, Owner, Quotas, Session, SqliteStore};

    fn filled(path: &Path) -> SqliteStore {
        let store = SqliteStore::open(path, Quotas::default()).unwrap();
        let (owner, session) = (Owner::new("o"), Session::new("s"));
        for ttl in [1, 100, 100] {
            let body = format!("{ttl} {}", "x".repeat(100_000)).into_bytes();
            let new = NewArtifact::new(&owner, &session, "t", Duration::from_secs(ttl));
            store.put(&new, &body.as_slice(), &|| Ok(Description::default())).unwrap();
        }
        store
    }

    fn names(folder: &Path) -> Vec<std::ffi::OsString> {
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_there_is_told_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("artifacts.db");
        let store = filled(&path);
        let in_ten_seconds = Millis(crate::Clock::now(&crate::SystemClock).0 + 10_000);
        let expected = Health { usage: store.usage().unwrap(), expired: 1 };
        assert_eq!(expected.usage.artifacts, 3);
        assert_eq!(health(&path, in_ten_seconds).unwrap(), expected, "while it is in use");
        drop(store);
        let (before, bytes) = (names(folder.path()), std::fs::read(&path).unwrap());
        assert_eq!(health(&path, in_ten_seconds).unwrap(), expected);
        can_write(&path).unwrap();
        check(&path).unwrap();
        assert_eq!((names(folder.path()), std::fs::read(&path).unwrap()), (before, bytes));
    }

    #[test]
    fn damage_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("artifacts.db");
        drop(filled(&path));
        let mut bytes = std::fs::read(&path).unwrap();
        for page in 1..bytes.len() / 4096 {
            bytes[page * 4096..page * 4096 + 64].fill(0xa5);
        }
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(health(&path, Millis(0)), Err(StoreError::DamagedFile)));
        std::fs::write(&path, "this is a text, and not a database\n".repeat(500)).unwrap();
        assert!(matches!(check(&path), Err(StoreError::DamagedFile)));
        assert!(matches!(check(&folder.path().join("none")), Err(StoreError::Unusable(_))));
        assert_eq!(names(folder.path()), ["artifacts.db", "artifacts.reserve"]);
    }

    #[test]
    fn one_who_does_not_stop_writing_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("artifacts.db");
        drop(filled(&path));
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(matches!(can_write(&path), Err(StoreError::Busy)));
        other.execute_batch("ROLLBACK").unwrap();
        can_write(&path).unwrap();
    }
}
