//! The key that seals cursors: 32 random bytes in a file that only the user can read, created once per data folder.
//!
//! A seal is a keyed BLAKE3 hash of owner, artifact and the bytes of the cursor, each preceded by its length.

use std::io::{self, Write};
use std::path::Path;

use tidegate_core::view::cursor::SEAL_BYTES;

use crate::artifact::{CallDigest, Owner};
use crate::home::create_private_file;
use crate::id::ArtifactId;
use crate::key::{KeyError, parse_secret, read_secret};

/// Seals cursors, so that they can be neither forged nor used for another owner or artifact.
#[derive(Clone)]
pub struct SealKey([u8; 32]);

impl std::fmt::Debug for SealKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SealKey(..)")
    }
}

impl SealKey {
    /// Returns a new key that is not stored anywhere.
    pub fn ephemeral() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system provides random bytes");
        Self(key)
    }

    /// Reads the key in a folder, or creates one if there is none.
    ///
    /// Several processes may start at once. Each writes its key to a temporary file and hard-links it to the final name;
    /// the link succeeds for one of them, and the others read that key.
    ///
    /// # Errors
    ///
    /// The folder cannot be read or written, or the file is not a key.
    pub fn load_or_create(folder: &Path) -> io::Result<Self> {
        let path = folder.join("seal.key");
        match std::fs::read(&path) {
            Ok(bytes) => return Self::from_bytes(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let new = Self::ephemeral();
        let temporary = folder.join(format!("seal.{}.tmp", ArtifactId::random()));
        let mut file = create_private_file(&temporary)?;
        file.write_all(&new.0)?;
        file.sync_all()?;
        let linked = std::fs::hard_link(&temporary, &path);
        std::fs::remove_file(&temporary)?;
        match linked {
            Ok(()) => Ok(new),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::from_bytes(&std::fs::read(&path)?)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a key from a file that only its user can read, such as the `seal.key` of a data folder: 32 bytes, raw, in
    /// hexadecimal digits, or in base64.
    ///
    /// # Errors
    ///
    /// The file cannot be read, others can read it, or it holds no key.
    pub fn from_file(path: &Path) -> Result<Self, KeyError> {
        read_secret(path).map(Self)
    }

    /// Reads a key from a text; `name` is where it comes from, such as a variable.
    ///
    /// # Errors
    ///
    /// The text is not a key.
    pub fn parse(name: &str, text: &str) -> Result<Self, KeyError> {
        parse_secret(name, text.as_bytes()).map(Self)
    }

    fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
        let key = bytes
            .try_into()
            .map_err(|_| io::Error::other("seal.key is damaged; remove it to make a new one"))?;
        Ok(Self(key))
    }

    /// Returns the digest of the call that these parts identify.
    pub fn call_digest(&self, parts: &[&[u8]]) -> CallDigest {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in [b"call".as_slice()].iter().chain(parts) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut digest = [0; 16];
        hasher.finalize_xof().fill(&mut digest);
        CallDigest(digest)
    }

    /// Returns the seal of a cursor.
    pub fn seal(&self, owner: &Owner, id: &ArtifactId, bytes: &[u8]) -> [u8; SEAL_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in [owner.as_str().as_bytes(), id.as_str().as_bytes(), bytes] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut seal = [0; SEAL_BYTES];
        hasher.finalize_xof().fill(&mut seal);
        seal
    }
}
