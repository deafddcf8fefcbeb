//! opencode: a command is one list, and servers stand in `mcp` or, newer, in `mcp.servers`.

use super::{Client, CommandShape, Place, Shape};
use crate::launch::References;

const KEYS: [&[&str]; 2] = [&["mcp"], &["mcp", "servers"]];

pub(super) const CLIENT: Client = Client {
    name: "opencode",
    title: "opencode",
    greets_as: "opencode",
    reload: "start a new session",
    places: |folders| {
        let mut places = Vec::new();
        let own = folders.config().join("opencode");
        let named = folders.variable("OPENCODE_CONFIG_DIR");
        let file = folders.variable("OPENCODE_CONFIG").map(|path| Place::user(path.to_owned(), &[]));
        let user = [Some(own.as_path()), named].into_iter().flatten().flat_map(|folder| {
            ["opencode.json", "opencode.jsonc", "config.json"].map(|name| Place::user(folder.join(name), &[]))
        });
        let names =
            ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"];
        let project = names.iter().flat_map(|name| Place::project(folders, name, &[]));
        for place in file.into_iter().chain(user).chain(project) {
            places.extend(KEYS.map(|keys| Place { keys, ..place.clone() }));
        }
        places
    },
    shape: Shape {
        command: CommandShape::Together,
        environment: "environment",
        started: "local",
        reached: "remote",
        login: &["oauth"],
        references: References::Bare,
        ..Shape::COMMON
    },
};
