//! Inspects a store without changing it: what it holds, whether its file is intact, and whether it can be written.
//!
//! `tidegate doctor`, `tidegate stats` and, at its start, `tidegate run` use this. Nothing is created, repaired or deleted;
//! opening the store in the usual way would restrict the permissions of its files and reserve disk space.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::artifact::Usage;
use crate::clock::Millis;
use crate::codec::Codec;
use crate::error::StoreError;
use crate::home::{HomeError, nearest_folder, refuse_writable_by_all};
use crate::key::{KeyId, KeyMismatch, StoreKeys};
use crate::sqlite::{check_format, key_record, open_on_read_only_disk};

/// How long another writer may hold the lock before the store counts as locked; writing a large body takes a moment.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Free bytes below which no result can be stored: SQLite needs some for its log.
const MIN_FREE_BYTES: u64 = 128 * 1024;

/// What an inspection found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What the store holds, including expired artifacts that were not swept yet.
    pub usage: Usage,
    /// Number of expired artifacts.
    pub expired: u64,
    /// The id of the key that it is encrypted with.
    pub key: Option<KeyId>,
    /// Why the given keys do not open it, if they do not.
    pub mismatch: Option<KeyMismatch>,
}

/// Inspects the store in a file, and whether these keys would open it.
///
/// # Errors
///
/// The file is not a store, is damaged, or cannot be read.
pub fn health(path: &Path, now: Millis, keys: &StoreKeys) -> Result<Health, StoreError> {
    let connection = open_intact(path)?;
    check_format(&connection)?;
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
    let usage = Usage {
        artifacts: number("SELECT count(*) FROM artifact")?,
        stored_bytes: number("SELECT coalesce(sum(stored), 0) FROM body")?,
    };
    let expired =
        connection.query_row("SELECT count(*) FROM artifact WHERE expires <= ?1", [now.0], |row| {
            row.get::<_, i64>(0)
        })?;
    let record = key_record(&connection)?;
    let mismatch = match Codec::resolve(keys, record.as_deref(), || Ok(usage.artifacts == 0)) {
        Err(StoreError::Key(mismatch)) => Some(mismatch),
        resolved => resolved.map(|_| None)?,
    };
    let key = record.as_deref().map(Codec::recorded_key).transpose()?;
    Ok(Health { usage, expired: expired.unsigned_abs(), key, mismatch })
}

/// Checks that the pages of a database are consistent; their content is not read.
///
/// # Errors
///
/// The file is not a database, is damaged, or cannot be read.
pub fn check(path: &Path) -> Result<(), StoreError> {
    open_intact(path).map(drop)
}

/// Checks that the file can be written, waiting a moment for another writer to finish.
///
/// # Errors
///
/// [`StoreError::Busy`] if another process keeps the file locked, or the file cannot be written.
pub fn check_writable(path: &Path) -> Result<(), StoreError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    Ok(connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?)
}

/// Checks that results can be stored in a data folder, as far as this can be known without storing one.
///
/// # Errors
///
/// Nothing can be stored there; the error says why.
pub fn check_folder(folder: &Path) -> Result<(), StoreError> {
    let unusable =
        |source| StoreError::Unusable(Box::new(HomeError::Unusable { path: folder.to_owned(), source }));
    let nearest = nearest_folder(folder).map_err(unusable)?;
    check_can_create(nearest).map_err(unusable)?;
    if nearest == folder {
        refuse_writable_by_all(folder).map_err(unusable)?;
    }
    if free_bytes(nearest).is_some_and(|free| free < MIN_FREE_BYTES) {
        return Err(StoreError::DiskFull);
    }
    let artifacts = folder.join("artifacts.db");
    match artifacts.exists().then(|| check_writable(&artifacts)) {
        // Another process is writing, so the store is in use and not broken.
        None | Some(Ok(()) | Err(StoreError::Busy)) => Ok(()),
        Some(Err(error)) => Err(error),
    }
}

/// Checks that files can be created in a folder.
///
/// # Errors
///
/// Why they cannot.
#[cfg(unix)]
pub fn check_can_create(folder: &Path) -> io::Result<()> {
    use rustix::fs::Access;
    Ok(rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Checks that files can be created in a folder.
///
/// # Errors
///
/// Why they cannot.
#[cfg(not(unix))]
pub fn check_can_create(folder: &Path) -> io::Result<()> {
    match std::fs::metadata(folder)?.permissions().readonly() {
        true => Err(io::ErrorKind::PermissionDenied.into()),
        false => Ok(()),
    }
}

/// Returns the free bytes on the disk of a folder; `None` if the system does not say.
#[cfg(unix)]
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Returns the free bytes on the disk of a folder; `None` if the system does not say.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Opens a database and checks its pages.
fn open_intact(path: &Path) -> Result<Connection, StoreError> {
    match open_checked(path) {
        // Without a write-ahead log the file is opened as immutable. If another process starts writing then, the check may read
        // inconsistent pages; the second try reads them through the log.
        Err(StoreError::DamagedFile) => open_checked(path),
        checked => checked,
    }
}

fn open_checked(path: &Path) -> Result<Connection, StoreError> {
    let connection = open_on_read_only_disk(path)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" { Ok(connection) } else { Err(StoreError::DamagedFile) }
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
    fn an_inspection_reports_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("artifacts.db");
        let store = filled(&path);
        let in_ten_seconds = Millis(crate::Clock::now(&crate::SystemClock).0 + 10_000);
        let expected = Health { usage: store.usage().unwrap(), expired: 1, key: None, mismatch: None };
        assert_eq!(expected.usage.artifacts, 3);
        assert_eq!(
            health(&path, in_ten_seconds, &StoreKeys::default()).unwrap(),
            expected,
            "while it is in use"
        );
        drop(store);
        let (before, bytes) = (names(folder.path()), std::fs::read(&path).unwrap());
        assert_eq!(health(&path, in_ten_seconds, &StoreKeys::default()).unwrap(), expected);
        check_writable(&path).unwrap();
        check(&path).unwrap();
        assert_eq!((names(folder.path()), std::fs::read(&path).unwrap()), (before, bytes));
    }

    #[test]
    fn damage_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("artifacts.db");
        drop(filled(&path));
        let mut bytes = std::fs::read(&path).unwrap();
        for page in 1..bytes.len() / 4096 {
            bytes[page * 4096..page * 4096 + 64].fill(0xa5);
        }
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(health(&path, Millis(0), &StoreKeys::default()), Err(StoreError::DamagedFile)));
        std::fs::write(&path, "this is text, not a database\n".repeat(500)).unwrap();
        assert!(matches!(check(&path), Err(StoreError::DamagedFile)));
        assert!(matches!(check(&folder.path().join("none")), Err(StoreError::Unusable(_))));
        assert_eq!(names(folder.path()), ["artifacts.db", "artifacts.reserve"]);
    }

    #[test]
    fn a_folder_that_cannot_hold_a_store_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        check_folder(&path.join("deeper")).unwrap();
        assert!(!path.exists(), "nothing is created");
        std::fs::create_dir(&path).unwrap();
        check_folder(&path).unwrap();
        drop(filled(&path.join("artifacts.db")));
        check_folder(&path).unwrap();
        let other = Connection::open(path.join("artifacts.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        check_folder(&path).unwrap();
        drop(other);
        std::fs::write(path.join("artifacts.db"), "this is text, not a database\n".repeat(500)).unwrap();
        assert!(matches!(check_folder(&path), Err(StoreError::DamagedFile)));
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        for below in [file.clone(), file.join("data")] {
            assert!(matches!(check_folder(&below), Err(StoreError::Unusable(_))), "{below:?}");
        }
    }

    #[test]
    fn a_lock_that_is_not_released_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("artifacts.db");
        drop(filled(&path));
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(matches!(check_writable(&path), Err(StoreError::Busy)));
        other.execute_batch("ROLLBACK").unwrap();
        check_writable(&path).unwrap();
    }
}
