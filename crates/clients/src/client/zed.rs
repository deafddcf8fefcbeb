//! Zed: servers stand in its settings. Until 2025 a command was an object of its own, which is still read.

use super::{Client, Place, Shape};
use crate::folders::System;

pub(super) const CLIENT: Client = Client {
    name: "zed",
    title: "Zed",
    greets_as: "Zed",
    reload: "it starts the server again by itself",
    places: |folders| {
        let folder = match folders.system {
            System::Windows => folders.applications().join("Zed"),
            System::MacOs => folders.home.join(".config").join("zed"),
            System::Linux => folders.config().join("zed"),
        };
        let user = Place::user(folder.join("settings.json"), &["context_servers"]);
        [user]
            .into_iter()
            .chain(Place::project(folders, ".zed/settings.json", &["context_servers"]))
            .collect()
    },
    shape: Shape::COMMON,
};
