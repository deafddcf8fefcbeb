//! Stores tool results whole, so that any part can be read later without running the tool again.
//!
//! An [`ArtifactStore`] takes a result with its outline and gives it an id; the bytes come back exactly, in chunks, until
//! the artifact expires. There are three backends: one SQLite file, a folder of files, and memory; several processes can
//! share the first two. A [`Ledger`] records the size of every call's result before and after, in its own file.
//! On Unix, a [`SavedFolder`] holds the files that were saved from results, and removes them with their results.
//!
//! Everything that needs SQLite is behind the feature `sqlite`, which is on by default. Without it nothing links to SQLite,
//! so that a program can bring another version of it.
//!
//! ```
//! use std::time::Duration;
//! use tidegate_core::source::{Source, Span};
//! use tidegate_store::{ArtifactStore, Description, MemoryStore, NewArtifact, Owner, Quotas, Session, open};
//!
//! let store = MemoryStore::new(Quotas::default());
//! let owner = Owner::new("local:1000");
//! let session = Session::new("one");
//! let new = NewArtifact::new(&owner, &session, "list_issues", Duration::from_secs(60));
//! let kept = store.put(&new, &b"{\"content\":[]}".as_slice(), &|| Ok(Description::default()))?;
//! let source = open(&store, &owner, &kept.id)?;
//! assert_eq!(Span::whole(&source).read(&source)?, b"{\"content\":[]}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod artifact;
mod chunks;
mod cipher;
mod clock;
mod codec;
mod credential;
mod error;
mod file_name;
mod files;
mod folder;
#[cfg(feature = "sqlite")]
mod health;
mod home;
#[cfg(feature = "sqlite")]
mod home_store;
mod id;
mod index;
mod key;
pub mod ledger;
mod memory;
mod new_file;
#[cfg(feature = "objects")]
mod objects;
mod options;
#[cfg(feature = "postgres")]
mod pauses;
#[cfg(feature = "postgres")]
mod postgres;
mod replica;
#[cfg(unix)]
mod saved;
mod seal;
mod source;
#[cfg(feature = "sqlite")]
mod sqlite;
mod usage;

pub use artifact::{
    Artifact, ArtifactStore, BodyRef, CHUNK_BYTES, CallDigest, CallOrigin, Clearance, Description,
    EarlierResult, Lifetime, NewArtifact, Opened, Owner, Quotas, RekeyProgress, Rekeyed, Session, StoreKind,
    StoreStatus, StoredArtifact, Swept, TierLevel, Usage,
};
pub use chunks::body_hash;
pub use clock::{Clock, Millis, SystemClock};
pub use credential::{
    Credential, CredentialRows, Credentials, FileCredentials, MAX_CREDENTIAL_BYTES, StoredCredential,
};
pub use error::StoreError;
pub use file_name::{FileName, FileNameError};
pub use folder::{FolderHealth, FolderStore, folder_health};
#[cfg(feature = "sqlite")]
pub use health::{Health, check, check_can_create, check_folder, check_writable, free_bytes, health};
pub use home::{Home, HomeError};
#[cfg(feature = "sqlite")]
pub use home_store::HomeStore;
pub use id::ArtifactId;
pub use key::{KeyError, KeyId, KeyMismatch, StoreKey, StoreKeys, read_private_file};
pub use ledger::{Call, CountMethod, Ledger, LineLedger, read_lines};
#[cfg(feature = "sqlite")]
pub use ledger::{SqliteLedger, read_calls};
pub use memory::MemoryStore;
pub use new_file::{Existing, FileAccess, NewFile};
#[cfg(feature = "objects")]
#[doc(hidden)]
pub use objects::PlainUpload;
pub use options::StoreOptions;
#[cfg(feature = "postgres")]
pub use postgres::{
    BackendStatus, MAX_ROW_BODY_BYTES, ObjectCredentials, ObjectOptions, PostgresLedger, PostgresOptions,
    PostgresStore, WeakPostgresStore, migrate, schema_version,
};
pub use replica::{
    MAX_WAITING_REPLICA_MESSAGES, REPLICA_MESSAGE_TIME, ReplicaEvent, ReplicaInbox, ReplicaMessage,
    ReplicaMessageKind, ReplicaMessages,
};
#[cfg(unix)]
pub use saved::{SaveError, SavedFile, SavedFolder, SavedFrom};
pub use seal::SealKey;
pub use source::{StoredSource, open, open_with};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use usage::{Consumed, DailyTotals, MemoryTotals};
