//! Shared by the commands on kept results: opens the user's store, and looks up results and their policies by name.
//!
//! The store belongs to this user, so the commands show the results of every caller of this user's servers.

use std::sync::Arc;
use std::time::Duration;

use tidegate_config::Config;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
pub(crate) use tidegate_gate::causes;
use tidegate_gate::policy::{Policy, Rules};
use tidegate_gate::{KeptResult, Opened, UserStore};
use tidegate_store::{
    Artifact, ArtifactId, ArtifactStore, CallOrigin, NewArtifact, StoreError, StoredSource, open,
};

use crate::error::CommandError;
use crate::ledger::{EntryKind, read_ledgers};

/// The results of this user.
pub(crate) struct KeptResults {
    config: Config,
    user: UserStore,
    opened: Arc<Opened>,
}

impl KeptResults {
    /// Opens the store of this user.
    pub(crate) fn open() -> Result<Self, CommandError> {
        Self::open_with(Config::load(None)?)
    }

    /// Opens the store of this user that a configuration names.
    pub(crate) fn open_with(config: Config) -> Result<Self, CommandError> {
        let user = UserStore::of_user(config.place());
        let opened = user.open().map_err(|error| CommandError::out_of_reach(causes(&error)))?;
        Ok(Self { config, user, opened })
    }

    /// Returns the store.
    pub(crate) fn store(&self) -> &dyn ArtifactStore {
        &*self.opened.store
    }

    /// Lists the results, newest first.
    pub(crate) fn list(&self, most: usize) -> Result<Vec<Artifact>, CommandError> {
        self.store().list_all(most).map_err(|error| self.missing("the list", error))
    }

    /// Deletes a result.
    pub(crate) fn delete(&self, name: &str) -> Result<(), CommandError> {
        let id = id(name)?;
        let owner = self.owner_of(&id, name)?.owner;
        self.store().delete(&owner, &id).map_err(|error| self.missing(name, error))
    }

    /// Returns the call that a result came from, as far as it is known. For a result that earlier versions stored, the
    /// server comes from the ledger, if it is recorded there.
    pub(crate) fn origin(&self, artifact: &Artifact) -> CallOrigin {
        // An origin that cannot be read must not hide the result.
        let owner = self.user.of_owner_of(&artifact.id).map(|user| user.owner);
        let origin = owner.and_then(|owner| self.store().origin(&owner, &artifact.id)).unwrap_or_default();
        match origin.server.is_empty() {
            true => CallOrigin { server: self.recorded_server(artifact).unwrap_or_default(), ..origin },
            false => origin,
        }
    }

    /// Returns a new artifact for a result of a tool.
    pub(crate) fn new_artifact<'n>(&'n self, tool: &'n str, ttl: Duration) -> NewArtifact<'n> {
        self.user.new_artifact(tool, ttl)
    }

    /// Stores a result with its outline.
    pub(crate) fn put(
        &self,
        new: &NewArtifact<'_>,
        payload: &Payload<'_>,
        outline: &Outline,
        tokens: u64,
    ) -> Result<Artifact, CommandError> {
        let describe = || Ok(UserStore::description(outline, tokens));
        self.user.put(new, payload.source(), &describe).map_err(|error| {
            CommandError::out_of_reach(format!("cannot keep the result: {}", causes(&error)))
        })
    }

    /// Opens a result, by any form of its name, with the policy that the configuration sets for its tool.
    pub(crate) fn result(&self, name: &str) -> Result<KeptResult<'_>, CommandError> {
        let id = id(name)?;
        let user = self.owner_of(&id, name)?;
        KeptResult::open(&user, &self.opened, &id, |artifact| Arc::new(self.policy(artifact)))
            .map_err(|error| self.missing(name, error))
    }

    /// Returns the policy of the tool that a result came from. If its server is not known, only the rules for all
    /// servers apply.
    fn policy(&self, artifact: &Artifact) -> Policy {
        self.config.policies(&self.origin(artifact).server, Rules::default()).of_tool(&artifact.tool)
    }

    /// Returns the server that the ledger records for a result.
    fn recorded_server(&self, artifact: &Artifact) -> Option<String> {
        let mut server = None;
        if let Some(folder) = self.config.place().folder() {
            let id = artifact.id.as_str();
            // A ledger that cannot be read must not hide the result.
            let _ = read_ledgers(&folder, artifact.created, &mut |call| {
                let is_origin =
                    call.artifact.as_deref() == Some(id) && EntryKind::of(&call) != EntryKind::FollowUp;
                if is_origin && server.is_none() {
                    server = Some(call.server);
                }
            });
        }
        server.filter(|server| !server.is_empty())
    }

    /// Opens the bytes of a result by any form of its name.
    pub(crate) fn source(&self, name: &str) -> Result<StoredSource<'_>, CommandError> {
        let id = id(name)?;
        let owner = self.owner_of(&id, name)?.owner;
        open(self.store(), &owner, &id).map_err(|error| self.missing(name, error))
    }

    /// Returns the store as the owner of a result sees it.
    fn owner_of(&self, id: &ArtifactId, name: &str) -> Result<UserStore, CommandError> {
        self.user.of_owner_of(id).map_err(|error| self.missing(name, error))
    }

    /// Returns the error for a result that cannot be read, with a hint.
    pub(crate) fn missing(&self, name: &str, error: StoreError) -> CommandError {
        match error {
            StoreError::NotFound => CommandError::failed(format!("no result is called {name:?}"))
                .hint("tidegate ls shows what is kept"),
            StoreError::Expired { at } => CommandError::failed(format!("{name:?} expired {at}"))
                .hint("call the tool again if it is safe to repeat; tidegate ls shows what is kept"),
            other => CommandError::out_of_reach(format!("cannot read {name:?}: {}", causes(&other))),
        }
    }
}

/// Parses the name of a result in any of its forms.
pub(crate) fn id(name: &str) -> Result<ArtifactId, CommandError> {
    ArtifactId::parse(name).ok_or_else(|| {
        CommandError::bad_input(format!("{name:?} is not the name of a result"))
            .hint("names look like list_issues-3f9c2kq7m0xw")
    })
}
