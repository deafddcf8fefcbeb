//! The store, the ledger and the key of one user, opened when they are first needed and again after they failed.
//!
//! A client may start a proxy only to ask what the server can do, so nothing is opened before a result or a note is to
//! be kept; and a disk that was full a minute ago may have room now. So a store that fails is opened anew the next time,
//! as is one whose file was moved away. The ledger is apart: what is wrong with it concerns no result.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::outline::Outline;
use tidegate_core::source::Source;
use tidegate_core::view::cursor;
use tidegate_store::{
    Artifact, ArtifactId, ArtifactStore, Call, Description, Home, Ledger, NewArtifact, Owner, Quotas,
    SealKey, Session, SqliteLedger, SqliteStore, StoreError,
};

use crate::follow_up::kept_words;

/// Where results are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a folder; the platform's folder for data if none is named.
    Folder(Option<PathBuf>),
    /// In the memory of this process.
    Memory,
}

impl Place {
    /// Returns the folder, whether it is there or not.
    pub fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::Folder(named) => Home::find(named.clone()),
            Self::Memory => None,
        }
    }
}

/// What is open.
pub struct Opened {
    /// The results.
    pub store: SqliteStore,
    key: SealKey,
}

/// The ledger, as far as it is there.
enum Notes {
    /// Nothing was noted yet, or not since it failed at this time.
    Closed(Option<Instant>),
    Open(Arc<SqliteLedger>),
}

/// How long a ledger that cannot be opened is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(60);

/// The results of one user.
pub struct Keep {
    place: Place,
    /// Whose results they are.
    pub owner: Owner,
    /// Whose quota they count for.
    pub session: Session,
    opened: Mutex<Option<Arc<Opened>>>,
    notes: Mutex<Notes>,
}

impl Keep {
    /// Returns the results of the user who runs this process.
    pub fn of_user(place: Place) -> Self {
        let session = Session::new(format!("process:{}:{}", std::process::id(), ArtifactId::random()));
        let owner = Owner::new(format!("local:{}", user()));
        Self { place, owner, session, opened: Mutex::new(None), notes: Mutex::new(Notes::Closed(None)) }
    }

    /// Returns the results of one caller of a server that has several; an empty name is the user who runs it.
    pub fn of_caller(place: Place, who: &str) -> Self {
        let keep = Self::of_user(place);
        match who {
            "" => keep,
            who => Self { owner: Owner::new(format!("caller:{}:{who}", user())), ..keep },
        }
    }

    /// Returns what is open, and opens it if it is not.
    ///
    /// # Errors
    ///
    /// A folder or file that cannot be used.
    pub fn open(&self) -> Result<Arc<Opened>, StoreError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = opened.as_ref().filter(|opened| opened.store.is_current()) {
            return Ok(Arc::clone(opened));
        }
        *opened = None;
        let new = Arc::new(Opened::open(&self.place)?);
        // One that can only be read now may take results a moment later.
        *opened = new.store.is_current().then(|| Arc::clone(&new));
        Ok(new)
    }

    /// Takes note of what went wrong: a store whose file is at fault is opened anew the next time.
    pub(crate) fn failed(&self, opened: &Arc<Opened>, error: &StoreError) {
        let mut current = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if error.is_of_the_file() && current.as_ref().is_some_and(|current| Arc::ptr_eq(current, opened)) {
            *current = None;
        }
    }

    /// Says for how long a result is kept.
    pub(crate) fn words(&self, left: Duration) -> String {
        match self.place {
            Place::Folder(_) => kept_words(left),
            Place::Memory => "kept until the server ends".into(),
        }
    }

    /// Returns a result of a tool that is to be stored.
    pub fn new_artifact<'n>(&'n self, tool: &'n str, ttl: Duration) -> NewArtifact<'n> {
        NewArtifact::new(&self.owner, &self.session, tool, ttl)
    }

    /// Stores a result; what it turned out to be is asked for last, and again where storing is tried again.
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
            // The file may have been put right since it was opened. Nothing was stored, so nothing is stored twice.
            Err(error) if error.is_of_the_file() => {
                self.failed(&opened, &error);
                drop(opened);
                self.open()?.store.put(new, body, describe)
            }
            done => done,
        }
    }

    /// Returns what is kept of an outline.
    pub fn description(outline: &Outline, tokens: u64) -> Description {
        Description {
            outline: outline.to_bytes(),
            kind: outline.kind().to_owned(),
            records: outline.record_count(),
            tokens,
        }
    }

    /// Notes a call in the ledger, if there is one.
    pub(crate) fn note(&self, call: Call) {
        if let Some(ledger) = self.ledger() {
            ledger.note(call);
        }
    }

    /// The ledger, opened if it can be. One that cannot must not fail a call, nor hold up the next ones.
    fn ledger(&self) -> Option<Arc<SqliteLedger>> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        match &*notes {
            Notes::Open(ledger) => return Some(Arc::clone(ledger)),
            Notes::Closed(Some(failed)) if failed.elapsed() < LEFT_ALONE => return None,
            Notes::Closed(_) => {}
        }
        let Place::Folder(named) = &self.place else { return None };
        let opened = Home::open(named.clone()).ok().and_then(|home| SqliteLedger::open(&home.ledger()).ok());
        let opened = opened.map(Arc::new);
        *notes = opened.clone().map_or_else(|| Notes::Closed(Some(Instant::now())), Notes::Open);
        opened
    }

    /// Writes the notes of the ledger, if anything was noted.
    pub fn flush(&self) {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Notes::Open(ledger) = &*notes {
            ledger.flush();
        }
    }

    fn is_open(&self) -> Option<Arc<Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes away what has expired, if anything was opened.
    pub fn sweep(&self) {
        if let Some(opened) = self.is_open() {
            // The next sweep, of this or another process, tries again.
            let _ = opened.store.sweep();
        }
    }
}

impl Opened {
    fn open(place: &Place) -> Result<Self, StoreError> {
        let unusable = |error: Box<dyn std::error::Error + Send + Sync>| StoreError::Unusable(error);
        match place {
            Place::Memory => {
                Ok(Self { store: SqliteStore::ephemeral(Quotas::default())?, key: SealKey::ephemeral() })
            }
            Place::Folder(named) => {
                let home = Home::open(named.clone()).map_err(|error| unusable(Box::new(error)))?;
                Ok(Self {
                    store: SqliteStore::open(&home.artifacts(), Quotas::default())?,
                    key: SealKey::of_folder(home.path()).map_err(|error| unusable(Box::new(error)))?,
                })
            }
        }
    }

    /// Returns the seal of a cursor.
    pub fn seal(&self, owner: &Owner, id: &ArtifactId, bytes: &[u8]) -> [u8; cursor::SEAL] {
        self.key.seal(owner, id, bytes)
    }
}

/// Who the user of this process is.
#[cfg(unix)]
fn user() -> String {
    rustix::process::getuid().as_raw().to_string()
}

#[cfg(not(unix))]
fn user() -> String {
    std::env::var("USERNAME").unwrap_or_else(|_| "user".into())
}
