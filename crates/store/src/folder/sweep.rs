//! Deletes what is no longer needed: expired artifacts, drafts of processes that have ended, links without an artifact.
//!
//! The caller holds the lock of the store, so nothing that is being stored is taken for a leftover. An artifact that has not
//! expired is never touched, nor is the link of a file that could not be read: it may be readable the next time.

use std::fs::{self, File};
use std::path::Path;

use super::file::{Label, expiry};
use super::{ARTIFACT, BODY, DRAFT, FolderState, path_of};
use crate::artifact::Swept;
use crate::clock::Millis;
use crate::error::StoreError;
use crate::id::ArtifactId;

/// Deletes the expired artifacts of an index that was just read, and leftovers.
pub(super) fn sweep(folder: &Path, state: &mut FolderState, now: Millis) -> Result<Swept, StoreError> {
    let (expired, mut swept) = state.index.take_expired(now);
    for entry in &expired {
        remove(folder, &entry.artifact.id)?;
    }
    for file in fs::read_dir(folder)? {
        let file = file?.path();
        let is_leftover = match file.extension().and_then(|extension| extension.to_str()) {
            Some(DRAFT) => is_abandoned(&file),
            Some(BODY) => is_orphan(&file),
            Some(ARTIFACT) => is_damaged_and_expired(&file, now),
            _ => false,
        };
        if is_leftover {
            let bytes = fs::metadata(&file).map_or(0, |metadata| metadata.len());
            fs::remove_file(&file)?;
            swept.bodies += 1;
            swept.freed_bytes += bytes;
        }
    }
    Ok(swept)
}

/// Returns how many files nothing refers to: drafts, and links without an artifact.
pub(super) fn orphans(folder: &Path) -> Result<u64, StoreError> {
    let mut count = 0;
    for file in fs::read_dir(folder)? {
        let file = file?.path();
        count += u64::from(match file.extension().and_then(|extension| extension.to_str()) {
            Some(DRAFT) => true,
            Some(BODY) => is_orphan(&file),
            _ => false,
        });
    }
    Ok(count)
}

/// Deletes the files of an artifact.
pub(super) fn remove(folder: &Path, id: &ArtifactId) -> Result<(), StoreError> {
    // Without its own file an artifact does not exist, so that goes first; a link that stays is a leftover.
    remove_if_exists(&path_of(folder, id, ARTIFACT))?;
    remove_if_exists(&path_of(folder, id, BODY))
}

fn remove_if_exists(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Returns whether there is no artifact that a link could belong to.
fn is_orphan(link: &Path) -> bool {
    matches!(link.with_extension(ARTIFACT).try_exists(), Ok(false))
}

/// Returns whether a draft has no writer any more: a writer would hold a lock on it.
fn is_abandoned(path: &Path) -> bool {
    File::open(path).is_ok_and(|draft| draft.try_lock().is_ok())
}

/// Returns whether a file cannot be read as an artifact, and would have expired.
fn is_damaged_and_expired(path: &Path, now: Millis) -> bool {
    let is_expired = fs::metadata(path).is_ok_and(|metadata| expiry(Millis(0), &metadata) <= now);
    is_expired
        && File::open(path).is_ok_and(|file| matches!(Label::read(&file), Err(StoreError::Damaged { .. })))
}
