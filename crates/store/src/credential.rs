//! The credentials of callers for servers behind a gateway, encrypted with the key of the store.
//!
//! A credential is never stored in the clear: without an encryption key, none can be stored. Each is bound to its caller and
//! server, so a credential that was moved to another row does not open. After a change of the key, credentials that the
//! previous key sealed open as long as that key is configured.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::cipher::{Cipher, SealedPlace};
use crate::clock::Millis;
use crate::error::StoreError;
use crate::files::{lock_within, sync_folder};
use crate::home::{prepare_folder, private_options};
use crate::key::{KeyMismatch, StoreKeys};

/// The maximum size of a credential.
pub const MAX_CREDENTIAL_BYTES: usize = 16 * 1024;
/// How long a change waits for a change by another process.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The file with the credentials, in the data folder.
const CREDENTIALS_FILE: &str = "credentials.json";

/// A caller's secret for a server. Debug output hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(String);

impl Credential {
    /// Returns a credential; `None` if the text is empty, too long, or cannot be sent in a header.
    pub fn new(text: &str) -> Option<Self> {
        let is_visible = |byte: u8| (0x20..0x7f).contains(&byte);
        let is_valid = !text.is_empty() && text.len() <= MAX_CREDENTIAL_BYTES && text.bytes().all(is_visible);
        is_valid.then(|| Self(text.to_owned()))
    }

    /// Returns the secret.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credential(***)")
    }
}

/// A credential that is stored, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCredential {
    /// The caller.
    pub owner: String,
    /// The server.
    pub server: String,
    /// When it was set.
    pub changed: Millis,
}

/// A table of sealed credentials, by caller and server.
pub trait CredentialRows: Send + Sync {
    /// Returns the sealed credential of a caller for a server.
    ///
    /// # Errors
    ///
    /// The rows are out of reach.
    fn read(&self, owner: &str, server: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Sets a sealed credential.
    ///
    /// # Errors
    ///
    /// The rows are out of reach.
    fn write(&self, owner: &str, server: &str, sealed: &[u8], now: Millis) -> Result<(), StoreError>;

    /// Removes a credential. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// The rows are out of reach.
    fn remove(&self, owner: &str, server: &str) -> Result<bool, StoreError>;

    /// Lists the stored credentials, without their secrets.
    ///
    /// # Errors
    ///
    /// The rows are out of reach.
    fn list(&self) -> Result<Vec<StoredCredential>, StoreError>;
}

/// The credentials of a store.
pub struct Credentials {
    rows: Box<dyn CredentialRows>,
    current: Cipher,
    previous: Option<Cipher>,
}

impl Credentials {
    /// Returns the credentials that are stored in `rows`.
    ///
    /// # Errors
    ///
    /// No key is configured to seal them with.
    pub fn new(rows: Box<dyn CredentialRows>, keys: &StoreKeys) -> Result<Self, StoreError> {
        let current = keys.current.as_ref().ok_or(KeyMismatch::NoKey)?;
        Ok(Self { rows, current: Cipher::new(current), previous: keys.previous.as_ref().map(Cipher::new) })
    }

    fn place(owner: &str, server: &str) -> SealedPlace {
        SealedPlace::new(&[b"credential", owner.as_bytes(), server.as_bytes()])
    }

    /// Returns the credential of a caller for a server.
    ///
    /// # Errors
    ///
    /// The rows are out of reach, or the credential was sealed with another key.
    pub fn get(&self, owner: &str, server: &str) -> Result<Option<Credential>, StoreError> {
        let Some(sealed) = self.rows.read(owner, server)? else { return Ok(None) };
        let place = Self::place(owner, server);
        let ciphers = [Some(&self.current), self.previous.as_ref()];
        let opened = ciphers.into_iter().flatten().find_map(|cipher| cipher.open(&place, &sealed));
        let text = opened.and_then(|bytes| String::from_utf8(bytes).ok());
        let credential = text.and_then(|text| Credential::new(&text));
        credential.map(Some).ok_or(StoreError::Damaged { what: "a credential" })
    }

    /// Sets the credential of a caller for a server.
    ///
    /// # Errors
    ///
    /// The rows are out of reach.
    pub fn set(
        &self,
        owner: &str,
        server: &str,
        credential: &Credential,
        now: Millis,
    ) -> Result<(), StoreError> {
        let sealed = self.current.seal(&Self::place(owner, server), credential.0.as_bytes());
        self.rows.write(owner, server, &sealed, now)
    }

    /// Seals all credentials with the current key, as before the previous one is removed. Returns how many there are.
    ///
    /// # Errors
    ///
    /// The rows are out of reach, or one was sealed with a key that is not there any more.
    pub fn reseal(&self) -> Result<usize, StoreError> {
        let stored = self.rows.list()?;
        for StoredCredential { owner, server, changed } in &stored {
            // One that was removed meanwhile stays removed.
            if let Some(credential) = self.get(owner, server)? {
                self.set(owner, server, &credential, *changed)?;
            }
        }
        Ok(stored.len())
    }

    /// Removes the credential of a caller for a server. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// The rows are out of reach.
    pub fn remove(&self, owner: &str, server: &str) -> Result<bool, StoreError> {
        self.rows.remove(owner, server)
    }

    /// Lists the stored credentials, without their secrets.
    ///
    /// # Errors
    ///
    /// The rows are out of reach.
    pub fn list(&self) -> Result<Vec<StoredCredential>, StoreError> {
        self.rows.list()
    }
}

/// Credentials in a file of the data folder, for a gateway on one machine.
#[derive(Debug)]
pub struct FileCredentials(PathBuf);

/// One entry of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    sealed: String,
    changed: Millis,
}

/// Entries by caller and server.
type Entries = BTreeMap<String, BTreeMap<String, Entry>>;

impl FileCredentials {
    /// Returns the credentials in a data folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self(folder.join(CREDENTIALS_FILE))
    }

    fn entries(&self) -> Result<Entries, StoreError> {
        match std::fs::read(&self.0) {
            Ok(bytes) => parse(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Entries::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes the entries under a lock. A new file replaces the old one, so a reader sees either, never a half-written one.
    fn change<T>(&self, change: impl FnOnce(&mut Entries) -> T) -> Result<T, StoreError> {
        let folder = self.0.parent().unwrap_or(Path::new("."));
        prepare_folder(folder)?;
        let open = |path: &Path| private_options().write(true).create(true).truncate(true).open(path);
        let lock = open(&self.0.with_extension("lock"))?;
        lock_within(&lock, LOCK_TIMEOUT)?;
        let mut entries = self.entries()?;
        let changed = change(&mut entries);
        let new = self.0.with_extension("new");
        let mut file = open(&new)?;
        file.write_all(&serde_json::to_vec_pretty(&entries).map_err(io::Error::from)?)?;
        file.sync_all()?;
        std::fs::rename(&new, &self.0)?;
        sync_folder(folder)?;
        Ok(changed)
    }
}

fn parse(bytes: &[u8]) -> Result<Entries, StoreError> {
    serde_json::from_slice(bytes).map_err(|_| StoreError::Damaged { what: "the file of credentials" })
}

impl CredentialRows for FileCredentials {
    fn read(&self, owner: &str, server: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let entries = self.entries()?;
        let Some(entry) = entries.get(owner).and_then(|servers| servers.get(server)) else { return Ok(None) };
        STANDARD.decode(&entry.sealed).map(Some).map_err(|_| StoreError::Damaged { what: "a credential" })
    }

    fn write(&self, owner: &str, server: &str, sealed: &[u8], now: Millis) -> Result<(), StoreError> {
        let entry = Entry { sealed: STANDARD.encode(sealed), changed: now };
        self.change(|entries| {
            entries.entry(owner.to_owned()).or_default().insert(server.to_owned(), entry);
        })
    }

    fn remove(&self, owner: &str, server: &str) -> Result<bool, StoreError> {
        self.change(|entries| {
            let removed = entries.get_mut(owner).and_then(|servers| servers.remove(server)).is_some();
            entries.retain(|_, servers| !servers.is_empty());
            removed
        })
    }

    fn list(&self) -> Result<Vec<StoredCredential>, StoreError> {
        let entries = self.entries()?.into_iter().flat_map(|(owner, servers)| {
            servers.into_iter().map(move |(server, entry)| StoredCredential {
                owner: owner.clone(),
                server,
                changed: entry.changed,
            })
        });
        Ok(entries.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::StoreKey;

    #[test]
    fn credentials_are_sealed_and_bound_to_their_caller() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (StoreKey::random(), StoreKey::random());
        let of =
            |keys: &StoreKeys| Credentials::new(Box::new(FileCredentials::in_folder(folder.path())), keys);
        assert!(of(&StoreKeys::default()).is_err(), "nothing is stored in the clear");
        let credentials = of(&StoreKeys::of(old.clone())).unwrap();
        let secret = Credential::new("ghp_secret").unwrap();
        assert_eq!(credentials.get("key:ada", "github").unwrap(), None);
        credentials.set("key:ada", "github", &secret, Millis(1)).unwrap();
        credentials.set("key:bob", "github", &Credential::new("other").unwrap(), Millis(2)).unwrap();
        assert_eq!(credentials.get("key:ada", "github").unwrap(), Some(secret.clone()));
        assert_eq!(credentials.get("key:ada", "jira").unwrap(), None);
        let path = folder.path().join(CREDENTIALS_FILE);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("ghp_secret") && !text.contains(&STANDARD.encode("ghp_secret")));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        // What was sealed for Ada does not open for Bob.
        let sealed = credentials.rows.read("key:ada", "github").unwrap().unwrap();
        credentials.rows.write("key:bob", "github", &sealed, Millis(3)).unwrap();
        assert!(credentials.get("key:bob", "github").is_err());
        let changing = StoreKeys { previous: Some(old), ..StoreKeys::of(new.clone()) };
        assert_eq!(of(&changing).unwrap().get("key:ada", "github").unwrap(), Some(secret.clone()));
        let alone = of(&StoreKeys::of(new)).unwrap();
        assert!(alone.get("key:ada", "github").is_err(), "another key");
        credentials.set("key:bob", "github", &secret, Millis(2)).unwrap();
        assert_eq!(of(&changing).unwrap().reseal().unwrap(), 2);
        assert_eq!(alone.get("key:ada", "github").unwrap(), Some(Credential::new("ghp_secret").unwrap()));
        assert!(credentials.get("key:ada", "github").is_err(), "the old key opens nothing any more");
        let listed = credentials.list().unwrap();
        assert_eq!((listed.len(), listed[0].owner.as_str(), listed[0].changed), (2, "key:ada", Millis(1)));
        assert!(credentials.remove("key:ada", "github").unwrap());
        assert!(!credentials.remove("key:ada", "github").unwrap());
        assert_eq!(credentials.get("key:ada", "github").unwrap(), None);
    }

    #[test]
    fn a_credential_is_printable_and_hidden_in_debug_output() {
        for wrong in ["", "a\nb", "caf\u{e9}", "\u{7f}", &"x".repeat(MAX_CREDENTIAL_BYTES + 1)] {
            assert_eq!(Credential::new(wrong), None);
        }
        assert_eq!(format!("{:?}", Credential::new("secret").unwrap()), "Credential(***)");
    }
}
