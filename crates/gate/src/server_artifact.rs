//! Artifacts that a server stores itself: data too large for an answer, which the answer refers to.
//!
//! The SDK stores and reads here, and so do servers in other languages through `tidegate shape --serve`. Clients read such an
//! artifact like any stored result: as the resource `ax://<domain>/<id>`, or with `result_query`.
//!
//! Invariant: an artifact belongs to the caller whose store it is put in, and to the tier of the tool that stores it.

use std::time::Duration;

use serde_json::{Value, json};
use tidegate_core::measure::{self, Cost, Meter};
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::source::{Source, Span};
use tidegate_store::{Artifact, ArtifactId, NewArtifact, StoreError, open};

use crate::caller::Caller;
use crate::error::causes;
use crate::gate::Gate;
use crate::resources::Address;
use crate::text::excerpt;
use crate::user_store::UserStore;

/// The maximum number of bytes of an id that a server chooses.
const MAX_ID_BYTES: usize = 128;
/// The maximum number of bytes of a domain.
const MAX_DOMAIN_BYTES: usize = 48;

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
    /// Other data is stored under the chosen id.
    #[error("{0} holds other data; choose an id that is unique, such as that of a run")]
    Taken(String),
    /// The store failed.
    #[error("the artifact store failed: {0}")]
    Store(String),
}

impl ArtifactError {
    fn store(error: &dyn std::error::Error) -> Self {
        Self::Store(causes(error))
    }
}

/// Where the artifacts of a call go.
pub struct ServerArtifacts<'s> {
    /// The store of the caller.
    pub keep: &'s UserStore,
    /// The name of the server; empty for what is stored outside of a call.
    pub server: &'s str,
    /// The tool that stores.
    pub tool: Option<&'s str>,
    /// How long artifacts are kept.
    pub ttl: Duration,
}

/// An artifact that was stored.
pub struct StoredArtifact {
    /// Its address, `ax://<domain>/<id>`.
    pub uri: String,
    /// What the store has.
    pub artifact: Artifact,
    /// What the data costs.
    pub cost: Cost,
}

impl ServerArtifacts<'_> {
    /// Stores data, given as JSON, under a domain that names its kind and an id, which is random unless one was chosen.
    ///
    /// # Errors
    ///
    /// Fails if domain or id have characters that they may not have, if other data is stored under the id, or if the store
    /// fails.
    pub fn put(&self, domain: &str, id: Option<&str>, data: &str) -> Result<StoredArtifact, ArtifactError> {
        check_names(domain, id)?;
        let body = json!({ "content": [{ "type": "text", "text": data }] }).to_string().into_bytes();
        let payload = Payload::read_result(&body).map_err(|error| ArtifactError::store(&error))?;
        let outline = Outline::read(&payload).map_err(|error| ArtifactError::store(&error))?;
        let cost =
            measure::cost(&payload, &Meter::default()).map_err(|error| ArtifactError::store(&error))?;
        // An unnamed caller whose requests nothing connects gets a random id, because others could guess a chosen one.
        let name = id.filter(|_| !self.keep.is_unlisted());
        let maker = UserStore::made_by(self.tool, name);
        let mut new = self.keep.new_artifact(domain, self.ttl);
        if let Some(name) = name {
            new.id = ArtifactId::of_name(&self.keep.owner, self.server, domain, name);
        }
        let new = NewArtifact { server: self.server, arguments: Some(&maker), ..new };
        let describe = || Ok(UserStore::description(&outline, cost.tokens.0));
        let stored = match name {
            Some(_) => self.keep.put_named(&new, &body, &describe),
            None => self.keep.put(&new, &body, &describe),
        };
        let artifact = stored.map_err(|error| match (error, name) {
            (StoreError::Taken, Some(name)) => ArtifactError::Taken(Address { domain, id: name }.to_string()),
            (error, _) => ArtifactError::store(&error),
        })?;
        let uri = Address { domain, id: name.unwrap_or(artifact.id.as_str()) }.to_string();
        Ok(StoredArtifact { uri, artifact, cost })
    }

    /// Returns the data of a reference, which `find` leads to an id.
    ///
    /// # Errors
    ///
    /// Fails if the reference is malformed, if nothing is stored under it for the caller, or if the store fails.
    pub fn get(
        &self,
        reference: &str,
        find: impl FnOnce(&Address<'_>) -> Result<ArtifactId, StoreError>,
    ) -> Result<Value, ArtifactError> {
        let invalid = || ArtifactError::Invalid(excerpt(reference).to_owned());
        let address = Address::parse(reference).ok_or_else(invalid)?;
        let gone = || ArtifactError::Gone(excerpt(reference).to_owned());
        let id = find(&address).map_err(|error| match error {
            StoreError::NotFound | StoreError::Expired { .. } => gone(),
            error => ArtifactError::store(&error),
        })?;
        let opened = self.keep.open_for(&id).map_err(|error| ArtifactError::store(&error))?;
        let source = open(&*opened.store, &self.keep.owner, &id).map_err(|_| gone())?;
        let source: &dyn Source = &source;
        let body = Span::whole(source).read(source).map_err(|error| ArtifactError::store(&error))?;
        let result: Value = serde_json::from_slice(&body).map_err(|error| ArtifactError::store(&error))?;
        let text = result["content"][0]["text"].as_str().ok_or_else(gone)?;
        // The reference may name a tool result whose text is not JSON.
        Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into()))
    }
}

fn check_names(domain: &str, id: Option<&str>) -> Result<(), ArtifactError> {
    let in_id = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:~".contains(&byte);
    let is_valid_id = |id: &str| (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(in_id);
    if let Some(id) = id.filter(|id| !is_valid_id(id)) {
        return Err(ArtifactError::Invalid(format!(
            "ax://{domain}/{}; an id has 1 to {MAX_ID_BYTES} letters, digits, '-', '_', '.', ':' and '~'",
            excerpt(id)
        )));
    }
    let in_domain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_valid = (1..=MAX_DOMAIN_BYTES).contains(&domain.len()) && domain.bytes().all(in_domain);
    if !is_valid || domain.ends_with('-') {
        return Err(ArtifactError::Invalid(format!(
            "ax://{}/; a domain has 1 to {MAX_DOMAIN_BYTES} letters, digits, '-', '_' and '.', and no '-' at its end",
            excerpt(domain)
        )));
    }
    Ok(())
}

impl Gate {
    /// Stores data, given as JSON, for a caller; returns its address. `tool` is the tool that stores it, if one is called.
    ///
    /// # Errors
    ///
    /// Those of [`ServerArtifacts::put`].
    pub fn store_artifact(
        &self,
        caller: &Caller,
        tool: Option<&str>,
        (domain, id): (&str, Option<&str>),
        data: &str,
    ) -> Result<String, ArtifactError> {
        let keep = self.keep_of(caller);
        let ttl = self.policy(tool.unwrap_or_default()).ttl;
        let artifacts = ServerArtifacts { keep: &keep, server: self.server(), tool, ttl };
        let stored = artifacts.put(domain, id, data)?;
        if let Some(tool) = tool {
            self.note_artifact(caller, tool, &stored.artifact, stored.cost);
        }
        Ok(stored.uri)
    }

    /// Returns the data that is stored under a reference for a caller.
    ///
    /// # Errors
    ///
    /// Those of [`ServerArtifacts::get`].
    pub fn retrieve_artifact(&self, caller: &Caller, reference: &str) -> Result<Value, ArtifactError> {
        let keep = self.keep_of(caller);
        let artifacts =
            ServerArtifacts { keep: &keep, server: self.server(), tool: None, ttl: Duration::ZERO };
        artifacts.get(reference, |_| self.find_for(caller, reference))
    }
}
