//! A store that several machines share: PostgreSQL, with an object store for large results.
//!
//! Only a build with the feature `postgres` can open one; without it, opening says which build can. Passwords are never
//! shown: [`RemoteStore::shown`] leaves them out.

use std::fmt;
use std::path::PathBuf;

use super::StoreSettings;

/// A store that several machines share.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteStore {
    /// The address of the database: `postgres://user:password@host/database`.
    pub url: String,
    /// The object store for large results; without one, the database holds them.
    pub objects: Option<RemoteObjects>,
    /// The data folder of this machine, for files that are saved and results that are being received.
    pub folder: Option<PathBuf>,
}

/// An object store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteObjects {
    /// Where the objects are: `s3://bucket/prefix`.
    pub url: String,
    /// The address of a server other than that of the cloud provider.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// The credentials; from the environment, or of the role of the machine, if there are none.
    pub credentials: Option<RemoteCredentials>,
}

/// The credentials of an object store.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteCredentials {
    /// The id of the key.
    pub key_id: String,
    /// The secret.
    pub secret: String,
    /// The token of temporary credentials.
    pub token: Option<String>,
}

/// Leaves out the secrets.
impl fmt::Debug for RemoteCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RemoteCredentials(..)")
    }
}

impl fmt::Debug for RemoteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteStore")
            .field("url", &self.shown())
            .field("objects", &self.objects)
            .finish()
    }
}

impl RemoteStore {
    /// Returns whether an address is that of such a store.
    pub fn is_url(text: &str) -> bool {
        ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// Returns the address without its password and parameters.
    pub fn shown(&self) -> String {
        without_secrets(&self.url)
    }
}

/// Returns an address without its password and parameters.
pub fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return "***".to_owned() };
    // A password may hold a slash or an @; the host begins after the last @.
    let (user, host) = match rest.rsplit_once('@') {
        Some((user, host)) => (user.split(':').next().unwrap_or_default(), host),
        None => return format!("{scheme}://{rest}"),
    };
    format!("{scheme}://{user}@{host}")
}

#[cfg(feature = "postgres")]
mod shared {
    use std::sync::{Arc, Mutex, PoisonError};

    use tidegate_store::{
        ArtifactStore, Clock, Ledger, ObjectCredentials, ObjectOptions, PostgresOptions, PostgresStore,
        Quotas, StoreError, StoreKeys, SystemClock, WeakPostgresStore,
    };

    use super::{RemoteCredentials, RemoteObjects, RemoteStore, StoreSettings};

    /// A store that this process has connected to.
    struct Connected {
        remote: RemoteStore,
        keys: StoreKeys,
        quotas: Quotas,
        store: WeakPostgresStore,
    }

    /// The stores that this process has connected to: results, ledger, credentials and replicas of a gateway share connections.
    static CONNECTED: Mutex<Vec<Connected>> = Mutex::new(Vec::new());

    impl RemoteStore {
        /// Connects to the store, or returns the connection that this process has.
        ///
        /// # Errors
        ///
        /// The store cannot be reached or used.
        pub fn connect(
            &self,
            settings: &StoreSettings,
            clock: Arc<dyn Clock>,
        ) -> Result<PostgresStore, StoreError> {
            let mut options = PostgresOptions::new(&self.url);
            options.keys = settings.keys.clone();
            options.objects = self.objects.as_ref().map(objects);
            options.migrate = !settings.keep_schema;
            let quotas = settings.quotas.over(Quotas::default());
            // The clock of a test is its own.
            if !clock.is_of_machine() {
                return PostgresStore::connect(&options, quotas, clock);
            }
            // Held while connecting: who comes meanwhile would connect to the same.
            let mut connected = CONNECTED.lock().unwrap_or_else(PoisonError::into_inner);
            connected.retain(|one| one.store.upgrade().is_some());
            let is_same =
                |one: &&Connected| one.remote == *self && one.keys == settings.keys && one.quotas == quotas;
            if let Some(store) = connected.iter().find(is_same).and_then(|one| one.store.upgrade()) {
                return Ok(store);
            }
            let store = PostgresStore::connect(&options, quotas, clock)?;
            let (remote, keys) = (self.clone(), settings.keys.clone());
            connected.push(Connected { remote, keys, quotas, store: store.downgrade() });
            Ok(store)
        }
    }

    fn objects(remote: &RemoteObjects) -> ObjectOptions {
        let RemoteObjects { url, endpoint, region, credentials } = remote.clone();
        let credentials = credentials.map(|RemoteCredentials { key_id, secret, token }| ObjectCredentials {
            key_id,
            secret,
            token,
        });
        // A configured URL without TLS is taken as intended.
        let allow_http = endpoint.as_deref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        ObjectOptions { endpoint, region, allow_http, credentials, ..ObjectOptions::new(url) }
    }

    pub(in super::super) fn open(
        remote: &RemoteStore,
        settings: &StoreSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Box<dyn ArtifactStore>, StoreError> {
        Ok(Box::new(remote.connect(settings, clock)?))
    }

    pub(in super::super) fn open_ledger(
        remote: &RemoteStore,
        settings: &StoreSettings,
    ) -> Result<Arc<dyn Ledger>, StoreError> {
        Ok(Arc::new(remote.connect(settings, Arc::new(SystemClock))?.ledger()?))
    }
}

#[cfg(not(feature = "postgres"))]
mod shared {
    use std::sync::Arc;

    use tidegate_store::{ArtifactStore, Clock, Ledger, StoreError};

    use super::{RemoteStore, StoreSettings};

    /// Why a build without PostgreSQL cannot open such a store.
    const NOT_BUILT: &str = "this build of tidegate has no PostgreSQL; install one with it: cargo install tidegate --features gateway";

    pub(in super::super) fn open(
        _: &RemoteStore,
        _: &StoreSettings,
        _: Arc<dyn Clock>,
    ) -> Result<Box<dyn ArtifactStore>, StoreError> {
        Err(StoreError::Unusable(NOT_BUILT.into()))
    }

    pub(in super::super) fn open_ledger(
        _: &RemoteStore,
        _: &StoreSettings,
    ) -> Result<Arc<dyn Ledger>, StoreError> {
        Err(StoreError::Unusable(NOT_BUILT.into()))
    }
}

pub(super) use shared::{open, open_ledger};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_never_shown() {
        for (url, shown) in [
            (
                "postgres://team:secret@db.example:5432/tidegate?sslmode=require&password=secret",
                "postgres://team@db.example:5432/tidegate",
            ),
            ("postgres://team:se/cr@et@db/tidegate", "postgres://team@db/tidegate"),
            ("postgresql://db/tidegate", "postgresql://db/tidegate"),
            ("host=db password=secret", "***"),
        ] {
            assert_eq!(without_secrets(url), shown);
            let store = RemoteStore { url: url.to_owned(), objects: None, folder: None };
            assert!(!format!("{store:?}").contains("secret"));
        }
    }
}
