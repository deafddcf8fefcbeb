//! The key that a store is encrypted with: 32 bytes from a file that only its user can read, or from a text.
//!
//! A store records the id of its key, never the key. If the configured keys do not match the store, [`KeyMismatch`] says why
//! and what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// Why a key, or another secret in a file, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read.
    #[error("cannot read the file {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Other users can read the file.
    #[error("other users can read the file {path} (mode {mode:o}); run chmod 600 {path}", path = path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The text is not a key.
    #[error(
        "{name} is not a key: it must be 32 bytes, written as 64 hexadecimal digits or in base64; tidegate store key makes one"
    )]
    Invalid {
        /// The file or variable that it comes from.
        name: String,
    },
}

/// Why a store cannot be opened with the keys that are configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyMismatch {
    /// The store is encrypted, and no key is configured.
    #[error(
        "the store is encrypted with the key {id}, but no key is configured; set encryption_key_file of [store] in your own tidegate.toml, or TIDEGATE_STORE_KEY"
    )]
    Missing {
        /// The key of the store.
        id: KeyId,
    },
    /// The store is encrypted with another key.
    #[error(
        "the store is encrypted with the key {store}, but the configured key is {given}; configure the key {store}, or set it as previous_key_file and run tidegate store rekey"
    )]
    Other {
        /// The key of the store.
        store: KeyId,
        /// The key that is configured.
        given: KeyId,
    },
    /// The key of the store is being changed, and the previous one is missing.
    #[error(
        "the key of the store is being changed, and parts are still encrypted with the key {id}; set it as previous_key_file of [store] until tidegate store rekey has finished"
    )]
    PreviousMissing {
        /// The previous key.
        id: KeyId,
    },
    /// The store is not encrypted, but a key is configured.
    #[error(
        "the store is not encrypted, but a key is configured; run tidegate store rekey to encrypt it, or remove the key from the configuration"
    )]
    NotEncrypted,
    /// No key is configured, but one is needed to encrypt.
    #[error("no key is configured to encrypt the store with; run tidegate store key to make one")]
    NoKey,
    /// Another process has changed the key of the store since it was opened.
    #[error("the key of the store was changed; restart with the new key")]
    Changed,
}

/// Identifies a key without revealing it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId(pub(crate) [u8; 8]);

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KeyId({self})")
    }
}

/// The key of a store.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreKey([u8; KEY_BYTES]);

impl fmt::Debug for StoreKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "StoreKey({})", self.id())
    }
}

impl StoreKey {
    /// Returns a new random key.
    ///
    /// # Panics
    ///
    /// The system provides no random bytes.
    pub fn random() -> Self {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).expect("the system provides random bytes");
        Self(key)
    }

    /// Reads a key from a text; `name` is where it comes from, such as a variable.
    ///
    /// # Errors
    ///
    /// The text is not a key.
    pub fn parse(name: &str, text: &str) -> Result<Self, KeyError> {
        parse_secret(name, text.as_bytes()).map(Self)
    }

    /// Reads a key from a file that only its user can read.
    ///
    /// # Errors
    ///
    /// The file cannot be read, others can read it, or it holds no key.
    pub fn from_file(path: &Path) -> Result<Self, KeyError> {
        read_secret(path).map(Self)
    }

    /// Returns the key in base64, as a file or variable holds it.
    pub fn to_text(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Returns the id of the key.
    pub fn id(&self) -> KeyId {
        let mut id = [0; 8];
        id.copy_from_slice(&self.derive("tidegate 2026 store key id")[..8]);
        KeyId(id)
    }

    /// Derives a key for one purpose.
    pub(crate) fn derive(&self, purpose: &str) -> [u8; KEY_BYTES] {
        blake3::derive_key(purpose, &self.0)
    }
}

/// The keys that a store may be opened with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreKeys {
    /// The key of the store; without one, the store is not encrypted.
    pub current: Option<StoreKey>,
    /// The previous key, while `rekey` replaces it.
    pub previous: Option<StoreKey>,
    /// Whether an unencrypted store may be opened although a key is configured, as `rekey` does to encrypt it.
    pub from_plain: bool,
}

impl StoreKeys {
    /// Returns the keys of a store that has only this one.
    pub fn of(key: StoreKey) -> Self {
        Self { current: Some(key), ..Self::default() }
    }
}

/// Reads a file that only its user can read, such as one with a password.
///
/// # Errors
///
/// The file cannot be read, or others can read it.
pub fn read_private_file(path: &Path) -> Result<Vec<u8>, KeyError> {
    let unreadable = |source| KeyError::Unreadable { path: path.to_owned(), source };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyError::Exposed { path: path.to_owned(), mode });
        }
    }
    std::fs::read(path).map_err(unreadable)
}

/// Reads 32 secret bytes from a file that only its user can read: as they are, in hexadecimal digits, or in base64.
pub(crate) fn read_secret(path: &Path) -> Result<[u8; KEY_BYTES], KeyError> {
    let bytes = read_private_file(path)?;
    match <[u8; KEY_BYTES]>::try_from(&bytes[..]) {
        Ok(key) => Ok(key),
        Err(_) => parse_secret(&path.display().to_string(), &bytes),
    }
}

/// Reads 32 secret bytes from their text.
pub(crate) fn parse_secret(name: &str, text: &[u8]) -> Result<[u8; KEY_BYTES], KeyError> {
    let text = text.trim_ascii();
    let bytes = match text.len() {
        64 => (0..KEY_BYTES).map(|at| hex_byte(&text[2 * at..2 * at + 2])).collect(),
        _ => [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD]
            .iter()
            .find_map(|alphabet| alphabet.decode(text).ok()),
    };
    let key = bytes.and_then(|bytes: Vec<u8>| bytes.try_into().ok());
    key.ok_or_else(|| KeyError::Invalid { name: name.to_owned() })
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_from_base64_and_hexadecimal_digits() {
        let key = StoreKey::random();
        assert_eq!(StoreKey::parse("K", &key.to_text()).unwrap(), key);
        assert_eq!(
            StoreKey::parse("K", &format!(" {}\n", key.to_text().trim_end_matches('='))).unwrap(),
            key
        );
        let hex: String = key.0.iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(StoreKey::parse("K", &hex).unwrap(), key);
        for wrong in ["", "abc", &hex[2..], &format!("+{}", &hex[1..]), &format!("{hex}00"), "ü"] {
            let message = StoreKey::parse("K", wrong).unwrap_err().to_string();
            assert!(message.starts_with("K is not a key: it must be 32 bytes"), "{message}");
        }
        assert!(!format!("{key:?}").contains(&hex[..16]), "a key is never shown");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.key");
        let key = StoreKey::random();
        std::fs::write(&path, key.to_text()).unwrap();
        for (mode, is_private) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            match StoreKey::from_file(&path) {
                Ok(read) => assert!(is_private && read == key),
                Err(error) => {
                    assert!(!is_private);
                    assert!(
                        error.to_string().contains(&format!("(mode {mode:o}); run chmod 600")),
                        "{error}"
                    );
                }
            }
        }
        assert!(StoreKey::from_file(&folder.path().join("none")).unwrap_err().to_string().contains("none"));
    }
}
