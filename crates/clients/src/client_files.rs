//! Lists the files of all clients, and the server entries in each.
//!
//! Symbolic links may give one file several paths. Such a file is one [`ClientFile`] with the locations of all its paths,
//! so that it is planned, recorded and undone once.

use std::path::{Path, PathBuf};

use crate::client::{ANY_KEY, CLIENTS, Client, Location};
use crate::document::{Node, Notation, Value};
use crate::folders::Folders;
use crate::install::Selection;
use crate::text::{read, split_bom};

/// A configuration file and everything that clients look for in it.
#[derive(Debug)]
pub(crate) struct ClientFile {
    /// The path with links resolved, or one of the paths as written if the file does not exist.
    pub(crate) real: PathBuf,
    pub(crate) notation: Notation,
    /// Where each client looks for servers in it.
    pub(crate) locations: Vec<(&'static Client, Location)>,
}

impl ClientFile {
    /// Returns the paths by which the selected clients and scopes know the file.
    pub(crate) fn selected_paths(&self, selection: &Selection) -> Vec<&Path> {
        let is_selected = |(client, location): &&(&'static Client, Location)| {
            selection.has_client(client.name) && selection.has_scope(location.scope)
        };
        let mut paths: Vec<&Path> = Vec::new();
        for (_, location) in self.locations.iter().filter(is_selected) {
            if !paths.contains(&location.path.as_path()) {
                paths.push(&location.path);
            }
        }
        paths
    }

    /// Returns the key path of every server entry, with the client and location that it belongs to.
    pub(crate) fn entries(&self, root: &Node) -> Vec<(&'static Client, &Location, Vec<String>)> {
        let found = self.locations.iter().flat_map(|(client, location)| {
            entries(root, location.keys).into_iter().map(move |entry| (*client, location, entry))
        });
        found.collect()
    }
}

/// Returns every file that a client may read, in the order of [`CLIENTS`]; the files need not exist.
pub(crate) fn files(folders: &Folders) -> Vec<ClientFile> {
    let mut files: Vec<ClientFile> = Vec::new();
    for client in &CLIENTS {
        for location in (client.locations)(folders) {
            let real = resolve_links(&location.path);
            match files.iter_mut().find(|file| file.real == real && file.notation == location.notation) {
                Some(file) => file.locations.push((client, location)),
                None => {
                    let notation = location.notation;
                    files.push(ClientFile { real, notation, locations: vec![(client, location)] });
                }
            }
        }
    }
    files
}

/// Returns a path with links resolved; made absolute only if the file does not exist.
pub(crate) fn resolve_links(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// Returns the names of all servers in the files that can be parsed.
pub(crate) fn server_names(files: &[ClientFile]) -> Vec<String> {
    let of_file = |file: &ClientFile| {
        let text = read(&file.real).ok()??;
        let root = file.notation.syntax().parse(split_bom(&text).1).ok()?;
        Some(file.entries(&root).into_iter().filter_map(|(.., mut path)| path.pop()).collect::<Vec<_>>())
    };
    files.iter().filter_map(of_file).flatten().collect()
}

/// Returns the key paths of the entries below a path of keys, each once.
fn entries(root: &Node, keys: &[&str]) -> Vec<Vec<String>> {
    let mut found: Vec<(Vec<String>, &Node)> = vec![(Vec::new(), root)];
    for key in keys {
        found = found.into_iter().flat_map(|(path, node)| children(&path, node, key)).collect();
    }
    let all = found.into_iter().flat_map(|(path, node)| children(&path, node, ANY_KEY));
    // An object named `servers` may hold the servers instead of being one.
    let is_server = |(path, node): &(Vec<String>, &Node)| {
        path.last().map(String::as_str) != Some("servers")
            || ["type", "command", "url"].iter().any(|key| node.get(key).is_some())
    };
    all.filter(is_server).map(|(path, _)| path).collect()
}

/// Returns the members of an object that match a key, each with its path.
fn children<'n>(path: &[String], node: &'n Node, key: &str) -> Vec<(Vec<String>, &'n Node)> {
    let mut found: Vec<(Vec<String>, &Node)> = Vec::new();
    for member in node.members().iter().filter(|member| key == ANY_KEY || member.name == key) {
        let path: Vec<String> = path.iter().chain([&member.name]).cloned().collect();
        // Of duplicate keys the last one wins, as it does in the clients.
        found.retain(|(other, _)| *other != path);
        if key == ANY_KEY || matches!(member.value.value, Value::Object(_)) {
            found.push((path, &member.value));
        }
    }
    found
}
