//! Stores tool results whole, so that any part can be read later without running the tool again.
//!
//! An [`ArtifactStore`] takes a result with its outline and gives it an id; the bytes come back exactly, in chunks, until
//! the artifact expires. The embedded backend is one SQLite file that several processes share. A [`Ledger`] records the
//! size of every call's result before and after, in its own file.
//!
//! ```
//! use std::time::Duration;
//! use tidegate_core::source::{Source, Span};
//! use tidegate_store::{ArtifactStore, Description, NewArtifact, Owner, Quotas, Session, SqliteStore, open};
//!
//! let store = SqliteStore::ephemeral(Quotas::default())?;
//! let owner = Owner::new("local:1000");
//! let session = Session::new("one");
//! let new = NewArtifact::new(&owner, &session, "list_issues", Duration::from_secs(60));
//! let kept = store.put(&new, &b"{\"content\":[]}".as_slice(), &|| Ok(Description::default()))?;
//! let source = open(&store, &owner, &kept.id)?;
//! assert_eq!(Span::whole(&source).read(&source)?, b"{\"content\":[]}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod artifact;
mod clock;
mod error;
mod health;
mod home;
mod id;
pub mod ledger;
mod seal;
mod source;
mod sqlite;

pub use artifact::{
    Artifact, ArtifactStore, BodyRef, CHUNK_BYTES, CallOrigin, Description, NewArtifact, Opened, Owner,
    Quotas, Session, Swept, Usage,
};
pub use clock::{Clock, Millis, SystemClock};
pub use error::StoreError;
pub use health::{Health, check, check_can_create, check_folder, check_writable, free_bytes, health};
pub use home::{Home, HomeError};
pub use id::ArtifactId;
pub use ledger::{Call, CountMethod, Ledger, SqliteLedger, read_calls};
pub use seal::SealKey;
pub use source::{StoredSource, open};
pub use sqlite::SqliteStore;
