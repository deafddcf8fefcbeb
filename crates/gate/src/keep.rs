//! The store, the ledger and the key of one user, opened when they are first needed and again after they failed.
//!
//! A client may start a proxy only to ask what the server can do, so nothing is opened before a result or a note is to
//! be kept; and a disk that was full a minute ago may have room now.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
    ledger: Option<SqliteLedger>,
    key: SealKey,
}

/// The results of one user.
pub struct Keep {
    place: Place,
    /// Whose results they are.
    pub owner: Owner,
    /// Whose quota they count for.
    pub session: Session,
    opened: Mutex<Option<Arc<Opened>>>,
}

impl Keep {
    /// Returns the results of the user who runs this process.
    pub fn of_user(place: Place) -> Self {
        let session = Session::new(format!("process:{}:{}", std::process::id(), ArtifactId::random()));
        Self { place, owner: Owner::new(format!("local:{}", user())), session, opened: Mutex::new(None) }
    }

    /// Returns what is open, and opens it if it is not.
    ///
    /// # Errors
    ///
    /// A folder or file that cannot be used.
    pub fn open(&self) -> Result<Arc<Opened>, StoreError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*opened {
            return Ok(Arc::clone(opened));
        }
        let new = Arc::new(Opened::open(&self.place)?);
        *opened = Some(Arc::clone(&new));
        Ok(new)
    }

    /// Says for how long a result is kept.
    pub(crate) fn words(&self, left: Duration) -> String {
        match self.place {
            Place::Folder(_) => kept_words(left),
            Place::Memory => "kept until the server ends".into(),
        }
    }

    /// Stores a result; what it turned out to be is asked for last.
    ///
    /// # Errors
    ///
    /// A full quota or disk, or a store that cannot be used; then nothing was stored.
    pub fn put(
        &self,
        tool: &str,
        ttl: Duration,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError> {
        let new = NewArtifact::new(&self.owner, &self.session, tool, ttl);
        self.open()?.store.put(&new, body, describe)
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
        // A ledger that cannot be opened must not fail the call; the store says what is wrong when it is used.
        if let Ok(opened) = self.open()
            && let Some(ledger) = &opened.ledger
        {
            ledger.note(call);
        }
    }

    /// Writes the notes of the ledger, if anything was opened.
    pub fn flush(&self) {
        if let Some(opened) = self.is_open()
            && let Some(ledger) = &opened.ledger
        {
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
            Place::Memory => Ok(Self {
                store: SqliteStore::ephemeral(Quotas::default())?,
                ledger: None,
                key: SealKey::ephemeral(),
            }),
            Place::Folder(named) => {
                let home = Home::open(named.clone()).map_err(|error| unusable(Box::new(error)))?;
                Ok(Self {
                    store: SqliteStore::open(&home.artifacts(), Quotas::default())?,
                    ledger: Some(SqliteLedger::open(&home.ledger())?),
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
