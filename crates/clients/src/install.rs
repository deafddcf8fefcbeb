//! Finds servers in the files of clients and puts tidegate in front of them.
//!
//! First everything is looked at and the new texts are made; nothing is written until a person has seen them. Then, for
//! each file: the copy, the record, the file. A crash between two of these leaves a record of something that was not
//! done, which is seen by the file's hash.

use std::path::{Path, PathBuf};

use crate::client::{ANY, CLIENTS, Client, Place, Scope};
use crate::disk::Disk;
use crate::display::masked;
use crate::document::{Node, Notation, Value};
use crate::entry::is_off;
use crate::folders::Folders;
use crate::manifest::{Layer, ManifestError, Records, hash};
use crate::text::{FileError, read, unmarked};
use crate::wrap::{Options, Verdict, Wrapped, wrap};

/// Which servers are meant; an empty list means all.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Of these clients.
    pub clients: Vec<String>,
    /// With these names.
    pub servers: Vec<String>,
    /// Of this scope.
    pub scope: Option<Scope>,
}

impl Selection {
    pub(crate) fn has_client(&self, name: &str) -> bool {
        self.clients.is_empty() || self.clients.iter().any(|client| client == name)
    }

    pub(crate) fn has_scope(&self, scope: Scope) -> bool {
        self.scope.is_none_or(|wanted| wanted == scope)
    }

    pub(crate) fn has_server(&self, name: &str) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|server| server == name)
    }
}

/// A server that was found.
#[derive(Debug)]
pub struct Found {
    /// Whose it is.
    pub client: &'static Client,
    /// For whom it is configured.
    pub scope: Scope,
    /// The file.
    pub file: PathBuf,
    /// How it is written.
    pub notation: Notation,
    /// The path to the entry; the last part is the server's name.
    pub path: Vec<String>,
    /// Whether it is switched off.
    pub off: bool,
    /// What happens with it.
    pub verdict: Verdict,
}

impl Found {
    /// Returns the server's name.
    pub fn server(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// Returns the project that it is configured for, where one file has several.
    pub fn project(&self) -> Option<&str> {
        (self.scope == Scope::Local).then(|| self.path.get(1).map(String::as_str)).flatten()
    }
}

/// A file that is to be changed.
#[derive(Debug)]
pub struct Change {
    /// The file.
    pub file: PathBuf,
    /// What is in it now.
    pub old: String,
    /// What is to be in it.
    pub new: String,
    /// How it is written.
    pub notation: Notation,
    /// The servers that are wrapped by it.
    pub servers: Vec<Wrapped>,
}

impl Change {
    /// Returns what is in the file and what is to be in it, as it may be shown: secrets are hidden.
    pub fn shown(&self) -> (String, String) {
        let clients = || self.servers.iter().map(|wrapped| wrapped.client.as_str());
        (masked(&self.old, self.notation, clients()), masked(&self.new, self.notation, clients()))
    }
}

/// What was found, and what is to be done.
#[derive(Debug, Default)]
pub struct Plan {
    /// The files that were looked for.
    pub looked: Vec<PathBuf>,
    /// The files that are there.
    pub there: Vec<PathBuf>,
    /// The servers.
    pub found: Vec<Found>,
    /// The changes.
    pub changes: Vec<Change>,
    /// The files that cannot be used.
    pub problems: Vec<FileError>,
}

/// Looks at every file of the clients selected; changes nothing.
pub fn plan(folders: &Folders, selection: &Selection, options: &Options) -> Plan {
    let mut plan = Plan::default();
    let clients = CLIENTS.iter().filter(|client| selection.has_client(client.name));
    let places: Vec<(&'static Client, Place)> = clients
        .flat_map(|client| (client.places)(folders).into_iter().map(move |place| (client, place)))
        .collect();
    for (_, place) in &places {
        if selection.has_scope(place.scope) && !plan.looked.contains(&place.path) {
            plan.looked.push(place.path.clone());
        }
    }
    let mut real = Vec::new();
    for path in plan.looked.clone() {
        // Two names may lead to one file, by a link.
        match std::fs::canonicalize(&path) {
            Ok(target) if real.contains(&target) => continue,
            Ok(target) => real.push(target),
            Err(_) => {}
        }
        let places: Vec<_> = places.iter().filter(|(_, place)| place.path == path).cloned().collect();
        match read(&path) {
            Ok(None) => {}
            Ok(Some(text)) => {
                plan.there.push(path.clone());
                if let Err(problem) = plan.file(&path, &text, &places, selection, options) {
                    plan.problems.push(problem);
                }
            }
            Err(problem) => plan.problems.push(problem),
        }
    }
    plan
}

impl Plan {
    fn file(
        &mut self,
        path: &Path,
        old: &str,
        places: &[(&'static Client, Place)],
        selection: &Selection,
        options: &Options,
    ) -> Result<(), FileError> {
        let (mark, text) = unmarked(old);
        let Some((_, Place { notation, .. })) = places.first() else { return Ok(()) };
        let root = notation
            .syntax()
            .parse(text)
            .map_err(|broken| FileError::Broken { path: path.to_owned(), broken })?;
        let mut new = text.to_owned();
        let mut servers = Vec::new();
        let first = self.found.len();
        for (client, place) in places {
            for entry in entries(&root, place.keys) {
                let known = |found: &Found| found.file == path && found.path == entry;
                if !selection.has_scope(place.scope) || self.found[first..].iter().any(known) {
                    continue;
                }
                let verdict = if !selection.has_server(entry.last().map_or("", String::as_str)) {
                    Verdict::NotChosen
                } else {
                    match wrap(&new, *notation, client, (place.scope, &entry), options) {
                        Ok((text, wrapped, verdict)) => {
                            new = text;
                            servers.push(wrapped);
                            verdict
                        }
                        Err(verdict) => verdict,
                    }
                };
                let off = root.at(&entry).is_some_and(is_off);
                let (scope, file, notation) = (place.scope, path.to_owned(), *notation);
                self.found.push(Found { client, scope, file, notation, path: entry, off, verdict });
            }
        }
        if servers.is_empty() {
            return Ok(());
        }
        let new = format!("{mark}{new}");
        self.changes.push(Change {
            file: path.to_owned(),
            old: old.to_owned(),
            new,
            notation: *notation,
            servers,
        });
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.permissions().readonly() => {
                self.refuse();
                Err(FileError::ReadOnly(path.to_owned()))
            }
            Ok(_) => Ok(()),
            Err(source) => {
                self.refuse();
                Err(FileError::Unusable { path: path.to_owned(), source })
            }
        }
    }

    /// Takes the last change back: its file cannot be written.
    fn refuse(&mut self) {
        let Some(change) = self.changes.pop() else { return };
        let wrapped =
            |found: &&mut Found| matches!(found.verdict, Verdict::WrapCommand | Verdict::WrapAddress);
        for found in self.found.iter_mut().filter(|found| found.file == change.file).filter(wrapped) {
            found.verdict = Verdict::Left("its file cannot be written".into());
        }
    }
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

/// Writes a change: a copy of the file, the record, and then the file.
///
/// # Errors
///
/// Where any of them cannot be written, or the file was changed since the plan was made; then it is as it was.
pub fn apply(change: &Change, records: &Records, disk: &Disk) -> Result<(), InstallError> {
    let path = std::path::absolute(&change.file).unwrap_or_else(|_| change.file.clone());
    let failed = |source| FileError::Unusable { path: path.clone(), source };
    if read(&change.file)?.as_deref() != Some(&change.old) {
        return Err(FileError::Moved(path).into());
    }
    let mut manifest = records.read()?;
    let before = hash(change.old.as_bytes());
    let backup = format!("{}-{}", &hash(path.as_os_str().as_encoded_bytes())[..8], &before[..24]);
    disk.write(&records.backup(&backup), change.old.as_bytes())
        .map_err(|source| ManifestError::Unusable { path: records.backup(&backup), source })?;
    let after = hash(change.new.as_bytes());
    let layer = Layer { before, after, backup, servers: change.servers.clone() };
    manifest.push(&path, change.notation, layer);
    let record = records.path();
    records.write(&manifest, disk).map_err(|source| ManifestError::Unusable { path: record, source })?;
    Ok(disk.replace(&path, change.new.as_bytes()).map_err(failed)?)
}

/// Why nothing was installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The client's file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The record of what was installed.
    #[error(transparent)]
    Records(#[from] ManifestError),
}
