//! The types of stored results, and the trait [`ArtifactStore`] that every backend implements.
//!
//! The gate calls `put` before it answers a call, and `open` and `read_chunk` for each follow-up. Every backend passes
//! one contract suite (`testkit::contract`).

mod identity;
mod new;
mod quotas;
mod status;
mod store;

use std::time::Duration;

use crate::clock::Millis;
use crate::error::StoreError;
use crate::id::ArtifactId;
pub use identity::{CallDigest, Clearance, Owner, Session, TierLevel};
pub use new::{Lifetime, NewArtifact};
pub use quotas::Quotas;
pub(crate) use quotas::UsedBytes;
pub use status::{RekeyProgress, Rekeyed, StoreKind, StoreStatus, Swept, Usage};
pub(crate) use store::Body;
pub use store::{ArtifactStore, BodyRef, Opened};

/// Bytes of a chunk: bodies are stored and read in chunks of this size, the last one may be shorter.
pub const CHUNK_BYTES: u64 = 64 * 1024;

/// The last stored result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierResult {
    /// Its metadata.
    pub artifact: Artifact,
    /// The digest of its bytes, which only its store can compare: see [`ArtifactStore::matches`].
    pub hash: [u8; 32],
}

/// The metadata of a result that is found by reading it, which may take as long as storing it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// A serialized `tidegate_core::outline::Outline`, with which a part is found without reading the whole.
    pub outline: Vec<u8>,
    /// The kind that the content was recognised as.
    pub kind: String,
    /// Number of records in its main list.
    pub records: Option<u64>,
    /// Tokens of the whole result.
    pub tokens: u64,
}

/// The metadata of a stored result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its id.
    pub id: ArtifactId,
    /// The tool it came from.
    pub tool: String,
    /// The kind that the content was recognised as.
    pub kind: String,
    /// Number of records in its main list.
    pub records: Option<u64>,
    /// Tokens of the whole result.
    pub tokens: u64,
    /// Bytes of the whole result.
    pub bytes: u64,
    /// Bytes it takes in the store, compressed.
    pub stored_bytes: u64,
    /// When it was stored.
    pub created: Millis,
    /// When it expires.
    pub expires: Millis,
}

impl Artifact {
    /// Returns the artifact, or an error if it has expired.
    pub(crate) fn unexpired(self, now: Millis) -> Result<Self, StoreError> {
        if self.expires > now { Ok(self) } else { Err(StoreError::Expired { at: self.expires }) }
    }
}

/// The call that a stored result answered, for people who look for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallOrigin {
    /// The server of the tool; empty if it is not known.
    pub server: String,
    /// The beginning of the arguments, as JSON; empty if there were none.
    pub arguments: String,
}

/// An artifact with all of its metadata, as [`ArtifactStore::walk`] returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredArtifact {
    /// Who may read it.
    pub owner: Owner,
    /// The session whose quota it uses.
    pub session: Session,
    /// The call that it answered.
    pub origin: CallOrigin,
    /// The digest of the call, if later results of the call are compared with it.
    pub call: Option<CallDigest>,
    /// The tier that a caller needs to read it.
    pub tier: TierLevel,
    /// What is shown of it.
    pub artifact: Artifact,
}

impl StoredArtifact {
    /// Returns the metadata with which another store puts the same artifact.
    pub fn as_new(&self) -> NewArtifact<'_> {
        let Artifact { id, tool, created, expires, .. } = &self.artifact;
        NewArtifact {
            id: id.clone(),
            owner: &self.owner,
            session: &self.session,
            tool,
            server: &self.origin.server,
            arguments: Some(&self.origin.arguments).filter(|text| !text.is_empty()).map(String::as_str),
            call: self.call,
            ttl: Duration::ZERO,
            tier: self.tier,
            lifetime: Some(Lifetime { created: *created, expires: *expires }),
        }
    }

    /// Returns what was found by reading the result, with its outline.
    pub fn description(&self, outline: Vec<u8>) -> Description {
        let Artifact { kind, records, tokens, .. } = &self.artifact;
        Description { outline, kind: kind.clone(), records: *records, tokens: *tokens }
    }
}
