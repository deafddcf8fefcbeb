//! The manifest of installed changes: which files were changed, which servers were wrapped, and where the backups are.
//!
//! It is in tidegate's data folder, beside the backups. Each install that changes a file adds a layer to the file's record;
//! uninstall undoes layers from the newest to the oldest.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::client_files::resolve_links;
use crate::disk::Disk;
use crate::document::Notation;
use crate::wrap::Wrapped;

/// Why the manifest cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// A file cannot be read or written.
    #[error("cannot use {path}: {source}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The manifest is not valid.
    #[error("{path} is damaged: {source}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// Another install or uninstall is running.
    #[error("another tidegate install or uninstall is running")]
    Busy,
}

/// Every change that was installed and not undone.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) files: Vec<Record>,
}

/// The changes of one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// The path with links resolved, so that a file has one record.
    pub(crate) path: PathBuf,
    pub(crate) notation: Notation,
    /// Oldest first.
    pub(crate) layers: Vec<Layer>,
    /// The entries that were wrapped by hand. Earlier versions wrote them; now an entry without a record stays anyway.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) others: Vec<Vec<String>>,
}

/// One change of a file, made by one install.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layer {
    /// The hash of the file before the change.
    pub(crate) before: String,
    /// The hash of the file as install wrote it.
    pub(crate) after: String,
    /// The name of the backup.
    pub(crate) backup: String,
    pub(crate) servers: Vec<Wrapped>,
}

impl Manifest {
    pub(crate) fn record(&self, path: &Path) -> Option<&Record> {
        self.files.iter().find(|record| record.path == path)
    }

    /// Adds a layer. It replaces layers that start from the same content: those were never written, or were undone.
    pub(crate) fn push(&mut self, path: &Path, notation: Notation, layer: Layer) {
        let index = self.files.iter().position(|record| record.path == path).unwrap_or_else(|| {
            let path = path.to_owned();
            self.files.push(Record { path, notation, layers: Vec::new(), others: Vec::new() });
            self.files.len() - 1
        });
        let layers = &mut self.files[index].layers;
        while layers.last().is_some_and(|last| last.before == layer.before) {
            layers.pop();
        }
        layers.push(layer);
    }

    /// Returns whether a layer still needs a backup.
    pub(crate) fn needs(&self, backup: &str) -> bool {
        self.files.iter().flat_map(|record| &record.layers).any(|layer| layer.backup == backup)
    }
}

/// The folder with the manifest and the backups.
#[derive(Debug)]
pub struct Records {
    folder: PathBuf,
    /// Held until this is dropped, so that two processes never write at once.
    _lock: Option<std::fs::File>,
}

impl Records {
    /// Opens the records in tidegate's data folder for writing, and locks them until this is dropped.
    ///
    /// # Errors
    ///
    /// If the folder cannot be used, or another process holds the lock.
    pub fn open(data: &Path) -> Result<Self, ManifestError> {
        let folder = data.join("install");
        let path = folder.join("lock");
        let unusable = |source| ManifestError::Unusable { path: path.clone(), source };
        crate::disk::create_private_folder(&folder).map_err(unusable)?;
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

    /// Returns the records in tidegate's data folder for reading; creates nothing.
    pub fn look(data: &Path) -> Self {
        Self { folder: data.join("install"), _lock: None }
    }

    /// Returns the path of the manifest.
    pub fn path(&self) -> PathBuf {
        self.folder.join("installed.json")
    }

    /// Returns whether a file still has every byte that install wrote, and install wrapped this entry in it.
    pub fn wrote(&self, file: &Path, entry: &[String]) -> bool {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let (Ok(manifest), Ok(bytes)) = (self.read(), std::fs::read(file)) else { return false };
        let record = manifest.files.iter().find(|record| real(&record.path) == real(file));
        let last = record.and_then(|record| record.layers.last());
        let wrapped = || record.iter().flat_map(|record| &record.layers).flat_map(|layer| &layer.servers);
        last.is_some_and(|layer| layer.after == hash(&bytes)) && wrapped().any(|server| server.path == entry)
    }

    /// Returns the path of a backup.
    pub(crate) fn backup(&self, name: &str) -> PathBuf {
        self.folder.join("backups").join(name)
    }

    /// Removes the folder of the backups if it is empty.
    pub(crate) fn remove_empty_folder(&self) {
        // Fails if the folder is not empty, which is fine.
        let _ = std::fs::remove_dir(self.folder.join("backups"));
    }

    pub(crate) fn read(&self) -> Result<Manifest, ManifestError> {
        let path = self.path();
        match std::fs::read(&path) {
            Ok(bytes) => {
                let mut manifest: Manifest = serde_json::from_slice(&bytes)
                    .map_err(|source| ManifestError::Damaged { path, source })?;
                // A file may have been replaced by a link since.
                manifest.files.iter_mut().for_each(|record| record.path = resolve_links(&record.path));
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

/// Returns the hash that identifies the content of a file.
pub(crate) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A manifest outlives the version that wrote it: uninstall must always be able to read it.
    #[test]
    fn serialized_names_do_not_change() {
        let text = r#"{"files":[{"path":"/f","notation":"json","layers":[{"before":"a","after":"b","backup":"c","servers":[{"client":"cursor","scope":"user","path":["mcpServers","s"],"undo":{"started":{"args_added":true}}},{"client":"codex","scope":"user","path":["mcp_servers","r"],"undo":{"remote":{"transport":null,"url":"url","headers":"http_headers","names":[["TIDEGATE_HEADER_A","A"]],"by_variable":["bearer_token_env_var","\"T\""],"no_login":null}}}]}],"others":[["mcpServers","mine"]]}]}"#;
        let manifest: Manifest = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&manifest).unwrap(), text);
    }
}
