//! The embedded backend: one SQLite file that any number of processes share.
//!
//! A body is stored as rows of compressed chunks, so that index, body and quota change in one transaction and a part is
//! read without the rest. A large body is written in several transactions and becomes visible in the last, together with
//! the artifact that refers to it; only then does `put` return. Unfinished bodies of a killed process are swept.
//!
//! If the disk is full or read-only, the store can still be read. Readers wait neither for a writer in this process nor
//! for one in another: they have a connection of their own.
//!
//! If there is a key, everything that holds content is sealed (`codec.rs`); the table `encryption` says with which key.
//!
//! Durable: write-ahead log with `synchronous=FULL`, so that a commit is on disk when it returns. Exact: every chunk has a
//! hash of its bytes, which every read checks.

mod chunks;
mod file;
mod key;
mod put;
mod rekey;
mod reserve;
mod sweep;
mod walk;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use file::DatabaseFile;
pub(crate) use file::open_on_read_only_disk;
pub(crate) use key::record as key_record;
use reserve::Reserve;
use rusqlite::{Connection, OptionalExtension, Row, params};
use tidegate_core::source::Source;

use crate::artifact::{
    Artifact, ArtifactStore, Body, BodyRef, CallDigest, CallOrigin, Clearance, Description, EarlierResult,
    NewArtifact, Opened, Owner, Quotas, RekeyProgress, Rekeyed, Session, StoreStatus, StoredArtifact, Swept,
    TierLevel, Usage,
};
use crate::clock::{Clock, Millis};
use crate::codec::Codec;
use crate::error::StoreError;
use crate::home::ensure_private_file;
use crate::id::ArtifactId;
use crate::key::{KeyId, StoreKeys};
use crate::options::StoreOptions;

/// How long a process waits for another that is writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause before trying again to create a store that another process is creating.
const CREATION_PAUSE: Duration = Duration::from_millis(5);

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
        expires INTEGER NOT NULL,
        server TEXT NOT NULL DEFAULT '',
        arguments TEXT NOT NULL DEFAULT '',
        call BLOB,
        tier INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX IF NOT EXISTS artifact_by_body ON artifact (body);
    CREATE INDEX IF NOT EXISTS artifact_by_session ON artifact (session);
    CREATE INDEX IF NOT EXISTS artifact_by_expiry ON artifact (expires);
    CREATE INDEX IF NOT EXISTS artifact_by_owner ON artifact (owner, created);
    CREATE INDEX IF NOT EXISTS artifact_by_call ON artifact (call) WHERE call IS NOT NULL;
";

/// The format of the file, in `user_version`: the same since 0.1.0, which never looks at it. Since then columns with defaults were
/// added, and encryption, for which stores have triggers that refuse what 0.1.0 would write (`key.rs`). A change that a program
/// since 0.2.0 would misread raises it.
const FORMAT: i64 = 0;

/// Refuses the file of a newer program.
pub(crate) fn check_format(connection: &Connection) -> Result<(), StoreError> {
    match connection.pragma_query_value(None, "user_version", |row| row.get(0))? {
        format if format > FORMAT => Err(StoreError::NewerFormat { format, known: FORMAT }),
        _ => Ok(()),
    }
}

/// The row id of a body. SQLite may give the id of a deleted body to a new one, so across transactions an id alone does not
/// identify a body; use [`RowBody`] there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BodyId(i64);

/// A body: its row, and what tells it from a later body in a row with this id.
#[derive(Debug)]
pub(crate) struct RowBody {
    id: BodyId,
    owner: Owner,
    hash: [u8; 32],
}

/// A store in one SQLite file, or in memory.
pub struct SqliteStore {
    connection: Mutex<Connection>,
    /// Opened the first time something is read while the other connection is in use.
    reader: Mutex<Option<Connection>>,
    /// `None` for a store in memory.
    file: Option<DatabaseFile>,
    /// Why nothing can be written, if so.
    read_only: Option<Arc<StoreError>>,
    quotas: Quotas,
    clock: Arc<dyn Clock>,
    reserve: Reserve,
    keys: StoreKeys,
    /// The codec for the key that the store had when it was last looked at.
    codec: Mutex<Codec>,
}

impl SqliteStore {
    /// Opens the file at a path, and creates it if there is none.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or is not a store, or it has another key.
    pub fn open(path: &Path, options: impl Into<StoreOptions>) -> Result<Self, StoreError> {
        let options = options.into();
        match Self::open_writable(path, options.clone()) {
            Err(error @ (StoreError::DiskFull | StoreError::Unusable(_))) => {
                match Self::open_read_only(path, options) {
                    Ok(store) => Ok(Self { read_only: Some(Arc::new(error)), ..store }),
                    // The first error says more.
                    Err(_) => Err(error),
                }
            }
            opened => opened,
        }
    }

    fn open_writable(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        ensure_private_file(path).map_err(|error| StoreError::Unusable(Box::new(error)))?;
        let file = DatabaseFile::at(path);
        let connection = Connection::open(path)?;
        if connection.is_readonly(rusqlite::MAIN_DB)? {
            return Err(StoreError::Unusable("its file cannot be written".into()));
        }
        let store = Self::new(connection, options).prepared()?;
        store.take_key()?;
        Ok(Self { file: Some(file), reserve: Reserve::beside(path), ..store })
    }

    fn open_read_only(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let connection = open_on_read_only_disk(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        check_format(&connection)?;
        connection.query_row("SELECT count(*) FROM artifact", [], |_| Ok(()))?;
        let store = Self::new(connection, options);
        store.codec(&store.lock())?;
        Ok(store)
    }

    /// Returns a store in memory, whose content is lost when it is dropped.
    ///
    /// # Errors
    ///
    /// SQLite cannot be used at all.
    pub fn ephemeral(options: impl Into<StoreOptions>) -> Result<Self, StoreError> {
        Self::new(Connection::open_in_memory()?, options.into()).prepared()
    }

    fn new(connection: Connection, options: StoreOptions) -> Self {
        let StoreOptions { quotas, clock, keys } = options;
        Self {
            connection: Mutex::new(connection),
            reader: Mutex::new(None),
            file: None,
            read_only: None,
            quotas,
            clock,
            reserve: Reserve::none(),
            keys,
            codec: Mutex::new(Codec::plain()),
        }
    }

    /// Sets the connection up, and creates the tables in a new file.
    fn prepared(self) -> Result<Self, StoreError> {
        let started = Instant::now();
        loop {
            match self.prepare() {
                // While another process creates the same file, SQLite reports it as locked at once, without waiting for
                // the busy timeout.
                Err(StoreError::Busy) if started.elapsed() < BUSY_TIMEOUT => thread::sleep(CREATION_PAUSE),
                prepared => return prepared.map(|()| self),
            }
        }
    }

    fn prepare(&self) -> Result<(), StoreError> {
        let connection = self.lock();
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Before anything is written.
        check_format(&connection)?;
        let table =
            connection.query_row("SELECT 1 FROM sqlite_master WHERE name = 'artifact'", [], |_| Ok(()));
        let has_tables = table.optional()?.is_some();
        if !has_tables {
            // A sweep can then shrink the file page by page. The setting only has an effect before there are tables, and
            // it needs the write lock, for which opening an existing store should not wait.
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        if !has_tables {
            connection.execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} COMMIT;"))?;
        }
        Ok(())
    }

    fn list_where(
        &self,
        clearance: Option<Clearance<'_>>,
        limit: usize,
    ) -> Result<Vec<Artifact>, StoreError> {
        // Two statements, so that each uses its index.
        let of_owner = if clearance.is_some() { "artifact.owner = ?1" } else { "?1 IS NULL" };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let (owner, tier) = clearance.map(|clearance| (clearance.owner.as_str(), clearance.tier)).unzip();
        let (tier, now) = (tier.unwrap_or(TierLevel::HIGHEST).number(), self.clock.certain_now().0);
        self.read(|connection| {
            let tier_column = tier_column(connection);
            let sql = format!(
                "SELECT {COLUMNS} FROM {JOINED} WHERE {of_owner} AND {tier_column} <= ?4 AND expires > ?2
                 ORDER BY artifact.created DESC, artifact.id LIMIT ?3"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params![owner, now, limit, tier], artifact_from_row)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Limits the file to a number of pages: a full disk, for tests that cannot mount one.
    #[doc(hidden)]
    pub fn limit_pages(&self, pages: u32) {
        let limited = self.lock().pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()));
        limited.expect("SQLite accepts a page limit");
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic in another thread leaves no open transaction: a transaction rolls back when it is dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads without waiting for a writer.
    fn read<T>(&self, work: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        match self.connection.try_lock() {
            Ok(connection) => return work(&connection),
            Err(TryLockError::Poisoned(connection)) => return work(&connection.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if let (None, Some(file)) = (&*reader, &self.file) {
            *reader = file.reader(BUSY_TIMEOUT).ok();
        }
        match &*reader {
            Some(connection) => work(connection),
            None => work(&self.lock()),
        }
    }

    /// Returns an artifact that a clearance covers and that has not expired, with its body and the digest of that.
    fn find(
        &self,
        connection: &Connection,
        clearance: Clearance<'_>,
        id: &ArtifactId,
    ) -> Result<(Artifact, BodyId, [u8; 32]), StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, artifact.body, body.hash FROM {JOINED}
             WHERE artifact.id = ?1 AND artifact.owner = ?2 AND {} <= ?3",
            tier_column(connection)
        );
        let parameters = params![id.as_str(), clearance.owner.as_str(), clearance.tier.number()];
        let found = connection
            .prepare_cached(&sql)?
            .query_row(parameters, |row| Ok((artifact_from_row(row)?, BodyId(row.get(9)?), row.get(10)?)))
            .optional()?;
        let (artifact, body, digest) = found.ok_or(StoreError::NotFound)?;
        Ok((artifact.unexpired(self.clock.certain_now())?, body, digest))
    }
}

const COLUMNS: &str =
    "artifact.id, tool, kind, records, tokens, body.bytes, body.stored, artifact.created, artifact.expires";
const JOINED: &str = "artifact JOIN body ON body.id = artifact.body";

/// Returns the column with the tier that a caller needs. A store of an earlier version has none before something that needs
/// a tier is put into it: then everything in it needs the lowest.
fn tier_column(connection: &Connection) -> &'static str {
    match connection.prepare_cached("SELECT tier FROM artifact") {
        Ok(_) => "artifact.tier",
        Err(_) => "0",
    }
}

fn artifact_from_row(row: &Row<'_>) -> rusqlite::Result<Artifact> {
    let id: String = row.get(0)?;
    let number = |column: usize| row.get::<_, i64>(column).map(|number| u64::try_from(number).unwrap_or(0));
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
        match &self.read_only {
            Some(why) => Err(StoreError::ReadOnly(Arc::clone(why))),
            None => put::put(self, new, body, describe),
        }
    }

    fn open_with(&self, clearance: Clearance<'_>, id: &ArtifactId) -> Result<Opened, StoreError> {
        let owner = clearance.owner;
        self.read(|connection| {
            // One view of the store, so that a change of the key comes before all of it or after.
            let view = connection.unchecked_transaction()?;
            let codec = self.codec(&view)?;
            let (artifact, body, digest) = self.find(&view, clearance, id)?;
            let outline = view
                .prepare_cached("SELECT outline FROM artifact WHERE id = ?1 AND owner = ?2")?
                .query_row([id.as_str(), owner.as_str()], |row| row.get(0))?;
            let outline = codec.open_outline(owner, id, &digest, outline)?;
            let key = codec.body(owner, &digest, artifact.bytes)?;
            let body = RowBody { id: body, owner: owner.clone(), hash: digest };
            Ok(Opened { artifact, body: BodyRef(Body::Row(Arc::new(body))), outline, key })
        })
    }

    fn read_chunk(&self, opened: &Opened, number: u64) -> Result<Vec<u8>, StoreError> {
        let Body::Row(body) = &opened.body.0 else { return Err(StoreError::NotFound) };
        self.read(|connection| chunks::read(connection, body, number, &opened.key))
    }

    fn origin(&self, owner: &Owner, id: &ArtifactId) -> Result<CallOrigin, StoreError> {
        let sql = "SELECT server, arguments FROM artifact WHERE id = ?1 AND owner = ?2";
        self.read(|connection| {
            let codec = self.codec(connection)?;
            // A store of an earlier version that can only be read does not have the columns.
            let Ok(mut statement) = connection.prepare_cached(sql) else { return Ok(CallOrigin::default()) };
            let origin = statement.query_row(params![id.as_str(), owner.as_str()], |row| {
                Ok(CallOrigin { server: row.get(0)?, arguments: row.get(1)? })
            });
            let Some(origin) = origin.optional()? else { return Ok(CallOrigin::default()) };
            let details = codec.open_details(owner, id, &origin.arguments, None)?;
            Ok(CallOrigin { arguments: details.arguments, ..origin })
        })
    }

    fn last_of_call(
        &self,
        owner: &Owner,
        session: &Session,
        call: &CallDigest,
    ) -> Result<Option<EarlierResult>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, body.hash FROM {JOINED} WHERE call = ?1 AND artifact.owner = ?2 AND session = ?3 \
             AND expires > ?4 ORDER BY artifact.created DESC, artifact.rowid DESC LIMIT 1"
        );
        let now = self.clock.certain_now().0;
        self.read(|connection| {
            let codec = self.codec(connection)?;
            // A store of an earlier version does not have the column before something is put into it.
            let Ok(mut statement) = connection.prepare_cached(&sql) else { return Ok(None) };
            let mut newest: Option<EarlierResult> = None;
            for call in codec.calls(*call) {
                let parameters = params![call.0, owner.as_str(), session.as_str(), now];
                let found = statement.query_row(parameters, |row| {
                    Ok(EarlierResult { artifact: artifact_from_row(row)?, hash: row.get(9)? })
                });
                let found = found.optional()?;
                newest = newest.into_iter().chain(found).max_by_key(|found| found.artifact.created);
            }
            Ok(newest)
        })
    }

    fn matches(&self, owner: &Owner, earlier: &EarlierResult, body: &dyn Source) -> Result<bool, StoreError> {
        self.read(|connection| self.codec(connection))?.has_digest(owner, &earlier.hash, body)
    }

    fn owner_of(&self, id: &ArtifactId) -> Result<Option<Owner>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT owner FROM artifact WHERE id = ?1")?;
            Ok(statement.query_row([id.as_str()], |row| row.get::<_, String>(0)).optional()?.map(Owner::new))
        })
    }

    fn list_all(&self, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        self.list_where(None, limit)
    }

    fn walk(&self, after: Option<&ArtifactId>, limit: usize) -> Result<Vec<StoredArtifact>, StoreError> {
        walk::walk(self, after, limit)
    }

    fn key(&self) -> Result<Option<KeyId>, StoreError> {
        Ok(self.read(|connection| self.codec(connection))?.key())
    }

    fn status(&self) -> Result<StoreStatus, StoreError> {
        let now = self.clock.certain_now();
        let usage = self.usage()?;
        self.read(|connection| {
            let codec = self.codec(connection)?;
            let count =
                |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
            let expired = "SELECT count(*) FROM artifact WHERE expires <= ?1";
            let expired: i64 = connection.query_row(expired, [now.0], |row| row.get(0))?;
            let oldest: Option<i64> =
                connection.query_row("SELECT min(created) FROM artifact", [], |row| row.get(0))?;
            let orphans = "SELECT count(*) FROM body WHERE id NOT IN (SELECT body FROM artifact)";
            Ok(StoreStatus {
                usage,
                expired: expired.unsigned_abs(),
                oldest: oldest.map(Millis),
                orphans: count(orphans)?,
                problem: None,
                schema: None,
                key: codec.key(),
                is_rekeying: codec.is_changing(),
            })
        })
    }

    fn rekey(&self, progress: &mut dyn FnMut(RekeyProgress)) -> Result<Rekeyed, StoreError> {
        match &self.read_only {
            Some(why) => Err(StoreError::ReadOnly(Arc::clone(why))),
            None => rekey::rekey(self, progress),
        }
    }

    fn is_current(&self) -> bool {
        self.read_only.is_none() && self.file.as_ref().is_none_or(DatabaseFile::is_unchanged)
    }

    fn touch(&self, owner: &Owner, id: &ArtifactId, ttl: Duration) -> Result<Artifact, StoreError> {
        let connection = self.lock();
        let (artifact, ..) = self.find(&connection, Clearance::all_of(owner), id)?;
        let expires = artifact.expires.max(self.clock.now().after(ttl));
        let sql = "UPDATE artifact SET expires = ?2 WHERE id = ?1 AND owner = ?3";
        connection.execute(sql, params![id.as_str(), expires.0, owner.as_str()])?;
        Ok(Artifact { expires, ..artifact })
    }

    fn delete(&self, owner: &Owner, id: &ArtifactId) -> Result<(), StoreError> {
        let mut connection = self.lock();
        let deleted = self.reserve.with_space(&mut connection, |connection| {
            let sql = "DELETE FROM artifact WHERE id = ?1 AND owner = ?2";
            Ok(connection.execute(sql, params![id.as_str(), owner.as_str()])?)
        })?;
        if deleted == 0 {
            return Err(StoreError::NotFound);
        }
        self.reserve.with_space(&mut connection, sweep::delete_unreferenced_bodies)?;
        Ok(())
    }

    fn list_with(&self, clearance: Clearance<'_>, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        self.list_where(Some(clearance), limit)
    }

    fn sweep(&self) -> Result<Swept, StoreError> {
        let now = self.clock.certain_now();
        self.reserve.with_space(&mut self.lock(), |connection| sweep::sweep(connection, now))
    }

    fn usage(&self) -> Result<Usage, StoreError> {
        self.read(|connection| {
            let artifacts: i64 =
                connection.query_row("SELECT count(*) FROM artifact", [], |row| row.get(0))?;
            let stored = put::stored_bytes(connection)?;
            Ok(Usage { artifacts: u64::try_from(artifacts).unwrap_or(0), stored_bytes: stored })
        })
    }
}
