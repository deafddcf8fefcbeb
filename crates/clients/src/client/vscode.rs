//! VS Code and builds of its source. Servers are in `mcp.json`; until 2025 they were in the settings.

use super::{Client, EntryFormat, Location};
use crate::references::References;

const EDITIONS: [&str; 3] = ["Code", "Code - Insiders", "VSCodium"];
const SERVER_KEYS: &[&str] = &["servers"];
const SETTINGS_KEYS: &[&str] = &["mcp", "servers"];

pub(super) const CLIENT: Client = Client {
    name: "vscode",
    title: "VS Code",
    client_info_name: "Visual Studio Code",
    reload: "restart the server with `MCP: List Servers`",
    locations: |folders| {
        let user = EDITIONS.iter().flat_map(|edition| {
            let folder = folders.applications().join(edition).join("User");
            [
                Location::user(folder.join("mcp.json"), SERVER_KEYS),
                Location::user(folder.join("settings.json"), SETTINGS_KEYS),
            ]
        });
        let project = Location::project(folders, ".vscode/mcp.json", SERVER_KEYS);
        let settings = Location::project(folders, ".vscode/settings.json", SETTINGS_KEYS);
        user.chain(project).chain(settings).collect()
    },
    format: EntryFormat { references: References::VsCode, ..EntryFormat::COMMON },
};
