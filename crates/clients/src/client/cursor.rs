//! Cursor.

use super::{Client, EntryFormat, Location};
use crate::references::References;

pub(super) const CLIENT: Client = Client {
    name: "cursor",
    title: "Cursor",
    client_info_name: "cursor-vscode",
    reload: "switch the server off and on in its settings",
    locations: |folders| {
        let user = Location::user(folders.home.join(".cursor").join("mcp.json"), &["mcpServers"]);
        [user].into_iter().chain(Location::project(folders, ".cursor/mcp.json", &["mcpServers"])).collect()
    },
    format: EntryFormat { references: References::VsCode, ..EntryFormat::COMMON },
};
