//! VS Code and what is built of its source. Servers are in `mcp.json`; until 2025 they were in the settings.

use super::{Client, Place, Shape};
use crate::launch::References;

const EDITIONS: [&str; 3] = ["Code", "Code - Insiders", "VSCodium"];
const OWN: &[&str] = &["servers"];
const SETTINGS: &[&str] = &["mcp", "servers"];

pub(super) const CLIENT: Client = Client {
    name: "vscode",
    title: "VS Code",
    greets_as: "Visual Studio Code",
    reload: "restart the server with `MCP: List Servers`",
    places: |folders| {
        let user = EDITIONS.iter().flat_map(|edition| {
            let folder = folders.applications().join(edition).join("User");
            [Place::user(folder.join("mcp.json"), OWN), Place::user(folder.join("settings.json"), SETTINGS)]
        });
        let project = Place::project(folders, ".vscode/mcp.json", OWN);
        let settings = Place::project(folders, ".vscode/settings.json", SETTINGS);
        user.chain(project).chain(settings).collect()
    },
    shape: Shape { references: References::Named, ..Shape::COMMON },
};
