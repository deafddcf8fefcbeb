//! Claude Desktop. Its remote servers are connectors, which are in no file.

use super::{Client, Place, Shape};

pub(super) const CLIENT: Client = Client {
    name: "claude-desktop",
    title: "Claude Desktop",
    greets_as: "claude-ai",
    reload: "quit and start it again",
    places: |folders| {
        let path = folders.applications().join("Claude").join("claude_desktop_config.json");
        vec![Place::user(path, &["mcpServers"])]
    },
    shape: Shape::COMMON,
};
