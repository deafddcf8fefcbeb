//! `--client`, `--server` and `--scope`: which servers `install`, `uninstall` and `doctor` work on.

use clap::Args;
use clap::builder::PossibleValuesParser;
use tidegate_clients::install::Selection;
use tidegate_clients::{CLIENTS, Scope};

use crate::error::CommandError;
use crate::ui;

/// Which servers to work on.
#[derive(Debug, Args)]
pub(crate) struct ServerFilter {
    /// Only servers of this client; may be repeated
    #[arg(long, value_name = "CLIENT", value_delimiter = ',', value_parser = client_names())]
    client: Vec<String>,

    /// Only servers with this name; may be repeated
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,

    /// Only servers in this scope: user (you, in every project), project (everyone who shares the project) or local (you,
    /// in one project)
    #[arg(long, value_name = "SCOPE", value_parser = PossibleValuesParser::new(Scope::NAMES))]
    scope: Option<String>,
}

fn client_names() -> PossibleValuesParser {
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
}

impl ServerFilter {
    /// Returns the filter as the clients crate takes it.
    pub(crate) fn selection(&self) -> Selection {
        Selection {
            clients: self.client.clone(),
            servers: self.server.clone(),
            scope: self.scope.as_deref().and_then(Scope::named),
        }
    }

    /// Returns whether `--scope project` selects the files that everybody in a project shares.
    pub(crate) fn is_project(&self) -> bool {
        self.selection().scope == Some(Scope::Project)
    }

    /// Returns whether a server is selected: `--server` names it, or no server.
    pub(crate) fn has(&self, server: &str) -> bool {
        self.server.is_empty() || self.names(server)
    }

    /// Returns whether `--server` names a server.
    pub(crate) fn names(&self, server: &str) -> bool {
        self.server.iter().any(|name| name == server || name.split(',').any(|name| name == server))
    }

    /// Returns an error if `--server` has a name that none of the servers has.
    pub(crate) fn check_names<'s>(
        &'s self,
        servers: impl Iterator<Item = &'s str>,
    ) -> Result<(), CommandError> {
        let mut known: Vec<&str> = servers.collect();
        known.sort_unstable();
        known.dedup();
        // A comma separates names, unless it is part of one.
        let split =
            |name: &'s str| if known.contains(&name) { vec![name] } else { name.split(',').collect() };
        let mut named = self.server.iter().flat_map(|name| split(name));
        match named.find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let error = CommandError::bad_input(format!("unknown server {name:?}"));
                let names: Vec<String> = known.iter().map(|name| ui::printable(name)).collect();
                Err(match names.as_slice() {
                    [] => error.hint("no servers are configured"),
                    names => error.hint(format!("known servers: {}", names.join(", "))),
                })
            }
        }
    }
}
