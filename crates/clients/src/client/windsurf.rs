//! Windsurf: one file for everything.

use super::{Client, Place, Shape};

pub(super) const CLIENT: Client = Client {
    name: "windsurf",
    title: "Windsurf",
    reload: "refresh the servers in its settings",
    places: |folders| {
        let path = folders.home.join(".codeium").join("windsurf").join("mcp_config.json");
        vec![Place::user(path, &["mcpServers"])]
    },
    shape: Shape { url: &["serverUrl", "url"], ..Shape::COMMON },
};
