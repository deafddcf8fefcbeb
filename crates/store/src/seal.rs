//! The key that seals cursors: 32 random bytes in a file that only the user can read, made once.

use std::io::{self, Write};
use std::path::Path;

use tidegate_core::view::cursor::SEAL;

use crate::artifact::Owner;
use crate::id::ArtifactId;

/// Seals cursors, so that they can be neither made up nor used for another owner or artifact.
#[derive(Clone)]
pub struct SealKey([u8; 32]);

impl std::fmt::Debug for SealKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SealKey(..)")
    }
}

impl SealKey {
    /// Returns a key that is gone with the process.
    pub fn ephemeral() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system gives random bytes");
        Self(key)
    }

    /// Reads the key of a folder, and makes it if there is none.
    ///
    /// Several processes may start at once: the key is written to a file of its own and linked to its name, which
    /// succeeds for one of them; the others read that one's.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read or written, or a file that is no key.
    pub fn of_folder(folder: &Path) -> io::Result<Self> {
        let path = folder.join("seal.key");
        match std::fs::read(&path) {
            Ok(bytes) => return Self::from_bytes(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let new = Self::ephemeral();
        let mut file = tempfile_in(folder)?;
        file.0.write_all(&new.0)?;
        file.0.sync_all()?;
        let linked = std::fs::hard_link(&file.1, &path);
        std::fs::remove_file(&file.1)?;
        match linked {
            Ok(()) => Ok(new),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::from_bytes(&std::fs::read(&path)?)
            }
            Err(error) => Err(error),
        }
    }

    fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
        let key = bytes
            .try_into()
            .map_err(|_| io::Error::other("seal.key is damaged; remove it to make a new one"))?;
        Ok(Self(key))
    }

    /// Returns the seal of a cursor.
    pub fn seal(&self, owner: &Owner, id: &ArtifactId, bytes: &[u8]) -> [u8; SEAL] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in [owner.as_str().as_bytes(), id.as_str().as_bytes(), bytes] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut seal = [0; SEAL];
        hasher.finalize_xof().fill(&mut seal);
        seal
    }
}

fn tempfile_in(folder: &Path) -> io::Result<(std::fs::File, std::path::PathBuf)> {
    let path = folder.join(format!("seal.{}.tmp", ArtifactId::random()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    Ok((options.open(&path)?, path))
}
