//! Shared by the commands on stored results: opens the user's store, and looks up results and their policies by name.
//!
//! The store belongs to this user, so the commands show the results of every caller of this user's servers.

use std::sync::Arc;
use std::time::Duration;

use tidegate_config::Config;
use tidegate_core::envelope::handle_name;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::{Query, ViewError};
pub(crate) use tidegate_gate::causes;
use tidegate_gate::policy::{Policy, Rules};
use tidegate_gate::{KeptResult, Opened, OtherResults, StoreSettings, UserStore, other_names};
use tidegate_store::{
    Artifact, ArtifactId, ArtifactStore, CallOrigin, NewArtifact, StoreError, StoredSource, open,
};

use crate::error::CommandError;
use crate::ledger::{EntryKind, read_ledgers};

/// The word for the newest result.
const LAST: &str = "last";
/// The maximum number of results searched for the beginning of a name.
const MAX_SEARCHED: usize = 100_000;
/// The maximum number of names in an error.
const MAX_NAMED: usize = 5;

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
        let settings = store_settings(&config)?;
        let user = UserStore::of_user(config.place()).with_settings(settings);
        let opened = user.open().map_err(|error| CommandError::out_of_reach(causes(&error)))?;
        Ok(Self { config, user, opened })
    }

    /// Returns the store.
    pub(crate) fn store(&self) -> &dyn ArtifactStore {
        &*self.opened.store
    }

    /// Lists the results, newest first.
    pub(crate) fn list(&self, most: usize) -> Result<Vec<Artifact>, CommandError> {
        // A store that several machines share holds results of other users, too.
        let list = match self.user.place().remote() {
            Some(_) => self.store().list(&self.user.owner, most),
            None => self.store().list_all(most),
        };
        list.map_err(|error| self.missing("the list", error))
    }

    /// Deletes a result.
    pub(crate) fn delete(&self, name: &str) -> Result<(), CommandError> {
        let id = id(name)?;
        let owner = self.owner_of(&id, name)?.owner;
        self.store().delete(&owner, &id).map_err(|error| self.missing(name, error))?;
        self.sweep_saved();
        Ok(())
    }

    /// Removes saved files whose result is gone; returns how many.
    #[cfg(unix)]
    pub(crate) fn sweep_saved(&self) -> u64 {
        self.user.place().folder().map_or(0, |folder| self.user.sweep_saved(&folder))
    }

    /// Other systems have no saved files.
    #[cfg(not(unix))]
    pub(crate) fn sweep_saved(&self) -> u64 {
        0
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
            CommandError::out_of_reach(format!("cannot store the result: {}", causes(&error)))
        })
    }

    /// Returns the id of a result by any form of its name, by the beginning of its name if no other name begins with it, or
    /// by `last` for the newest.
    fn resolve(&self, name: &str) -> Result<ArtifactId, CommandError> {
        let exact = ArtifactId::parse(name);
        if let Some(id) = &exact
            && self.store().owner_of(id).map_err(|error| self.missing(name, error))?.is_some()
        {
            return Ok(id.clone());
        }
        if name == LAST {
            let newest = self.list(1)?.into_iter().next();
            return newest
                .map(|artifact| artifact.id)
                .ok_or_else(|| CommandError::failed("no results are stored"));
        }
        let kept = self.list(MAX_SEARCHED)?;
        let full_name = |artifact: &Artifact| handle_name(&artifact.tool, artifact.id.as_str());
        let begins = |artifact: &&Artifact| !name.is_empty() && full_name(artifact).starts_with(name);
        let found: Vec<&Artifact> = kept.iter().filter(begins).collect();
        match found[..] {
            [] => exact.map_or_else(|| id(name), Ok),
            [one] => Ok(one.id.clone()),
            _ => {
                let names: Vec<String> = found.iter().take(MAX_NAMED).map(|one| full_name(one)).collect();
                let more = if found.len() > names.len() { ", ..." } else { "" };
                Err(CommandError::bad_input(format!("{} results begin with {name:?}", found.len()))
                    .hint(format!("name one of them, newest first: {}{more}", names.join(", "))))
            }
        }
    }

    /// Opens a result, by any form of its name, with the policy that the configuration sets for its tool.
    pub(crate) fn result(&self, name: &str) -> Result<KeptResult<'_>, CommandError> {
        let id = self.resolve(name)?;
        self.open_result(&id, name)
    }

    /// Opens the other results that a query names, each by its exact name.
    pub(crate) fn others(
        &self,
        query: &Query,
        about: &KeptResult<'_>,
    ) -> Result<OtherResults<'_>, CommandError> {
        let names = other_names(query, about).map_err(view_error)?;
        let open = |name: String| Ok((name.clone(), self.open_result(&id(&name)?, &name)?));
        let opened = names.into_iter().map(open).collect::<Result<_, CommandError>>()?;
        OtherResults::new(opened, query).map_err(view_error)
    }

    fn open_result(&self, id: &ArtifactId, name: &str) -> Result<KeptResult<'_>, CommandError> {
        let user = self.owner_of(id, name)?;
        KeptResult::open(&user, &self.opened, id, |artifact| Arc::new(self.policy(artifact)))
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
        let place = self.config.place();
        if let (None, Some(folder)) = (place.remote(), place.folder()) {
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
        let id = self.resolve(name)?;
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
            StoreError::NotFound => CommandError::failed(format!("no stored result is named {name:?}"))
                .hint("tidegate ls lists stored results"),
            StoreError::Expired { at } => CommandError::failed(format!("{name:?} expired {at}"))
                .hint("call the tool again if it is safe to repeat; tidegate ls lists stored results"),
            other => CommandError::out_of_reach(format!("cannot read {name:?}: {}", causes(&other))),
        }
    }
}

/// Returns what the user sets about the store.
pub(crate) fn store_settings(config: &Config) -> Result<StoreSettings, CommandError> {
    config.store_settings().map_err(|error| CommandError::bad_input(causes(&error)))
}

/// Returns the error for a view that has no answer.
pub(crate) fn view_error(error: ViewError) -> CommandError {
    match error {
        ViewError::Bad(message) => CommandError::bad_input(message),
        other => CommandError::failed(causes(&other)),
    }
}

/// Parses the name of a result in any of its forms.
pub(crate) fn id(name: &str) -> Result<ArtifactId, CommandError> {
    ArtifactId::parse(name).ok_or_else(|| {
        CommandError::bad_input(format!("{name:?} is not the name of a result"))
            .hint("names look like list_issues-3f9c2kq7m0xw")
    })
}
