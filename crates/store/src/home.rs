//! The data folder: where the store, the ledger and the seal key are. Only its user can read it (0700, files 0600).
//!
//! Every other file of this crate creates its files through here, so that they are private from the start, whatever the
//! umask.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no usable data folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// The platform names no data folder.
    #[error("no data folder is known; set TIDEGATE_HOME to a folder")]
    Unknown,
    /// The folder cannot be created or made private.
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
    /// Opens the folder named, or the platform's folder for application data, and creates it if needed.
    ///
    /// # Errors
    ///
    /// The platform has no such folder, or it cannot be created.
    pub fn open(named: Option<PathBuf>) -> Result<Self, HomeError> {
        let path = Self::find(named).ok_or(HomeError::Unknown)?;
        create_private_folder(&path).map_err(|source| HomeError::Unusable { path: path.clone(), source })?;
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

    /// Returns the path of the ledger.
    pub fn ledger(&self) -> PathBuf {
        self.0.join("ledger.db")
    }
}

fn create_private_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let permissions = std::fs::metadata(path)?.permissions();
        if permissions.mode() & 0o777 != 0o700 {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// Creates a file that only its user can read and write, if there is none, and restricts the mode of one that exists.
///
/// It is called before SQLite would create the file with the umask's mode; SQLite gives its side files the same mode. A
/// file that exists must not be opened here: closing it would release the locks that this process holds on it.
pub(crate) fn ensure_private_file(path: &Path) -> io::Result<()> {
    match create_private_file(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => restrict_mode(path),
    }
}

/// Creates a file that only its user can read and write; an error if there is one already.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn restrict_mode(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(path)?.permissions().mode() & 0o777 != 0o600 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict_mode(_: &Path) -> io::Result<()> {
    Ok(())
}
