//! Cursor.

use super::{Client, Place, Shape};

pub(super) const CLIENT: Client = Client {
    name: "cursor",
    title: "Cursor",
    reload: "switch the server off and on in its settings",
    places: |folders| {
        let user = Place::user(folders.home.join(".cursor").join("mcp.json"), &["mcpServers"]);
        [user].into_iter().chain(Place::project(folders, ".cursor/mcp.json", &["mcpServers"])).collect()
    },
    shape: Shape::COMMON,
};
