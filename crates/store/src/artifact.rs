//! What is stored, and what a store must do. All backends pass one contract suite (`testkit::contract`).

use std::fmt;
use std::time::Duration;

use tidegate_core::source::Source;

use crate::clock::Millis;
use crate::error::StoreError;
use crate::id::ArtifactId;

/// Bodies are stored and read in chunks of so many bytes.
pub const CHUNK: u64 = 64 * 1024;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            /// Returns the name.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

name! {
    /// Who may read an artifact: the user of the machine, or a verified principal.
    Owner
}

name! {
    /// What a quota counts for: a process, an MCP session, or a principal.
    Session
}

/// What is known of a result before it is read.
#[derive(Debug, Clone)]
pub struct NewArtifact<'n> {
    /// Its name: made before it is stored, so that it can be written into an answer meanwhile.
    pub id: ArtifactId,
    /// Who may read it.
    pub owner: &'n Owner,
    /// Whose quota it counts for.
    pub session: &'n Session,
    /// The tool it came from.
    pub tool: &'n str,
    /// For how long it is kept at least.
    pub ttl: Duration,
}

impl<'n> NewArtifact<'n> {
    /// Returns a result of a tool.
    pub fn new(owner: &'n Owner, session: &'n Session, tool: &'n str, ttl: Duration) -> Self {
        Self { id: ArtifactId::random(), owner, session, tool, ttl }
    }
}

/// What is found out about a result by reading it, which may take as long as storing it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// What `tidegate_core::outline::Outline` gives, to find parts without reading all.
    pub outline: Vec<u8>,
    /// What the content was recognised as.
    pub kind: String,
    /// Records of its main list.
    pub records: Option<u64>,
    /// Tokens of the whole.
    pub tokens: u64,
}

/// What is known of a stored result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its name.
    pub id: ArtifactId,
    /// The tool it came from.
    pub tool: String,
    /// What the content was recognised as.
    pub kind: String,
    /// Records of its main list.
    pub records: Option<u64>,
    /// Tokens of the whole.
    pub tokens: u64,
    /// Bytes of the whole.
    pub bytes: u64,
    /// Bytes it takes in the store.
    pub stored_bytes: u64,
    /// When it was stored.
    pub created: Millis,
    /// Until when it is kept.
    pub expires: Millis,
}

/// The body of an artifact inside its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyRef(pub i64);

/// An artifact that is being read.
#[derive(Debug, Clone)]
pub struct Opened {
    /// What is known of it.
    pub artifact: Artifact,
    /// Where its bytes are.
    pub body: BodyRef,
    /// What was kept beside it.
    pub outline: Vec<u8>,
}

/// The most stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Of one session.
    pub session_bytes: u64,
    /// Of the whole store.
    pub store_bytes: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { session_bytes: 1 << 30, store_bytes: 4 << 30 }
    }
}

/// What a sweep took away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Artifacts whose time was over.
    pub artifacts: u64,
    /// Bodies that nobody names any more, or that were never finished.
    pub bodies: u64,
    /// Bytes given back to the disk.
    pub freed_bytes: u64,
}

/// What is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Artifacts.
    pub artifacts: u64,
    /// Stored bytes of all bodies.
    pub stored_bytes: u64,
}

/// Keeps artifacts.
///
/// An artifact is created once and never changed. `put` returns only after the bytes are durable; until then nobody can
/// name them. An artifact that has not expired is never taken away to make room: a full quota refuses instead.
/// Whoever is not the owner is told that there is no such artifact.
pub trait ArtifactStore: Send + Sync {
    /// Stores a result and names it. `describe` is called once its bytes are written, and no lock is held then, so that
    /// whoever reads it meanwhile can take its time; where it fails nothing is stored.
    ///
    /// # Errors
    ///
    /// A full quota or disk, or a store that cannot be used; then nothing was stored.
    fn put(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError>;

    /// Returns an artifact to be read.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] or [`StoreError::Expired`].
    fn open(&self, owner: &Owner, id: &ArtifactId) -> Result<Opened, StoreError>;

    /// Reads one chunk of a body: [`CHUNK`] bytes, fewer at its end.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] once the artifact is gone, [`StoreError::Damaged`] where the bytes are not those
    /// that were stored.
    fn read_chunk(&self, body: BodyRef, number: u64) -> Result<Vec<u8>, StoreError>;

    /// Keeps an artifact for at least `ttl` from now.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] or [`StoreError::Expired`].
    fn touch(&self, owner: &Owner, id: &ArtifactId, ttl: Duration) -> Result<Artifact, StoreError>;

    /// Takes an artifact away.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`].
    fn delete(&self, owner: &Owner, id: &ArtifactId) -> Result<(), StoreError>;

    /// Lists the owner's artifacts, newest first.
    ///
    /// # Errors
    ///
    /// A store that cannot be used.
    fn list(&self, owner: &Owner, most: usize) -> Result<Vec<Artifact>, StoreError>;

    /// Takes away what has expired and what was never finished, and gives the space back.
    ///
    /// # Errors
    ///
    /// A store that cannot be used.
    fn sweep(&self) -> Result<Swept, StoreError>;

    /// Returns what is in use.
    ///
    /// # Errors
    ///
    /// A store that cannot be used.
    fn usage(&self) -> Result<Usage, StoreError>;
}
