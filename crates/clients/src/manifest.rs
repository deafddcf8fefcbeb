//! What was installed, so that it can be undone: which files were changed, how they were before, and which servers.
//!
//! It lies in tidegate's data folder, with a copy of every file as it was. A file that is changed again gets another
//! layer on top; layers are undone from the top down.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::document::Notation;
use crate::places::real;
use crate::wrap::Wrapped;

/// What can be wrong with the record of what was installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It cannot be read or written.
    #[error("cannot use {path}: {source}")]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It does not say what it should.
    #[error("{path} is damaged: {source}")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// How.
        source: serde_json::Error,
    },
    /// Another install or uninstall is running.
    #[error("another tidegate install or uninstall is running")]
    Busy,
}

/// Everything that was installed and not undone.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) files: Vec<Record>,
}

/// A file that was changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// The path without links: a file has one record, whatever its names are.
    pub(crate) path: PathBuf,
    pub(crate) notation: Notation,
    /// The oldest first.
    pub(crate) layers: Vec<Layer>,
    /// The entries that had tidegate in front of them when something was installed, and not by us: a person's own.
    #[serde(default)]
    pub(crate) others: Vec<Vec<String>>,
}

/// One change of a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layer {
    /// The hash of the file before.
    pub(crate) before: String,
    /// The hash of what was written.
    pub(crate) after: String,
    /// The name of the copy.
    pub(crate) backup: String,
    pub(crate) servers: Vec<Wrapped>,
}

impl Manifest {
    pub(crate) fn record(&self, path: &Path) -> Option<&Record> {
        self.files.iter().find(|record| record.path == path)
    }

    /// Puts a layer on top. One at the top that was never written, or is undone, makes room for it.
    pub(crate) fn push(&mut self, path: &Path, notation: Notation, layer: Layer, others: &[Vec<String>]) {
        let index = self.files.iter().position(|record| record.path == path).unwrap_or_else(|| {
            let (path, others) = (path.to_owned(), Vec::new());
            self.files.push(Record { path, notation, layers: Vec::new(), others });
            self.files.len() - 1
        });
        let Record { layers, others: known, .. } = &mut self.files[index];
        for other in others {
            let is_ours = layers.iter().flat_map(|layer| &layer.servers).any(|server| server.path == *other);
            if !is_ours && !known.contains(other) {
                known.push(other.clone());
            }
        }
        while layers.last().is_some_and(|last| last.before == layer.before) {
            layers.pop();
        }
        layers.push(layer);
    }

    /// Tells whether a copy is still needed.
    pub(crate) fn needs(&self, backup: &str) -> bool {
        self.files.iter().flat_map(|record| &record.layers).any(|layer| layer.backup == backup)
    }
}

/// The folder of the record and the copies.
#[derive(Debug)]
pub struct Records {
    folder: PathBuf,
    /// Held as long as this lives, so that two at a time do not write over each other.
    _lock: Option<std::fs::File>,
}

impl Records {
    /// Opens the records in tidegate's data folder, to write; nobody else can until this is dropped.
    ///
    /// # Errors
    ///
    /// A folder that cannot be used, or somebody else who uses it.
    pub fn open(data: &Path) -> Result<Self, ManifestError> {
        let folder = data.join("install");
        let path = folder.join("lock");
        let unusable = |source| ManifestError::Unusable { path: path.clone(), source };
        crate::disk::make_private(&folder).map_err(unusable)?;
        let mut options = std::fs::OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = options.open(&path).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, _lock: Some(lock) }),
            Err(std::fs::TryLockError::WouldBlock) => Err(ManifestError::Busy),
            Err(std::fs::TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    /// Returns the records in tidegate's data folder, to read; nothing is made there.
    pub fn look(data: &Path) -> Self {
        Self { folder: data.join("install"), _lock: None }
    }

    /// Returns the file that says what was installed.
    pub fn path(&self) -> PathBuf {
        self.folder.join("installed.json")
    }

    /// Returns whether a file is as it was last written by install, to the byte, and the entry is one that it wrapped.
    pub fn wrote(&self, file: &Path, entry: &[String]) -> bool {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let (Ok(manifest), Ok(bytes)) = (self.read(), std::fs::read(file)) else { return false };
        let record = manifest.files.iter().find(|record| real(&record.path) == real(file));
        let last = record.and_then(|record| record.layers.last());
        let wrapped = || record.iter().flat_map(|record| &record.layers).flat_map(|layer| &layer.servers);
        last.is_some_and(|layer| layer.after == hash(&bytes)) && wrapped().any(|server| server.path == entry)
    }

    pub(crate) fn backup(&self, name: &str) -> PathBuf {
        self.folder.join("backups").join(name)
    }

    /// Takes the folder of the copies away, if it is empty.
    pub(crate) fn tidy(&self) {
        // One that is not empty stays.
        let _ = std::fs::remove_dir(self.folder.join("backups"));
    }

    pub(crate) fn read(&self) -> Result<Manifest, ManifestError> {
        let path = self.path();
        match std::fs::read(&path) {
            Ok(bytes) => {
                let mut manifest: Manifest = serde_json::from_slice(&bytes)
                    .map_err(|source| ManifestError::Damaged { path, source })?;
                // A file may have become a link since.
                manifest.files.iter_mut().for_each(|record| record.path = real(&record.path));
                Ok(manifest)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Manifest::default()),
            Err(source) => Err(ManifestError::Unusable { path, source }),
        }
    }

    pub(crate) fn write(&self, manifest: &Manifest, disk: &Disk) -> io::Result<()> {
        if manifest.files.is_empty() {
            return disk.remove(&self.path());
        }
        disk.write(&self.path(), &serde_json::to_vec_pretty(manifest)?)
    }
}

/// Returns what a content is known by.
pub(crate) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
