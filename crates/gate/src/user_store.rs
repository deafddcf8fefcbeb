//! The store, the ledger and the sealing key of one owner, opened on first use and reopened after a failure.
//!
//! A client may start a proxy only to ask what the server can do, so nothing is opened before a result or a ledger
//! entry has to be written. A store that failed is opened again on the next use, because a disk that was full a minute
//! ago may have room now; so is one whose file was moved away. Meanwhile results are kept in memory (`memory.rs`). The
//! ledger is separate: a broken ledger never fails a result. All times come from one clock, which tests can set.

mod memory;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_core::outline::Outline;
use tidegate_core::source::{Source, Span};
use tidegate_core::view::cursor;
use tidegate_store::{
    Artifact, ArtifactId, ArtifactStore, Call, Clock, Description, FolderStore, Home, Ledger, LineLedger,
    MemoryStore, Millis, NewArtifact, Owner, Quotas, SealKey, Session, StoreError, StoredSource, SystemClock,
    open,
};
#[cfg(feature = "sqlite")]
use tidegate_store::{HomeStore, SqliteLedger};

use crate::caller::Principal;
use crate::error::causes;
use crate::kept_result::{duration_text, retention_note};
use crate::resources::Address;
use crate::session::{SessionMeter, SessionMeters};
pub use memory::MAX_MEMORY_BYTES;
use memory::StandIn;

/// Where results are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// In a folder; the platform's data folder if none is named. With the feature `sqlite` the results are in a SQLite
    /// file, otherwise this is the same as [`Self::Files`].
    Folder(Option<PathBuf>),
    /// In a folder, one file for each result; the platform's data folder if none is named. `tidegate ls`, `query` and `stats`
    /// read both kinds.
    Files(Option<PathBuf>),
    /// In the memory of this process.
    Memory,
}

impl StoreLocation {
    /// Returns the folder, whether it exists or not.
    pub fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::Folder(named) | Self::Files(named) => Home::find(named.clone()),
            Self::Memory => None,
        }
    }

    fn quotas(&self) -> Quotas {
        match self {
            Self::Folder(_) | Self::Files(_) => Quotas::default(),
            Self::Memory => MEMORY_QUOTAS,
        }
    }
}

/// An open store and the key that seals its cursors and tokens.
pub struct Opened {
    /// The store.
    pub store: Box<dyn ArtifactStore>,
    key: SealKey,
    /// Whether its results are lost when this process ends.
    is_in_memory: bool,
}

/// A result that was kept, and where.
pub(crate) struct KeptArtifact {
    pub(crate) artifact: Artifact,
    /// The memory that holds it, if the store could not be used.
    pub(crate) in_memory: Option<Arc<Opened>>,
}

/// Called with the reason when results begin to be kept in memory, because the store cannot be used.
pub type FailureReport = Box<dyn Fn(&str) + Send + Sync>;

enum LedgerState {
    Closed,
    /// The ledger could not be opened at this time.
    Failed(Millis),
    Open(Arc<dyn Ledger>),
}

/// The member that names the tool which made an artifact.
const MADE_BY: &str = "tidegate/made_by";
/// The member that holds the name which was chosen for an artifact.
const NAME: &str = "tidegate/name";

/// The most bytes, compressed, that a store in memory holds. Nothing is evicted: when it is full, a result cannot be kept.
const MEMORY_QUOTAS: Quotas = Quotas { session_bytes: 256 << 20, store_bytes: 1 << 30 };

/// How long to wait before a ledger that could not be opened is tried again.
const LEDGER_RETRY: Duration = Duration::from_secs(60);

/// The kept results of one owner.
#[derive(Clone)]
pub struct UserStore {
    shared: Arc<Shared>,
    /// Who may read the results.
    pub owner: Owner,
    /// The session whose quota the results count for.
    pub session: Session,
    /// Whether results are found by their id alone, which then nobody can guess.
    is_unlisted: bool,
}

/// What all owners of one place have in common.
struct Shared {
    place: StoreLocation,
    clock: Arc<dyn Clock>,
    opened: Mutex<Option<Arc<Opened>>>,
    memory: Arc<StandIn>,
    /// Whether the last result could not be stored.
    has_failed: AtomicBool,
    report: Option<FailureReport>,
    ledger: Mutex<LedgerState>,
    /// What callers were sent whose requests nothing connects.
    callers: SessionMeters,
}

impl UserStore {
    /// Returns the results of the user who runs this process.
    pub fn of_user(place: StoreLocation) -> Self {
        let session = Session::new(format!("process:{}:{}", std::process::id(), ArtifactId::random()));
        let shared = Shared {
            place,
            clock: Arc::new(SystemClock),
            opened: Mutex::new(None),
            memory: StandIn::of_process(),
            has_failed: AtomicBool::new(false),
            report: None,
            ledger: Mutex::new(LedgerState::Closed),
            callers: SessionMeters::default(),
        };
        let owner = Owner::new(format!("local:{}", user()));
        Self { shared: Arc::new(shared), owner, session, is_unlisted: false }
    }

    /// Returns the results of a caller of a server, in the same place. Nobody else can read them: neither the user, nor a
    /// caller of the same name of another server.
    pub fn of_principal(&self, principal: &Principal, server: &str) -> Self {
        let user = user();
        let owner = match principal {
            Principal::User => return self.clone(),
            Principal::Named(id) => Owner::of_parts("caller", &[&user, server, id.as_str()]),
            Principal::Session(id) => Owner::of_parts("session", &[&user, server, id]),
            Principal::Stateless => Owner::of_parts("unnamed", &[&user, server]),
        };
        self.of_owner(owner, *principal == Principal::Stateless)
    }

    fn of_owner(&self, owner: Owner, is_unlisted: bool) -> Self {
        let session = Session::new(owner.as_str());
        Self { shared: Arc::clone(&self.shared), owner, session, is_unlisted }
    }

    /// Returns the store with the owner of a result, for the user of the machine, whose file it is.
    ///
    /// # Errors
    ///
    /// A store that cannot be read.
    pub fn of_owner_of(&self, id: &ArtifactId) -> Result<Self, StoreError> {
        match self.open()?.store.owner_of(id)? {
            Some(owner) if owner != self.owner => Ok(self.of_owner(owner, false)),
            _ => Ok(self.clone()),
        }
    }

    fn set_up(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        change(Arc::get_mut(&mut self.shared).expect("it is set up before it is shared"));
        self
    }

    /// Returns the same results with another clock, for tests in which something expires. Call it before the first use.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        self.set_up(|shared| shared.clock = clock)
    }

    /// Returns the same results, reporting with `report` when they begin to be kept in memory instead.
    #[must_use]
    pub fn with_report(self, report: FailureReport) -> Self {
        self.set_up(|shared| shared.report = Some(report))
    }

    /// Returns the same results with another limit of what is kept in memory.
    #[cfg(test)]
    pub(crate) fn with_memory_limit(self, max_bytes: u64) -> Self {
        self.set_up(|shared| shared.memory = Arc::new(StandIn::with_limit(max_bytes)))
    }

    /// Returns where results are kept.
    pub fn place(&self) -> &StoreLocation {
        &self.shared.place
    }

    /// Returns what counts the bytes that an owner is sent whose requests nothing connects.
    pub(crate) fn meter_of(&self, owner: &Owner) -> Arc<SessionMeter> {
        self.shared.callers.of(owner.as_str())
    }

    /// Returns whether results are found by their id alone, so that an id must not be guessed.
    pub fn is_unlisted(&self) -> bool {
        self.is_unlisted
    }

    /// Returns how much the store may hold.
    pub fn quotas(&self) -> Quotas {
        self.shared.place.quotas()
    }

    /// Returns the clock by which results and tokens expire.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// Returns the open store, and opens it if necessary.
    ///
    /// # Errors
    ///
    /// A folder or file that cannot be used.
    pub fn open(&self) -> Result<Arc<Opened>, StoreError> {
        let mut opened = self.shared.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = opened.as_ref().filter(|opened| opened.store.is_current()) {
            return Ok(Arc::clone(opened));
        }
        *opened = None;
        let new = Arc::new(Opened::open(&self.shared.place, Arc::clone(&self.shared.clock))?);
        // A store that can only be read now may accept writes a moment later, so it is not cached.
        *opened = new.store.is_current().then(|| Arc::clone(&new));
        Ok(new)
    }

    /// Returns what holds a result: the memory that stands in for the store, or the store, opened if necessary.
    ///
    /// # Errors
    ///
    /// A folder or file that cannot be used.
    pub fn open_for(&self, id: &ArtifactId) -> Result<Arc<Opened>, StoreError> {
        match self.shared.memory.holding(&self.owner, id) {
            Some(memory) => Ok(memory),
            None => self.open(),
        }
    }

    /// Lists the newest results, those in memory first. A store that cannot be used has none; storing or reading reports
    /// the error. Unlisted results are not in it.
    pub(crate) fn list(&self, limit: usize) -> Vec<Artifact> {
        if self.is_unlisted {
            return Vec::new();
        }
        let mut artifacts = self.shared.memory.list(&self.owner, limit);
        let stored = self.open().and_then(|opened| opened.store.list(&self.owner, limit));
        artifacts.extend(stored.unwrap_or_default());
        artifacts.truncate(limit);
        artifacts
    }

    /// Drops a store whose file caused an error, so that the next use opens it again.
    fn reopen_after(&self, opened: &Arc<Opened>, error: &StoreError) {
        let mut current = self.shared.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if error.is_file_error() && current.as_ref().is_some_and(|current| Arc::ptr_eq(current, opened)) {
            *current = None;
        }
    }

    /// Returns the stored bytes of a result.
    pub(crate) fn stored<'o>(
        &self,
        opened: &'o Arc<Opened>,
        id: &ArtifactId,
    ) -> Result<StoredSource<'o>, StoreError> {
        open(&*opened.store, &self.owner, id).inspect_err(|error| self.reopen_after(opened, error))
    }

    /// Returns what is stored as the arguments of an artifact that a server made itself: the tool, where one did, and the
    /// name that was chosen for it.
    pub fn made_by(tool: Option<&str>, name: Option<&str>) -> String {
        json!({ MADE_BY: tool, NAME: name }).to_string()
    }

    /// Returns the name that was chosen for an artifact. The arguments of a call may say anything, but only those of an
    /// artifact with a name lead to its id.
    pub(crate) fn name_of(&self, opened: &Opened, artifact: &Artifact) -> Option<String> {
        if !artifact.id.may_be_of_name() {
            return None;
        }
        let origin = opened.store.origin(&self.owner, &artifact.id).ok()?;
        let arguments: Value = serde_json::from_str(&origin.arguments).ok()?;
        let name = arguments.get(NAME)?.as_str()?;
        let id = ArtifactId::of_name(&self.owner, &origin.server, &artifact.tool, name);
        (id == artifact.id).then(|| name.to_owned())
    }

    /// Stores an artifact under a name, whose id it has. The same bytes under the same name only live longer.
    ///
    /// # Errors
    ///
    /// [`StoreError::Taken`] if other bytes have the name, and the errors of [`Self::put`].
    pub fn put_named(
        &self,
        new: &NewArtifact<'_>,
        body: &[u8],
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError> {
        let opened = self.open_for(&new.id)?;
        match self.stored(&opened, &new.id) {
            Ok(stored) => {
                let is_equal = Span::whole(&stored).read(&stored).map_err(StoreError::Source)? == body;
                if !is_equal {
                    return Err(StoreError::Taken);
                }
                opened.store.touch(&self.owner, &new.id, new.ttl)
            }
            Err(StoreError::Expired { .. }) => {
                opened.store.delete(&self.owner, &new.id)?;
                self.put(new, &body, describe)
            }
            Err(StoreError::NotFound) => self.put(new, &body, describe),
            Err(error) => Err(error),
        }
    }

    /// Returns whether a server stored an artifact itself, under a domain instead of the name of a tool.
    pub(crate) fn is_made_here(&self, opened: &Opened, artifact: &Artifact) -> bool {
        let origin = opened.store.origin(&self.owner, &artifact.id).unwrap_or_default();
        serde_json::from_str::<Value>(&origin.arguments)
            .is_ok_and(|arguments| arguments.get(MADE_BY).is_some())
    }

    /// Returns the artifact at an address, which is either its id or the name that a server chose for it; `domain_of` returns
    /// the domain in the address of a result. An address with another domain leads nowhere.
    ///
    /// # Errors
    ///
    /// Nothing is kept at the address, or the store cannot be used.
    pub fn find(
        &self,
        address: &Address<'_>,
        server: &str,
        domain_of: impl Fn(&Artifact) -> String,
    ) -> Result<ArtifactId, StoreError> {
        let named =
            [server, ""].map(|server| ArtifactId::of_name(&self.owner, server, address.domain, address.id));
        let mut outcome = StoreError::NotFound;
        for id in ArtifactId::parse(address.id).into_iter().chain(named) {
            let opened = self.open_for(&id)?;
            let artifact = match self.stored(&opened, &id) {
                Ok(source) => source.artifact().clone(),
                Err(StoreError::NotFound) => continue,
                Err(error) => {
                    outcome = error;
                    continue;
                }
            };
            let is_there = match self.name_of(&opened, &artifact) {
                Some(name) => name == address.id && artifact.tool == address.domain,
                None if self.is_made_here(&opened, &artifact) => artifact.tool == address.domain,
                None => domain_of(&artifact) == address.domain,
            };
            if is_there {
                return Ok(id);
            }
        }
        Err(outcome)
    }

    /// Returns the tool that made an artifact itself. The arguments of a call may say anything, so this can only restrict who
    /// may read it.
    pub(crate) fn maker(&self, opened: &Opened, id: &ArtifactId) -> Option<String> {
        let origin = opened.store.origin(&self.owner, id).ok()?;
        let arguments: Value = serde_json::from_str(&origin.arguments).ok()?;
        Some(arguments.get(MADE_BY)?.as_str()?.to_owned())
    }

    /// Says for how long a result is kept that is put into the store: `kept 24 h`.
    pub(crate) fn retention_note(&self, left: Duration) -> String {
        match self.shared.place {
            StoreLocation::Folder(_) | StoreLocation::Files(_) => retention_note(left),
            StoreLocation::Memory => memory_note(left),
        }
    }

    /// Returns a new artifact for a result of a tool.
    pub fn new_artifact<'n>(&'n self, tool: &'n str, ttl: Duration) -> NewArtifact<'n> {
        let new = NewArtifact::new(&self.owner, &self.session, tool, ttl);
        match self.is_unlisted {
            true => NewArtifact { id: ArtifactId::random_shared(), ..new },
            false => new,
        }
    }

    /// Stores a result. `describe` is called after the bytes are written, and again if storing is retried.
    ///
    /// # Errors
    ///
    /// A full quota or disk, or a store that cannot be used; then nothing was stored.
    pub fn put(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError> {
        let opened = self.open()?;
        match opened.store.put(new, body, describe) {
            // The file may have been repaired since it was opened. Nothing was stored, so nothing is stored twice.
            Err(error) if error.is_file_error() => {
                self.reopen_after(&opened, &error);
                drop(opened);
                self.open()?.store.put(new, body, describe)
            }
            done => done,
        }
    }

    /// Stores a result, or keeps it in memory if the store cannot be used.
    ///
    /// # Errors
    ///
    /// The error of the store, if there is no room in memory either; or the result cannot be read.
    pub(crate) fn keep(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<KeptArtifact, StoreError> {
        let error = match self.put(new, body, describe) {
            Ok(artifact) => {
                self.shared.has_failed.store(false, Ordering::Relaxed);
                return Ok(KeptArtifact { artifact, in_memory: None });
            }
            Err(error @ StoreError::Source(_)) => return Err(error),
            Err(error) => error,
        };
        if let (false, Some(report)) =
            (self.shared.has_failed.swap(true, Ordering::Relaxed), &self.shared.report)
        {
            report(&causes(&error));
        }
        let (artifact, memory) = self.shared.memory.put(new, body, describe, &self.shared.clock, error)?;
        Ok(KeptArtifact { artifact, in_memory: Some(memory) })
    }

    /// Returns the description to store with a result of this outline and token count.
    pub fn description(outline: &Outline, tokens: u64) -> Description {
        Description {
            outline: outline.to_bytes(),
            kind: outline.kind().to_owned(),
            records: outline.record_count(),
            tokens,
        }
    }

    /// Writes a call to the ledger, if there is one.
    pub(crate) fn note(&self, call: Call) {
        if let Some(ledger) = self.ledger() {
            ledger.note(call);
        }
    }

    /// Returns the ledger, opened if possible. One that cannot be opened must not fail a call or delay the next ones.
    fn ledger(&self) -> Option<Arc<dyn Ledger>> {
        let mut ledger = self.shared.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.shared.clock.now();
        match &*ledger {
            LedgerState::Open(ledger) => return Some(Arc::clone(ledger)),
            LedgerState::Failed(at) if (*at..at.after(LEDGER_RETRY)).contains(&now) => return None,
            LedgerState::Failed(_) | LedgerState::Closed => {}
        }
        let opened = match &self.shared.place {
            StoreLocation::Memory => return None,
            place => open_ledger(place).ok(),
        };
        *ledger = opened.clone().map_or(LedgerState::Failed(now), LedgerState::Open);
        opened
    }

    /// Writes pending ledger entries to disk.
    pub fn flush(&self) {
        let ledger = self.shared.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        if let LedgerState::Open(ledger) = &*ledger {
            ledger.flush();
        }
    }

    /// Deletes expired results, if the store was opened.
    pub fn sweep(&self) {
        let opened = self.shared.opened.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(opened) = opened {
            // The next sweep, of this or another process, tries again.
            let _ = opened.store.sweep();
        }
        self.shared.memory.sweep();
    }
}

impl Opened {
    fn open(place: &StoreLocation, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let unusable = |error: Box<dyn std::error::Error + Send + Sync>| StoreError::Unusable(error);
        match place {
            StoreLocation::Memory => Self::in_memory(place.quotas(), clock),
            StoreLocation::Folder(named) | StoreLocation::Files(named) => {
                let home = open_home(named)?;
                Ok(Self {
                    store: open_store(place, &home, clock)?,
                    key: SealKey::load_or_create(home.path()).map_err(|error| unusable(Box::new(error)))?,
                    is_in_memory: false,
                })
            }
        }
    }

    /// Opens a store in memory, with a key of its own.
    fn in_memory(quotas: Quotas, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let store = Box::new(MemoryStore::new_with(quotas, clock));
        Ok(Self { store, key: SealKey::ephemeral(), is_in_memory: true })
    }

    /// Says for how long a result is kept here: `kept 24 h`.
    pub(crate) fn retention_note(&self, left: Duration) -> String {
        if self.is_in_memory { memory_note(left) } else { retention_note(left) }
    }

    /// Returns the seal over the bytes of a cursor or token.
    pub fn seal(&self, owner: &Owner, id: &ArtifactId, bytes: &[u8]) -> [u8; cursor::SEAL_BYTES] {
        self.key.seal(owner, id, bytes)
    }
}

fn open_home(named: &Option<PathBuf>) -> Result<Home, StoreError> {
    Home::open(named.clone()).map_err(|error| StoreError::Unusable(Box::new(error)))
}

/// Opens the store in a folder.
fn open_store(
    place: &StoreLocation,
    home: &Home,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn ArtifactStore>, StoreError> {
    #[cfg(feature = "sqlite")]
    if matches!(place, StoreLocation::Folder(_)) {
        return Ok(Box::new(HomeStore::open_with(home, place.quotas(), clock)?));
    }
    Ok(Box::new(FolderStore::open_with(&home.artifact_folder(), place.quotas(), clock)?))
}

/// Opens the ledger in a folder.
fn open_ledger(place: &StoreLocation) -> Result<Arc<dyn Ledger>, StoreError> {
    let home = match place {
        StoreLocation::Folder(named) | StoreLocation::Files(named) => open_home(named)?,
        StoreLocation::Memory => return Err(StoreError::NotFound),
    };
    #[cfg(feature = "sqlite")]
    if matches!(place, StoreLocation::Folder(_)) {
        return Ok(Arc::new(SqliteLedger::open(&home.ledger())?));
    }
    Ok(Arc::new(LineLedger::open(home.path())?))
}

/// Says for how long a result is kept in memory: its time, unless the process ends earlier.
fn memory_note(left: Duration) -> String {
    format!("kept in memory {}, or until this server exits", duration_text(left))
}

/// Returns the user who runs this process.
#[cfg(unix)]
fn user() -> String {
    rustix::process::getuid().as_raw().to_string()
}

#[cfg(not(unix))]
fn user() -> String {
    std::env::var("USERNAME").unwrap_or_else(|_| "user".into())
}

#[cfg(test)]
mod tests {
    use tidegate_testkit::clock::ManualClock;

    use super::*;
    use crate::caller::CallerId;

    fn stored(keep: &UserStore, ttl: Duration) -> ArtifactId {
        let new = keep.new_artifact("list", ttl);
        keep.put(&new, &b"{}".as_slice(), &|| Ok(Description::default())).unwrap().id
    }

    #[test]
    fn a_result_expires_by_the_clock_of_the_keep() {
        let clock = Arc::new(ManualClock::default());
        let keep = UserStore::of_user(StoreLocation::Memory).with_clock(Arc::<ManualClock>::clone(&clock));
        let id = stored(&keep, Duration::from_secs(60));
        let opened = keep.open().unwrap();
        assert!(keep.stored(&opened, &id).is_ok());
        clock.advance(Duration::from_secs(61));
        assert!(matches!(keep.stored(&opened, &id).err(), Some(StoreError::Expired { .. })));
    }

    #[test]
    fn a_name_is_taken_until_it_expires() {
        let clock = Arc::new(ManualClock::default());
        let keep = UserStore::of_user(StoreLocation::Memory).with_clock(Arc::<ManualClock>::clone(&clock));
        let id = ArtifactId::of_name(&keep.owner, "server", "trace", "t1");
        let hour = Duration::from_secs(3600);
        let put = |body: &[u8]| {
            let new = NewArtifact { id: id.clone(), ..keep.new_artifact("trace", hour) };
            keep.put_named(&new, body, &|| Ok(Description::default()))
        };
        let first = put(b"events").unwrap();
        clock.advance(hour / 2);
        let again = put(b"events").unwrap();
        assert!(again.id == first.id && again.expires > first.expires, "the same bytes live longer");
        assert!(matches!(put(b"others"), Err(StoreError::Taken)));
        clock.advance(hour);
        assert_eq!(put(b"others").unwrap().bytes, 6, "the name is free again");
    }

    #[test]
    fn a_clock_that_is_set_ahead_deletes_nothing() {
        let day = Duration::from_secs(86_400);
        let clock = Arc::new(ManualClock::default());
        let keep = UserStore::of_user(StoreLocation::Memory).with_clock(Arc::<ManualClock>::clone(&clock));
        let id = stored(&keep, day);
        clock.set_ahead(2 * day);
        keep.sweep();
        let opened = keep.open().unwrap();
        assert!(keep.stored(&opened, &id).is_ok(), "no time has passed");
        let later = stored(&keep, day);
        clock.advance(day);
        keep.sweep();
        assert!(matches!(keep.stored(&opened, &id).err(), Some(StoreError::NotFound)), "its day is over");
        assert!(keep.stored(&opened, &later).is_ok(), "it expires by the clock that it was stored under");
    }

    #[test]
    fn files_need_no_database() {
        let folder = tempfile::tempdir().unwrap();
        let keep = UserStore::of_user(StoreLocation::Files(Some(folder.path().to_owned())));
        let id = stored(&keep, Duration::from_secs(60));
        assert!(keep.ledger().is_some());
        let opened = keep.open().unwrap();
        assert!(keep.stored(&opened, &id).is_ok());
        assert!(folder.path().join("artifacts").is_dir());
        for database in ["artifacts.db", "ledger.db"] {
            assert!(!folder.path().join(database).exists());
        }
        // Whoever has one reads the files too.
        let other = UserStore::of_user(StoreLocation::Folder(Some(folder.path().to_owned())));
        let opened = other.open().unwrap();
        assert!(other.stored(&opened, &id).is_ok());
        assert_eq!(other.list(10).len(), 1);
    }

    #[test]
    fn nothing_is_opened_before_it_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        let place = StoreLocation::Folder(Some(folder.path().join("data")));
        let keep = UserStore::of_user(place);
        keep.flush();
        keep.sweep();
        assert!(!folder.path().join("data").exists());
        stored(&keep, Duration::from_secs(60));
        assert!(folder.path().join("data").exists());
    }

    #[test]
    fn a_ledger_that_cannot_be_opened_is_tried_again_later() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("data");
        // A file where the folder should be.
        std::fs::write(&home, "").unwrap();
        let clock = Arc::new(ManualClock::default());
        let keep = UserStore::of_user(StoreLocation::Folder(Some(home.clone())))
            .with_clock(Arc::<ManualClock>::clone(&clock));
        assert!(keep.ledger().is_none());
        std::fs::remove_file(&home).unwrap();
        assert!(keep.ledger().is_none(), "it is left alone for a while");
        clock.advance(LEDGER_RETRY);
        assert!(keep.ledger().is_some());
    }

    /// A place where no store can be opened, and the file in its way.
    fn broken() -> (tempfile::TempDir, PathBuf, StoreLocation) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("data");
        std::fs::write(&home, "").unwrap();
        (folder, home.clone(), StoreLocation::Folder(Some(home)))
    }

    fn kept(keep: &UserStore, body: &[u8]) -> Result<KeptArtifact, StoreError> {
        keep.keep(&keep.new_artifact("list", Duration::from_secs(60)), &body, &|| Ok(Description::default()))
    }

    #[test]
    fn memory_stands_in_for_a_store_that_cannot_be_used() {
        let (_folder, home, place) = broken();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&reports);
        let report = Box::new(move |why: &str| told.lock().unwrap().push(why.to_owned()));
        let keep = UserStore::of_user(place.clone()).with_report(report);
        let in_memory = [kept(&keep, b"one"), kept(&keep, b"two")].map(|kept| kept.unwrap());
        for (kept, body) in in_memory.iter().zip([b"one", b"two"]) {
            assert!(kept.in_memory.is_some());
            let opened = keep.open_for(&kept.artifact.id).unwrap();
            let source = keep.stored(&opened, &kept.artifact.id).unwrap();
            assert_eq!(Span::whole(&source).read(&source).unwrap(), body);
        }
        assert_eq!(keep.list(10).len(), 2);
        assert_eq!(reports.lock().unwrap().len(), 1, "told once");
        let other = keep.of_principal(&Principal::Named(CallerId::new("ada").unwrap()), "server");
        assert!(
            other.list(10).is_empty() && other.open_for(&in_memory[0].artifact.id).is_err(),
            "not another's"
        );
        // Once the store works, it is used, and what is in memory stays readable.
        std::fs::remove_file(&home).unwrap();
        let stored = kept(&keep, b"three").unwrap();
        assert!(stored.in_memory.is_none());
        assert_eq!(keep.list(10).len(), 3);
        for id in [&in_memory[0].artifact.id, &stored.artifact.id] {
            let opened = keep.open_for(id).unwrap();
            assert!(keep.stored(&opened, id).is_ok());
        }
        std::fs::remove_dir_all(&home).unwrap();
        std::fs::write(&home, "").unwrap();
        assert!(kept(&keep, b"four").unwrap().in_memory.is_some());
        assert_eq!(reports.lock().unwrap().len(), 2, "and again for the next failure");
    }

    #[test]
    fn memory_is_bounded() {
        let (_folder, _, place) = broken();
        let keep = UserStore::of_user(place).with_memory_limit(1000);
        // Bytes that do not compress.
        let body = |from: u32| -> Vec<u8> {
            (from..from + 100).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
        };
        assert!(kept(&keep, &body(0)).is_ok() && kept(&keep, &body(1000)).is_ok());
        let error = kept(&keep, &body(2000)).err().unwrap();
        assert!(matches!(error, StoreError::MemoryFull(_)));
        assert!(
            causes(&error)
                .starts_with("the memory that stands in for the store is full: the store cannot be used")
        );
    }

    #[test]
    fn every_principal_is_an_owner_of_its_own() {
        let keep = UserStore::of_user(StoreLocation::Memory);
        let named = |name: &str| Principal::Named(CallerId::new(name).unwrap());
        let all = [
            (Principal::User, "one"),
            (named("ada"), "one"),
            (named("ada"), "other"),
            (named("bob"), "one"),
            (Principal::Session("ada".into()), "one"),
            (Principal::Session("bob".into()), "one"),
            (Principal::Stateless, "one"),
            (Principal::Stateless, "other"),
        ];
        let keeps: Vec<UserStore> =
            all.iter().map(|(principal, server)| keep.of_principal(principal, server)).collect();
        let ids: Vec<ArtifactId> = keeps.iter().map(|keep| stored(keep, Duration::from_secs(60))).collect();
        for (reader, keep) in keeps.iter().enumerate() {
            assert!(!keep.owner.as_str().is_empty());
            let opened = keep.open().unwrap();
            for (owner, id) in ids.iter().enumerate() {
                assert_eq!(
                    keep.stored(&opened, id).is_ok(),
                    reader == owner,
                    "{:?}, {:?}",
                    all[reader],
                    all[owner]
                );
            }
            let listed: Vec<ArtifactId> = keep.list(50).into_iter().map(|artifact| artifact.id).collect();
            let expected =
                if all[reader].0 == Principal::Stateless { &[][..] } else { &ids[reader..=reader] };
            assert_eq!(listed, expected);
        }
        assert_eq!((ids[0].as_str().len(), ids[6].as_str().len()), (12, 26));
        assert_eq!(keep.of_owner_of(&ids[3]).unwrap().owner, keeps[3].owner);
    }
}
