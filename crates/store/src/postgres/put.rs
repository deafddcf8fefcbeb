//! Stores a result: packs its bytes on the caller's thread, writes them, and publishes them in one transaction.
//!
//! A small body is written in that transaction. A large one is written before it, as an object or as unfinished rows. If the
//! result cannot be stored after all, what was written is removed, at the latest by a sweep.

use std::sync::Arc;

use tidegate_core::source::Source;

use super::pending::PendingBody;
use super::publish::{ArtifactRow, Content, EqualBody, Published};
use super::read::{SharedBody, StoredChunk};
use super::{MAX_ROW_BODY_BYTES, PostgresStore};
use crate::artifact::{Artifact, CHUNK_BYTES, Description, NewArtifact, Quotas};
use crate::chunks::{BATCH_BYTES, Packed, Packer};
use crate::codec::{BodyKey, Codec};
use crate::error::StoreError;

/// How often publishing starts again because other processes store and delete the same bytes at the same time.
const MAX_RACES: usize = 100;
/// The number of chunks of a new body that are kept in the cache: 1 MB before compression.
const MAX_REMEMBERED_CHUNKS: u64 = 16;
/// The number of chunks that are checked at a time before an equal body is shared.
const CHECKED_CHUNKS: u64 = 64;

pub(super) fn put(
    store: &PostgresStore,
    new: &NewArtifact<'_>,
    body: &dyn Source,
    describe: &dyn Fn() -> Result<Description, StoreError>,
) -> Result<Artifact, StoreError> {
    if new.owner.as_str().is_empty() || new.owner.as_str().contains('\0') {
        return Err(StoreError::Unusable("a result needs an owner".into()));
    }
    let put = Put::new(store, store.shared.codec(), new, body, store.shared.quotas)?;
    // A small body is inserted without asking first: the insert finds an equal one.
    if body.len() > MAX_ROW_BODY_BYTES
        && let Some(equal) = put.find_equal()?
    {
        let row = put.row(&describe()?);
        return match put.share(&row, &equal)? {
            Some(artifact) => Ok(artifact),
            None => put.publish(&row, put.write()?),
        };
    }
    let content = put.write()?;
    let description = describe().inspect_err(|_| put.discard(&content))?;
    put.publish(&put.row(&description), content)
}

/// A result on its way into the store.
pub(super) struct Put<'p> {
    pub(super) store: &'p PostgresStore,
    pub(super) new: &'p NewArtifact<'p>,
    pub(super) body: &'p dyn Source,
    /// The quotas that the body must fit.
    pub(super) quotas: Quotas,
    codec: Codec,
    pub(super) hash: [u8; 32],
    key: BodyKey,
}

impl<'p> Put<'p> {
    pub(super) fn new(
        store: &'p PostgresStore,
        codec: Codec,
        new: &'p NewArtifact<'p>,
        body: &'p dyn Source,
        quotas: Quotas,
    ) -> Result<Self, StoreError> {
        let hash = codec.digest(new.owner, body)?;
        let key = codec.body(new.owner, &hash, body.len())?;
        Ok(Self { store, new, body, quotas, codec, hash, key })
    }

    fn row(&self, description: &Description) -> Arc<ArtifactRow> {
        let clock = &self.store.shared.clock;
        let artifact = self.new.artifact(description, self.body.len(), 0, clock.here(clock.now()));
        let times = (clock.there(artifact.created), clock.there(artifact.expires));
        Arc::new(ArtifactRow::new(&self.codec, self.new, artifact, times, &description.outline, self.hash))
    }

    /// Returns the packer that compresses the chunks of the body, and seals them if the store has a key.
    pub(super) fn packer(&self) -> Result<Packer<'_>, StoreError> {
        Packer::new(self.body, self.key.clone())
    }

    fn find_equal(&self) -> Result<Option<EqualBody>, StoreError> {
        let (owner, hash) = (self.new.owner.clone(), self.hash);
        self.store.run(|shared| async move { shared.find_equal(owner, hash).await })
    }

    /// Writes the body as an object, as rows of the publishing transaction, or as unfinished rows, depending on its size.
    pub(super) fn write(&self) -> Result<Content, StoreError> {
        #[cfg(feature = "objects")]
        if self.body.len() > MAX_ROW_BODY_BYTES && self.store.shared.objects.is_some() {
            return self.write_object();
        }
        if self.body.len() <= BATCH_BYTES {
            let packed = self.packer()?.batch()?;
            self.remember(0, &packed);
            return Ok(Content::Rows(Arc::new(packed)));
        }
        self.write_pending()
    }

    /// Adds the first chunks of the body to the cache, `first` being the number of the first of these: the process that stored a
    /// result is usually the first to read it. An entry stands for these bytes whether or not they are stored in the end.
    pub(super) fn remember(&self, first: u64, packed: &[Packed]) {
        let body = SharedBody::new(self.new.owner.clone(), 0, self.hash, None);
        for (number, chunk) in (first..MAX_REMEMBERED_CHUNKS).zip(packed) {
            self.store.shared.cache.remember(&body, StoredChunk::of_packed(number, chunk));
        }
    }

    fn write_pending(&self) -> Result<Content, StoreError> {
        let mut packer = self.packer()?;
        let mut pending = PendingBody {
            owner: self.new.owner.clone(),
            session: super::text(self.new.session.as_str()),
            hash: self.hash,
            bytes: self.body.len(),
            id: None,
            chunks: 0,
            created: self.store.shared.clock.now(),
            quotas: self.quotas,
        };
        let written = loop {
            let packed = match packer.batch() {
                Ok(packed) => Arc::new(packed),
                Err(error) => break Err(error),
            };
            let (Some(id), true) = (pending.id, packed.is_empty()) else {
                match self.with_room(|| self.append(&pending, &packed)) {
                    Ok(id) => pending.id = Some(id),
                    Err(error) => break Err(error),
                }
                pending.chunks += i32::try_from(packed.len()).unwrap_or(i32::MAX);
                continue;
            };
            break Ok(id);
        };
        if let (Err(_), Some(id)) = (&written, pending.id) {
            self.discard(&Content::Pending { id });
        }
        written.map(|id| Content::Pending { id })
    }

    fn append(&self, pending: &PendingBody, packed: &Arc<Vec<Packed>>) -> Result<i64, StoreError> {
        let (pending, packed) = (pending.clone(), Arc::clone(packed));
        self.store.run(|shared| async move { shared.append(&pending, &packed).await })
    }

    /// Publishes a body, or shares an equal body that another process stored meanwhile.
    fn publish(&self, row: &Arc<ArtifactRow>, content: Content) -> Result<Artifact, StoreError> {
        for _ in 0..MAX_RACES {
            match self.with_room(|| self.publish_once(row, &content)) {
                Ok(Published::Stored(artifact)) => return Ok(artifact),
                Ok(Published::Equal(equal)) => match self.share_instead(row, &equal, &content) {
                    Ok(Some(artifact)) => return Ok(artifact),
                    Ok(None) => {}
                    Err(error) => return Err(error),
                },
                Ok(Published::Gone) => {}
                Err(error) => {
                    self.discard(&content);
                    return Err(error);
                }
            }
        }
        self.discard(&content);
        Err(StoreError::Busy)
    }

    fn publish_once(&self, row: &Arc<ArtifactRow>, content: &Content) -> Result<Published, StoreError> {
        let (row, content) = (Arc::clone(row), content.clone());
        self.store.run(|shared| async move { shared.publish(&row, &content).await })
    }

    /// Shares an equal body instead of the one that was written; `None` if the equal body was deleted again.
    fn share_instead(
        &self,
        row: &Arc<ArtifactRow>,
        equal: &EqualBody,
        content: &Content,
    ) -> Result<Option<Artifact>, StoreError> {
        let shared = self.share(row, equal);
        if !matches!(shared, Ok(None)) {
            self.discard(content);
        }
        shared
    }

    /// Adds an artifact to an equal body, which is repaired first if it is damaged; `None` if it was deleted.
    fn share(&self, row: &Arc<ArtifactRow>, equal: &EqualBody) -> Result<Option<Artifact>, StoreError> {
        if !self.is_intact(equal)? {
            let content = self.write_for_repair()?;
            let (row, damaged, new) = (Arc::clone(row), equal.id, content.clone());
            let repaired = self.store.run(|shared| async move { shared.repair(&row, damaged, &new).await });
            if repaired.is_err() {
                self.discard(&content);
            }
            repaired?;
        }
        match self.publish_once(row, &Content::Existing { id: equal.id })? {
            Published::Stored(artifact) => Ok(Some(artifact)),
            Published::Equal(_) | Published::Gone => Ok(None),
        }
    }

    /// Returns whether every chunk of a body can be read as it was stored.
    fn is_intact(&self, equal: &EqualBody) -> Result<bool, StoreError> {
        let (chunks, key) = (equal.bytes.div_ceil(CHUNK_BYTES), self.key.clone());
        let body = SharedBody::new(self.new.owner.clone(), equal.id, self.hash, equal.object.clone());
        self.store.run(|shared| async move {
            let mut first = 0;
            while first < chunks {
                let count = CHECKED_CHUNKS.min(chunks - first);
                let intact = shared.fetch_chunks(&body, first, count, |chunks| {
                    chunks.iter().try_for_each(|chunk| chunk.unpack(&key).map(drop))?;
                    Ok(chunks.len() as u64)
                });
                match intact.await {
                    Ok(found) if found == count => first += count,
                    Ok(_) | Err(StoreError::Damaged { .. } | StoreError::NotFound) => return Ok(false),
                    Err(error) => return Err(error),
                }
            }
            Ok(true)
        })
    }

    /// Writes the body again: as an object, or all of its rows at once, since they replace others.
    fn write_for_repair(&self) -> Result<Content, StoreError> {
        #[cfg(feature = "objects")]
        if self.body.len() > MAX_ROW_BODY_BYTES && self.store.shared.objects.is_some() {
            return self.write_object();
        }
        let (mut packer, mut chunks) = (self.packer()?, Vec::new());
        loop {
            let batch = packer.batch()?;
            if batch.is_empty() {
                return Ok(Content::Rows(Arc::new(chunks)));
            }
            chunks.extend(batch);
        }
    }

    /// Runs `work`; if a quota is full, sweeps expired artifacts and runs it again.
    pub(super) fn with_room<T>(&self, work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        match work() {
            Err(full @ StoreError::QuotaFull { .. }) => {
                let swept = self.store.run(|shared| async move { shared.sweep_expired().await })?;
                if swept.artifacts + swept.bodies > 0 { work() } else { Err(full) }
            }
            done => done,
        }
    }

    /// Removes what was written of a body, unless an artifact refers to it. If that fails, a sweep does it later.
    pub(super) fn discard(&self, content: &Content) {
        let owner = self.new.owner.clone();
        let discarded = match content.clone() {
            Content::Pending { id } => {
                self.store.run(|shared| async move { shared.drop_pending(owner, id).await })
            }
            #[cfg(feature = "objects")]
            Content::Object { key, .. } => {
                self.store.run(|shared| async move { shared.discard_object(key).await })
            }
            _ => Ok(()),
        };
        drop(discarded);
    }
}
