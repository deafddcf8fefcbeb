//! Finds servers in the files of clients and puts tidegate in front of them.
//!
//! First everything is looked at and the new texts are made; nothing is written until a person has seen them. Then, for
//! each file: the copy, the record, the file. A crash between two of these leaves a record of something that was not
//! done, which is seen by the file's hash.

use std::path::{Path, PathBuf};

use crate::client::{Client, Scope};
use crate::disk::Disk;
use crate::display::masked;
use crate::document::{Node, Notation};
use crate::entry::{Gate, Way, forbids_query, is_off, sets_path};
use crate::folders::Folders;
use crate::manifest::{Layer, ManifestError, Records, hash};
use crate::places::{ClientFile, files, real, server_names};
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

    /// Returns the same with names between commas apart, unless they are the name of one server.
    pub(crate) fn resolved(&self, names: impl Fn() -> Vec<String>) -> Self {
        let mut selection = self.clone();
        if self.servers.iter().any(|server| server.contains(',')) {
            let names = names();
            let apart = |server: &String| match names.contains(server) {
                true => vec![server.clone()],
                false => server.split(',').map(str::to_owned).collect(),
            };
            selection.servers = self.servers.iter().flat_map(apart).collect();
        }
        selection
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
    /// What a person has to know or do besides, where it is wrapped.
    pub remarks: Vec<String>,
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
    /// The entries that were wrapped before.
    others: Vec<Vec<String>>,
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
    let files = files(folders);
    let selection = selection.resolved(|| server_names(&files));
    for file in &files {
        let names = file.names(&selection);
        let Some(name) = names.first() else { continue };
        plan.looked.extend(names.iter().map(|name| name.to_path_buf()));
        match read(name) {
            Ok(None) => {}
            Ok(Some(text)) => {
                plan.there.extend(names.iter().map(|name| name.to_path_buf()));
                if let Err(problem) = plan.file((name, file), &text, &selection, options) {
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
        (path, file): (&Path, &ClientFile),
        old: &str,
        selection: &Selection,
        options: &Options,
    ) -> Result<(), FileError> {
        let (mark, text) = unmarked(old);
        let notation = file.notation;
        let root = notation
            .syntax()
            .parse(text)
            .map_err(|broken| FileError::Broken { path: path.to_owned(), broken })?;
        let mut change = Change {
            file: path.to_owned(),
            old: old.to_owned(),
            new: text.to_owned(),
            notation,
            servers: Vec::new(),
            others: Vec::new(),
        };
        let first = self.found.len();
        for (client, place, entry) in file.entries(&root) {
            let Some(node) = root.at(&entry) else { continue };
            if matches!(Way::of(node, &client.shape).gate(), Gate::InFront(_)) {
                change.others.push(entry.clone());
            }
            let is_known = self.found[first..].iter().any(|found| found.path == entry);
            if is_known || !selection.has_client(client.name) || !selection.has_scope(place.scope) {
                continue;
            }
            let verdict = if !selection.has_server(entry.last().map_or("", String::as_str)) {
                Verdict::NotChosen
            } else {
                match wrap(&change.new, notation, client, (place.scope, &entry), options) {
                    Ok((text, wrapped, verdict)) => {
                        change.new = text;
                        change.servers.push(wrapped);
                        verdict
                    }
                    Err(verdict) => verdict,
                }
            };
            let remarks = remarks(node, client, place.scope, &verdict);
            let (scope, file, off) = (place.scope, path.to_owned(), is_off(node));
            self.found.push(Found { client, scope, file, notation, path: entry, off, verdict, remarks });
        }
        if change.servers.is_empty() {
            return Ok(());
        }
        change.new.insert_str(0, mark);
        self.changes.push(change);
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

/// Says what wrapping alone does not do.
fn remarks(entry: &Node, client: &Client, scope: Scope, verdict: &Verdict) -> Vec<String> {
    let (shape, mut remarks) = (&client.shape, Vec::new());
    let is_written = matches!(verdict, Verdict::WrapCommand | Verdict::WrapAddress);
    if is_written && scope == Scope::Project && sets_path(entry, shape) {
        remarks.push(format!("its {} sets PATH, so tidegate must be found there", shape.environment));
    }
    let is_wrapped = is_written || *verdict == Verdict::AlreadyWrapped;
    if let Some(list) = forbids_query(entry, shape).filter(|_| is_wrapped) {
        remarks.push(format!("add \"result_query\" to its {list}, or the client does not offer it"));
    }
    remarks
}

/// Writes a change: a copy of the file, the record, and then the file.
///
/// # Errors
///
/// Where any of them cannot be written, or the file was changed since the plan was made; then it is as it was.
pub fn apply(change: &Change, records: &Records, disk: &Disk) -> Result<(), InstallError> {
    let path = real(&change.file);
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
    manifest.push(&path, change.notation, layer, &change.others);
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
