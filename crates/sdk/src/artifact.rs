//! Artifacts that a server stores itself: data too large for an answer, which the answer refers to.
//!
//! Clients read such an artifact like any stored result: as the resource `ax://<domain>/<id>`, or with `result_query`.
//! [`Artifacts`] is shared by the server's tools and the gate around them, so both see the same store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ContentBlock, Resource};
use serde::Serialize;
use serde_json::{Value, json};
use tidegate_core::measure::{self, Meter};
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::source::{Source, Span};
use tidegate_gate::policy::TTL;
use tidegate_gate::{StoreLocation, UserStore, causes};
use tidegate_store::{ArtifactId, Clock, open};

use crate::text::excerpt;

/// A handle to the artifact store, shared by the tools of a server and the gate around it.
#[derive(Clone)]
pub struct Artifacts {
    place: StoreLocation,
    keep: Arc<UserStore>,
    ttl: Duration,
}

/// A reference to stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    uri: String,
    bytes: u64,
}

/// Why an artifact could not be stored or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The reference or domain is malformed.
    #[error("Invalid artifact ref: {0}")]
    Invalid(String),
    /// The artifact does not exist or has expired.
    #[error("{0} is not stored or has expired; call the tool that created it again")]
    Gone(String),
    /// The store failed.
    #[error("the artifact store failed: {0}")]
    Store(String),
}

impl Default for Artifacts {
    /// Returns the store in `$TIDEGATE_HOME`, or in the user's data folder if that is not set.
    ///
    /// `tidegate run` uses the same store, so each can read what the other stored.
    fn default() -> Self {
        let home = std::env::var_os("TIDEGATE_HOME").filter(|home| !home.is_empty());
        Self::store_in(StoreLocation::Folder(home.map(PathBuf::from)))
    }
}

impl Artifacts {
    /// Returns a store in a folder or in memory.
    pub fn store_in(place: StoreLocation) -> Self {
        let keep = Arc::new(UserStore::of_user(place.clone()));
        Self { place, keep, ttl: TTL }
    }

    /// Sets how long artifacts are kept.
    #[must_use]
    pub fn for_time(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// Sets the clock by which artifacts expire, for tests. Call it before anything is stored.
    pub(crate) fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        let keep = Arc::new(UserStore::of_user(self.place.clone()).with_clock(clock));
        Self { keep, ..self }
    }

    /// Returns the store of one caller; an unnamed caller shares the server's own.
    pub(crate) fn keep(&self, caller: &str) -> Arc<UserStore> {
        match caller {
            "" => Arc::clone(&self.keep),
            caller => {
                let clock = Arc::clone(self.keep.clock());
                Arc::new(UserStore::of_caller(self.place.clone(), caller).with_clock(clock))
            }
        }
    }

    /// Stores data under a domain that names its kind, such as `trace`.
    ///
    /// # Errors
    ///
    /// Fails if the domain has other characters than letters, digits, `-`, `_` and `.`, or if the store fails.
    pub fn store(&self, domain: &str, data: &impl Serialize) -> Result<Artifact, ArtifactError> {
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if domain.is_empty() || !domain.bytes().all(valid) {
            return Err(ArtifactError::Invalid(format!(
                "ax://{domain}/; a domain has only letters, digits, '-', '_' and '.'"
            )));
        }
        let failed = |error: &dyn std::error::Error| ArtifactError::Store(causes(error));
        let text = serde_json::to_string(data).map_err(|error| failed(&error))?;
        let body = json!({ "content": [{ "type": "text", "text": text }] }).to_string().into_bytes();
        let payload = Payload::read_result(&body).map_err(|error| failed(&error))?;
        let outline = Outline::read(&payload).map_err(|error| failed(&error))?;
        let tokens = measure::cost(&payload, &Meter::default()).map_err(|error| failed(&error))?.tokens.0;
        let new = self.keep.new_artifact(domain, self.ttl);
        let describe = || Ok(UserStore::description(&outline, tokens));
        let stored = self.keep.put(&new, &body, &describe).map_err(|error| failed(&error))?;
        Ok(Artifact { uri: format!("ax://{domain}/{}", stored.id), bytes: text.len() as u64 })
    }

    /// Returns the data stored under a reference.
    ///
    /// # Errors
    ///
    /// Fails if the reference is malformed, if nothing is stored under it, or if the store fails.
    pub fn retrieve(&self, reference: &str) -> Result<Value, ArtifactError> {
        let invalid = || ArtifactError::Invalid(excerpt(reference).to_owned());
        let (domain, id) =
            reference.strip_prefix("ax://").and_then(|rest| rest.split_once('/')).ok_or_else(invalid)?;
        if domain.is_empty() || id.is_empty() {
            return Err(invalid());
        }
        let gone = || ArtifactError::Gone(excerpt(reference).to_owned());
        let failed = |error: &dyn std::error::Error| ArtifactError::Store(causes(error));
        let id = ArtifactId::parse(id).ok_or_else(gone)?;
        let opened = self.keep.open_for(&id).map_err(|error| failed(&error))?;
        let source = open(&opened.store, &self.keep.owner, &id).map_err(|_| gone())?;
        let source: &dyn Source = &source;
        let body = Span::whole(source).read(source).map_err(|error| failed(&error))?;
        let result: Value = serde_json::from_slice(&body).map_err(|error| failed(&error))?;
        let text = result["content"][0]["text"].as_str().ok_or_else(gone)?;
        // The reference may name a tool result whose text is not JSON.
        Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into()))
    }
}

impl Artifact {
    /// Returns the reference, `ax://<domain>/<id>`.
    pub fn reference(&self) -> &str {
        &self.uri
    }

    /// Returns the size of the data as JSON.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns a `resource_link` block for a tool result.
    pub fn link(&self) -> ContentBlock {
        let name = self.uri.trim_start_matches("ax://").replace('/', "-");
        ContentBlock::resource_link(Resource::new(self.uri.clone(), name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_data_is_retrieved_unchanged() {
        let artifacts = Artifacts::store_in(StoreLocation::Memory);
        let data = json!({"bugs": (0..500).collect::<Vec<_>>(), "n": 1.5});
        let artifact = artifacts.store("bugfix", &data).unwrap();
        assert!(artifact.reference().starts_with("ax://bugfix/"));
        assert_eq!(artifacts.retrieve(artifact.reference()).unwrap(), data);
        let link = serde_json::to_value(artifact.link()).unwrap();
        assert_eq!((&link["type"], &link["uri"]), (&json!("resource_link"), &json!(artifact.reference())));
    }

    #[test]
    fn malformed_and_unknown_references_are_errors() {
        let artifacts = Artifacts::store_in(StoreLocation::Memory);
        for wrong in ["", "bugfix/1", "ax://bugfix", "ax:///1", "http://x/y"] {
            let error = artifacts.retrieve(wrong).unwrap_err().to_string();
            assert_eq!(error, format!("Invalid artifact ref: {wrong}"));
        }
        for gone in ["ax://bugfix/1", "ax://bugfix/000000000000"] {
            assert!(artifacts.retrieve(gone).unwrap_err().to_string().starts_with(gone));
        }
        assert!(matches!(artifacts.store("a/b", &1), Err(ArtifactError::Invalid(_))));
    }
}
