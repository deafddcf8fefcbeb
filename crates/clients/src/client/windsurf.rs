//! Windsurf: one file for all servers.

use super::{Client, EntryFormat, Location};
use crate::references::References;

pub(super) const CLIENT: Client = Client {
    name: "windsurf",
    title: "Windsurf",
    client_info_name: "windsurf-client",
    reload: "refresh the servers in its settings",
    locations: |folders| {
        let path = folders.home.join(".codeium").join("windsurf").join("mcp_config.json");
        vec![Location::user(path, &["mcpServers"])]
    },
    format: EntryFormat { url: &["serverUrl", "url"], references: References::VsCode, ..EntryFormat::COMMON },
};
