//! The store in memory: the same contract as on disk, until the process ends.
//!
//! Bodies are compressed, so that a quota in bytes means the same everywhere. When a quota is full, expired artifacts make
//! room, and nothing else does: then `put` fails.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_core::source::Source;

use crate::artifact::{
    Artifact, ArtifactStore, Body, BodyRef, CallDigest, CallOrigin, Clearance, Description, EarlierResult,
    NewArtifact, Opened, Owner, Quotas, Session, StoredArtifact, Swept, Usage,
};
use crate::chunks::{Packed, Packer, body_hash};
use crate::clock::{Clock, SystemClock};
use crate::codec::{CallDetails, Codec};
use crate::error::StoreError;
use crate::id::ArtifactId;
use crate::index::{Entry, Index, StoredBody};

/// The bytes of an artifact.
#[derive(Clone)]
struct Held {
    body: Arc<Vec<Packed>>,
    outline: Vec<u8>,
}

/// A store in the memory of this process.
pub struct MemoryStore {
    index: Mutex<Index<Held>>,
    quotas: Quotas,
    clock: Arc<dyn Clock>,
}

impl MemoryStore {
    /// Returns an empty store.
    pub fn new(quotas: Quotas) -> Self {
        Self::new_with(quotas, Arc::new(SystemClock))
    }

    /// Returns an empty store with the caller's clock.
    pub fn new_with(quotas: Quotas, clock: Arc<dyn Clock>) -> Self {
        Self { index: Mutex::default(), quotas, clock }
    }

    fn index(&self) -> MutexGuard<'_, Index<Held>> {
        // Each change of the index is one call, which a panic elsewhere cannot leave half done.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the body of this owner that has this hash, with its stored bytes.
    fn equal_body(&self, owner: &Owner, hash: &blake3::Hash) -> Option<(Arc<Vec<Packed>>, u64)> {
        let index = self.index();
        let entry = index.equal_to(owner, hash).next()?;
        Some((Arc::clone(&entry.place.body), entry.artifact.stored_bytes))
    }

    /// Compresses a body, up to the point where it exceeds a quota. What is in memory is not sealed.
    fn pack(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        hash: &blake3::Hash,
    ) -> Result<(Arc<Vec<Packed>>, u64), StoreError> {
        let key = Codec::plain().body(new.owner, hash.as_bytes(), body.len())?;
        let (mut packer, mut chunks, mut stored) = (Packer::new(body, key)?, Vec::new(), 0);
        loop {
            let batch = packer.batch()?;
            if batch.is_empty() {
                return Ok((Arc::new(chunks), stored));
            }
            stored += batch.iter().map(|packed| packed.data.len() as u64).sum::<u64>();
            chunks.extend(batch);
            self.make_room(&mut self.index(), new, stored)?;
        }
    }

    /// Fails if a body would exceed a quota even without the artifacts that have expired.
    fn make_room(&self, index: &mut Index<Held>, new: &NewArtifact<'_>, size: u64) -> Result<(), StoreError> {
        match index.check_quotas(self.quotas, new, size) {
            Err(StoreError::QuotaFull { .. }) => {
                index.take_expired(self.clock.certain_now());
                index.check_quotas(self.quotas, new, size)
            }
            checked => checked,
        }
    }
}

impl ArtifactStore for MemoryStore {
    fn put(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError> {
        let hash = blake3::Hash::from_bytes(body_hash(body)?);
        let (packed, stored_bytes) = match self.equal_body(new.owner, &hash) {
            Some(found) => found,
            None => self.pack(new, body, &hash)?,
        };
        let description = describe()?;
        let stored = StoredBody { hash, bytes: body.len(), stored_bytes };
        let mut index = self.index();
        index.check_new(&new.id)?;
        // The same bytes may have been stored, or deleted, while this body was compressed and described.
        let equal = index.equal_to(new.owner, &hash).next().map(|equal| Arc::clone(&equal.place.body));
        let body = match equal {
            Some(body) => body,
            None => {
                self.make_room(&mut index, new, stored_bytes)?;
                packed
            }
        };
        let held = Held { body, outline: description.outline.clone() };
        let entry = Entry::new(new, &description, stored, self.clock.now(), held);
        let artifact = entry.artifact.clone();
        index.insert(entry);
        Ok(artifact)
    }

    fn open_with(&self, clearance: Clearance<'_>, id: &ArtifactId) -> Result<Opened, StoreError> {
        let index = self.index();
        let entry = index.get(id).ok_or(StoreError::NotFound)?;
        let artifact = entry.readable(clearance, self.clock.certain_now())?;
        let Held { body, outline } = entry.place.clone();
        let key = Codec::plain().body(clearance.owner, entry.hash.as_bytes(), artifact.bytes)?;
        Ok(Opened { artifact, body: BodyRef(Body::Memory(body)), outline, key })
    }

    fn read_chunk(&self, opened: &Opened, number: u64) -> Result<Vec<u8>, StoreError> {
        let Body::Memory(chunks) = &opened.body.0 else { return Err(StoreError::NotFound) };
        let packed = usize::try_from(number).ok().and_then(|number| chunks.get(number));
        let packed = packed.ok_or(StoreError::NotFound)?;
        opened.key.unpack(number, &packed.data, &packed.hash)
    }

    fn origin(&self, owner: &Owner, id: &ArtifactId) -> Result<CallOrigin, StoreError> {
        let index = self.index();
        let entry = index.get(id).filter(|entry| entry.owner == *owner);
        Ok(entry.map(|entry| entry.origin.clone()).unwrap_or_default())
    }

    fn last_of_call(
        &self,
        owner: &Owner,
        session: &Session,
        call: &CallDigest,
    ) -> Result<Option<EarlierResult>, StoreError> {
        Ok(self.index().last_of_call(owner, session, &[*call], self.clock.certain_now()))
    }

    fn touch(&self, owner: &Owner, id: &ArtifactId, ttl: Duration) -> Result<Artifact, StoreError> {
        let mut index = self.index();
        let entry = index.get_mut(id).ok_or(StoreError::NotFound)?;
        let artifact = entry.readable(Clearance::all_of(owner), self.clock.certain_now())?;
        entry.artifact.expires = artifact.expires.max(self.clock.now().after(ttl));
        Ok(entry.artifact.clone())
    }

    fn delete(&self, owner: &Owner, id: &ArtifactId) -> Result<(), StoreError> {
        self.index().remove(owner, id).map(drop)
    }

    fn list_with(&self, clearance: Clearance<'_>, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        Ok(self.index().list(Some(clearance), self.clock.certain_now(), limit))
    }

    fn owner_of(&self, id: &ArtifactId) -> Result<Option<Owner>, StoreError> {
        Ok(self.index().get(id).map(|entry| entry.owner.clone()))
    }

    fn list_all(&self, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        Ok(self.index().list(None, self.clock.certain_now(), limit))
    }

    fn walk(&self, after: Option<&ArtifactId>, limit: usize) -> Result<Vec<StoredArtifact>, StoreError> {
        let index = self.index();
        let entries = index.walk(after, self.clock.certain_now()).take(limit);
        Ok(entries
            .map(|entry| entry.stored(CallDetails::new(entry.origin.arguments.clone(), entry.call)))
            .collect())
    }

    fn sweep(&self) -> Result<Swept, StoreError> {
        Ok(self.index().take_expired(self.clock.certain_now()).1)
    }

    fn usage(&self) -> Result<Usage, StoreError> {
        Ok(self.index().usage())
    }
}
