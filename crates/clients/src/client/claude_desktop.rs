//! Claude Desktop. Its remote servers are connectors, which no configuration file lists.

use super::{Client, EntryFormat, Location};

pub(super) const CLIENT: Client = Client {
    name: "claude-desktop",
    title: "Claude Desktop",
    client_info_name: "claude-ai",
    reload: "quit and restart it",
    locations: |folders| {
        let path = folders.applications().join("Claude").join("claude_desktop_config.json");
        vec![Location::user(path, &["mcpServers"])]
    },
    format: EntryFormat::COMMON,
};
