//! The types of stored results, and the trait [`ArtifactStore`] that every backend implements.
//!
//! The gate calls `put` before it answers a call, and `open` and `read_chunk` for each follow-up. Every backend passes
//! one contract suite (`testkit::contract`).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidegate_core::source::Source;

use crate::chunks::{Packed, body_hash};
use crate::clock::Millis;
use crate::codec::BodyKey;
use crate::error::StoreError;
use crate::folder::BodyFile;
use crate::id::ArtifactId;
use crate::key::KeyId;

/// Bytes of a chunk: bodies are stored and read in chunks of this size, the last one may be shorter.
pub const CHUNK_BYTES: u64 = 64 * 1024;

/// The maximum number of bytes stored of a call's arguments. They show which call it was; whole, they may be as large as a
/// result.
const MAX_ARGUMENT_BYTES: usize = 1000;
/// Follows arguments of which only the beginning is stored.
const ELLIPSIS: char = '…';

/// Defines a text type, so that an owner cannot be passed where a session is expected.
macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            /// Returns the type for a text.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
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

text_type! {
    /// Who may read an artifact: the user of the machine, or a verified principal.
    Owner
}

impl Owner {
    /// Returns the owner of a kind that several parts identify together. Only a digest of them is stored: one of them may be
    /// a credential, such as the id of a session.
    pub fn of_parts(kind: &str, parts: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            // Each with its length, so that no two lists of parts make the same bytes.
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        Self::new(format!("{kind}:{}", &hasher.finalize().to_hex()[..32]))
    }
}

text_type! {
    /// What a session quota applies to: a process, an MCP session, or a principal.
    Session
}

/// A digest of a call, by which the last result of the same call is found. [`SealKey::call_digest`](crate::SealKey::call_digest)
/// makes it with a key, so that it reveals nothing about the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallDigest(pub(crate) [u8; 16]);

impl CallDigest {
    /// Reads a digest from its hexadecimal digits.
    pub(crate) fn from_hex(digits: &str) -> Option<Self> {
        let mut digest = [0; 16];
        if digits.len() != 32 || !digits.is_ascii() {
            return None;
        }
        for (at, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(digest))
    }

    /// Returns the digest in hexadecimal digits.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The last stored result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierResult {
    /// Its metadata.
    pub artifact: Artifact,
    /// The digest of its bytes, which only its store can compare: see [`ArtifactStore::matches`].
    pub hash: [u8; 32],
}

/// The metadata of a result that the caller has before the result is stored.
#[derive(Debug, Clone)]
pub struct NewArtifact<'n> {
    /// The id, made in advance, so that the answer can be composed while the result is being stored.
    pub id: ArtifactId,
    /// Who may read it.
    pub owner: &'n Owner,
    /// The session whose quota it uses.
    pub session: &'n Session,
    /// The tool it came from.
    pub tool: &'n str,
    /// The server of the tool; empty if it is not known.
    pub server: &'n str,
    /// The arguments of the call, as JSON; only their beginning is stored.
    pub arguments: Option<&'n str>,
    /// The call that returned it; `None` if later results of the call are not to be compared with it.
    pub call: Option<CallDigest>,
    /// The shortest time for which it is kept.
    pub ttl: Duration,
    /// When it was stored and when it expires, for a copy from another store; `None` for a new one.
    pub lifetime: Option<Lifetime>,
}

/// When an artifact was stored, and when it expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// When it was stored.
    pub created: Millis,
    /// When it expires.
    pub expires: Millis,
}

impl<'n> NewArtifact<'n> {
    /// Returns the metadata of a result, with a new random id.
    pub fn new(owner: &'n Owner, session: &'n Session, tool: &'n str, ttl: Duration) -> Self {
        Self {
            id: ArtifactId::random(),
            owner,
            session,
            tool,
            server: "",
            arguments: None,
            call: None,
            ttl,
            lifetime: None,
        }
    }

    /// Returns the metadata to store, with what was found by reading and storing the result.
    pub(crate) fn artifact(
        &self,
        description: &Description,
        bytes: u64,
        stored_bytes: u64,
        now: Millis,
    ) -> Artifact {
        let new = Lifetime { created: now, expires: now.after(self.ttl) };
        let Lifetime { created, expires } = self.lifetime.unwrap_or(new);
        Artifact {
            id: self.id.clone(),
            tool: self.tool.to_owned(),
            kind: description.kind.clone(),
            records: description.records,
            tokens: description.tokens,
            bytes,
            stored_bytes,
            created,
            expires,
        }
    }

    /// Returns what is stored of the call.
    pub(crate) fn origin(&self) -> CallOrigin {
        let arguments = beginning(self.arguments.unwrap_or_default());
        CallOrigin { server: self.server.to_owned(), arguments }
    }
}

/// Returns a text, or its beginning and an ellipsis if it is too long.
fn beginning(text: &str) -> String {
    // What was cut before, by another store, is not cut again.
    let whole = text.strip_suffix(ELLIPSIS).unwrap_or(text);
    if whole.len() <= MAX_ARGUMENT_BYTES {
        return text.to_owned();
    }
    let cut = (0..=MAX_ARGUMENT_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}{ELLIPSIS}", &text[..cut])
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
            lifetime: Some(Lifetime { created: *created, expires: *expires }),
        }
    }

    /// Returns what was found by reading the result, with its outline.
    pub fn description(&self, outline: Vec<u8>) -> Description {
        let Artifact { kind, records, tokens, .. } = &self.artifact;
        Description { outline, kind: kind.clone(), records: *records, tokens: *tokens }
    }
}

/// The state of a store, for those who look after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreStatus {
    /// What it holds, including expired artifacts that were not swept yet.
    pub usage: Usage,
    /// Number of expired artifacts.
    pub expired: u64,
    /// When the oldest artifact was stored.
    pub oldest: Option<Millis>,
    /// Number of bodies, files or objects that nothing refers to; a sweep deletes them once it is certain that nobody is
    /// writing them.
    pub orphans: u64,
    /// The version of the schema, where the store has one.
    pub schema: Option<i64>,
    /// The key that new results are sealed with.
    pub key: Option<KeyId>,
    /// Whether the key is being changed.
    pub is_rekeying: bool,
}

/// How far a change of the key has come, in stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RekeyProgress {
    /// What is sealed with the new key.
    pub done: u64,
    /// What is to be sealed.
    pub total: u64,
}

/// What a change of the key has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rekeyed {
    /// Number of bodies that were sealed with the new key.
    pub bodies: u64,
    /// Artifacts that are damaged, and so could not be sealed. As long as there are any, the previous key stays in use.
    pub damaged: Vec<ArtifactId>,
}

/// Where the body of an open artifact is; only the store that opened it can tell.
#[derive(Debug, Clone)]
pub struct BodyRef(pub(crate) Body);

/// The kinds of [`BodyRef`], one for each way to store a body.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Number(i64),
    #[cfg(feature = "sqlite")]
    Row(Arc<crate::sqlite::RowBody>),
    File(Arc<BodyFile>),
    Memory(Arc<Vec<Packed>>),
    #[cfg(feature = "postgres")]
    Shared(Arc<crate::postgres::SharedBody>),
}

impl BodyRef {
    /// Returns a reference to a body that has a number, such as a row of a database.
    pub fn number(number: i64) -> Self {
        Self(Body::Number(number))
    }

    /// Returns the number of the body, if it has one.
    pub fn as_number(&self) -> Option<i64> {
        match &self.0 {
            Body::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// The kind of store that holds a result: only a store of that kind can tell that the result is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// The store of a data folder.
    Home,
    /// Files of their own kind in the data folder.
    Files,
    /// The memory of a process.
    Memory,
    /// A store that several machines share.
    Remote,
}

/// An artifact that is open for reading.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Its metadata.
    pub artifact: Artifact,
    /// The body with its bytes.
    pub body: BodyRef,
    /// The serialized outline.
    pub outline: Vec<u8>,
    /// Opens the chunks of the body.
    pub(crate) key: BodyKey,
}

/// Limits on stored (compressed) bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Limit for one session of an owner.
    pub session_bytes: u64,
    /// Limit for one owner.
    pub owner_bytes: u64,
    /// Limit for the whole store.
    pub store_bytes: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        // One user is usually the only owner of a store, so that the store's limit is the owner's as well.
        Self {
            session_bytes: Self::DEFAULT_SESSION_BYTES,
            owner_bytes: Self::DEFAULT_STORE_BYTES,
            store_bytes: Self::DEFAULT_STORE_BYTES,
        }
    }
}

impl Quotas {
    /// Limit for one session where nothing else is set.
    pub const DEFAULT_SESSION_BYTES: u64 = 1 << 30;
    /// Limit for the whole store where nothing else is set.
    pub const DEFAULT_STORE_BYTES: u64 = 4 << 30;

    /// Fails if `size` more stored bytes would exceed a quota of which so many bytes are in use.
    pub(crate) fn check(&self, used: UsedBytes, size: u64) -> Result<(), StoreError> {
        // The widest first: where several are full, raising a narrower one would not help.
        let scopes = [
            ("store", used.store, self.store_bytes),
            ("owner", used.owner, self.owner_bytes),
            ("session", used.session, self.session_bytes),
        ];
        match scopes.into_iter().find(|(_, used, limit)| used.saturating_add(size) > *limit) {
            Some((scope, used, limit)) => Err(StoreError::QuotaFull { scope, used, limit }),
            None => Ok(()),
        }
    }
}

/// Stored bytes in use of each quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsedBytes {
    pub(crate) session: u64,
    pub(crate) owner: u64,
    pub(crate) store: u64,
}

/// What a sweep removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Expired artifacts.
    pub artifacts: u64,
    /// Bodies that no artifact refers to any more, or that were never finished.
    pub bodies: u64,
    /// Bytes by which the store became smaller.
    pub freed_bytes: u64,
}

/// How much a store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Number of artifacts.
    pub artifacts: u64,
    /// Stored bytes of all bodies.
    pub stored_bytes: u64,
}

/// A store of artifacts.
///
/// An artifact is created once and never changed. `put` returns only after the bytes are durable; until then nobody can
/// open them. An artifact that has not expired is never evicted: when a quota is full, `put` fails instead. To everybody
/// but its owner, an artifact does not exist.
pub trait ArtifactStore: Send + Sync {
    /// Stores a result.
    ///
    /// `describe` is called after the bytes are written and while no lock is held, so that it may read the result at
    /// length. If it fails, nothing is stored.
    ///
    /// # Errors
    ///
    /// The quota or the disk is full, or the store is unusable. Nothing was stored then.
    fn put(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError>;

    /// Opens an artifact for reading.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] or [`StoreError::Expired`].
    fn open(&self, owner: &Owner, id: &ArtifactId) -> Result<Opened, StoreError>;

    /// Reads one chunk of the body of an open artifact: [`CHUNK_BYTES`] bytes, fewer at the end of the body.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] if the artifact was deleted meanwhile, [`StoreError::Damaged`] if the bytes are not those
    /// that were stored.
    fn read_chunk(&self, opened: &Opened, number: u64) -> Result<Vec<u8>, StoreError>;

    /// Returns the call that a result answered, as far as it is known: earlier versions did not store it.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn origin(&self, owner: &Owner, id: &ArtifactId) -> Result<CallOrigin, StoreError>;

    /// Returns the newest artifact of an owner and a session that answers a call and has not expired.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn last_of_call(
        &self,
        owner: &Owner,
        session: &Session,
        call: &CallDigest,
    ) -> Result<Option<EarlierResult>, StoreError>;

    /// Returns whether an earlier result of an owner has the bytes of a body.
    ///
    /// # Errors
    ///
    /// The body cannot be read.
    fn matches(
        &self,
        _owner: &Owner,
        earlier: &EarlierResult,
        body: &dyn Source,
    ) -> Result<bool, StoreError> {
        Ok(body_hash(body)? == earlier.hash)
    }

    /// Extends the life of an artifact to at least `ttl` from now.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] or [`StoreError::Expired`].
    fn touch(&self, owner: &Owner, id: &ArtifactId, ttl: Duration) -> Result<Artifact, StoreError>;

    /// Deletes an artifact.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`].
    fn delete(&self, owner: &Owner, id: &ArtifactId) -> Result<(), StoreError>;

    /// Lists at most `limit` artifacts of an owner, newest first.
    ///
    /// # Errors
    ///
    /// The store is unusable.
    fn list(&self, owner: &Owner, limit: usize) -> Result<Vec<Artifact>, StoreError>;

    /// Returns the owner of an artifact, for the user whose store this is; `None` if there is no such artifact.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn owner_of(&self, id: &ArtifactId) -> Result<Option<Owner>, StoreError>;

    /// Lists at most `limit` artifacts of all owners, newest first, for the user whose store this is.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn list_all(&self, limit: usize) -> Result<Vec<Artifact>, StoreError>;

    /// Returns at most `limit` artifacts of all owners that have not expired, sorted by id, from the first after `after`.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn walk(&self, after: Option<&ArtifactId>, limit: usize) -> Result<Vec<StoredArtifact>, StoreError>;

    /// Returns the key that new results are sealed with; `None` if the store is not encrypted.
    ///
    /// # Errors
    ///
    /// The store cannot be read, or was encrypted with another key since it was opened.
    fn key(&self) -> Result<Option<KeyId>, StoreError> {
        Ok(None)
    }

    /// Returns the state of the store.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn status(&self) -> Result<StoreStatus, StoreError> {
        Ok(StoreStatus { usage: self.usage()?, key: self.key()?, ..StoreStatus::default() })
    }

    /// Seals everything with the current key that is not sealed with it, one body after another. It can be interrupted and
    /// started again; meanwhile the store can be read and written.
    ///
    /// # Errors
    ///
    /// There is no key, the keys are not those of the store, or the store cannot be written.
    fn rekey(&self, _progress: &mut dyn FnMut(RekeyProgress)) -> Result<Rekeyed, StoreError> {
        Err(StoreError::Unusable("this kind of store cannot be encrypted".into()))
    }

    /// Deletes expired artifacts and unfinished bodies, and frees their space.
    ///
    /// # Errors
    ///
    /// The store is unusable.
    fn sweep(&self) -> Result<Swept, StoreError>;

    /// Returns how much the store holds.
    ///
    /// # Errors
    ///
    /// The store is unusable.
    fn usage(&self) -> Result<Usage, StoreError>;

    /// Returns whether opening the store again would give this same store: it was not replaced, and it is writable.
    fn is_current(&self) -> bool {
        true
    }
}
