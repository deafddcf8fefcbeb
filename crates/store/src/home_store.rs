//! The store of a data folder: the database, and the files beside it in which programs without SQLite store results.
//!
//! New results go to the database. Every other operation looks there first and then at the files, so the results of all programs
//! of the user can be read. Files that a newer program wrote are left alone: lists omit them, and asking for a result that the
//! database does not have says why.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use tidegate_core::source::Source;

use crate::artifact::{
    Artifact, ArtifactStore, CallDigest, CallOrigin, Clearance, Description, EarlierResult, NewArtifact,
    Opened, Owner, RekeyProgress, Rekeyed, Session, StoreStatus, StoredArtifact, Swept, Usage,
};
use crate::error::StoreError;
use crate::folder::FolderStore;
use crate::home::Home;
use crate::id::ArtifactId;
use crate::key::{KeyId, StoreKeys};
use crate::options::StoreOptions;
use crate::sqlite::SqliteStore;

/// The store of a data folder.
pub struct HomeStore {
    database: SqliteStore,
    /// Opened once another program has created the folder.
    files: OnceLock<FolderStore>,
    folder: PathBuf,
    options: StoreOptions,
}

impl HomeStore {
    /// Opens the store of a data folder, and creates its database if there is none.
    ///
    /// The key is that of the database. The files beside it have their own state: programs without the key may write them.
    ///
    /// # Errors
    ///
    /// The database cannot be opened, is not a store, or has another key.
    pub fn open(home: &Home, options: impl Into<StoreOptions>) -> Result<Self, StoreError> {
        let options = options.into();
        let database = SqliteStore::open(&home.artifacts(), options.clone())?;
        Ok(Self { database, files: OnceLock::new(), folder: home.artifact_folder(), options })
    }

    /// Returns the files beside the database, if there are any that can be read.
    fn files(&self) -> Option<&FolderStore> {
        self.known_files().ok().flatten()
    }

    /// Returns the files beside the database, if there are any that can be read. Fails if a newer program wrote them: what is
    /// asked for may be among them.
    fn known_files(&self) -> Result<Option<&FolderStore>, StoreError> {
        if self.files.get().is_none() && self.folder.is_dir() {
            let keys = StoreKeys { from_plain: true, ..self.options.keys.clone() };
            match FolderStore::open(&self.folder, self.options.clone().with_keys(keys)) {
                Ok(opened) => return Ok(Some(self.files.get_or_init(|| opened))),
                Err(error @ StoreError::NewerFormat { .. }) => return Err(error),
                Err(_) => return Ok(None),
            }
        }
        Ok(self.files.get())
    }

    /// Asks the database, and the files if the database does not have the artifact.
    fn find<T>(&self, ask: impl Fn(&dyn ArtifactStore) -> Result<T, StoreError>) -> Result<T, StoreError> {
        match ask(&self.database) {
            Err(StoreError::NotFound) => ask(self.known_files()?.ok_or(StoreError::NotFound)?),
            found => found,
        }
    }

    /// Returns a list of both, newest first.
    fn merge(
        &self,
        limit: usize,
        list: impl Fn(&dyn ArtifactStore) -> Result<Vec<Artifact>, StoreError>,
    ) -> Result<Vec<Artifact>, StoreError> {
        let mut artifacts = list(&self.database)?;
        if let Some(files) = self.files() {
            artifacts.extend(list(files)?);
            artifacts
                .sort_by(|one, other| other.created.cmp(&one.created).then_with(|| one.id.cmp(&other.id)));
            artifacts.truncate(limit);
        }
        Ok(artifacts)
    }
}

impl ArtifactStore for HomeStore {
    fn put(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError> {
        self.database.put(new, body, describe)
    }

    fn open_with(&self, clearance: Clearance<'_>, id: &ArtifactId) -> Result<Opened, StoreError> {
        self.find(|store| store.open_with(clearance, id))
    }

    fn read_chunk(&self, opened: &Opened, number: u64) -> Result<Vec<u8>, StoreError> {
        self.find(|store| store.read_chunk(opened, number))
    }

    fn origin(&self, owner: &Owner, id: &ArtifactId) -> Result<CallOrigin, StoreError> {
        let origin = self.database.origin(owner, id)?;
        match self.files() {
            Some(files) if origin == CallOrigin::default() => files.origin(owner, id),
            _ => Ok(origin),
        }
    }

    fn last_of_call(
        &self,
        owner: &Owner,
        session: &Session,
        call: &CallDigest,
    ) -> Result<Option<EarlierResult>, StoreError> {
        // Other programs wrote the files, so they belong to other sessions.
        self.database.last_of_call(owner, session, call)
    }

    fn matches(&self, owner: &Owner, earlier: &EarlierResult, body: &dyn Source) -> Result<bool, StoreError> {
        self.database.matches(owner, earlier, body)
    }

    fn touch(&self, owner: &Owner, id: &ArtifactId, ttl: Duration) -> Result<Artifact, StoreError> {
        self.find(|store| store.touch(owner, id, ttl))
    }

    fn delete(&self, owner: &Owner, id: &ArtifactId) -> Result<(), StoreError> {
        self.find(|store| store.delete(owner, id))
    }

    fn list_with(&self, clearance: Clearance<'_>, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        self.merge(limit, |store| store.list_with(clearance, limit))
    }

    fn owner_of(&self, id: &ArtifactId) -> Result<Option<Owner>, StoreError> {
        match self.database.owner_of(id)? {
            None => self.known_files()?.map_or(Ok(None), |files| files.owner_of(id)),
            owner => Ok(owner),
        }
    }

    fn list_all(&self, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        self.merge(limit, |store| store.list_all(limit))
    }

    fn walk(&self, after: Option<&ArtifactId>, limit: usize) -> Result<Vec<StoredArtifact>, StoreError> {
        let mut artifacts = self.database.walk(after, limit)?;
        if let Some(files) = self.files() {
            artifacts.extend(files.walk(after, limit)?);
            artifacts.sort_by(|one, other| one.artifact.id.cmp(&other.artifact.id));
            artifacts.truncate(limit);
        }
        Ok(artifacts)
    }

    fn key(&self) -> Result<Option<KeyId>, StoreError> {
        self.database.key()
    }

    fn status(&self) -> Result<StoreStatus, StoreError> {
        let mut status = self.database.status()?;
        if let Some(files) = self.files() {
            let more = files.status()?;
            status.usage.artifacts += more.usage.artifacts;
            status.usage.stored_bytes += more.usage.stored_bytes;
            status.expired += more.expired;
            status.oldest = status.oldest.into_iter().chain(more.oldest).min();
            status.orphans += more.orphans;
            status.is_rekeying |= more.is_rekeying;
        }
        Ok(status)
    }

    fn rekey(&self, progress: &mut dyn FnMut(RekeyProgress)) -> Result<Rekeyed, StoreError> {
        let mut rekeyed = self.database.rekey(progress)?;
        if let Some(files) = self.known_files()? {
            let more = files.rekey(progress)?;
            rekeyed.bodies += more.bodies;
            rekeyed.damaged.extend(more.damaged);
        }
        Ok(rekeyed)
    }

    fn sweep(&self) -> Result<Swept, StoreError> {
        let mut swept = self.database.sweep()?;
        if let Some(files) = self.files() {
            let more = files.sweep()?;
            swept.artifacts += more.artifacts;
            swept.bodies += more.bodies;
            swept.freed_bytes += more.freed_bytes;
        }
        Ok(swept)
    }

    fn usage(&self) -> Result<Usage, StoreError> {
        let mut usage = self.database.usage()?;
        if let Some(files) = self.files() {
            let more = files.usage()?;
            usage.artifacts += more.artifacts;
            usage.stored_bytes += more.stored_bytes;
        }
        Ok(usage)
    }

    fn is_current(&self) -> bool {
        self.database.is_current() && self.files.get().is_none_or(FolderStore::is_current)
    }
}
