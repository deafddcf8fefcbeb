//! Inspects a folder store without opening it: what it holds, and which of its files are damaged.
//!
//! `tidegate doctor` calls this. It creates, repairs and deletes nothing, and does not lock the store: a file that another
//! process stores or deletes meanwhile may or may not be counted.

use std::fs;
use std::path::{Path, PathBuf};

use super::file::{BodyFile, Chunks, Label, open_existing};
use super::{ARTIFACT, BODY, id_of, path_of};
use crate::artifact::Usage;
use crate::chunks::are_intact;
use crate::clock::Millis;
use crate::error::StoreError;
use crate::index::{Entry, Index};

/// What an inspection of a folder found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderHealth {
    /// What the store holds, including expired artifacts that were not removed yet, without damaged ones.
    pub usage: Usage,
    /// Number of expired artifacts.
    pub expired: u64,
    /// The files that do not contain what was stored, sorted by name.
    pub damaged: Vec<PathBuf>,
}

/// Inspects the store in a folder. Every file is read whole.
///
/// # Errors
///
/// The folder or a file in it cannot be read.
pub fn folder_health(folder: &Path, now: Millis) -> Result<FolderHealth, StoreError> {
    let (mut index, mut damaged) = (Index::default(), Vec::new());
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension().is_none_or(|extension| extension != ARTIFACT) {
            continue;
        }
        match inspect(folder, &path) {
            Ok(entry) => index.insert(entry),
            // Another process deleted it meanwhile.
            Err(StoreError::NotFound) if !path.exists() => {}
            Err(StoreError::Damaged { .. } | StoreError::NotFound) => damaged.push(path),
            Err(error) => return Err(error),
        }
    }
    damaged.sort();
    let usage = index.usage();
    let expired = index.take_expired(now).0.len() as u64;
    Ok(FolderHealth { usage, expired, damaged })
}

/// Reads an artifact whole, and returns its entry.
fn inspect(folder: &Path, path: &Path) -> Result<Entry<Chunks>, StoreError> {
    let file = open_existing(path)?;
    let label = Label::read(&file)?;
    let entry = label.entry(&file.metadata()?)?;
    if id_of(path).as_ref() != Some(&entry.artifact.id) {
        return Err(StoreError::Damaged { what: "its name" });
    }
    label.outline(&file)?;
    let body = match entry.place {
        Chunks::Here => BodyFile::new(file, &label),
        Chunks::Linked => BodyFile::open(&path_of(folder, &entry.artifact.id, BODY), &entry.hash)?,
    };
    match are_intact(entry.artifact.bytes, |number| body.check_chunk(number))? {
        true => Ok(entry),
        false => Err(StoreError::Damaged { what: "a chunk" }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        ArtifactStore, Clock, Description, FolderStore, NewArtifact, Owner, Quotas, Session, SystemClock,
    };

    /// Returns a store with four artifacts, two of which have the same bytes, and their names.
    fn filled(folder: &Path) -> (FolderStore, Vec<String>) {
        let store = FolderStore::open(folder, Quotas::default()).unwrap();
        let (owner, session) = (Owner::new("o"), Session::new("s"));
        let put = |ttl: u64, body: &str| {
            let new = NewArtifact::new(&owner, &session, "t", Duration::from_secs(ttl));
            let description = || Ok(Description { outline: b"outline".to_vec(), ..Description::default() });
            store.put(&new, &body.repeat(50_000).as_bytes(), &description).unwrap().id.to_string()
        };
        let names =
            [(1, "a "), (100, "b "), (100, "b "), (100, "c ")].map(|(ttl, body)| put(ttl, body)).to_vec();
        (store, names)
    }

    fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        files.sort();
        files
    }

    #[test]
    fn an_inspection_reports_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = filled(folder.path());
        let before = files(folder.path());
        let in_ten_seconds = Millis(SystemClock.now().0 + 10_000);
        let expected = FolderHealth { usage: store.usage().unwrap(), expired: 1, damaged: Vec::new() };
        assert_eq!(expected.usage.artifacts, 4);
        assert_eq!(folder_health(folder.path(), in_ten_seconds).unwrap(), expected, "while it is in use");
        drop(store);
        assert_eq!(folder_health(folder.path(), in_ten_seconds).unwrap(), expected);
        assert_eq!(files(folder.path()), before);
        assert!(folder_health(&folder.path().join("none"), in_ten_seconds).is_err());
    }

    #[test]
    fn damaged_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (store, names) = filled(folder.path());
        drop(store);
        let path = |name: &str, kind: &str| folder.path().join(format!("{name}.{kind}"));
        let damage = |path: &Path, change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = fs::read(path).unwrap();
            change(&mut bytes);
            // A new file, so that a link to the old one keeps its bytes.
            fs::remove_file(path).unwrap();
            fs::write(path, bytes).unwrap();
        };
        damage(&path(&names[0], ARTIFACT), &|bytes| bytes[9] ^= 1);
        damage(&path(&names[3], ARTIFACT), &|bytes| bytes.truncate(bytes.len() / 2));
        fs::remove_file(path(&names[2], BODY)).unwrap();
        fs::write(folder.path().join("no-artifact.artifact"), "text").unwrap();
        let health = folder_health(folder.path(), Millis(0)).unwrap();
        let mut expected: Vec<PathBuf> = [0, 2, 3].map(|at| path(&names[at], ARTIFACT)).to_vec();
        expected.push(folder.path().join("no-artifact.artifact"));
        expected.sort();
        assert_eq!((health.usage.artifacts, health.damaged), (1, expected));
    }
}
