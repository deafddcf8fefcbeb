//! Claude Code: three scopes in two files. `claude mcp add` writes to the local scope by default.

use super::{ANY_KEY, Client, EntryFormat, Location, Scope};
use crate::references::References;

pub(super) const CLIENT: Client = Client {
    name: "claude-code",
    title: "Claude Code",
    client_info_name: "claude-code",
    reload: "start a new session",
    locations: |folders| {
        let file = folders.variable("CLAUDE_CONFIG_DIR").unwrap_or(&folders.home).join(".claude.json");
        let user = Location::user(file, &["mcpServers"]);
        let local =
            Location { scope: Scope::Local, keys: &["projects", ANY_KEY, "mcpServers"], ..user.clone() };
        [user, local].into_iter().chain(Location::project(folders, ".mcp.json", &["mcpServers"])).collect()
    },
    format: EntryFormat {
        login: &["oauth", "headersHelper", "authServerMetadataUrl"],
        references: References::ShellBraces,
        ..EntryFormat::COMMON
    },
};
