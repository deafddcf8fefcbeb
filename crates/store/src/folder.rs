//! The store in a folder of files, for programs that should not bring a database with them.
//!
//! Every artifact is a file, written as a draft, synced, renamed and its folder synced: it is durable and complete before
//! anybody can open it. Equal bytes of one owner are stored once, as hard links of one file.
//!
//! Several processes share a folder. What changes its names is done under the lock of the file `store.lock`: giving a draft
//! its final name after the quotas were checked, deleting, sweeping. The file holds a number that every change increases,
//! so that a process knows whether its index still shows what is there. Bytes are written and read without the lock.
//!
//! If there is a key, everything that holds content is sealed (`codec.rs`); the file `key.record` says with which key.

mod draft;
mod file;
mod health;
mod key;
mod put;
mod rekey;
mod sweep;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use tidegate_core::source::Source;

use crate::artifact::{
    Artifact, ArtifactStore, Body, BodyRef, CallDigest, CallOrigin, Clearance, Description, EarlierResult,
    NewArtifact, Opened, Owner, Quotas, RekeyProgress, Rekeyed, Session, StoreStatus, StoredArtifact, Swept,
    Usage,
};
use crate::clock::{Clock, Millis};
use crate::codec::Codec;
use crate::error::StoreError;
use crate::files::{identity, lock_within, read_at, sync_folder};
use crate::home::{prepare_folder, private_options};
use crate::id::ArtifactId;
use crate::index::{Entry, Index};
use crate::key::{KeyId, StoreKeys};
use crate::options::StoreOptions;
use draft::Draft;
pub(crate) use file::BodyFile;
use file::{Chunks, Label, expiry, open_existing};
pub use health::{FolderHealth, folder_health};

/// How long a process waits for another that changes the folder.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_FILE: &str = "store.lock";
/// The ends of the names of files: an artifact, a link to the file with its chunks, a file that is being written.
const ARTIFACT: &str = "artifact";
const BODY: &str = "body";
const DRAFT: &str = "draft";

/// A store in a folder of files.
pub struct FolderStore {
    folder: PathBuf,
    identity: Option<(u64, u64)>,
    /// The file that is locked to change the folder, or why it cannot be changed.
    lock: Result<Mutex<File>, Arc<StoreError>>,
    state: Mutex<FolderState>,
    quotas: Quotas,
    clock: Arc<dyn Clock>,
    keys: StoreKeys,
    /// The codec for the key that the store had when it was last looked at.
    codec: Mutex<Codec>,
}

/// What is known of the folder.
#[derive(Default)]
struct FolderState {
    index: Index<Chunks>,
    /// The number in the lock file when the index was complete; none if that is not known.
    generation: Option<u64>,
}

/// The right to change the folder: no other process or thread has it.
struct Locked<'s> {
    store: &'s FolderStore,
    file: MutexGuard<'s, File>,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Closing the file would release it at the latest.
        let _ = self.file.unlock();
    }
}

impl FolderStore {
    /// Opens the store in a folder, and creates it if there is none.
    ///
    /// # Errors
    ///
    /// The folder can neither be written nor read, the store has another key, or a newer program stored something in it in
    /// a format that this one does not know.
    pub fn open(folder: &Path, options: impl Into<StoreOptions>) -> Result<Self, StoreError> {
        let StoreOptions { quotas, clock, keys } = options.into();
        let lock = match open_lock(folder) {
            Ok(file) => Ok(Mutex::new(file)),
            // What is there can still be read.
            Err(error) if fs::read_dir(folder).is_ok() => Err(Arc::new(error)),
            Err(error) => return Err(error),
        };
        let (folder, identity) = (folder.to_owned(), identity(folder));
        let codec = Mutex::new(Codec::plain());
        let store = Self { folder, identity, lock, state: Mutex::default(), quotas, clock, keys, codec };
        // Before anything in it is changed: all of it must have a format that this program knows.
        store.rescan(&mut store.state())?;
        store.take_key()?;
        Ok(store)
    }

    fn path(&self, id: &ArtifactId, kind: &str) -> PathBuf {
        path_of(&self.folder, id, kind)
    }

    fn state(&self) -> MutexGuard<'_, FolderState> {
        // After a panic in another thread the index is read again.
        self.state.lock().unwrap_or_else(|poisoned| {
            let mut state = PoisonError::into_inner(poisoned);
            state.generation = None;
            state
        })
    }

    /// Takes the right to change the folder, waiting for others.
    fn lock(&self) -> Result<Locked<'_>, StoreError> {
        let file = self.lock.as_ref().map_err(|why| StoreError::ReadOnly(Arc::clone(why)))?;
        let file = file.lock().unwrap_or_else(PoisonError::into_inner);
        lock_within(&file, LOCK_TIMEOUT)?;
        let locked = Locked { store: self, file };
        locked.refresh()?;
        Ok(locked)
    }

    /// Reads the names in the folder, and the labels of those that are new. Fails if a newer program wrote one of them, so
    /// that nothing is changed in a folder that is not fully understood.
    fn rescan(&self, state: &mut FolderState) -> Result<(), StoreError> {
        let mut present = HashSet::new();
        for file in fs::read_dir(&self.folder)? {
            let path = file?.path();
            if path.extension().is_none_or(|extension| extension != ARTIFACT) {
                continue;
            }
            let Some(id) = id_of(&path) else { continue };
            // Skip a file that was deleted meanwhile or is damaged; opening it reports that.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            match state.index.get_mut(&id) {
                Some(known) => known.artifact.expires = expiry(known.artifact.expires, &metadata),
                None => match open_existing(&path).and_then(|file| read_entry(&file)) {
                    Ok(entry) if entry.artifact.id == id => state.index.insert(entry),
                    Err(error @ StoreError::NewerFormat { .. }) => return Err(error),
                    _ => continue,
                },
            }
            present.insert(id);
        }
        state.index.retain(|id| present.contains(id));
        Ok(())
    }

    /// Opens the file of an artifact that this owner has.
    fn find(&self, owner: &Owner, id: &ArtifactId) -> Result<(File, Label, Entry<Chunks>), StoreError> {
        let file = open_existing(&self.path(id, ARTIFACT))?;
        let label = Label::read(&file)?;
        let entry = label.entry(&file.metadata()?)?;
        match entry.owner == *owner && entry.artifact.id == *id {
            true => Ok((file, label, entry)),
            false => Err(StoreError::NotFound),
        }
    }

    fn open_now(&self, clearance: Clearance<'_>, id: &ArtifactId) -> Result<Opened, StoreError> {
        let owner = clearance.owner;
        let (file, label, entry) = self.find(owner, id)?;
        let artifact = entry.readable(clearance, self.clock.certain_now())?;
        let codec = self.codec()?;
        let outline = codec.open_outline(owner, id, entry.hash.as_bytes(), label.outline(&file)?)?;
        let body = match entry.place {
            Chunks::Here => BodyFile::new(file, &label),
            Chunks::Linked => BodyFile::open(&self.body_path(&entry), &entry.hash)?,
        };
        let key = codec.body(owner, entry.hash.as_bytes(), artifact.bytes)?;
        Ok(Opened { artifact, body: BodyRef(Body::File(Arc::new(body))), outline, key })
    }

    fn list_where(
        &self,
        clearance: Option<Clearance<'_>>,
        limit: usize,
    ) -> Result<Vec<Artifact>, StoreError> {
        let mut state = self.state();
        self.rescan(&mut state)?;
        Ok(state.index.list(clearance, self.clock.certain_now(), limit))
    }

    /// Returns the path of the file with the chunks of an artifact.
    fn body_path(&self, entry: &Entry<Chunks>) -> PathBuf {
        let kind = if entry.place == Chunks::Here { ARTIFACT } else { BODY };
        self.path(&entry.artifact.id, kind)
    }
}

impl Locked<'_> {
    /// Returns the number in the lock file.
    fn generation(&self) -> Result<u64, StoreError> {
        match self.file.metadata()?.len() {
            8.. => {
                let bytes = read_at(&self.file, 0, 8)?;
                Ok(u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
            }
            _ => Ok(0),
        }
    }

    /// Brings the index up to date if another process has changed the folder.
    fn refresh(&self) -> Result<(), StoreError> {
        let generation = self.generation()?;
        let mut state = self.store.state();
        if state.generation != Some(generation) {
            self.store.rescan(&mut state)?;
            state.generation = Some(generation);
        }
        Ok(())
    }

    /// Changes the folder and the index together. Other processes learn of it even if this one ends in between.
    fn change<T>(
        &mut self,
        work: impl FnOnce(&mut FolderState) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let next = self.generation()?.wrapping_add(1);
        let mut state = self.store.state();
        state.generation = None;
        self.file.rewind()?;
        self.file.write_all(&next.to_le_bytes())?;
        let done = work(&mut state)?;
        state.generation = Some(next);
        Ok(done)
    }

    /// Gives a finished draft its final name.
    fn publish(&mut self, draft: Draft, entry: Entry<Chunks>) -> Result<Artifact, StoreError> {
        self.store.state().index.check_new(&entry.artifact.id)?;
        self.publish_over(draft, entry)
    }

    /// Gives a finished draft its final name, even if another file has it.
    fn publish_over(&mut self, draft: Draft, entry: Entry<Chunks>) -> Result<Artifact, StoreError> {
        let path = self.store.path(&entry.artifact.id, ARTIFACT);
        self.change(|state| {
            draft.publish(&path)?;
            let artifact = entry.artifact.clone();
            state.index.insert(entry);
            Ok(artifact)
        })
    }

    /// Fails if a body would exceed a quota even after a sweep.
    fn make_room(&mut self, new: &NewArtifact<'_>, size: u64) -> Result<(), StoreError> {
        let quotas = self.store.quotas;
        let check = |store: &FolderStore| store.state().index.check_quotas(quotas, new, size);
        match check(self.store) {
            Err(StoreError::QuotaFull { .. }) => {
                self.sweep()?;
                check(self.store)
            }
            checked => checked,
        }
    }

    fn sweep(&mut self) -> Result<Swept, StoreError> {
        let (store, now) = (self.store, self.store.clock.certain_now());
        self.change(|state| {
            // Another process may have extended the life of an artifact.
            store.rescan(state)?;
            sweep::sweep(&store.folder, state, now)
        })
    }
}

impl ArtifactStore for FolderStore {
    fn put(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError> {
        put::put(self, new, body, describe)
    }

    fn open_with(&self, clearance: Clearance<'_>, id: &ArtifactId) -> Result<Opened, StoreError> {
        match self.open_now(clearance, id) {
            // `rekey` may be replacing the files of this artifact, which it does under the lock.
            Err(StoreError::Damaged { .. }) if self.codec()?.key().is_some() => {
                let _locked = self.lock()?;
                self.open_now(clearance, id)
            }
            opened => opened,
        }
    }

    fn read_chunk(&self, opened: &Opened, number: u64) -> Result<Vec<u8>, StoreError> {
        match &opened.body.0 {
            Body::File(body) => body.chunk(number, &opened.key),
            _ => Err(StoreError::NotFound),
        }
    }

    fn origin(&self, owner: &Owner, id: &ArtifactId) -> Result<CallOrigin, StoreError> {
        match self.find(owner, id) {
            Ok((_, _, entry)) => {
                let details = self.codec()?.open_details(owner, id, &entry.origin.arguments, None)?;
                Ok(CallOrigin { arguments: details.arguments, ..entry.origin })
            }
            Err(StoreError::NotFound) => Ok(CallOrigin::default()),
            Err(error) => Err(error),
        }
    }

    fn last_of_call(
        &self,
        owner: &Owner,
        session: &Session,
        call: &CallDigest,
    ) -> Result<Option<EarlierResult>, StoreError> {
        let calls = self.codec()?.calls(*call);
        let mut state = self.state();
        self.rescan(&mut state)?;
        Ok(state.index.last_of_call(owner, session, &calls, self.clock.certain_now()))
    }

    fn matches(&self, owner: &Owner, earlier: &EarlierResult, body: &dyn Source) -> Result<bool, StoreError> {
        self.codec()?.has_digest(owner, &earlier.hash, body)
    }

    fn touch(&self, owner: &Owner, id: &ArtifactId, ttl: Duration) -> Result<Artifact, StoreError> {
        let _locked = self.lock()?;
        let (_, _, entry) = self.find(owner, id)?;
        let artifact = entry.readable(Clearance::all_of(owner), self.clock.certain_now())?;
        let expires = artifact.expires.max(self.clock.now().after(ttl));
        if expires > artifact.expires {
            let since = Duration::from_millis(u64::try_from(expires.0).unwrap_or(0));
            let time = UNIX_EPOCH.checked_add(since).ok_or(StoreError::Unusable("no such time".into()))?;
            let file = File::options().write(true).open(self.path(id, ARTIFACT))?;
            file.set_modified(time)?;
            file.sync_all()?;
        }
        Ok(Artifact { expires, ..artifact })
    }

    fn delete(&self, owner: &Owner, id: &ArtifactId) -> Result<(), StoreError> {
        self.lock()?.change(|state| {
            state.index.remove(owner, id)?;
            sweep::remove(&self.folder, id)
        })?;
        Ok(sync_folder(&self.folder)?)
    }

    fn list_with(&self, clearance: Clearance<'_>, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        self.list_where(Some(clearance), limit)
    }

    fn owner_of(&self, id: &ArtifactId) -> Result<Option<Owner>, StoreError> {
        match open_existing(&self.path(id, ARTIFACT)).and_then(|file| read_entry(&file)) {
            Ok(entry) => Ok(Some(entry.owner)),
            Err(StoreError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list_all(&self, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        self.list_where(None, limit)
    }

    fn walk(&self, after: Option<&ArtifactId>, limit: usize) -> Result<Vec<StoredArtifact>, StoreError> {
        let codec = self.codec()?;
        let mut state = self.state();
        self.rescan(&mut state)?;
        let entries = state.index.walk(after, self.clock.certain_now()).take(limit);
        let stored = entries.map(|entry| {
            let (id, arguments) = (&entry.artifact.id, &entry.origin.arguments);
            Ok(entry.stored(codec.open_details(&entry.owner, id, arguments, entry.call)?))
        });
        stored.collect()
    }

    fn key(&self) -> Result<Option<KeyId>, StoreError> {
        Ok(self.codec()?.key())
    }

    fn status(&self) -> Result<StoreStatus, StoreError> {
        let codec = self.codec()?;
        let now = self.clock.certain_now();
        let mut state = self.state();
        self.rescan(&mut state)?;
        let artifacts = || state.index.walk(None, Millis(i64::MIN)).map(|entry| &entry.artifact);
        Ok(StoreStatus {
            usage: state.index.usage(),
            expired: artifacts().filter(|artifact| artifact.expires <= now).count() as u64,
            oldest: artifacts().map(|artifact| artifact.created).min(),
            orphans: sweep::orphans(&self.folder)?,
            problem: None,
            schema: None,
            key: codec.key(),
            is_rekeying: codec.is_changing(),
        })
    }

    fn rekey(&self, progress: &mut dyn FnMut(RekeyProgress)) -> Result<Rekeyed, StoreError> {
        rekey::rekey(self, progress)
    }

    fn sweep(&self) -> Result<Swept, StoreError> {
        self.lock()?.sweep()
    }

    fn usage(&self) -> Result<Usage, StoreError> {
        let mut state = self.state();
        self.rescan(&mut state)?;
        Ok(state.index.usage())
    }

    fn is_current(&self) -> bool {
        self.lock.is_ok() && identity(&self.folder) == self.identity
    }
}

/// Creates the folder if there is none, and opens its lock file for writing.
fn open_lock(folder: &Path) -> Result<File, StoreError> {
    prepare_folder(folder)?;
    let mut file =
        private_options().read(true).write(true).create(true).truncate(false).open(folder.join(LOCK_FILE))?;
    // Takes the space that later changes need, so that a full disk does not prevent a deletion.
    if file.metadata()?.len() == 0 {
        lock_within(&file, LOCK_TIMEOUT)?;
        if file.metadata()?.len() == 0 {
            file.write_all(&0u64.to_le_bytes())?;
        }
        file.unlock()?;
    }
    Ok(file)
}

fn read_entry(file: &File) -> Result<Entry<Chunks>, StoreError> {
    Label::read(file)?.entry(&file.metadata()?)
}

fn path_of(folder: &Path, id: &ArtifactId, kind: &str) -> PathBuf {
    folder.join(format!("{id}.{kind}"))
}

/// Returns the id in the name of a file.
fn id_of(path: &Path) -> Option<ArtifactId> {
    let stem = path.file_stem()?.to_str()?;
    ArtifactId::parse(stem).filter(|id| id.as_str() == stem)
}
