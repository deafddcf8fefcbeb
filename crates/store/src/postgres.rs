//! The shared backend: PostgreSQL, with an object store for large bodies, behind the same contract as the embedded one.
//!
//! Index, quotas, outlines and small bodies are in the database, where one transaction stores a result. A large body is
//! written first and becomes visible in the transaction that adds its artifact: as one object of compressed chunks if
//! there is an object store (`objects.rs`), else as rows. Any number of processes share a store, and nothing else.
//!
//! Three rules: every chunk is checked against its hash whenever it is read. Every statement names the owner, and row level
//! security enforces the same. An operation whose connection is lost is repeated for a while; `put` writes a random number
//! into its row, by which it recognizes that an earlier attempt was committed although its answer was lost.

mod cache;
mod charge;
mod credential;
mod database;
mod failure;
mod key;
mod known;
mod ledger;
mod listen;
mod options;
mod pending;
mod publish;
mod put;
#[cfg(feature = "objects")]
mod put_object;
mod read;
mod rekey;
mod release;
mod replica;
mod safety;
mod schema;
mod server_clock;
mod status;
mod sweep;
mod totals;
mod walk;
mod worker;

use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use tidegate_core::source::Source;
use tokio_postgres::Row;

use self::cache::{CachedChunk, ChunkCache};
use self::database::{Database, Scope};
use self::failure::Failure;
use self::known::KnownArtifacts;
use self::server_clock::ServerClock;
use crate::artifact::{
    Artifact, ArtifactStore, Body, BodyRef, CallDigest, CallOrigin, Clearance, Description, EarlierResult,
    NewArtifact, Opened, Owner, Quotas, RekeyProgress, Rekeyed, Session, StoreStatus, StoredArtifact, Swept,
    Usage,
};
use crate::clock::{Clock, Millis};
use crate::codec::{BodyKey, Codec};
use crate::error::StoreError;
use crate::id::ArtifactId;
use crate::key::{KeyId, KeyMismatch, StoreKeys};
#[cfg(feature = "objects")]
use crate::objects::ObjectBodies;
use crate::pauses::Pauses;
pub use ledger::PostgresLedger;
pub use options::{ObjectCredentials, ObjectOptions, PostgresOptions};
pub(crate) use read::SharedBody;
pub use status::BackendStatus;
pub(crate) use worker::Worker;

/// The largest body that is stored as rows of the database where there is an object store.
pub const MAX_ROW_BODY_BYTES: u64 = 256 * 1024;

/// How much this process remembers of artifacts besides their chunks.
const KNOWN_BYTES: usize = 4 << 20;

/// The pause before the first retry.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// A store in PostgreSQL, with an object store for large bodies if there is one. Clones share their connections.
#[derive(Clone)]
pub struct PostgresStore {
    shared: Arc<Shared>,
    worker: Arc<Worker>,
}

/// A store in PostgreSQL that is closed when nobody else uses it.
pub struct WeakPostgresStore {
    shared: Weak<Shared>,
    worker: Weak<Worker>,
}

impl WeakPostgresStore {
    /// Returns the store, if it is still open.
    pub fn upgrade(&self) -> Option<PostgresStore> {
        Some(PostgresStore { shared: self.shared.upgrade()?, worker: self.worker.upgrade()? })
    }
}

/// What the tasks of a store share.
struct Shared {
    database: Database,
    #[cfg(feature = "objects")]
    objects: Option<ObjectBodies>,
    schema: String,
    server: String,
    quotas: Quotas,
    clock: ServerClock,
    keys: StoreKeys,
    /// The codec for the key that the store had when its key record was last read.
    codec: RwLock<Codec>,
    cache: ChunkCache,
    known: KnownArtifacts,
    retry_timeout: Duration,
}

impl PostgresStore {
    /// Connects to a store. Creates or migrates its tables, unless the options forbid it.
    ///
    /// # Errors
    ///
    /// The database or the object store cannot be reached, the role bypasses row level security, the server does not keep what it
    /// acknowledges, or the tables are those of a newer version.
    pub fn connect(
        options: &PostgresOptions,
        quotas: Quotas,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let worker = Arc::new(Worker::start()?);
        let options = options.clone();
        let shared = worker.run(Shared::connect(options, quotas, clock))?;
        worker.handle().spawn(shared.database.close_idle());
        Ok(Self { shared: Arc::new(shared), worker })
    }

    /// Returns a reference that does not keep the store open.
    pub fn downgrade(&self) -> WeakPostgresStore {
        WeakPostgresStore { shared: Arc::downgrade(&self.shared), worker: Arc::downgrade(&self.worker) }
    }

    /// Returns the ledger in the same database.
    ///
    /// # Errors
    ///
    /// Its thread cannot be started.
    pub fn ledger(&self) -> Result<PostgresLedger, StoreError> {
        PostgresLedger::start(Arc::clone(&self.shared), Arc::clone(&self.worker))
    }

    /// Returns what the store holds, and the versions of its server and its tables.
    ///
    /// # Errors
    ///
    /// The store cannot be reached.
    pub fn status(&self) -> Result<BackendStatus, StoreError> {
        self.run(|shared| async move { shared.status().await })
    }

    /// Runs a task that reads sealed content, and runs it again if another process has changed the store's key meanwhile.
    fn read<T: Send + 'static, F>(&self, task: impl Fn(Arc<Shared>) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let tried = self.key_record();
        match self.run(&task) {
            Err(StoreError::Damaged { .. } | StoreError::Key(KeyMismatch::Changed))
                if self.has_other_key(&tried)? =>
            {
                self.run(&task)
            }
            done => done,
        }
    }

    /// Reads a chunk of a body, from the cache if it is there.
    fn chunk(&self, body: &Arc<SharedBody>, key: &BodyKey, number: u64) -> Result<Vec<u8>, StoreError> {
        match self.shared.cache.get(body, number) {
            Some(CachedChunk::Bytes(bytes)) => return Ok(bytes),
            Some(CachedChunk::Stored(chunk)) => {
                // A chunk that was damaged in transit is read again.
                if let Ok(bytes) = chunk.unpack(key) {
                    self.shared.cache.insert(body, number, CachedChunk::Bytes(bytes.clone()));
                    return Ok(bytes);
                }
            }
            None => {}
        }
        let (body, key) = (Arc::clone(body), key.clone());
        self.run(|shared| async move { shared.read_chunk(&body, &key, number).await })
    }

    /// Returns the key record of the store, as last read.
    fn key_record(&self) -> Option<Vec<u8>> {
        self.shared.codec().record().map(<[u8]>::to_vec)
    }

    /// Reads the key record again; returns whether it differs from the record that was tried. Another request may already have
    /// read the new one.
    fn has_other_key(&self, tried: &Option<Vec<u8>>) -> Result<bool, StoreError> {
        self.run(|shared| async move { shared.has_new_key().await })?;
        Ok(self.key_record() != *tried)
    }

    /// Runs a task of the store to its end.
    fn run<T: Send + 'static, F>(&self, task: impl FnOnce(Arc<Shared>) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.worker.run(task(Arc::clone(&self.shared)))
    }
}

/// Creates the tables of a store, or migrates those of an earlier version. Returns the version before and after.
///
/// # Errors
///
/// The database cannot be reached or changed, or its tables are those of a newer version.
pub fn migrate(options: &PostgresOptions) -> Result<(u32, u32), StoreError> {
    let (worker, options) = (Worker::start()?, options.clone());
    worker.run(async move {
        let database = Database::new(&options)?;
        safety::check(&database).await.map_err(Failure::into_error)?;
        let from = schema::migrate(&database, &options.schema).await.map_err(Failure::into_error)?;
        Ok((from, schema::VERSION))
    })
}

/// Returns the version of the tables of a store; 0 if there are none.
///
/// # Errors
///
/// The database cannot be reached.
pub fn schema_version(options: &PostgresOptions) -> Result<u32, StoreError> {
    let (worker, options) = (Worker::start()?, options.clone());
    worker.run(async move {
        let database = Database::new(&options)?;
        schema::version(&database, &options.schema).await.map_err(Failure::into_error)
    })
}

impl Shared {
    async fn connect(
        options: PostgresOptions,
        quotas: Quotas,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let database = Database::new(&options)?;
        let server = safety::check(&database).await.map_err(Failure::into_error)?;
        let prepared = match options.migrate {
            true => schema::migrate(&database, &options.schema).await.map(drop),
            false => schema::check(&database, &options.schema).await,
        };
        prepared.map_err(Failure::into_error)?;
        let clock = ServerClock::read(clock, &database).await.map_err(Failure::into_error)?;
        let codec = key::take_key(&database, &options.keys).await.map_err(Failure::into_error)?;
        #[cfg(feature = "objects")]
        let objects = match &options.objects {
            Some(objects) => Some(ObjectBodies::connect(objects, options.retry_timeout).await?),
            None => None,
        };
        #[cfg(not(feature = "objects"))]
        if options.objects.is_some() {
            return Err(StoreError::Unusable("this program was built without object stores".into()));
        }
        Ok(Self {
            database,
            #[cfg(feature = "objects")]
            objects,
            schema: options.schema,
            server,
            quotas,
            clock,
            keys: options.keys,
            codec: RwLock::new(codec),
            cache: ChunkCache::new(options.cache_bytes),
            known: KnownArtifacts::new(KNOWN_BYTES),
            retry_timeout: options.retry_timeout,
        })
    }

    /// Returns the codec for the key of the store.
    fn codec(&self) -> Codec {
        self.codec.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_codec(&self, codec: Codec) {
        *self.codec.write().unwrap_or_else(PoisonError::into_inner) = codec;
    }

    /// Repeats an attempt until it succeeds, fails for good, or `retry_timeout` is over; once at least, because noticing that a
    /// connection is lost may take longer than that. `attempt` is told whether an earlier attempt may have had its effect.
    async fn retry<T, F>(&self, mut attempt: impl FnMut(bool) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let (mut pauses, mut is_ambiguous) = (Pauses::new(FIRST_PAUSE, self.retry_timeout), false);
        let mut is_first = true;
        loop {
            let failure = match attempt(is_ambiguous).await {
                Ok(done) => return Ok(done),
                Err(Failure::Final(error)) => return Err(error),
                Err(failure) => failure,
            };
            if let Failure::Lost(_) = failure {
                is_ambiguous = true;
                self.database.close_unused();
            }
            if !pauses.wait().await && !is_first {
                return Err(failure.into_error());
            }
            is_first = false;
        }
    }

    /// Runs one query for an owner, or for all.
    async fn query(
        &self,
        scope: &Scope,
        sql: &str,
        parameters: &[database::Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        self.retry(|_| self.database.read(scope, sql, parameters)).await
    }
}

/// The columns of an artifact `a` and its body `b`.
const COLUMNS: &str = "a.id, a.tool, a.kind, a.records, a.tokens, b.bytes, b.stored, a.created, a.expires";
const JOINED: &str = "artifact a JOIN body b ON b.id = a.body AND b.owner = a.owner";

impl Shared {
    /// Returns the artifact of a row with these columns.
    fn artifact(&self, row: &Row) -> Result<Artifact, StoreError> {
        let number = |column: usize| row.get::<_, i64>(column).unsigned_abs();
        Ok(self.clock.artifact_here(Artifact {
            id: ArtifactId::parse_bare(row.get(0)).ok_or(StoreError::Damaged { what: "an id" })?,
            tool: row.get(1),
            kind: row.get(2),
            records: row.get::<_, Option<i64>>(3).map(i64::unsigned_abs),
            tokens: number(4),
            bytes: number(5),
            stored_bytes: number(6),
            created: Millis(row.get(7)),
            expires: Millis(row.get(8)),
        }))
    }
}

impl ArtifactStore for PostgresStore {
    fn put(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError> {
        let tried = self.key_record();
        match put::put(self, new, body, describe) {
            // Nothing was stored yet, so it is stored with the new key.
            Err(StoreError::Key(KeyMismatch::Changed)) if self.has_other_key(&tried)? => {
                put::put(self, new, body, describe)
            }
            done => done,
        }
    }

    fn open_with(&self, clearance: Clearance<'_>, id: &ArtifactId) -> Result<Opened, StoreError> {
        self.read(|shared| {
            let (owner, tier, id) = (clearance.owner.clone(), clearance.tier, id.clone());
            async move { shared.open(owner, tier, id).await }
        })
    }

    fn read_chunk(&self, opened: &Opened, number: u64) -> Result<Vec<u8>, StoreError> {
        let Body::Shared(body) = &opened.body.0 else { return Err(StoreError::NotFound) };
        self.chunk(body, &opened.key, number)
    }

    fn origin(&self, owner: &Owner, id: &ArtifactId) -> Result<CallOrigin, StoreError> {
        self.read(|shared| {
            let (owner, id) = (owner.clone(), id.clone());
            async move { shared.origin(owner, id).await }
        })
    }

    fn last_of_call(
        &self,
        owner: &Owner,
        session: &Session,
        call: &CallDigest,
    ) -> Result<Option<EarlierResult>, StoreError> {
        let (owner, session, call) = (owner.clone(), session.clone(), *call);
        self.run(|shared| async move { shared.last_of_call(owner, session, call).await })
    }

    fn matches(&self, owner: &Owner, earlier: &EarlierResult, body: &dyn Source) -> Result<bool, StoreError> {
        self.shared.codec().has_digest(owner, &earlier.hash, body)
    }

    fn status(&self) -> Result<StoreStatus, StoreError> {
        let status = self.run(|shared| async move { shared.status().await })?;
        let codec = self.shared.codec();
        Ok(StoreStatus {
            usage: Usage { artifacts: status.artifacts, stored_bytes: status.stored_bytes },
            expired: status.expired,
            oldest: status.oldest,
            problem: status.objects_problem,
            orphans: status.orphans + status.unfinished,
            schema: Some(i64::from(status.schema)),
            key: codec.key(),
            is_rekeying: codec.is_changing(),
        })
    }

    fn walk(&self, after: Option<&ArtifactId>, limit: usize) -> Result<Vec<StoredArtifact>, StoreError> {
        self.read(|shared| {
            let after = after.cloned();
            async move { shared.walk(after, limit).await }
        })
    }

    fn key(&self) -> Result<Option<KeyId>, StoreError> {
        Ok(self.shared.codec().key())
    }

    fn rekey(&self, progress: &mut dyn FnMut(RekeyProgress)) -> Result<Rekeyed, StoreError> {
        rekey::rekey(self, progress)
    }

    fn touch(&self, owner: &Owner, id: &ArtifactId, ttl: Duration) -> Result<Artifact, StoreError> {
        let (owner, id) = (owner.clone(), id.clone());
        self.run(|shared| async move { shared.touch(owner, id, ttl).await })
    }

    fn delete(&self, owner: &Owner, id: &ArtifactId) -> Result<(), StoreError> {
        let (owner, id) = (owner.clone(), id.clone());
        self.run(|shared| async move { shared.delete(owner, id).await })
    }

    fn list_with(&self, clearance: Clearance<'_>, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        let clearance = (clearance.owner.clone(), clearance.tier);
        self.run(|shared| async move { shared.list(Some(clearance), limit).await })
    }

    fn owner_of(&self, id: &ArtifactId) -> Result<Option<Owner>, StoreError> {
        let id = id.clone();
        self.run(|shared| async move { shared.owner_of(id).await })
    }

    fn list_all(&self, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        self.run(|shared| async move { shared.list(None, limit).await })
    }

    fn sweep(&self) -> Result<Swept, StoreError> {
        self.run(|shared| async move { shared.sweep().await })
    }

    fn usage(&self) -> Result<Usage, StoreError> {
        self.run(|shared| async move { shared.usage().await })
    }
}

/// Returns a reference to a body of this backend.
fn body_ref(body: SharedBody) -> BodyRef {
    BodyRef(Body::Shared(Arc::new(body)))
}

/// Replaces the character 0, which a text column of PostgreSQL cannot hold.
fn text(value: &str) -> String {
    value.replace('\0', "\u{fffd}")
}

fn hash_column(bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    bytes.try_into().map_err(|_| StoreError::Damaged { what: "a hash" })
}
