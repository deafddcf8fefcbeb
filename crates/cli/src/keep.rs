//! What the commands on kept results share: the store of this user, names of results, and how they are listed.

use std::sync::Arc;

use tidegate_config::Config;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::cursor::SEAL;
pub(crate) use tidegate_gate::causes;
use tidegate_gate::policy::TTL;
use tidegate_gate::{Keep as UserKeep, Opened};
use tidegate_store::{Artifact, ArtifactId, ArtifactStore, SqliteStore, StoreError, StoredSource, open};

use crate::error::CommandError;

/// The results of this user.
pub(crate) struct Keep {
    user: UserKeep,
    opened: Arc<Opened>,
}

impl Keep {
    /// Opens the store of this user.
    pub(crate) fn open() -> Result<Self, CommandError> {
        let user = UserKeep::of_user(Config::load(None)?.place());
        let opened = user.open().map_err(|error| CommandError::out_of_reach(causes(&error)))?;
        Ok(Self { user, opened })
    }

    /// Returns the store.
    pub(crate) fn store(&self) -> &SqliteStore {
        &self.opened.store
    }

    /// Lists the results, newest first.
    pub(crate) fn list(&self, most: usize) -> Result<Vec<Artifact>, CommandError> {
        self.store().list(&self.user.owner, most).map_err(|error| self.missing("the list", error))
    }

    /// Takes a result away.
    pub(crate) fn delete(&self, name: &str) -> Result<(), CommandError> {
        self.store().delete(&self.user.owner, &id(name)?).map_err(|error| self.missing(name, error))
    }

    /// Returns the seal of a cursor.
    pub(crate) fn seal(&self, id: &ArtifactId, bytes: &[u8]) -> [u8; SEAL] {
        self.opened.seal(&self.user.owner, id, bytes)
    }

    /// Stores a result with its outline.
    pub(crate) fn put(
        &self,
        payload: &Payload<'_>,
        outline: &Outline,
        tool: &str,
        tokens: u64,
    ) -> Result<Artifact, CommandError> {
        let describe = || Ok(tidegate_gate::Keep::description(outline, tokens));
        self.user.put(&self.user.new_artifact(tool, TTL), payload.source(), &describe).map_err(|error| {
            CommandError::out_of_reach(format!("cannot keep the result: {}", causes(&error)))
        })
    }

    /// Opens a result by any form of its name.
    pub(crate) fn source(&self, name: &str) -> Result<StoredSource<'_>, CommandError> {
        open(self.store(), &self.user.owner, &id(name)?).map_err(|error| self.missing(name, error))
    }

    /// Says why a result is not there, and what to do.
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

/// Reads a name in any of its forms.
pub(crate) fn id(name: &str) -> Result<ArtifactId, CommandError> {
    ArtifactId::parse(name).ok_or_else(|| {
        CommandError::bad_input(format!("{name:?} is not the name of a result"))
            .hint("it looks like list_issues-3f9c2kq7m0xw")
    })
}
