//! The embedded backend: one SQLite file, shared by as many processes as like.
//!
//! A body is rows of compressed chunks, so that index, body and quota are one transaction and a part is read without
//! the rest. A large body is written in several transactions as `pending` and becomes visible in the last, together
//! with the artifact that names it; only then does `put` return. What a killed process leaves pending is swept.
//!
//! A disk on which nothing can be written leaves a store that can be read. Whoever reads does not wait for one who
//! writes, nor for another process that holds the store: there is a further connection for that.
//!
//! Durable: write-ahead log with `synchronous=FULL`, so a commit is on disk when it returns. Exact: every chunk carries
//! a hash of its bytes, checked on every read.

mod chunks;
mod file;
mod put;
mod reserve;
mod sweep;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use file::DatabaseFile;
pub(crate) use file::open_unwritable;
use reserve::Reserve;
use rusqlite::{Connection, OptionalExtension, Row, params};
use tidegate_core::source::Source;

use crate::artifact::{
    Artifact, ArtifactStore, BodyRef, Description, NewArtifact, Opened, Owner, Quotas, Swept, Usage,
};
use crate::clock::{Clock, Millis, SystemClock};
use crate::error::StoreError;
use crate::home::make_private_file;
use crate::id::ArtifactId;

/// How long a process waits for another that is writing.
const BUSY: Duration = Duration::from_secs(10);

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS body (
        id INTEGER PRIMARY KEY,
        owner TEXT NOT NULL,
        hash BLOB NOT NULL,
        bytes INTEGER NOT NULL,
        stored INTEGER NOT NULL,
        chunks INTEGER NOT NULL,
        visible INTEGER NOT NULL,
        created INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX IF NOT EXISTS body_by_hash ON body (owner, hash) WHERE visible = 1;
    CREATE TABLE IF NOT EXISTS chunk (
        id INTEGER PRIMARY KEY,
        hash BLOB NOT NULL,
        data BLOB NOT NULL
    );
    CREATE TABLE IF NOT EXISTS artifact (
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        session TEXT NOT NULL,
        body INTEGER NOT NULL REFERENCES body (id),
        tool TEXT NOT NULL,
        kind TEXT NOT NULL,
        records INTEGER,
        tokens INTEGER NOT NULL,
        outline BLOB NOT NULL,
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS artifact_by_body ON artifact (body);
    CREATE INDEX IF NOT EXISTS artifact_by_session ON artifact (session);
    CREATE INDEX IF NOT EXISTS artifact_by_expiry ON artifact (expires);
    CREATE INDEX IF NOT EXISTS artifact_by_owner ON artifact (owner, created);
";

/// Artifacts in one SQLite file, or in memory.
pub struct SqliteStore {
    connection: Mutex<Connection>,
    /// Made when something is to be read while the other connection is in use.
    reader: Mutex<Option<Connection>>,
    /// None for a store in memory.
    file: Option<DatabaseFile>,
    /// Why nothing can be written.
    unwritable: Option<Arc<StoreError>>,
    quotas: Quotas,
    clock: Arc<dyn Clock>,
    reserve: Reserve,
}

impl SqliteStore {
    /// Opens the file at a path, and makes it if there is none.
    ///
    /// # Errors
    ///
    /// A file that cannot be used or is no store.
    pub fn open(path: &Path, quotas: Quotas) -> Result<Self, StoreError> {
        Self::open_with(path, quotas, Arc::new(SystemClock))
    }

    /// Opens the file at a path with a clock of the caller's.
    ///
    /// # Errors
    ///
    /// A file that cannot be used or is no store.
    pub fn open_with(path: &Path, quotas: Quotas, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        match Self::open_to_write(path, quotas, Arc::clone(&clock)) {
            Err(error @ (StoreError::DiskFull | StoreError::Unusable(_))) => {
                match Self::open_to_read(path, quotas, clock) {
                    Ok(store) => Ok(Self { unwritable: Some(Arc::new(error)), ..store }),
                    // Why it cannot be written says more.
                    Err(_) => Err(error),
                }
            }
            opened => opened,
        }
    }

    fn open_to_write(path: &Path, quotas: Quotas, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        make_private_file(path).map_err(|error| StoreError::Unusable(Box::new(error)))?;
        let file = DatabaseFile::at(path);
        let connection = Connection::open(path)?;
        if connection.is_readonly(rusqlite::MAIN_DB)? {
            return Err(StoreError::Unusable("its file cannot be written".into()));
        }
        let store = Self::of(connection, quotas, clock).prepared()?;
        Ok(Self { file: Some(file), reserve: Reserve::beside(path), ..store })
    }

    fn open_to_read(path: &Path, quotas: Quotas, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let connection = open_unwritable(path)?;
        connection.busy_timeout(BUSY)?;
        connection.query_row("SELECT count(*) FROM artifact", [], |_| Ok(()))?;
        Ok(Self::of(connection, quotas, clock))
    }

    /// Returns a store in memory, which is gone with it.
    ///
    /// # Errors
    ///
    /// Where SQLite cannot be used at all.
    pub fn ephemeral(quotas: Quotas) -> Result<Self, StoreError> {
        Self::ephemeral_with(quotas, Arc::new(SystemClock))
    }

    /// Returns a store in memory with a clock of the caller's.
    ///
    /// # Errors
    ///
    /// Where SQLite cannot be used at all.
    pub fn ephemeral_with(quotas: Quotas, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        Self::of(Connection::open_in_memory()?, quotas, clock).prepared()
    }

    fn of(connection: Connection, quotas: Quotas, clock: Arc<dyn Clock>) -> Self {
        Self {
            connection: Mutex::new(connection),
            reader: Mutex::new(None),
            file: None,
            unwritable: None,
            quotas,
            clock,
            reserve: Reserve::none(),
        }
    }

    fn prepared(self) -> Result<Self, StoreError> {
        let connection = self.lock();
        connection.busy_timeout(BUSY)?;
        let known =
            connection.query_row("SELECT 1 FROM sqlite_master WHERE name = 'artifact'", [], |_| Ok(()));
        let known = known.optional()?.is_some();
        if !known {
            // Given back to the disk page by page when swept. Takes effect only on a file without tables, and takes
            // the place of a writer, for which one that has them should not wait.
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        if !known {
            connection.execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} COMMIT;"))?;
        }
        drop(connection);
        Ok(self)
    }

    /// Returns whether this is the store that one would open now: its file is where it was, and can be written.
    pub fn is_current(&self) -> bool {
        self.unwritable.is_none() && self.file.as_ref().is_none_or(DatabaseFile::is_there)
    }

    /// Lets the file grow to so many pages only: what a full disk does, for tests that have none.
    #[doc(hidden)]
    pub fn limit_pages(&self, pages: u32) {
        let limited = self.lock().pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()));
        limited.expect("SQLite takes a page limit");
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic elsewhere leaves no transaction behind: they roll back when dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads, and waits for no writer.
    fn read<T>(&self, work: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        match self.connection.try_lock() {
            Ok(connection) => return work(&connection),
            Err(TryLockError::Poisoned(connection)) => return work(&connection.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if let (None, Some(file)) = (&*reader, &self.file) {
            *reader = file.reader(BUSY).ok();
        }
        match &*reader {
            Some(connection) => work(connection),
            None => work(&self.lock()),
        }
    }

    /// Returns an artifact that is there and has not expired.
    fn find(
        &self,
        connection: &Connection,
        owner: &Owner,
        id: &ArtifactId,
    ) -> Result<(Artifact, BodyRef), StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, artifact.body FROM {JOINED} WHERE artifact.id = ?1 AND artifact.owner = ?2"
        );
        let found = connection
            .prepare_cached(&sql)?
            .query_row(params![id.as_str(), owner.as_str()], |row| Ok((artifact(row)?, BodyRef(row.get(9)?))))
            .optional()?;
        match found {
            None => Err(StoreError::NotFound),
            Some((artifact, _)) if artifact.expires <= self.clock.now() => {
                Err(StoreError::Expired { at: artifact.expires })
            }
            Some(found) => Ok(found),
        }
    }
}

const COLUMNS: &str =
    "artifact.id, tool, kind, records, tokens, body.bytes, body.stored, artifact.created, artifact.expires";
const JOINED: &str = "artifact JOIN body ON body.id = artifact.body";

fn artifact(row: &Row<'_>) -> rusqlite::Result<Artifact> {
    let id: String = row.get(0)?;
    let number = |at: usize| row.get::<_, i64>(at).map(|number| u64::try_from(number).unwrap_or(0));
    Ok(Artifact {
        id: ArtifactId::parse(&id).ok_or(rusqlite::Error::InvalidQuery)?,
        tool: row.get(1)?,
        kind: row.get(2)?,
        records: row.get::<_, Option<i64>>(3)?.and_then(|records| u64::try_from(records).ok()),
        tokens: number(4)?,
        bytes: number(5)?,
        stored_bytes: number(6)?,
        created: Millis(row.get(7)?),
        expires: Millis(row.get(8)?),
    })
}

impl ArtifactStore for SqliteStore {
    fn put(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError> {
        match &self.unwritable {
            Some(why) => Err(StoreError::ReadOnly(Arc::clone(why))),
            None => put::put(self, new, body, describe),
        }
    }

    fn open(&self, owner: &Owner, id: &ArtifactId) -> Result<Opened, StoreError> {
        self.read(|connection| {
            let (artifact, body) = self.find(connection, owner, id)?;
            let outline = connection
                .prepare_cached("SELECT outline FROM artifact WHERE id = ?1")?
                .query_row([id.as_str()], |row| row.get(0))?;
            Ok(Opened { artifact, body, outline })
        })
    }

    fn read_chunk(&self, body: BodyRef, number: u64) -> Result<Vec<u8>, StoreError> {
        self.read(|connection| chunks::read(connection, body, number))
    }

    fn touch(&self, owner: &Owner, id: &ArtifactId, ttl: Duration) -> Result<Artifact, StoreError> {
        let connection = self.lock();
        let (artifact, _) = self.find(&connection, owner, id)?;
        let expires = artifact.expires.max(self.clock.now().after(ttl));
        connection
            .execute("UPDATE artifact SET expires = ?2 WHERE id = ?1", params![id.as_str(), expires.0])?;
        Ok(Artifact { expires, ..artifact })
    }

    fn delete(&self, owner: &Owner, id: &ArtifactId) -> Result<(), StoreError> {
        let mut connection = self.lock();
        let deleted = self.reserve.with_room(&mut connection, |connection| {
            let sql = "DELETE FROM artifact WHERE id = ?1 AND owner = ?2";
            Ok(connection.execute(sql, params![id.as_str(), owner.as_str()])?)
        })?;
        if deleted == 0 {
            return Err(StoreError::NotFound);
        }
        self.reserve.with_room(&mut connection, sweep::unnamed_bodies)?;
        Ok(())
    }

    fn list(&self, owner: &Owner, most: usize) -> Result<Vec<Artifact>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {JOINED} WHERE artifact.owner = ?1 AND expires > ?2 ORDER BY artifact.created DESC, artifact.id LIMIT ?3"
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params![owner.as_str(), self.clock.now().0, most], artifact)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    fn sweep(&self) -> Result<Swept, StoreError> {
        let now = self.clock.now();
        self.reserve.with_room(&mut self.lock(), |connection| sweep::sweep(connection, now))
    }

    fn usage(&self) -> Result<Usage, StoreError> {
        self.read(|connection| {
            let artifacts: i64 =
                connection.query_row("SELECT count(*) FROM artifact", [], |row| row.get(0))?;
            let stored = put::stored_in_all(connection)?;
            Ok(Usage { artifacts: u64::try_from(artifacts).unwrap_or(0), stored_bytes: stored })
        })
    }
}
