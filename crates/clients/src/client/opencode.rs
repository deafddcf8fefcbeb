//! opencode: a command is one list, and servers are listed in `mcp` or, in newer versions, in `mcp.servers`.

use super::{Client, CommandFormat, EntryFormat, Location};
use crate::references::References;

const SERVER_KEYS: [&[&str]; 2] = [&["mcp"], &["mcp", "servers"]];

pub(super) const CLIENT: Client = Client {
    name: "opencode",
    title: "opencode",
    client_info_name: "opencode",
    reload: "start a new session",
    locations: |folders| {
        let mut locations = Vec::new();
        let default_folder = folders.config().join("opencode");
        let configured = folders.variable("OPENCODE_CONFIG_DIR");
        let file = folders.variable("OPENCODE_CONFIG").map(|path| Location::user(path.to_owned(), &[]));
        let user = [Some(default_folder.as_path()), configured].into_iter().flatten().flat_map(|folder| {
            ["opencode.json", "opencode.jsonc", "config.json"]
                .map(|name| Location::user(folder.join(name), &[]))
        });
        let names =
            ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"];
        let project = names.iter().flat_map(|name| Location::project(folders, name, &[]));
        for location in file.into_iter().chain(user).chain(project) {
            locations.extend(SERVER_KEYS.map(|keys| Location { keys, ..location.clone() }));
        }
        locations
    },
    format: EntryFormat {
        command: CommandFormat::List,
        environment: "environment",
        stdio_type: "local",
        remote_type: "remote",
        login: &["oauth"],
        references: References::Opencode,
        ..EntryFormat::COMMON
    },
};
