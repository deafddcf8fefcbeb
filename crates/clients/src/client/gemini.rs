//! Gemini CLI. `httpUrl` is the older key for a streamable HTTP server; `url` once meant HTTP+SSE.

use super::{Client, EntryFormat, Location};
use crate::references::References;

pub(super) const CLIENT: Client = Client {
    name: "gemini",
    title: "Gemini CLI",
    client_info_name: "gemini-cli-mcp-client",
    reload: "start a new session, or `/mcp refresh`",
    locations: |folders| {
        let home = folders.variable("GEMINI_CLI_HOME").unwrap_or(&folders.home);
        let user = Location::user(home.join(".gemini").join("settings.json"), &["mcpServers"]);
        [user]
            .into_iter()
            .chain(Location::project(folders, ".gemini/settings.json", &["mcpServers"]))
            .collect()
    },
    format: EntryFormat {
        url: &["httpUrl", "url"],
        login: &["oauth", "authProviderType"],
        references: References::Shell,
        allowed_tools: Some("includeTools"),
        ..EntryFormat::COMMON
    },
};
