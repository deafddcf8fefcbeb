//! The index of a store that has no database: who may read what, until when, and how much of the quotas is used.
//!
//! [`FolderStore`](crate::FolderStore) and [`MemoryStore`](crate::MemoryStore) decide everything here; they differ only in
//! where the bytes are, which is the type `T` of an entry.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use crate::artifact::{
    Artifact, CallDigest, CallOrigin, Clearance, Description, EarlierResult, NewArtifact, Owner, Quotas,
    Session, StoredArtifact, Swept, TierLevel, Usage, UsedBytes,
};
use crate::clock::Millis;
use crate::codec::{CallDetails, Codec};
use crate::error::StoreError;
use crate::id::ArtifactId;

/// An artifact in the index.
#[derive(Debug, Clone)]
pub(crate) struct Entry<T> {
    pub(crate) owner: Owner,
    pub(crate) session: Session,
    /// The digest of the body: equal bytes of one owner are stored once.
    pub(crate) hash: blake3::Hash,
    /// The call, with its arguments as they are stored.
    pub(crate) origin: CallOrigin,
    /// The digest of the call, as it is stored.
    pub(crate) call: Option<CallDigest>,
    /// The tier that a caller needs to read it.
    pub(crate) tier: TierLevel,
    pub(crate) artifact: Artifact,
    /// Where its bytes are.
    pub(crate) place: T,
}

/// The body of a new artifact, as it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredBody {
    pub(crate) hash: blake3::Hash,
    pub(crate) bytes: u64,
    pub(crate) stored_bytes: u64,
}

impl<T> Entry<T> {
    /// Returns the entry of a new artifact.
    pub(crate) fn new(
        new: &NewArtifact<'_>,
        description: &Description,
        body: StoredBody,
        now: Millis,
        place: T,
    ) -> Self {
        Self {
            owner: new.owner.clone(),
            session: new.session.clone(),
            hash: body.hash,
            origin: new.origin(),
            call: new.call,
            tier: new.tier,
            artifact: new.artifact(description, body.bytes, body.stored_bytes, now),
            place,
        }
    }

    /// Returns the entry as a store with this codec holds it.
    pub(crate) fn sealed(self, codec: &Codec) -> Self {
        let details = CallDetails::new(self.origin.arguments, self.call);
        let arguments = codec.seal_details(&self.owner, &self.artifact.id, &details);
        let origin = CallOrigin { arguments, ..self.origin };
        Self { origin, call: self.call.map(|call| codec.call(call)), ..self }
    }

    /// Returns the artifact with all of its metadata; `details` are those of its call.
    pub(crate) fn stored(&self, details: CallDetails) -> StoredArtifact {
        let call = details.call();
        StoredArtifact {
            owner: self.owner.clone(),
            session: self.session.clone(),
            origin: CallOrigin { server: self.origin.server.clone(), arguments: details.arguments },
            call,
            tier: self.tier,
            artifact: self.artifact.clone(),
        }
    }

    /// Returns what identifies its body.
    fn body(&self) -> (&Owner, &blake3::Hash) {
        (&self.owner, &self.hash)
    }

    /// Returns the artifact if a clearance covers it and it has not expired.
    pub(crate) fn readable(&self, clearance: Clearance<'_>, now: Millis) -> Result<Artifact, StoreError> {
        if self.owner != *clearance.owner || self.tier > clearance.tier {
            return Err(StoreError::NotFound);
        }
        self.artifact.clone().unexpired(now)
    }
}

/// The artifacts of a store.
#[derive(Debug)]
pub(crate) struct Index<T>(BTreeMap<ArtifactId, Entry<T>>);

impl<T> Default for Index<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Index<T> {
    pub(crate) fn insert(&mut self, entry: Entry<T>) {
        self.0.insert(entry.artifact.id.clone(), entry);
    }

    /// Fails if there is an artifact with this id already: an artifact never changes.
    pub(crate) fn check_new(&self, id: &ArtifactId) -> Result<(), StoreError> {
        match self.0.contains_key(id) {
            true => Err(StoreError::Unusable("there is a result with this id already".into())),
            false => Ok(()),
        }
    }

    pub(crate) fn get(&self, id: &ArtifactId) -> Option<&Entry<T>> {
        self.0.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &ArtifactId) -> Option<&mut Entry<T>> {
        self.0.get_mut(id)
    }

    /// Keeps only the artifacts for which `keep` returns true.
    pub(crate) fn retain(&mut self, keep: impl Fn(&ArtifactId) -> bool) {
        self.0.retain(|id, _| keep(id));
    }

    /// Removes an artifact of an owner, expired or not.
    pub(crate) fn remove(&mut self, owner: &Owner, id: &ArtifactId) -> Result<Entry<T>, StoreError> {
        match self.0.get(id) {
            Some(entry) if entry.owner == *owner => self.0.remove(id).ok_or(StoreError::NotFound),
            _ => Err(StoreError::NotFound),
        }
    }

    /// Returns the artifacts of an owner whose body has this hash.
    pub(crate) fn equal_to<'i>(
        &'i self,
        owner: &'i Owner,
        hash: &'i blake3::Hash,
    ) -> impl Iterator<Item = &'i Entry<T>> {
        self.0.values().filter(move |entry| entry.body() == (owner, hash))
    }

    /// Returns the newest artifact of an owner and a session that a call returned and that has not expired; `calls` are the
    /// digests that the call may have.
    pub(crate) fn last_of_call(
        &self,
        owner: &Owner,
        session: &Session,
        calls: &[CallDigest],
        now: Millis,
    ) -> Option<EarlierResult> {
        let is_of_call = |entry: &&Entry<T>| entry.call.is_some_and(|call| calls.contains(&call));
        let entries = self.0.values().filter(is_of_call).filter(|entry| entry.session == *session);
        let readable = entries.filter(|entry| entry.readable(Clearance::all_of(owner), now).is_ok());
        let last = readable.max_by_key(|entry| entry.artifact.created)?;
        Some(EarlierResult { artifact: last.artifact.clone(), hash: *last.hash.as_bytes() })
    }

    /// Lists at most `limit` artifacts that a clearance covers, or all, that have not expired, newest first.
    pub(crate) fn list(&self, clearance: Option<Clearance<'_>>, now: Millis, limit: usize) -> Vec<Artifact> {
        let readable = self.0.values().filter_map(|entry| {
            entry.readable(clearance.unwrap_or(Clearance::all_of(&entry.owner)), now).ok()
        });
        let mut artifacts: Vec<Artifact> = readable.collect();
        // The map is sorted by id, and the sort keeps the order of those created at the same time.
        artifacts.sort_by_key(|artifact| std::cmp::Reverse(artifact.created));
        artifacts.truncate(limit);
        artifacts
    }

    /// Returns the artifacts after an id that have not expired, sorted by id.
    pub(crate) fn walk(&self, after: Option<&ArtifactId>, now: Millis) -> impl Iterator<Item = &Entry<T>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let entries = self.0.range((from, Bound::Unbounded)).map(|(_, entry)| entry);
        entries.filter(move |entry| entry.artifact.expires > now)
    }

    /// Removes the expired artifacts, and counts them and the bodies that nothing refers to any more.
    pub(crate) fn take_expired(&mut self, now: Millis) -> (Vec<Entry<T>>, Swept) {
        let before = self.bodies(|_| true);
        let (bodies, stored) = (before.len() as u64, before.values().sum::<u64>());
        let ids: Vec<ArtifactId> = self
            .0
            .values()
            .map(|entry| &entry.artifact)
            .filter(|artifact| artifact.expires <= now)
            .map(|artifact| artifact.id.clone())
            .collect();
        let expired: Vec<Entry<T>> = ids.iter().filter_map(|id| self.0.remove(id)).collect();
        let after = self.bodies(|_| true);
        let swept = Swept {
            artifacts: expired.len() as u64,
            bodies: bodies - after.len() as u64,
            freed_bytes: stored.saturating_sub(after.values().sum()),
        };
        (expired, swept)
    }

    /// Returns how much the store holds.
    pub(crate) fn usage(&self) -> Usage {
        Usage { artifacts: self.0.len() as u64, stored_bytes: self.bodies(|_| true).values().sum() }
    }

    /// Fails if `size` more bytes of a new artifact would exceed a quota.
    pub(crate) fn check_quotas(
        &self,
        quotas: Quotas,
        new: &NewArtifact<'_>,
        size: u64,
    ) -> Result<(), StoreError> {
        let is_of_owner = |entry: &Entry<T>| entry.owner == *new.owner;
        let is_of_session = |entry: &Entry<T>| is_of_owner(entry) && entry.session == *new.session;
        let used = UsedBytes {
            session: self.bodies(is_of_session).values().sum(),
            owner: self.bodies(is_of_owner).values().sum(),
            store: self.usage().stored_bytes,
        };
        quotas.check(used, size)
    }

    /// Returns the stored bytes of each body of some artifacts.
    fn bodies(&self, of: impl Fn(&Entry<T>) -> bool) -> HashMap<(&Owner, &blake3::Hash), u64> {
        let entries = self.0.values().filter(|entry| of(entry));
        entries.map(|entry| (entry.body(), entry.artifact.stored_bytes)).collect()
    }
}
