//! The data folder: where the store, the ledger and the seal key are.
//!
//! A folder that is created here is accessible only to its user (0700). The mode of an existing folder is never changed. All
//! other code of this crate creates its files through this module, so that they are private from the start (0600), whatever
//! the umask.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no usable data folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// The platform names no data folder.
    #[error("no data folder is known; set TIDEGATE_HOME to a folder")]
    Unknown,
    /// The folder cannot be created, or every user can write to it.
    #[error("cannot use the data folder {path}: {source}")]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// The data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    /// Opens the folder named, or the platform's folder for application data, and creates it if needed. The mode of a folder
    /// that exists stays as it is.
    ///
    /// # Errors
    ///
    /// The platform has no such folder, it cannot be created, or every user can write to it.
    pub fn open(named: Option<PathBuf>) -> Result<Self, HomeError> {
        let path = Self::find(named).ok_or(HomeError::Unknown)?;
        prepare_folder(&path).map_err(|source| HomeError::Unusable { path: path.clone(), source })?;
        Ok(Self(path))
    }

    /// Returns the path of the folder, whether it exists or not.
    pub fn find(named: Option<PathBuf>) -> Option<PathBuf> {
        let named = named.filter(|path| !path.as_os_str().is_empty());
        named.or_else(|| Some(dirs::data_dir()?.join("tidegate")))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of the database with the artifacts.
    pub fn artifacts(&self) -> PathBuf {
        self.0.join("artifacts.db")
    }

    /// Returns the path of the folder of a [`FolderStore`](crate::FolderStore).
    pub fn artifact_folder(&self) -> PathBuf {
        self.0.join("artifacts")
    }

    /// Returns the path of the ledger.
    pub fn ledger(&self) -> PathBuf {
        self.0.join("ledger.db")
    }
}

/// Creates the folder, with what is missing above it, for its user alone. One that exists is used as it is: it may be
/// anybody's, and its files are private in any folder that others cannot write to.
pub(crate) fn prepare_folder(path: &Path) -> io::Result<()> {
    nearest_folder(path)?;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    refuse_writable_by_all(path)
}

/// Returns the path if it exists, otherwise its nearest existing ancestor.
pub(crate) fn nearest_folder(path: &Path) -> io::Result<&Path> {
    let mut existing = path.ancestors().filter(|folder| folder.symlink_metadata().is_ok());
    let nearest = existing.next().unwrap_or(Path::new("."));
    match std::fs::metadata(nearest)?.is_dir() {
        true => Ok(nearest),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Refuses a folder in which every user could put a file in the place of ours.
#[cfg(unix)]
pub(crate) fn refuse_writable_by_all(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path)?.permissions().mode() & 0o7777;
    if mode & 0o002 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("every user can write to it (mode {mode:o}); name a folder that only you can write to"),
    ))
}

#[cfg(not(unix))]
pub(crate) fn refuse_writable_by_all(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Creates a file that only its user can read and write, if there is none, and restricts the mode of one that exists.
///
/// It is called before SQLite would create the file with the umask's mode; SQLite gives its side files the same mode. A
/// file that exists must not be opened here: closing it would release the locks that this process holds on it.
#[cfg(feature = "sqlite")]
pub(crate) fn ensure_private_file(path: &Path) -> io::Result<()> {
    match create_private_file(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => restrict_mode(path),
    }
}

/// Creates a file that only its user can read and write; an error if there is one already.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    private_options().write(true).create_new(true).open(path)
}

/// Returns the options to open a file that only its user can read and write, if it is created.
pub(crate) fn private_options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(all(unix, feature = "sqlite"))]
fn restrict_mode(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(path)?.permissions().mode() & 0o777 != 0o600 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(all(not(unix), feature = "sqlite"))]
fn restrict_mode(_: &Path) -> io::Result<()> {
    Ok(())
}
