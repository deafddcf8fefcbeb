//! The credentials of callers for servers, read from the store and remembered for a short time.
//!
//! Every request of a caller asks for its credential, and a store may be a database on another machine. So what was read is
//! used for [`FRESH`]; after that a change is seen. While the store is out of reach the last one stays in use for [`STALE`], as
//! limits do, and then calls are refused: nobody can say any more whether it was removed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_gate::causes;
use tidegate_gateway::credentials::{Credential, FindCredential, Finding};
use tidegate_store::Credentials;

/// How long a credential is used before it is read again.
pub const FRESH: Duration = Duration::from_secs(30);
/// How long one is used that cannot be read again.
pub const STALE: Duration = Duration::from_secs(600);
/// Maximum number of remembered credentials.
const MAX_REMEMBERED: usize = 10_000;

/// What was read for a caller and a server; most servers have no credential of most callers.
#[derive(Clone)]
struct Known {
    credential: Option<Credential>,
    read: Instant,
}

type Remembered = HashMap<(String, String), Known>;

/// The credentials of a store.
pub struct StoredCredentials {
    stored: Arc<Credentials>,
    known: Mutex<Remembered>,
    fresh: Duration,
    stale: Duration,
}

impl StoredCredentials {
    /// Returns the credentials of a store.
    pub fn new(stored: Credentials) -> Self {
        Self { stored: Arc::new(stored), known: Mutex::default(), fresh: FRESH, stale: STALE }
    }

    /// Returns the same credentials, remembered for other times.
    #[must_use]
    pub fn remembered_for(self, fresh: Duration, stale: Duration) -> Self {
        Self { fresh, stale, ..self }
    }

    fn known(&self) -> MutexGuard<'_, Remembered> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, key: (String, String), credential: Option<Credential>) {
        let mut known = self.known();
        if known.len() >= MAX_REMEMBERED && !known.contains_key(&key) {
            known.retain(|_, known| known.read.elapsed() < self.fresh);
            if known.len() >= MAX_REMEMBERED {
                known.clear();
            }
        }
        known.insert(key, Known { credential, read: Instant::now() });
    }
}

impl FindCredential for StoredCredentials {
    fn find<'a>(&'a self, owner: &'a str, server: &'a str) -> Finding<'a> {
        Box::pin(async move {
            let key = (owner.to_owned(), server.to_owned());
            let known = self.known().get(&key).cloned();
            if let Some(known) = known.as_ref().filter(|known| known.read.elapsed() < self.fresh) {
                return Ok(known.credential.clone());
            }
            let (stored, (of, at)) = (Arc::clone(&self.stored), key.clone());
            let read = tokio::task::spawn_blocking(move || stored.get(&of, &at)).await;
            let reason = match read {
                Ok(Ok(credential)) => {
                    self.remember(key, credential.clone());
                    return Ok(credential);
                }
                Ok(Err(error)) => causes(&error),
                Err(_) => "reading it failed".to_owned(),
            };
            match known.filter(|known| known.read.elapsed() < self.stale) {
                Some(known) => Ok(known.credential),
                None => Err(reason),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use tidegate_store::{
        CredentialRows, FileCredentials, Millis, StoreError, StoreKey, StoreKeys, StoredCredential,
    };

    use super::*;

    /// Rows of a file that count what is read, and can be out of reach.
    struct Rows {
        file: FileCredentials,
        reads: Arc<AtomicUsize>,
        is_down: Arc<AtomicBool>,
    }

    impl CredentialRows for Rows {
        fn read(&self, owner: &str, server: &str) -> Result<Option<Vec<u8>>, StoreError> {
            self.reads.fetch_add(1, Ordering::SeqCst);
            if self.is_down.load(Ordering::SeqCst) {
                return Err(StoreError::Busy);
            }
            self.file.read(owner, server)
        }

        fn write(&self, owner: &str, server: &str, sealed: &[u8], now: Millis) -> Result<(), StoreError> {
            self.file.write(owner, server, sealed, now)
        }

        fn remove(&self, owner: &str, server: &str) -> Result<bool, StoreError> {
            self.file.remove(owner, server)
        }

        fn list(&self) -> Result<Vec<StoredCredential>, StoreError> {
            self.file.list()
        }
    }

    #[tokio::test]
    async fn a_change_is_seen_and_an_outage_is_bridged() {
        let folder = tempfile::tempdir().unwrap();
        let keys = StoreKeys::of(StoreKey::random());
        let file = || FileCredentials::in_folder(folder.path());
        let set = Credentials::new(Box::new(file()), &keys).unwrap();
        let (reads, is_down) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let rows = Rows { file: file(), reads: Arc::clone(&reads), is_down: Arc::clone(&is_down) };
        let (fresh, stale) = (Duration::from_millis(50), Duration::from_secs(60));
        let found = StoredCredentials::new(Credentials::new(Box::new(rows), &keys).unwrap());
        let found = found.remembered_for(fresh, stale);
        assert_eq!(found.find("key:ada", "github").await, Ok(None));
        let (one, two) = (Credential::new("one").unwrap(), Credential::new("two").unwrap());
        set.set("key:ada", "github", &one, Millis(1)).unwrap();
        tokio::time::sleep(fresh).await;
        let before = reads.load(Ordering::SeqCst);
        for _ in 0..5 {
            assert_eq!(found.find("key:ada", "github").await, Ok(Some(one.clone())));
        }
        assert!(reads.load(Ordering::SeqCst) <= before + 2, "it is remembered");
        assert_eq!(found.find("key:bob", "github").await, Ok(None), "it is that of one caller");
        set.set("key:ada", "github", &two, Millis(2)).unwrap();
        tokio::time::sleep(fresh).await;
        assert_eq!(found.find("key:ada", "github").await, Ok(Some(two.clone())));
        is_down.store(true, Ordering::SeqCst);
        tokio::time::sleep(fresh).await;
        assert_eq!(found.find("key:ada", "github").await, Ok(Some(two)));
        assert!(found.find("key:eve", "github").await.is_err(), "nothing is known about it");
    }
}
