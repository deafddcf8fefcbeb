//! Stores a result: as a file of its own, or, if its owner has the same bytes already, as a link to the file that has them.
//!
//! The bytes are written and synced without the lock of the store, which is held only to check the quotas and to give the
//! file its final name.

use std::collections::HashSet;
use std::fs;

use tidegate_core::source::Source;

use super::draft::Draft;
use super::file::{BodyFile, Chunks};
use super::{ARTIFACT, BODY, DRAFT, FolderStore};
use crate::artifact::{Artifact, ArtifactStore, Description, NewArtifact, Owner};
use crate::chunks::{BATCH_BYTES, Packer, are_intact};
use crate::codec::Codec;
use crate::error::StoreError;
use crate::files::sync_folder;
use crate::id::ArtifactId;
use crate::index::{Entry, StoredBody};
use crate::key::KeyMismatch;

pub(super) fn put(
    store: &FolderStore,
    new: &NewArtifact<'_>,
    body: &dyn Source,
    describe: &dyn Fn() -> Result<Description, StoreError>,
) -> Result<Artifact, StoreError> {
    let put = || store.put_with(new, body, describe, &store.codec()?);
    let artifact = match put() {
        // The key is being changed, and nothing was stored yet: with the new key.
        Err(StoreError::Key(KeyMismatch::Changed)) => put()?,
        done => done?,
    };
    if let Err(error) = sync_folder(&store.folder) {
        // It might not survive a power loss, so it must not exist.
        let _ = store.delete(new.owner, &new.id);
        return Err(error.into());
    }
    Ok(artifact)
}

/// A result that is to be stored.
#[derive(Clone, Copy)]
struct NewBody<'b> {
    new: &'b NewArtifact<'b>,
    body: &'b dyn Source,
    hash: blake3::Hash,
    codec: &'b Codec,
}

impl FolderStore {
    fn put_with(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
        codec: &Codec,
    ) -> Result<Artifact, StoreError> {
        let hash = blake3::Hash::from_bytes(codec.digest(new.owner, body)?);
        let (equal, mut unusable) = self.find_equal(new.owner, &hash, codec)?;
        if let Some(equal) = equal {
            if let Some(artifact) = self.share(new, &describe()?, &equal, codec)? {
                return Ok(artifact);
            }
            unusable.insert(equal.artifact.id);
        }
        self.put_whole(&NewBody { new, body, hash, codec }, describe, unusable)
    }

    /// Returns an artifact with equal bytes, and those whose bytes turned out to be damaged.
    fn find_equal(
        &self,
        owner: &Owner,
        hash: &blake3::Hash,
        codec: &Codec,
    ) -> Result<(Option<Entry<Chunks>>, HashSet<ArtifactId>), StoreError> {
        drop(self.lock()?);
        let equal: Vec<Entry<Chunks>> = self.state().index.equal_to(owner, hash).cloned().collect();
        let mut damaged = HashSet::new();
        for entry in equal {
            let is_intact = match BodyFile::open(&self.body_path(&entry), &entry.hash) {
                Ok(body) => {
                    let key = codec.body(owner, hash.as_bytes(), entry.artifact.bytes)?;
                    are_intact(entry.artifact.bytes, |number| body.chunk(number, &key))?
                }
                Err(StoreError::Damaged { .. } | StoreError::NotFound) => false,
                Err(error) => return Err(error),
            };
            if is_intact {
                return Ok((Some(entry), damaged));
            }
            damaged.insert(entry.artifact.id);
        }
        Ok((None, damaged))
    }

    /// Stores an artifact that shares the chunks of another; nothing if those are gone, or if the disk knows no links.
    fn share(
        &self,
        new: &NewArtifact<'_>,
        description: &Description,
        from: &Entry<Chunks>,
        codec: &Codec,
    ) -> Result<Option<Artifact>, StoreError> {
        let Artifact { bytes, stored_bytes, .. } = from.artifact;
        let body = StoredBody { hash: from.hash, bytes, stored_bytes };
        let entry = Entry::new(new, description, body, self.clock.now(), Chunks::Linked).sealed(codec);
        let mut draft = self.draft()?;
        let outline = codec.seal_outline(new.owner, &new.id, from.hash.as_bytes(), &description.outline);
        draft.finish(&entry, &outline)?;
        let mut locked = self.lock()?;
        locked.check_codec(codec)?;
        self.state().index.check_new(&new.id)?;
        if fs::hard_link(self.body_path(from), self.path(&new.id, BODY)).is_err() {
            return Ok(None);
        }
        // A link without its artifact is swept.
        locked.publish(draft, entry).map(Some)
    }

    /// Writes a body that is not stored yet.
    fn write_body(&self, body: &NewBody<'_>) -> Result<Draft, StoreError> {
        let NewBody { new, body, hash, codec } = body;
        let mut packer = Packer::new(*body, codec.body(new.owner, hash.as_bytes(), body.len())?)?;
        let mut draft = self.draft()?;
        loop {
            let batch = packer.batch()?;
            if batch.is_empty() {
                return Ok(draft);
            }
            draft.append(&batch)?;
            if body.len() > BATCH_BYTES {
                // The quotas are checked again when it is published; this ends a hopeless one early.
                self.lock()?.make_room(new, draft.chunk_bytes)?;
            }
        }
    }

    /// Stores an artifact with its bytes. `unusable` are artifacts with equal bytes that cannot be shared.
    fn put_whole(
        &self,
        of: &NewBody<'_>,
        describe: &dyn Fn() -> Result<Description, StoreError>,
        mut unusable: HashSet<ArtifactId>,
    ) -> Result<Artifact, StoreError> {
        let NewBody { new, body, hash, codec } = *of;
        let mut draft = self.write_body(of)?;
        let description = describe()?;
        let stored = StoredBody { hash, bytes: body.len(), stored_bytes: draft.chunk_bytes };
        let entry = Entry::new(new, &description, stored, self.clock.now(), Chunks::Here).sealed(codec);
        let outline = codec.seal_outline(new.owner, &new.id, hash.as_bytes(), &description.outline);
        draft.finish(&entry, &outline)?;
        let mut locked = self.lock()?;
        locked.check_codec(codec)?;
        let is_usable = |equal: &&Entry<Chunks>| !unusable.contains(&equal.artifact.id);
        let equal = self.state().index.equal_to(new.owner, &hash).find(is_usable).cloned();
        let Some(equal) = equal else {
            locked.make_room(new, draft.chunk_bytes)?;
            let artifact = locked.publish(draft, entry)?;
            drop(locked);
            self.repair(&unusable, new.owner, &new.id);
            return Ok(artifact);
        };
        // Another process has stored the same bytes meanwhile; this copy is dropped.
        drop((locked, draft));
        match self.share(new, &description, &equal, codec)? {
            Some(artifact) => Ok(artifact),
            None => {
                unusable.insert(equal.artifact.id);
                self.put_whole(of, describe, unusable)
            }
        }
    }

    /// Begins a file. Its name is random: an id may be one that was chosen before, by a process that was killed since.
    pub(super) fn draft(&self) -> Result<Draft, StoreError> {
        let _locked = self.lock()?;
        Draft::create(self.path(&ArtifactId::random(), DRAFT))
    }

    /// Lets artifacts whose chunks are damaged share those of another, as far as the rest of them is intact.
    fn repair(&self, damaged: &HashSet<ArtifactId>, owner: &Owner, intact: &ArtifactId) {
        for id in damaged {
            // If the repair fails, reading the artifact stays an error.
            let _ = self.repair_one(id, owner, intact);
        }
    }

    fn repair_one(&self, id: &ArtifactId, owner: &Owner, intact: &ArtifactId) -> Result<(), StoreError> {
        let (file, label, entry) = self.find(owner, id)?;
        let outline = label.outline(&file)?;
        let entry = Entry { place: Chunks::Linked, ..entry };
        let mut draft = self.draft()?;
        draft.finish(&entry, &outline)?;
        let mut locked = self.lock()?;
        // It may have been deleted meanwhile.
        self.find(owner, id)?;
        let link = self.path(id, BODY);
        let _ = fs::remove_file(&link);
        fs::hard_link(self.path(intact, ARTIFACT), &link)?;
        locked.publish_over(draft, entry).map(drop)
    }
}
