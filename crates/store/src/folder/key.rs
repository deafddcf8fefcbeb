//! Which key the store has: the file `key.record`. A store without it is not encrypted.

use std::fs;
use std::io::{self, Write};
use std::sync::PoisonError;

use super::{ARTIFACT, FolderStore, Locked};
use crate::codec::Codec;
use crate::error::StoreError;
use crate::files::sync_folder;
use crate::home::private_options;
use crate::key::KeyMismatch;

/// The file with what is recorded about the key.
const RECORD: &str = "key.record";
/// The name under which it is written.
const NEW_RECORD: &str = "key.record.new";

impl FolderStore {
    /// Returns what is recorded about the key.
    pub(super) fn record(&self) -> Result<Option<Vec<u8>>, StoreError> {
        match fs::read(self.folder.join(RECORD)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            record => Ok(Some(record?)),
        }
    }

    fn is_empty(&self) -> Result<bool, StoreError> {
        for file in fs::read_dir(&self.folder)? {
            if file?.path().extension().is_some_and(|extension| extension == ARTIFACT) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the codec for the key that the store has now.
    pub(super) fn codec(&self) -> Result<Codec, StoreError> {
        let record = self.record()?;
        let mut codec = self.codec.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = codec.record() == record.as_deref();
        if !is_same || (record.is_none() && self.keys.current.is_some()) {
            *codec = Codec::resolve(&self.keys, record.as_deref(), || self.is_empty())?;
        }
        Ok(codec.clone())
    }

    /// Encrypts a store that holds nothing, if there is a key.
    pub(super) fn take_key(&self) -> Result<(), StoreError> {
        if self.codec()?.record() == self.record()?.as_deref() || self.lock.is_err() {
            return Ok(());
        }
        let locked = self.lock()?;
        // Another process may have put something into it, or encrypted it, meanwhile.
        match (self.codec()?.record(), self.record()?) {
            (Some(new), None) => locked.set_record(new),
            _ => Ok(()),
        }
    }
}

impl Locked<'_> {
    /// Fails if the store no longer has the key of a codec. Under the lock, so that everything in a store has the key that
    /// it records.
    pub(super) fn check_codec(&self, codec: &Codec) -> Result<(), StoreError> {
        match self.store.record()?.as_deref() == codec.record() {
            true => Ok(()),
            false => Err(KeyMismatch::Changed.into()),
        }
    }

    /// Records the key.
    pub(super) fn set_record(&self, record: &[u8]) -> Result<(), StoreError> {
        let folder = &self.store.folder;
        let new = folder.join(NEW_RECORD);
        let mut file = private_options().write(true).create(true).truncate(true).open(&new)?;
        file.write_all(record)?;
        file.sync_all()?;
        fs::rename(&new, folder.join(RECORD))?;
        Ok(sync_folder(folder)?)
    }
}
