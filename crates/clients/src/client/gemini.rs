//! Gemini CLI. `httpUrl` is the older name of an address that is not of the old SSE transport.

use super::{Client, Place, Shape};
use crate::launch::References;

pub(super) const CLIENT: Client = Client {
    name: "gemini",
    title: "Gemini CLI",
    greets_as: "gemini-cli-mcp-client",
    reload: "start a new session, or `/mcp refresh`",
    places: |folders| {
        let home = folders.variable("GEMINI_CLI_HOME").unwrap_or(&folders.home);
        let user = Place::user(home.join(".gemini").join("settings.json"), &["mcpServers"]);
        [user].into_iter().chain(Place::project(folders, ".gemini/settings.json", &["mcpServers"])).collect()
    },
    shape: Shape {
        url: &["httpUrl", "url"],
        login: &["oauth", "authProviderType"],
        references: References::Dollar,
        allowed: Some("includeTools"),
        ..Shape::COMMON
    },
};
