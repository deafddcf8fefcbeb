//! Codex. A server inherits a few variables and those listed in `env_vars`; `env` sets more.

use std::path::{Path, PathBuf};

use super::{Client, EntryFormat, HeaderVariables, Location, Scope};
use crate::document::Notation;

pub(super) const CLIENT: Client = Client {
    name: "codex",
    title: "Codex",
    client_info_name: "codex-mcp-client",
    reload: "start a new session",
    locations: |folders| {
        let file = |scope: Scope, folder: PathBuf| Location {
            notation: Notation::Toml,
            scope,
            ..Location::user(folder.join("config.toml"), &["mcp_servers"])
        };
        let home = folders.variable("CODEX_HOME").map_or_else(|| folders.home.join(".codex"), Path::to_owned);
        let project = folders.projects.iter().map(|folder| file(Scope::Project, folder.join(".codex")));
        [file(Scope::User, home)].into_iter().chain(project).collect()
    },
    format: EntryFormat {
        headers: "http_headers",
        allowed_tools: Some("enabled_tools"),
        login: &["oauth", "oauth_resource", "scopes"],
        header_variables: Some(&HeaderVariables {
            bearer: "bearer_token_env_var",
            headers: "env_http_headers",
            inherited: "env_vars",
        }),
        ..EntryFormat::COMMON
    },
};
