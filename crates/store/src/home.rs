//! The folder where everything is kept, for its user's eyes only.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// The platform names no data folder.
    #[error("no data folder is known; set TIDEGATE_HOME to a folder")]
    Unknown,
    /// The folder cannot be made or be kept private.
    #[error("cannot use the data folder {path}: {source}")]
    Unusable {
        /// Which folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    /// Returns the folder named, or the one the platform has for data, and makes it if needed.
    ///
    /// # Errors
    ///
    /// Where there is none, or it cannot be made.
    pub fn open(named: Option<PathBuf>) -> Result<Self, HomeError> {
        let path = Self::find(named).ok_or(HomeError::Unknown)?;
        make_private(&path).map_err(|source| HomeError::Unusable { path: path.clone(), source })?;
        Ok(Self(path))
    }

    /// Returns where the folder is, whether it is there or not.
    pub fn find(named: Option<PathBuf>) -> Option<PathBuf> {
        let named = named.filter(|path| !path.as_os_str().is_empty());
        named.or_else(|| Some(dirs::data_dir()?.join("tidegate")))
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns where the artifacts are.
    pub fn artifacts(&self) -> PathBuf {
        self.0.join("artifacts.db")
    }

    /// Returns where the ledger is.
    pub fn ledger(&self) -> PathBuf {
        self.0.join("ledger.db")
    }
}

fn make_private(path: &Path) -> io::Result<()> {
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

/// Makes a database file that only its user can read, before SQLite makes one that others can: its side files take
/// over the mode. One that is there is not opened: closing it again would take away the locks that this process holds on
/// it.
pub(crate) fn make_private_file(path: &Path) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => keep_private(path),
    }
}

#[cfg(unix)]
fn keep_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(path)?.permissions().mode() & 0o777 != 0o600 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn keep_private(_: &Path) -> io::Result<()> {
    Ok(())
}
