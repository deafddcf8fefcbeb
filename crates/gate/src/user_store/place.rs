//! Where results are kept: a folder, memory, or a store that several machines share, and what is opened there.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::view::cursor;
use tidegate_store::{
    ArtifactId, ArtifactStore, CallDigest, Clock, FolderStore, Home, Ledger, LineLedger, MemoryStore, Owner,
    Quotas, SealKey, StoreError, StoreKind, StoreOptions,
};
#[cfg(feature = "sqlite")]
use tidegate_store::{HomeStore, SqliteLedger};

use super::remote::{self, RemoteStore};
use super::settings::StoreSettings;
use crate::kept_result::{duration_text, retention_note};

/// The maximum number of compressed bytes that a store in memory holds. It evicts nothing: once it is full, it refuses
/// new results.
const MEMORY_QUOTAS: Quotas = Quotas { session_bytes: 256 << 20, owner_bytes: 1 << 30, store_bytes: 1 << 30 };

/// Where results are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreLocation {
    /// In a folder; the platform's data folder if none is named. With the feature `sqlite` the results are in a SQLite
    /// file, otherwise this is the same as [`Self::Files`].
    Folder(Option<PathBuf>),
    /// In a folder, one file for each result; the platform's data folder if none is named. `tidegate ls`, `query` and `stats`
    /// read both kinds.
    Files(Option<PathBuf>),
    /// In the memory of this process.
    Memory,
    /// In a store that several machines share.
    Remote(Box<RemoteStore>),
}

impl StoreLocation {
    /// Returns the data folder of this machine, whether it exists or not.
    pub fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::Folder(named) | Self::Files(named) => Home::find(named.clone()),
            Self::Memory => None,
            Self::Remote(remote) => Home::find(remote.folder.clone()),
        }
    }

    /// Returns the store that several machines share, if it is one.
    pub fn remote(&self) -> Option<&RemoteStore> {
        match self {
            Self::Remote(remote) => Some(remote),
            _ => None,
        }
    }

    /// Returns the place as it is shown, without secrets.
    pub fn shown(&self) -> String {
        match self {
            Self::Remote(remote) => remote.shown(),
            Self::Memory => "memory".to_owned(),
            Self::Folder(_) | Self::Files(_) => {
                self.folder().map_or_else(|| "no folder".to_owned(), |folder| folder.display().to_string())
            }
        }
    }

    /// Opens the data folder, and creates it if needed.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be used.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has saved files"))]
    pub(crate) fn home(&self) -> Result<Home, StoreError> {
        match self {
            Self::Folder(named) | Self::Files(named) => open_home(named),
            Self::Remote(remote) => open_home(&remote.folder),
            Self::Memory => Err(StoreError::NotFound),
        }
    }

    /// Opens the ledger in this place.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be used.
    pub fn open_ledger(&self, settings: &StoreSettings) -> Result<Arc<dyn Ledger>, StoreError> {
        open_ledger(self, settings)
    }

    /// Returns the kind of store in this place.
    fn kind(&self) -> StoreKind {
        match self {
            Self::Folder(_) if cfg!(feature = "sqlite") => StoreKind::Home,
            Self::Folder(_) | Self::Files(_) => StoreKind::Files,
            Self::Memory => StoreKind::Memory,
            Self::Remote(_) => StoreKind::Remote,
        }
    }

    /// Returns how much it may hold where nothing else is set.
    pub fn default_quotas(&self) -> Quotas {
        match self {
            Self::Folder(_) | Self::Files(_) | Self::Remote(_) => Quotas::default(),
            Self::Memory => MEMORY_QUOTAS,
        }
    }
}

/// Why a store that several machines share is not opened without a sealing key.
const NO_SEALING_KEY: &str = "every process that uses it needs the same sealing key; set sealing_key_file of [store] in your own \
     tidegate.toml, or TIDEGATE_SEALING_KEY; tidegate store key makes one";

/// An open store and the key that seals its cursors and tokens.
pub struct Opened {
    /// The store.
    pub store: Box<dyn ArtifactStore>,
    key: SealKey,
    previous_key: Option<SealKey>,
    /// What holds its results; those in memory are lost when this process ends.
    pub(crate) kind: StoreKind,
}

impl Opened {
    pub(super) fn open(
        place: &StoreLocation,
        settings: &StoreSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        match place {
            StoreLocation::Memory => Self::in_memory(settings.quotas.over(place.default_quotas()), clock),
            StoreLocation::Folder(named) | StoreLocation::Files(named) => {
                let home = open_home(named)?;
                let store = open_store(place, &home, settings, clock)?;
                let key = match &settings.seal {
                    Some(key) => key.clone(),
                    None => SealKey::load_or_create(home.path())
                        .map_err(|error| StoreError::Unusable(Box::new(error)))?,
                };
                Ok(Self { store, key, previous_key: settings.previous_seal.clone(), kind: place.kind() })
            }
            StoreLocation::Remote(remote) => {
                let key = settings.seal.clone().ok_or(StoreError::Unusable(NO_SEALING_KEY.into()))?;
                let store = remote::open(remote, settings, clock)?;
                Ok(Self { store, key, previous_key: settings.previous_seal.clone(), kind: place.kind() })
            }
        }
    }

    /// Opens a store in memory, with a key of its own.
    pub(super) fn in_memory(quotas: Quotas, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let store = Box::new(MemoryStore::new_with(quotas, clock));
        Ok(Self { store, key: SealKey::ephemeral(), previous_key: None, kind: StoreKind::Memory })
    }

    /// Says how long a result is kept here: `kept 24 h`.
    pub(crate) fn retention_note(&self, left: Duration) -> String {
        if self.kind == StoreKind::Memory { memory_note(left) } else { retention_note(left) }
    }

    /// Returns the digest of the call that these parts identify.
    pub(crate) fn call_digest(&self, parts: &[&[u8]]) -> CallDigest {
        self.key.call_digest(parts)
    }

    /// Returns the seal over the bytes of a cursor or token.
    pub fn seal(&self, owner: &Owner, id: &ArtifactId, bytes: &[u8]) -> [u8; cursor::SEAL_BYTES] {
        self.key.seal(owner, id, bytes)
    }

    /// Opens something that was sealed: `open` gets what seals, with the key and then, if that does not fit, with the one
    /// before it.
    ///
    /// # Errors
    ///
    /// What `open` returns if neither key fits.
    pub fn unseal<T, E>(
        &self,
        owner: &Owner,
        id: &ArtifactId,
        open: impl Fn(&dyn Fn(&[u8]) -> [u8; cursor::SEAL_BYTES]) -> Result<T, E>,
    ) -> Result<T, E> {
        let with = |key: &SealKey| open(&|bytes| key.seal(owner, id, bytes));
        with(&self.key).or_else(|error| self.previous_key.as_ref().map_or(Err(error), with))
    }
}

fn open_home(named: &Option<PathBuf>) -> Result<Home, StoreError> {
    Home::open(named.clone()).map_err(|error| StoreError::Unusable(Box::new(error)))
}

/// Opens the store in a folder.
fn open_store(
    place: &StoreLocation,
    home: &Home,
    settings: &StoreSettings,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn ArtifactStore>, StoreError> {
    let quotas = settings.quotas.over(place.default_quotas());
    let options = StoreOptions { quotas, clock, keys: settings.keys.clone() };
    #[cfg(feature = "sqlite")]
    if matches!(place, StoreLocation::Folder(_)) {
        return Ok(Box::new(HomeStore::open(home, options)?));
    }
    Ok(Box::new(FolderStore::open(&home.artifact_folder(), options)?))
}

/// Opens the ledger in a folder.
pub(super) fn open_ledger(
    place: &StoreLocation,
    settings: &StoreSettings,
) -> Result<Arc<dyn Ledger>, StoreError> {
    let home = match place {
        StoreLocation::Folder(named) | StoreLocation::Files(named) => open_home(named)?,
        StoreLocation::Memory => return Err(StoreError::NotFound),
        StoreLocation::Remote(remote) => return remote::open_ledger(remote, settings),
    };
    #[cfg(feature = "sqlite")]
    if matches!(place, StoreLocation::Folder(_)) {
        return Ok(Arc::new(SqliteLedger::open(&home.ledger())?));
    }
    Ok(Arc::new(LineLedger::open(home.path())?))
}

/// Says how long a result is kept in memory: its lifetime, unless the process ends earlier.
pub(super) fn memory_note(left: Duration) -> String {
    format!("kept in memory {}, or until this server exits", duration_text(left))
}
