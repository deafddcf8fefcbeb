//! Claude Code: three scopes in two files. What `claude mcp add` writes is local, unless told otherwise.

use super::{ANY, Client, Place, Scope, Shape};
use crate::launch::References;

pub(super) const CLIENT: Client = Client {
    name: "claude-code",
    title: "Claude Code",
    greets_as: "claude-code",
    reload: "start a new session",
    places: |folders| {
        let own = folders.variable("CLAUDE_CONFIG_DIR").unwrap_or(&folders.home).join(".claude.json");
        let user = Place::user(own, &["mcpServers"]);
        let local = Place { scope: Scope::Local, keys: &["projects", ANY, "mcpServers"], ..user.clone() };
        [user, local].into_iter().chain(Place::project(folders, ".mcp.json", &["mcpServers"])).collect()
    },
    shape: Shape {
        login: &["oauth", "headersHelper", "authServerMetadataUrl"],
        references: References::Braces,
        ..Shape::COMMON
    },
};
