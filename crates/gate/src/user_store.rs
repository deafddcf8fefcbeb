//! The store, the ledger and the sealing key of one owner, opened on first use and reopened after a failure.
//!
//! A client may start a proxy only to ask what the server can do, so nothing is opened before a result or a ledger
//! entry has to be written. A store that failed is opened again on the next use, because a disk that was full a minute
//! ago may have room now; so is one whose file was moved away. A store that several machines share stays open instead, because it
//! connects again by itself, and one of its two servers may work while the other does not. Meanwhile results are kept in memory
//! (`memory.rs`). The ledger is separate: a broken ledger never fails a result. All times come from one clock, which tests can set.

mod memory;
mod names;
mod place;
mod remote;
#[cfg(unix)]
mod saved;
mod settings;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::outline::Outline;
use tidegate_core::source::Source;
use tidegate_store::{
    Artifact, ArtifactId, Call, Clearance, Clock, Description, Ledger, Millis, NewArtifact, Owner, Quotas,
    Session, StoreError, StoredSource, SystemClock, TierLevel, open_with,
};

use crate::caller::Principal;
use crate::error::causes;
use crate::kept_result::retention_note;
use crate::session::{SessionMeter, SessionMeters};
use crate::tier::Tier;
pub use memory::MAX_MEMORY_BYTES;
use memory::StandIn;
pub use place::{Opened, StoreLocation};
use place::{memory_note, open_ledger};
pub use remote::{RemoteCredentials, RemoteObjects, RemoteStore, without_secrets};
pub use settings::{QuotaSettings, StoreSettings};

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

/// How long to wait before opening a ledger again that could not be opened.
const LEDGER_RETRY: Duration = Duration::from_secs(60);

/// How long a store that could not be reached is not tried again: each attempt takes long, and others wait for it.
const OPEN_RETRY: Duration = Duration::from_secs(5);

/// The store, while it is open.
#[derive(Default)]
struct OpenState {
    opened: Option<Arc<Opened>>,
    /// When and why it could not be reached.
    failure: Option<(Instant, String)>,
}

/// The kept results of one owner.
#[derive(Clone)]
pub struct UserStore {
    shared: Arc<Shared>,
    /// Who may read the results.
    pub owner: Owner,
    /// The session whose quota the results count for.
    pub session: Session,
    /// The highest tier of the results that are read and listed.
    tier: TierLevel,
    /// Whether an id alone gives access to a result; such ids cannot be guessed.
    is_unlisted: bool,
}

/// What all owners of one place have in common.
struct Shared {
    place: StoreLocation,
    settings: StoreSettings,
    clock: Arc<dyn Clock>,
    open: Mutex<OpenState>,
    memory: Arc<StandIn>,
    /// Whether the last result could not be stored.
    has_failed: AtomicBool,
    report: Option<FailureReport>,
    /// To whom the callers belong: the user who runs this process, or all replicas of a gateway.
    realm: String,
    ledger: Mutex<LedgerState>,
    /// What was sent to callers whose requests belong to no session.
    callers: SessionMeters,
}

impl UserStore {
    /// Returns the results of the user who runs this process.
    pub fn of_user(place: StoreLocation) -> Self {
        let session = Session::new(format!("process:{}:{}", std::process::id(), ArtifactId::random()));
        let owner = match place.remote() {
            // Users of several machines have the same numbers.
            Some(_) => Owner::new(format!("local:{}@{}", user(), machine())),
            None => Owner::new(format!("local:{}", user())),
        };
        let shared = Shared {
            place,
            settings: StoreSettings::default(),
            clock: Arc::new(SystemClock),
            open: Mutex::default(),
            memory: StandIn::of_process(),
            has_failed: AtomicBool::new(false),
            report: None,
            realm: user(),
            ledger: Mutex::new(LedgerState::Closed),
            callers: SessionMeters::default(),
        };
        Self { shared: Arc::new(shared), owner, session, tier: TierLevel::HIGHEST, is_unlisted: false }
    }

    /// Returns the results of a caller of a server, in the same place. Nobody else can read them: neither the user, nor a
    /// caller of the same name of another server.
    pub fn of_principal(&self, principal: &Principal, server: &str) -> Self {
        let user = self.shared.realm.as_str();
        let owner = match principal {
            Principal::User => return self.clone(),
            Principal::Named(id) => Owner::of_parts("caller", &[user, server, id.as_str()]),
            Principal::Session(id) => Owner::of_parts("session", &[user, server, id]),
            Principal::Stateless => Owner::of_parts("unnamed", &[user, server]),
        };
        self.of_owner(owner, *principal == Principal::Stateless)
    }

    fn of_owner(&self, owner: Owner, is_unlisted: bool) -> Self {
        let session = Session::new(owner.as_str());
        Self { shared: Arc::clone(&self.shared), owner, session, tier: self.tier, is_unlisted }
    }

    /// Returns the store as the owner of a result sees it, for the user of the machine, to whom the file belongs. In a store
    /// that several machines share, everybody sees only their own results.
    ///
    /// # Errors
    ///
    /// A store that cannot be read.
    pub fn of_owner_of(&self, id: &ArtifactId) -> Result<Self, StoreError> {
        // A shared store does not belong to this user.
        if self.is_shared() {
            return Ok(self.clone());
        }
        match self.open()?.store.owner_of(id)? {
            Some(owner) if owner != self.owner => Ok(self.of_owner(owner, false)),
            _ => Ok(self.clone()),
        }
    }

    /// Returns the same results without those that need a tier above this one.
    #[must_use]
    pub(crate) fn up_to(self, tier: Tier) -> Self {
        let tier = if tier == Tier::Admin { TierLevel::HIGHEST } else { tier.level() };
        Self { tier, ..self }
    }

    fn clearance(&self) -> Clearance<'_> {
        Clearance { owner: &self.owner, tier: self.tier }
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

    /// Returns the same results with what the user sets about the store. Call it before the first use.
    #[must_use]
    pub fn with_settings(self, settings: StoreSettings) -> Self {
        self.set_up(|shared| shared.settings = settings)
    }

    /// Returns the same results, reporting with `report` when they begin to be kept in memory instead.
    #[must_use]
    pub fn with_report(self, report: FailureReport) -> Self {
        self.set_up(|shared| shared.report = Some(report))
    }

    /// Returns the results of a gateway, whose callers have the same results on every replica, whichever user runs it. Call it
    /// before the first use.
    #[must_use]
    pub fn of_gateway(self) -> Self {
        self.set_up(|shared| "gateway".clone_into(&mut shared.realm))
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

    /// Returns the meter of the bytes sent to an owner whose requests belong to no session.
    pub(crate) fn meter_of(&self, owner: &Owner) -> Arc<SessionMeter> {
        self.shared.callers.of(owner.as_str())
    }

    /// Returns whether an id alone gives access to a result, so that ids must not be guessable.
    pub fn is_unlisted(&self) -> bool {
        self.is_unlisted
    }

    /// Returns how much the store may hold.
    pub fn quotas(&self) -> Quotas {
        self.shared.settings.quotas.over(self.shared.place.default_quotas())
    }

    /// Returns the clock by which results and tokens expire.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// Returns the open store, and opens it if necessary.
    ///
    /// # Errors
    ///
    /// A folder or file that cannot be used, or a database that cannot be reached.
    pub fn open(&self) -> Result<Arc<Opened>, StoreError> {
        let mut open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = open.opened.as_ref().filter(|opened| opened.store.is_current()) {
            return Ok(Arc::clone(opened));
        }
        open.opened = None;
        if let Some((_, why)) = open.failure.as_ref().filter(|(at, _)| at.elapsed() < OPEN_RETRY) {
            return Err(StoreError::Unusable(why.clone().into()));
        }
        let new = Opened::open(&self.shared.place, &self.shared.settings, Arc::clone(&self.shared.clock));
        open.failure = match &new {
            Err(StoreError::Unusable(why)) if self.is_shared() => Some((Instant::now(), causes(&**why))),
            _ => None,
        };
        let new = Arc::new(new?);
        // A store that can only be read now may accept writes a moment later, so it is not cached.
        open.opened = new.store.is_current().then(|| Arc::clone(&new));
        Ok(new)
    }

    /// Returns whether several machines share the store.
    fn is_shared(&self) -> bool {
        self.shared.place.remote().is_some()
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
        let mut artifacts = self.shared.memory.list(self.clearance(), limit);
        let stored = self.open().and_then(|opened| opened.store.list_with(self.clearance(), limit));
        artifacts.extend(stored.unwrap_or_default());
        artifacts.truncate(limit);
        artifacts
    }

    /// Returns whether opening the store again may help after an error.
    fn may_reopen_after(&self, error: &StoreError) -> bool {
        match self.is_shared() {
            true => matches!(error, StoreError::Key(_)),
            false => error.is_file_error(),
        }
    }

    /// Drops a store whose file or key caused an error, so that the next use opens it again.
    fn reopen_after(&self, opened: &Arc<Opened>, error: &StoreError) {
        if !self.may_reopen_after(error) {
            return;
        }
        let mut open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.opened.as_ref().is_some_and(|current| Arc::ptr_eq(current, opened)) {
            open.opened = None;
        }
    }

    /// Returns the stored bytes of a result.
    pub(crate) fn stored<'o>(
        &self,
        opened: &'o Arc<Opened>,
        id: &ArtifactId,
    ) -> Result<StoredSource<'o>, StoreError> {
        open_with(&*opened.store, self.clearance(), id).inspect_err(|error| self.reopen_after(opened, error))
    }

    /// Says how long a result in the store is kept: `kept 24 h`.
    pub(crate) fn retention_note(&self, left: Duration) -> String {
        match self.shared.place {
            StoreLocation::Memory => memory_note(left),
            _ => retention_note(left),
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
            Err(error) if self.may_reopen_after(&error) => {
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
            place => open_ledger(place, &self.shared.settings).ok(),
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
        let opened = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).opened.clone();
        if let Some(opened) = opened {
            // The next sweep, of this or another process, tries again.
            let _ = opened.store.sweep();
        }
        self.shared.memory.sweep();
    }
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

/// Returns the name of this machine.
#[cfg(unix)]
fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn machine() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "machine".into())
}

#[cfg(test)]
mod tests;
