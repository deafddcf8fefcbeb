//! Codex. It starts servers with few variables of its own environment: those named in `env_vars`, and `env`.

use std::path::{Path, PathBuf};

use super::{ByVariable, Client, Place, Scope, Shape};
use crate::document::Notation;

pub(super) const CLIENT: Client = Client {
    name: "codex",
    title: "Codex",
    greets_as: "codex-mcp-client",
    reload: "start a new session",
    places: |folders| {
        let file = |scope: Scope, folder: PathBuf| Place {
            notation: Notation::Toml,
            scope,
            ..Place::user(folder.join("config.toml"), &["mcp_servers"])
        };
        let home = folders.variable("CODEX_HOME").map_or_else(|| folders.home.join(".codex"), Path::to_owned);
        let project = folders.projects.iter().map(|folder| file(Scope::Project, folder.join(".codex")));
        [file(Scope::User, home)].into_iter().chain(project).collect()
    },
    shape: Shape {
        headers: "http_headers",
        allowed: Some("enabled_tools"),
        login: &["oauth", "oauth_resource", "scopes"],
        by_variable: Some(&ByVariable {
            bearer: "bearer_token_env_var",
            headers: "env_http_headers",
            passed: "env_vars",
        }),
        ..Shape::COMMON
    },
};
