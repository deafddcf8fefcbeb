//! Cursor.

use super::{Client, Place, Shape};
use crate::launch::References;

pub(super) const CLIENT: Client = Client {
    name: "cursor",
    title: "Cursor",
    greets_as: "cursor-vscode",
    reload: "switch the server off and on in its settings",
    places: |folders| {
        let user = Place::user(folders.home.join(".cursor").join("mcp.json"), &["mcpServers"]);
        [user].into_iter().chain(Place::project(folders, ".cursor/mcp.json", &["mcpServers"])).collect()
    },
    shape: Shape { references: References::Named, ..Shape::COMMON },
};
