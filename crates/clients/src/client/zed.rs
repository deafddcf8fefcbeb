//! Zed: servers are in its settings. Until 2025 a command was an object, which Zed still reads.

use super::{Client, EntryFormat, Location};
use crate::folders::System;

pub(super) const CLIENT: Client = Client {
    name: "zed",
    title: "Zed",
    client_info_name: "Zed",
    reload: "it restarts the server by itself",
    locations: |folders| {
        let folder = match folders.system {
            System::Windows => folders.applications().join("Zed"),
            System::MacOs => folders.home.join(".config").join("zed"),
            System::Linux => folders.config().join("zed"),
        };
        let user = Location::user(folder.join("settings.json"), &["context_servers"]);
        [user]
            .into_iter()
            .chain(Location::project(folders, ".zed/settings.json", &["context_servers"]))
            .collect()
    },
    format: EntryFormat::COMMON,
};
