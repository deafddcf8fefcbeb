//! An issuer of tokens, and its keys: fetched when first needed, cached, and fetched again when they change.
//!
//! Callers cannot make the gateway fetch often: a token that names an unknown key causes one fetch, and then none for
//! [`Timing::pause`]. While the issuer is unreachable, its last keys stay in use for at most a day. Keys older than
//! [`Timing::max_age`] are renewed in the background, so that no call waits for the fetch.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tidegate_gate::causes;
use tidegate_proxy::http::{DocumentError, Remote, RemoteError};

use super::jwk::{Algorithm, KeySet};
use super::jwt::{TokenError, UnverifiedToken, VerifiedToken};
use super::{metadata, strict_json};

/// The maximum size of a document that an issuer serves.
const MAX_DOCUMENT_BYTES: usize = 512 * 1024;

/// An issuer as it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerSettings {
    /// The `iss` of its tokens, exactly.
    pub issuer: String,
    /// The URL of its keys; without one, the URL in its metadata.
    pub jwks_url: Option<String>,
    /// The algorithms that are accepted.
    pub algorithms: Vec<Algorithm>,
    /// The audience of its tokens, if it is not the URL of the gateway.
    pub audience: Option<String>,
    /// The claim with the groups of a caller.
    pub groups_claim: String,
    /// How far its clock may be off, in seconds.
    pub leeway_seconds: u64,
}

impl IssuerSettings {
    /// Returns the default settings for an issuer.
    pub fn new(issuer: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            jwks_url: None,
            algorithms: Algorithm::DEFAULT.to_vec(),
            audience: None,
            groups_claim: "groups".into(),
            leeway_seconds: 30,
        }
    }
}

/// How often keys are fetched, and how long they are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The age at which keys are renewed.
    pub max_age: Duration,
    /// The shortest time between two fetches.
    pub pause: Duration,
    /// The age up to which keys that cannot be renewed stay in use.
    pub max_stale: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            max_age: Duration::from_secs(600),
            pause: Duration::from_secs(30),
            max_stale: Duration::from_secs(86_400),
        }
    }
}

/// Why the keys of an issuer cannot be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IssuerError {
    /// A URL is invalid.
    #[error(transparent)]
    Address(#[from] RemoteError),
    /// A URL is neither https nor on this machine.
    #[error("{url} must begin with https://")]
    Insecure {
        /// The address.
        url: String,
    },
    /// A document cannot be fetched.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The metadata is that of another issuer, or names no keys.
    #[error("the metadata of {issuer} is that of another issuer, or has no jwks_uri; set jwks_url")]
    Metadata {
        /// The issuer.
        issuer: String,
    },
    /// The document has no key that can be used.
    #[error("the document at {url} has no usable keys")]
    NoKeys {
        /// The address.
        url: String,
    },
}

/// The keys of an issuer could not be fetched, so its tokens cannot be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable {
    /// Seconds after which they may be fetched again.
    pub retry_after: u64,
}

/// Why [`Issuer::verify`] refuses a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The token is not valid.
    Token(TokenError),
    /// The keys of the issuer could not be fetched.
    Unavailable(Unavailable),
}

#[derive(Default)]
struct CachedKeys {
    /// The keys, and when they were fetched.
    keys: Option<(Arc<KeySet>, Instant)>,
    /// When fetching was last attempted.
    attempted: Option<Instant>,
    /// How many fetches there were.
    fetches: u64,
}

/// An issuer of tokens.
pub struct Issuer {
    settings: IssuerSettings,
    timing: Timing,
    cached: Mutex<CachedKeys>,
    fetching: tokio::sync::Mutex<()>,
    log: Log,
}

/// Writes a line to the log.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

impl Issuer {
    /// Returns an issuer. Nothing is fetched yet.
    ///
    /// # Errors
    ///
    /// A URL is invalid, or neither https nor on this machine.
    pub fn new(settings: IssuerSettings, timing: Timing, log: Log) -> Result<Self, IssuerError> {
        for url in settings.jwks_url.iter().chain([&settings.issuer]) {
            remote(url)?;
        }
        let (cached, fetching) = (Mutex::default(), tokio::sync::Mutex::default());
        Ok(Self { settings, timing, cached, fetching, log })
    }

    /// Returns its settings.
    pub fn settings(&self) -> &IssuerSettings {
        &self.settings
    }

    /// Returns how many times fetching its keys was attempted.
    pub fn fetches(&self) -> u64 {
        self.cached().fetches
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, CachedKeys> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks the signature of a token with the keys of the issuer, fetching them where needed.
    ///
    /// # Errors
    ///
    /// The signature is wrong, or the keys cannot be fetched.
    pub async fn verify<'t>(
        self: &Arc<Self>,
        token: &'t UnverifiedToken<'_>,
    ) -> Result<VerifiedToken<'t>, Refusal> {
        let accepted = &self.settings.algorithms;
        let known = match self.usable_keys() {
            Some(keys) => keys,
            None => self.fetched(None).await?,
        };
        match token.verify(&known, accepted) {
            Err(TokenError::UnknownKey) => {
                // The issuer may have changed its keys.
                let renewed = self.fetched(Some(&known)).await.unwrap_or(known);
                token.verify(&renewed, accepted).map_err(Refusal::Token)
            }
            known => known.map_err(Refusal::Token),
        }
    }

    /// Returns the cached keys unless they are too old; old ones are renewed in the background.
    fn usable_keys(self: &Arc<Self>) -> Option<Arc<KeySet>> {
        let cached = self.cached();
        let (keys, fetched) = cached.keys.as_ref()?;
        if fetched.elapsed() > self.timing.max_stale {
            return None;
        }
        let may_try = cached.attempted.is_none_or(|attempted| attempted.elapsed() >= self.timing.pause);
        if fetched.elapsed() > self.timing.max_age && may_try {
            let issuer = Arc::clone(self);
            let known = Arc::clone(keys);
            tokio::spawn(async move { drop(issuer.fetched(Some(&known)).await) });
        }
        Some(Arc::clone(keys))
    }

    /// Returns keys other than `known`, fetching them unless the last attempt was less than [`Timing::pause`] ago. Concurrent
    /// callers share one fetch.
    async fn fetched(&self, known: Option<&Arc<KeySet>>) -> Result<Arc<KeySet>, Refusal> {
        let _only_one = self.fetching.lock().await;
        {
            let mut cached = self.cached();
            if let Some((keys, fetched)) = &cached.keys {
                let is_other = known.is_none_or(|known| !Arc::ptr_eq(known, keys));
                if is_other && fetched.elapsed() <= self.timing.max_stale {
                    return Ok(Arc::clone(keys));
                }
            }
            if let Some(attempted) = cached.attempted {
                let left = self.timing.pause.saturating_sub(attempted.elapsed());
                if !left.is_zero() {
                    return Err(Refusal::Unavailable(Unavailable { retry_after: left.as_secs() + 1 }));
                }
            }
            cached.attempted = Some(Instant::now());
            cached.fetches += 1;
        }
        match self.fetch().await {
            Ok(keys) => {
                let keys = Arc::new(keys);
                self.cached().keys = Some((Arc::clone(&keys), Instant::now()));
                Ok(keys)
            }
            Err(error) => {
                let issuer = &self.settings.issuer;
                (self.log)(&format!("cannot fetch the keys of the issuer {issuer}: {}", causes(&error)));
                Err(Refusal::Unavailable(Unavailable { retry_after: self.timing.pause.as_secs() + 1 }))
            }
        }
    }

    async fn fetch(&self) -> Result<KeySet, IssuerError> {
        let url = match &self.settings.jwks_url {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let json = remote(&url)?.document(MAX_DOCUMENT_BYTES).await?;
        KeySet::read(&json).ok_or(IssuerError::NoKeys { url })
    }

    /// Returns the URL of the keys, from the metadata of the issuer.
    async fn discover(&self) -> Result<String, IssuerError> {
        let issuer = self.settings.issuer.trim_end_matches('/');
        let (host, path) = metadata::split(issuer);
        let places = [
            format!("{issuer}/.well-known/openid-configuration"),
            format!("{host}/.well-known/oauth-authorization-server{path}"),
        ];
        let mut failed = None;
        for place in &places {
            match remote(place)?.document(MAX_DOCUMENT_BYTES).await {
                Ok(json) => return self.keys_in(&json),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.map_or_else(|| self.no_metadata(), Into::into))
    }

    fn keys_in(&self, json: &[u8]) -> Result<String, IssuerError> {
        let metadata = strict_json::object(json).ok_or_else(|| self.no_metadata())?;
        let text = |name| metadata.get(name).and_then(Value::as_str);
        match (text("issuer"), text("jwks_uri")) {
            (Some(issuer), Some(url)) if issuer == self.settings.issuer => Ok(url.to_owned()),
            _ => Err(self.no_metadata()),
        }
    }

    fn no_metadata(&self) -> IssuerError {
        IssuerError::Metadata { issuer: self.settings.issuer.clone() }
    }
}

/// Returns the server at a URL, which must use TLS or be on this machine.
fn remote(url: &str) -> Result<Remote, IssuerError> {
    let remote = Remote::new(url, hyper::HeaderMap::new())?;
    // Compared as a parsed host: user information before the host may look like one.
    let uri: Option<hyper::Uri> = url.parse().ok();
    let is_here = uri.is_some_and(|uri| matches!(uri.host(), Some("127.0.0.1" | "localhost" | "[::1]")));
    if url.starts_with("https://") || is_here {
        return Ok(remote);
    }
    Err(IssuerError::Insecure { url: url.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_must_use_tls_or_be_on_this_machine() {
        for (url, is_accepted) in [
            ("https://login.example/realms/team", true),
            ("http://127.0.0.1:8080", true),
            ("http://localhost:8080/x", true),
            ("http://[::1]:8080/x", true),
            ("http://login.example", false),
            ("http://127.0.0.1.login.example:80", false),
            ("http://127.0.0.1@login.example", false),
            ("http://localhost:80@login.example", false),
            ("ftp://127.0.0.1", false),
            ("login.example", false),
            ("", false),
        ] {
            let issuer = Issuer::new(IssuerSettings::new(url), Timing::default(), Arc::new(|_: &str| {}));
            assert_eq!(issuer.is_ok(), is_accepted, "{url}");
        }
    }
}
