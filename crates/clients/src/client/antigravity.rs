//! Antigravity: one file for all servers, which earlier versions of the editor and of its CLI kept in folders of their own.

use super::{Client, EntryFormat, Location};

pub(super) const CLIENT: Client = Client {
    name: "antigravity",
    title: "Antigravity",
    client_info_name: "antigravity-client",
    reload: "refresh the servers under Manage MCP Servers",
    locations: |folders| {
        let file = |folder: &str| folders.home.join(".gemini").join(folder).join("mcp_config.json");
        let location = |folder| Location::user(file(folder), &["mcpServers"]);
        ["config", "antigravity", "antigravity-cli"].map(location).to_vec()
    },
    format: EntryFormat { url: &["serverUrl", "url"], ..EntryFormat::COMMON },
};
