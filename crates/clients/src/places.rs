//! The files of all clients, and the entries of servers in them.
//!
//! Two names may lead to one file by a link. It is one file then, with the places of all its names, so that whatever is
//! changed in it is changed, recorded and undone at once.

use std::path::{Path, PathBuf};

use crate::client::{ANY, CLIENTS, Client, Place};
use crate::document::{Node, Notation, Value};
use crate::folders::Folders;
use crate::install::Selection;
use crate::text::{read, unmarked};

/// A file, by all of its names.
#[derive(Debug)]
pub(crate) struct ClientFile {
    /// The path without links; any of its names if there is no such file.
    pub(crate) real: PathBuf,
    pub(crate) notation: Notation,
    /// Where servers may stand in it, for whom.
    pub(crate) places: Vec<(&'static Client, Place)>,
}

impl ClientFile {
    /// Returns the names that are meant.
    pub(crate) fn names(&self, selection: &Selection) -> Vec<&Path> {
        let is_meant = |(client, place): &&(&'static Client, Place)| {
            selection.has_client(client.name) && selection.has_scope(place.scope)
        };
        let mut names: Vec<&Path> = Vec::new();
        for (_, place) in self.places.iter().filter(is_meant) {
            if !names.contains(&place.path.as_path()) {
                names.push(&place.path);
            }
        }
        names
    }

    /// Returns the paths of all entries, each once, with the place that it was found by.
    pub(crate) fn entries(&self, root: &Node) -> Vec<(&'static Client, &Place, Vec<String>)> {
        let found = self.places.iter().flat_map(|(client, place)| {
            entries(root, place.keys).into_iter().map(move |entry| (*client, place, entry))
        });
        found.collect()
    }
}

/// Returns every file that a client may have, in the order of the clients.
pub(crate) fn files(folders: &Folders) -> Vec<ClientFile> {
    let mut files: Vec<ClientFile> = Vec::new();
    for client in &CLIENTS {
        for place in (client.places)(folders) {
            let real = real(&place.path);
            match files.iter_mut().find(|file| file.real == real && file.notation == place.notation) {
                Some(file) => file.places.push((client, place)),
                None => {
                    files.push(ClientFile { real, notation: place.notation, places: vec![(client, place)] });
                }
            }
        }
    }
    files
}

/// Returns a path without links, or as it is if there is nothing there.
pub(crate) fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// Returns the names of all servers that can be read.
pub(crate) fn server_names(files: &[ClientFile]) -> Vec<String> {
    let of_file = |file: &ClientFile| {
        let text = read(&file.real).ok()??;
        let root = file.notation.syntax().parse(unmarked(&text).1).ok()?;
        Some(file.entries(&root).into_iter().filter_map(|(.., mut path)| path.pop()).collect::<Vec<_>>())
    };
    files.iter().filter_map(of_file).flatten().collect()
}

/// Returns the paths of the entries below a path of keys, each once.
fn entries(root: &Node, keys: &[&str]) -> Vec<Vec<String>> {
    let mut found: Vec<(Vec<String>, &Node)> = vec![(Vec::new(), root)];
    for key in keys {
        found = found.into_iter().flat_map(|(path, node)| below(&path, node, key)).collect();
    }
    let all = found.into_iter().flat_map(|(path, node)| below(&path, node, ANY));
    // Servers may stand one step deeper, in an object that is no server.
    let is_server = |(path, node): &(Vec<String>, &Node)| {
        path.last().map(String::as_str) != Some("servers")
            || ["type", "command", "url"].iter().any(|key| node.get(key).is_some())
    };
    all.filter(is_server).map(|(path, _)| path).collect()
}

fn below<'n>(path: &[String], node: &'n Node, key: &str) -> Vec<(Vec<String>, &'n Node)> {
    let mut found: Vec<(Vec<String>, &Node)> = Vec::new();
    for member in node.members().iter().filter(|member| key == ANY || member.name == key) {
        let path: Vec<String> = path.iter().chain([&member.name]).cloned().collect();
        // The last of several counts.
        found.retain(|(other, _)| *other != path);
        if key == ANY || matches!(member.value.value, Value::Map(_)) {
            found.push((path, &member.value));
        }
    }
    found
}
