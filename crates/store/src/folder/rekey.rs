//! Changes the key of the store, or encrypts an unencrypted store: writes one file after another again, sealed with the new key.
//!
//! First the record names both keys, so that every process writes with the new one. A file is replaced by its sealed copy
//! under the lock, by renaming; a reader that has the old file open continues to read it. Files that shared their chunks share
//! them again. In the end the record names only the new key.

use std::fs;

use tidegate_core::source::Source;

use super::file::{BodyFile, Chunks, Label};
use super::{BODY, FolderStore, Locked};
use crate::artifact::{CallOrigin, RekeyProgress, Rekeyed};
use crate::chunks::{ChunkSource, Packer};
use crate::clock::Millis;
use crate::codec::Codec;
use crate::error::StoreError;
use crate::files::sync_folder;
use crate::id::ArtifactId;
use crate::index::Entry;

pub(super) fn rekey(
    store: &FolderStore,
    progress: &mut dyn FnMut(RekeyProgress),
) -> Result<Rekeyed, StoreError> {
    let Some(codec) = begin(store)? else { return Ok(Rekeyed::default()) };
    store.lock()?.sweep()?;
    let work = Work { store, codec: &codec };
    let entries = work.remaining()?;
    let total = entries.iter().map(|entry| entry.artifact.stored_bytes).sum();
    let (mut done, mut rekeyed) = (0, Rekeyed::default());
    for entry in entries {
        progress(RekeyProgress { done, total });
        done += entry.artifact.stored_bytes;
        match work.seal(&entry) {
            Ok(()) => rekeyed.bodies += 1,
            // Deleted meanwhile.
            Err(StoreError::NotFound) => {}
            Err(StoreError::Damaged { .. }) => rekeyed.damaged.push(entry.artifact.id),
            Err(error) => return Err(error),
        }
    }
    sync_folder(&store.folder)?;
    if rekeyed.damaged.is_empty() {
        work.finish()?;
        progress(RekeyProgress { done: total, total });
    }
    Ok(rekeyed)
}

/// Records both keys; `None` if there is nothing to change.
fn begin(store: &FolderStore) -> Result<Option<Codec>, StoreError> {
    let locked = store.lock()?;
    let before = store.record()?;
    let Some(codec) = Codec::to_rekey(&store.keys, before.as_deref())? else { return Ok(None) };
    if let Some(record) = codec.record().filter(|record| Some(*record) != before.as_deref()) {
        locked.set_record(record)?;
    }
    Ok(Some(codec))
}

struct Work<'w> {
    store: &'w FolderStore,
    codec: &'w Codec,
}

impl Work<'_> {
    /// Returns the artifacts that are not sealed with the new key, those with chunks of their own first.
    fn remaining(&self) -> Result<Vec<Entry<Chunks>>, StoreError> {
        let entries: Vec<Entry<Chunks>> = {
            let mut state = self.store.state();
            self.store.rescan(&mut state)?;
            state.index.walk(None, Millis(i64::MIN)).cloned().collect()
        };
        let mut remaining = Vec::new();
        for entry in entries {
            match self.is_sealed(&entry) {
                Ok(true) | Err(StoreError::NotFound) => {}
                // What is damaged is found again when it is to be sealed.
                Ok(false) | Err(StoreError::Damaged { .. }) => remaining.push(entry),
                Err(error) => return Err(error),
            }
        }
        remaining.sort_by_key(|entry| entry.place == Chunks::Linked);
        Ok(remaining)
    }

    fn is_sealed(&self, entry: &Entry<Chunks>) -> Result<bool, StoreError> {
        let (file, label, _) = self.store.find(&entry.owner, &entry.artifact.id)?;
        Ok(label.outline(&file)?.starts_with(&self.codec.header().unwrap_or_default()))
    }

    /// Replaces an artifact by its sealed copy.
    fn seal(&self, entry: &Entry<Chunks>) -> Result<(), StoreError> {
        let (owner, id) = (&entry.owner, &entry.artifact.id);
        let (file, label, entry) = self.store.find(owner, id)?;
        let outline = self.codec.open_outline(owner, id, entry.hash.as_bytes(), label.outline(&file)?)?;
        let source = self.source(file, &label, &entry)?;
        let hash = self.codec.digest(owner, &source).map_err(StoreError::of_source)?;
        let new = Sealed {
            entry: self.sealed_entry(&entry, hash)?,
            outline: self.codec.seal_outline(owner, id, &hash, &outline),
        };
        let equal = self.store.state().index.equal_to(owner, &new.entry.hash).next().cloned();
        match equal.map(|equal| self.share(&new, &equal)) {
            Some(Ok(true)) => Ok(()),
            Some(Err(error)) => Err(error),
            Some(Ok(false)) | None => self.write(new, &source).map_err(StoreError::of_source),
        }
    }

    fn source(
        &self,
        file: fs::File,
        label: &Label,
        entry: &Entry<Chunks>,
    ) -> Result<impl Source, StoreError> {
        let body = match entry.place {
            Chunks::Here => BodyFile::new(file, label),
            Chunks::Linked => BodyFile::open(&self.store.body_path(entry), &entry.hash)?,
        };
        let bytes = entry.artifact.bytes;
        let key = self.codec.body(&entry.owner, entry.hash.as_bytes(), bytes)?;
        Ok(ChunkSource { bytes, read: move |number| body.chunk(number, &key) })
    }

    fn sealed_entry(&self, entry: &Entry<Chunks>, hash: [u8; 32]) -> Result<Entry<Chunks>, StoreError> {
        let Entry { owner, origin, call, artifact, .. } = entry;
        let details = self.codec.open_details(owner, &artifact.id, &origin.arguments, *call)?;
        let call = details.call();
        let origin = CallOrigin { server: origin.server.clone(), arguments: details.arguments };
        let hash = blake3::Hash::from_bytes(hash);
        Ok(Entry { hash, origin, call, ..entry.clone() }.sealed(self.codec))
    }

    /// Writes the chunks again.
    fn write(&self, new: Sealed, source: &dyn Source) -> Result<(), StoreError> {
        let Sealed { entry, outline } = new;
        let (owner, id) = (&entry.owner, &entry.artifact.id);
        let key = self.codec.body(owner, entry.hash.as_bytes(), source.len())?;
        let mut packer = Packer::new(source, key)?;
        let mut draft = self.store.draft()?;
        loop {
            let batch = packer.batch()?;
            if batch.is_empty() {
                break;
            }
            draft.append(&batch)?;
        }
        let mut locked = self.store.lock()?;
        let mut entry = self.current(&locked, &entry, id)?;
        entry.place = Chunks::Here;
        entry.artifact.stored_bytes = draft.chunk_bytes;
        draft.finish(&entry, &outline)?;
        let link = self.store.path(&entry.artifact.id, BODY);
        locked.publish_over(draft, entry)?;
        // A link that stays is no harm: nothing refers to it.
        let _ = fs::remove_file(link);
        Ok(())
    }

    /// Lets an artifact share the chunks of an equal one that is sealed already; false if that is not possible.
    fn share(&self, new: &Sealed, equal: &Entry<Chunks>) -> Result<bool, StoreError> {
        let id = &new.entry.artifact.id;
        let mut draft = self.store.draft()?;
        let mut locked = self.store.lock()?;
        let mut entry = self.current(&locked, &new.entry, id)?;
        entry.place = Chunks::Linked;
        entry.artifact.stored_bytes = equal.artifact.stored_bytes;
        draft.finish(&entry, &new.outline)?;
        let (link, moved) = (self.store.path(id, BODY), self.store.path(&ArtifactId::random(), BODY));
        if fs::hard_link(self.store.body_path(equal), &moved).is_err() {
            return Ok(false);
        }
        // Readers that see the label before the link is replaced wait for the lock and read again.
        locked.publish_over(draft, entry)?;
        fs::rename(&moved, &link)?;
        Ok(true)
    }

    /// Returns an entry with the time at which it expires now; an error if it was deleted meanwhile.
    fn current(
        &self,
        locked: &Locked<'_>,
        entry: &Entry<Chunks>,
        id: &ArtifactId,
    ) -> Result<Entry<Chunks>, StoreError> {
        locked.check_codec(self.codec)?;
        let (_, _, now) = self.store.find(&entry.owner, id)?;
        let mut entry = entry.clone();
        entry.artifact.expires = now.artifact.expires;
        Ok(entry)
    }

    /// Records that everything has the new key.
    fn finish(&self) -> Result<(), StoreError> {
        let mut locked = self.store.lock()?;
        locked.sweep()?;
        locked.check_codec(self.codec)?;
        if !self.remaining()?.is_empty() {
            return Err(StoreError::Busy);
        }
        locked.set_record(&self.codec.finished_record().ok_or(StoreError::NotFound)?)
    }
}

/// What is stored of an artifact, sealed with the new key.
struct Sealed {
    entry: Entry<Chunks>,
    outline: Vec<u8>,
}
