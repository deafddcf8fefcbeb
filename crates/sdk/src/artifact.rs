//! Artifacts that a server stores itself: data too large for an answer, which the answer refers to.
//!
//! Clients read such an artifact like any stored result: as the resource `ax://<domain>/<id>`, or with `result_query`.
//! [`Artifacts`] is shared by the server's tools and the gate around them, so both see the same store.
//!
//! An artifact belongs to the caller of the tool that stores it, and to the tier of that tool: no other caller can read it,
//! and neither can this one when it may no longer call the tool. What a server stores outside of a call belongs to the user
//! who runs it.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ContentBlock, Resource};
use serde::Serialize;
use serde_json::Value;
pub use tidegate_gate::ArtifactError;
use tidegate_gate::policy::TTL;
use tidegate_gate::{ServerArtifacts, StoreLocation, UserStore, causes};
use tidegate_store::Clock;

use crate::call::CallScope;

/// A handle to the artifact store, shared by the tools of a server and the gate around it.
///
/// | method | what it does |
/// |---|---|
/// | [`Artifacts::default`], [`Artifacts::store_in`] | where artifacts are stored |
/// | [`Artifacts::for_time`] | how long they are kept; 24 hours by default |
/// | [`Artifacts::store`] | stores data under a random id |
/// | [`Artifacts::store_as`] | stores data under an id of your choice |
/// | [`Artifacts::retrieve`] | returns stored data |
/// | [`Artifacts::caller_key`] | identifies the caller in data that your server keeps itself |
///
/// Pass the same handle to [`Tidegate::artifacts`](crate::Tidegate::artifacts), so that clients can read what a tool stored:
///
/// ```
/// use rmcp::{ServerHandler, tool, tool_handler, tool_router};
/// use tidegate_sdk::{Artifacts, Contract, StoreLocation, Tidegate, ToolError, visit::Visitor};
///
/// #[derive(Clone)]
/// struct Tracer {
///     artifacts: Artifacts,
/// }
///
/// #[tool_router]
/// impl Tracer {
///     #[tool(description = "Trace a run")]
///     async fn trace(&self) -> Result<String, ToolError> {
///         let steps: Vec<String> = (0..900).map(|step| format!("step {step}")).collect();
///         let stored = self.artifacts.store("trace", &steps)?;
///         let answer = Contract::success("900 steps").count(900).artifact_ref(stored.reference()).build()?;
///         Ok(serde_json::to_string(&answer)?)
///     }
/// }
///
/// #[tool_handler]
/// impl ServerHandler for Tracer {}
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let artifacts = Artifacts::store_in(StoreLocation::Memory);
/// let server = Tidegate::wrap(Tracer { artifacts: artifacts.clone() }).artifacts(&artifacts).quiet();
/// let client = Visitor::to(server).await?;
/// let answer = client.call("trace", &serde_json::json!({})).await?.json();
/// let address = answer["artifactRef"].as_str().unwrap();
/// assert!(address.starts_with("ax://trace/"));
/// let page = serde_json::json!({"id": address, "page": 2});
/// assert!(client.call("result_query", &page).await?.text().contains("step 2"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Artifacts {
    /// The store of the user; every other caller has one of its own in the same place.
    keep: Arc<UserStore>,
    ttl: Duration,
}

/// A reference to stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    uri: String,
    bytes: u64,
}

impl fmt::Debug for Artifacts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Artifacts").field("place", self.keep.place()).field("ttl", &self.ttl).finish()
    }
}

impl Default for Artifacts {
    /// Returns the store in `$TIDEGATE_HOME`, or in the user's data folder if that is not set.
    ///
    /// On stdio, `tidegate run` and the commands of `tidegate` can read what is stored there for this user. With the
    /// feature `sqlite` the reverse holds too, since both use one database.
    fn default() -> Self {
        let home = std::env::var_os("TIDEGATE_HOME").filter(|home| !home.is_empty());
        Self::store_in(StoreLocation::Folder(home.map(PathBuf::from)))
    }
}

impl Artifacts {
    /// Returns a store in a folder or in memory.
    pub fn store_in(place: StoreLocation) -> Self {
        Self { keep: Arc::new(UserStore::of_user(place)), ttl: TTL }
    }

    /// Returns the memory that all servers of one type share.
    pub(crate) fn in_memory_of<S: 'static>() -> Self {
        static SHARED: Mutex<BTreeMap<TypeId, Artifacts>> = Mutex::new(BTreeMap::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.entry(TypeId::of::<S>()).or_insert_with(|| Self::store_in(StoreLocation::Memory)).clone()
    }

    /// Sets how long artifacts are kept.
    #[must_use]
    pub fn for_time(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// Sets the clock by which artifacts expire, for tests. Call it before anything is stored.
    pub(crate) fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        let keep = Arc::new(UserStore::of_user(self.keep.place().clone()).with_clock(clock));
        Self { keep, ..self }
    }

    /// Returns the store of the user.
    pub(crate) fn keep(&self) -> &Arc<UserStore> {
        &self.keep
    }

    /// Returns the store of the caller whose call is being answered.
    fn keep_of(scope: Option<&CallScope>, user: &UserStore) -> UserStore {
        scope.map_or_else(
            || user.clone(),
            |scope| user.of_principal(&scope.caller.principal, scope.gate.server()),
        )
    }

    /// Returns a key that is the same for all calls of one caller, and different for every other caller. Use it for data that
    /// your server keeps for its callers. A caller whose requests nothing connects gets another key in each call.
    pub fn caller_key(&self) -> String {
        let scope = CallScope::current();
        let keep = Self::keep_of(scope.as_ref(), &self.keep);
        match scope.filter(|_| keep.is_unlisted()) {
            Some(scope) => scope.key,
            None => keep.owner.to_string(),
        }
    }

    /// Stores data under a domain that names its kind, such as `trace`. It belongs to the caller of the tool that stores it.
    ///
    /// # Errors
    ///
    /// Fails if the domain has other characters than letters, digits, `-`, `_` and `.`, or if the store fails.
    pub fn store(&self, domain: &str, data: &impl Serialize) -> Result<Artifact, ArtifactError> {
        self.put(domain, None, data)
    }

    /// Stores data under an id of your choice, such as that of a trace: its address is `ax://<domain>/<id>`.
    ///
    /// The id is unique for the caller, the server and the domain. Storing the same data again gives the same address and
    /// keeps it for longer. Only its caller can read it, and only under its address. An unnamed caller whose requests
    /// nothing connects gets a random id instead, because others could guess a chosen one.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::store`], if the id has other characters than letters, digits and `- _ . : ~` or more than 128 of
    /// them, or if other data is stored under the id.
    pub fn store_as(&self, domain: &str, id: &str, data: &impl Serialize) -> Result<Artifact, ArtifactError> {
        self.put(domain, Some(id), data)
    }

    fn put(
        &self,
        domain: &str,
        name: Option<&str>,
        data: &impl Serialize,
    ) -> Result<Artifact, ArtifactError> {
        let text = serde_json::to_string(data).map_err(|error| ArtifactError::Store(causes(&error)))?;
        let scope = CallScope::current();
        let keep = Self::keep_of(scope.as_ref(), &self.keep);
        let stored = self.of_call(scope.as_ref(), &keep).put(domain, name, &text)?;
        if let Some(scope) = &scope {
            scope.gate.note_artifact(&scope.caller, &scope.tool, &stored.artifact, stored.cost);
        }
        Ok(Artifact { uri: stored.uri, bytes: text.len() as u64 })
    }

    fn of_call<'s>(&self, scope: Option<&'s CallScope>, keep: &'s UserStore) -> ServerArtifacts<'s> {
        ServerArtifacts {
            keep,
            server: scope.map_or("", |scope| scope.gate.server()),
            tool: scope.map(|scope| scope.tool.as_str()),
            ttl: self.ttl,
        }
    }

    /// Returns the data stored under a reference, for the caller whose call is being answered.
    ///
    /// # Errors
    ///
    /// Fails if the reference is malformed, if nothing is stored under it for this caller, or if the store fails.
    pub fn retrieve(&self, reference: &str) -> Result<Value, ArtifactError> {
        let scope = CallScope::current();
        let keep = Self::keep_of(scope.as_ref(), &self.keep);
        self.of_call(scope.as_ref(), &keep).get(reference, |address| match &scope {
            Some(scope) => scope.gate.find_for(&scope.caller, reference),
            None => keep.find(address, "", |artifact| artifact.tool.clone()),
        })
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
    use serde_json::json;

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
        for domain in ["", "a/b", "trace-", &"d".repeat(49)] {
            assert!(matches!(artifacts.store(domain, &1), Err(ArtifactError::Invalid(_))), "{domain}");
        }
    }

    #[test]
    fn a_chosen_id_is_the_address() {
        let artifacts = Artifacts::store_in(StoreLocation::Memory);
        let uuid = "550e8400-e29b-41d4-a716-446655440000";
        for id in ["t1", uuid, "3f9c2kq7m0xw"] {
            let data = json!({"trace": id});
            let stored = artifacts.store_as("trace", id, &data).unwrap();
            assert_eq!(stored.reference(), format!("ax://trace/{id}"));
            assert_eq!(artifacts.retrieve(stored.reference()).unwrap(), data);
            assert_eq!(artifacts.store_as("trace", id, &data).unwrap(), stored, "the same data");
            let error = artifacts.store_as("trace", id, &json!(1)).unwrap_err();
            assert!(matches!(&error, ArtifactError::Taken(uri) if uri == stored.reference()), "{error}");
            artifacts.store_as("run", id, &json!(1)).unwrap();
            assert!(matches!(artifacts.retrieve(&format!("ax://other/{id}")), Err(ArtifactError::Gone(_))));
        }
        let random = artifacts.store("trace", &1).unwrap();
        let elsewhere = random.reference().replace("trace", "run");
        assert!(matches!(artifacts.retrieve(&elsewhere), Err(ArtifactError::Gone(_))), "another domain");
        for id in ["", "a/b", "a b", &"x".repeat(129)] {
            assert!(matches!(artifacts.store_as("trace", id, &1), Err(ArtifactError::Invalid(_))), "{id}");
        }
    }
}
