//! The trait that every backend implements, and an artifact that it opened.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::source::Source;

use super::{
    Artifact, CallDigest, CallOrigin, Clearance, Description, EarlierResult, NewArtifact, Owner,
    RekeyProgress, Rekeyed, Session, StoreStatus, StoredArtifact, Swept, Usage,
};
use crate::chunks::{Packed, body_hash};
use crate::codec::BodyKey;
use crate::error::StoreError;
use crate::folder::BodyFile;
use crate::id::ArtifactId;
use crate::key::KeyId;

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

    /// Opens an artifact for reading, if the clearance covers it.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] or [`StoreError::Expired`].
    fn open_with(&self, clearance: Clearance<'_>, id: &ArtifactId) -> Result<Opened, StoreError>;

    /// Opens any artifact of an owner for reading.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] or [`StoreError::Expired`].
    fn open(&self, owner: &Owner, id: &ArtifactId) -> Result<Opened, StoreError> {
        self.open_with(Clearance::all_of(owner), id)
    }

    /// Reads one chunk of the body of an open artifact: [`CHUNK_BYTES`](crate::CHUNK_BYTES) bytes, fewer at the end of the body.
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

    /// Lists at most `limit` artifacts that a clearance covers, newest first.
    ///
    /// # Errors
    ///
    /// The store is unusable.
    fn list_with(&self, clearance: Clearance<'_>, limit: usize) -> Result<Vec<Artifact>, StoreError>;

    /// Lists at most `limit` artifacts of an owner, newest first.
    ///
    /// # Errors
    ///
    /// The store is unusable.
    fn list(&self, owner: &Owner, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        self.list_with(Clearance::all_of(owner), limit)
    }

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
