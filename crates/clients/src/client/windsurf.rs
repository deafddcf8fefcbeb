//! Windsurf: one file for everything.

use super::{Client, Place, Shape};
use crate::launch::References;

pub(super) const CLIENT: Client = Client {
    name: "windsurf",
    title: "Windsurf",
    greets_as: "windsurf-client",
    reload: "refresh the servers in its settings",
    places: |folders| {
        let path = folders.home.join(".codeium").join("windsurf").join("mcp_config.json");
        vec![Place::user(path, &["mcpServers"])]
    },
    shape: Shape { url: &["serverUrl", "url"], references: References::Named, ..Shape::COMMON },
};
