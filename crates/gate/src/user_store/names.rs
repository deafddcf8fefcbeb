//! Artifacts that a server makes itself: the tool that made one, the name that was chosen for it, and its address.

use serde_json::{Value, json};
use tidegate_core::source::Span;
use tidegate_store::{Artifact, ArtifactId, Description, NewArtifact, StoreError};

use super::{Opened, UserStore};
use crate::resources::Address;

/// The member that names the tool which made an artifact.
const MADE_BY: &str = "tidegate/made_by";
/// The member that holds the name which was chosen for an artifact.
const NAME: &str = "tidegate/name";

impl UserStore {
    /// Returns what is stored as the arguments of an artifact that a server made itself: the tool, where one did, and the
    /// name that was chosen for it.
    pub fn made_by(tool: Option<&str>, name: Option<&str>) -> String {
        json!({ MADE_BY: tool, NAME: name }).to_string()
    }

    /// Returns the name that was chosen for an artifact. The arguments of a call may say anything, but only those of an
    /// artifact with a name lead to its id.
    pub(crate) fn name_of(&self, opened: &Opened, artifact: &Artifact) -> Option<String> {
        if !artifact.id.may_be_of_name() {
            return None;
        }
        let (server, arguments) = self.origin(opened, &artifact.id)?;
        let name = arguments.get(NAME)?.as_str()?;
        let id = ArtifactId::of_name(&self.owner, &server, &artifact.tool, name);
        (id == artifact.id).then(|| name.to_owned())
    }

    /// Stores an artifact under a name, whose id it has. The same bytes under the same name only live longer.
    ///
    /// # Errors
    ///
    /// [`StoreError::Taken`] if other bytes have the name, and the errors of [`Self::put`].
    pub fn put_named(
        &self,
        new: &NewArtifact<'_>,
        body: &[u8],
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError> {
        let opened = self.open_for(&new.id)?;
        match self.stored(&opened, &new.id) {
            Ok(stored) => {
                let is_equal = Span::whole(&stored).read(&stored).map_err(StoreError::Source)? == body;
                if !is_equal {
                    return Err(StoreError::Taken);
                }
                opened.store.touch(&self.owner, &new.id, new.ttl)
            }
            Err(StoreError::Expired { .. }) => {
                opened.store.delete(&self.owner, &new.id)?;
                self.put(new, &body, describe)
            }
            Err(StoreError::NotFound) => self.put(new, &body, describe),
            Err(error) => Err(error),
        }
    }

    /// Returns whether a server stored an artifact itself, under a domain instead of the name of a tool.
    pub(crate) fn is_made_here(&self, opened: &Opened, artifact: &Artifact) -> bool {
        self.origin(opened, &artifact.id).is_some_and(|(_, arguments)| arguments.get(MADE_BY).is_some())
    }

    /// Returns the artifact at an address, which is either its id or the name that a server chose for it; `domain_of` returns
    /// the domain in the address of a result. An address with another domain is not found.
    ///
    /// # Errors
    ///
    /// Nothing is kept at the address, or the store cannot be used.
    pub fn find(
        &self,
        address: &Address<'_>,
        server: &str,
        domain_of: impl Fn(&Artifact) -> String,
    ) -> Result<ArtifactId, StoreError> {
        let named =
            [server, ""].map(|server| ArtifactId::of_name(&self.owner, server, address.domain, address.id));
        let mut outcome = StoreError::NotFound;
        for id in ArtifactId::parse(address.id).into_iter().chain(named) {
            let opened = self.open_for(&id)?;
            let artifact = match self.stored(&opened, &id) {
                Ok(source) => source.artifact().clone(),
                Err(StoreError::NotFound) => continue,
                Err(error) => {
                    outcome = error;
                    continue;
                }
            };
            let is_there = match self.name_of(&opened, &artifact) {
                Some(name) => name == address.id && artifact.tool == address.domain,
                None if self.is_made_here(&opened, &artifact) => artifact.tool == address.domain,
                None => domain_of(&artifact) == address.domain,
            };
            if is_there {
                return Ok(id);
            }
        }
        Err(outcome)
    }

    /// Returns the tool that made an artifact itself. The arguments of a call may say anything, so this can only restrict who
    /// may read it.
    pub(crate) fn maker(&self, opened: &Opened, id: &ArtifactId) -> Option<String> {
        let (_, arguments) = self.origin(opened, id)?;
        Some(arguments.get(MADE_BY)?.as_str()?.to_owned())
    }

    /// Returns the server that an artifact came from, and the arguments that are stored with it.
    fn origin(&self, opened: &Opened, id: &ArtifactId) -> Option<(String, Value)> {
        let origin = opened.store.origin(&self.owner, id).ok()?;
        let arguments = serde_json::from_str(&origin.arguments).ok()?;
        Some((origin.server, arguments))
    }
}
