//! Finds servers in the files of clients and puts tidegate in front of them.
//!
//! [`plan`] reads every file and computes the new texts, so that the user can see them first. [`apply`] then writes, for one
//! file: the backup, the manifest, the file. A crash in between leaves a record of a change that was not made, which
//! uninstall recognises by the file's hash.

use std::path::{Path, PathBuf};

use crate::client::{Client, Scope};
use crate::client_files::{ClientFile, files, resolve_links, server_names};
use crate::disk::Disk;
use crate::document::{Node, Notation};
use crate::entry::{is_disabled, list_without_result_query, sets_path};
use crate::error::FileError;
use crate::folders::Folders;
use crate::manifest::{Layer, ManifestError, Records, hash};
use crate::mask::mask_secrets;
use crate::text::{parse, read, split_bom};
use crate::wrap::{Options, Verdict, Wrapped, wrap};

/// Which servers to work on; an empty list selects all.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The clients to select.
    pub clients: Vec<String>,
    /// The server names to select.
    pub servers: Vec<String>,
    /// The scope to select.
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

    /// Returns the selection with server names split at commas, except a name with a comma that a server really has.
    pub(crate) fn resolved(&self, names: impl Fn() -> Vec<String>) -> Self {
        let mut selection = self.clone();
        if self.servers.iter().any(|server| server.contains(',')) {
            let names = names();
            let split = |server: &String| match names.contains(server) {
                true => vec![server.clone()],
                false => server.split(',').map(str::to_owned).collect(),
            };
            selection.servers = self.servers.iter().flat_map(split).collect();
        }
        selection
    }
}

/// A server in a client's file.
#[derive(Debug)]
pub struct FoundServer {
    /// The client whose file it is in.
    pub client: &'static Client,
    /// Who the entry applies to.
    pub scope: Scope,
    /// The file.
    pub file: PathBuf,
    /// The format of the file.
    pub notation: Notation,
    /// The key path of the entry; the last key is the server's name.
    pub path: Vec<String>,
    /// Whether it is disabled.
    pub off: bool,
    /// What install does with it.
    pub verdict: Verdict,
    /// What the user must know or do if it is wrapped.
    pub remarks: Vec<String>,
}

impl FoundServer {
    /// Returns the server's name.
    pub fn server(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// Returns the project that it is configured for, if its file covers several projects.
    pub fn project(&self) -> Option<&str> {
        (self.scope == Scope::Local).then(|| self.path.get(1).map(String::as_str)).flatten()
    }
}

/// The planned change of one file.
#[derive(Debug)]
pub struct Change {
    /// The file.
    pub file: PathBuf,
    /// Its content now.
    pub old: String,
    /// Its new content.
    pub new: String,
    /// The format of the file.
    pub notation: Notation,
    /// The servers that the change wraps.
    pub servers: Vec<Wrapped>,
}

impl Change {
    /// Returns the old and the new content with secrets masked.
    pub fn shown(&self) -> (String, String) {
        let clients = || self.servers.iter().map(|wrapped| wrapped.client.as_str());
        (mask_secrets(&self.old, self.notation, clients()), mask_secrets(&self.new, self.notation, clients()))
    }
}

/// The servers that were found, and the changes to make.
#[derive(Debug, Default)]
pub struct Plan {
    /// The paths that were checked.
    pub looked: Vec<PathBuf>,
    /// The files that exist.
    pub there: Vec<PathBuf>,
    /// The servers.
    pub found: Vec<FoundServer>,
    /// The changes.
    pub changes: Vec<Change>,
    /// The files that cannot be read or changed.
    pub problems: Vec<FileError>,
}

/// Reads the files of the selected clients and plans the changes; writes nothing.
pub fn plan(folders: &Folders, selection: &Selection, options: &Options) -> Plan {
    let mut plan = Plan::default();
    let files = files(folders);
    let selection = selection.resolved(|| server_names(&files));
    for file in &files {
        let paths = file.selected_paths(&selection);
        let Some(path) = paths.first() else { continue };
        plan.looked.extend(paths.iter().map(|path| path.to_path_buf()));
        match read(path) {
            Ok(None) => {}
            Ok(Some(text)) => {
                plan.there.extend(paths.iter().map(|path| path.to_path_buf()));
                if let Err(problem) = plan.add_file((path, file), &text, &selection, options) {
                    plan.problems.push(problem);
                }
            }
            Err(problem) => plan.problems.push(problem),
        }
    }
    plan
}

impl Plan {
    /// Plans the change of one file.
    fn add_file(
        &mut self,
        (path, file): (&Path, &ClientFile),
        old: &str,
        selection: &Selection,
        options: &Options,
    ) -> Result<(), FileError> {
        let (bom, text) = split_bom(old);
        let notation = file.notation;
        let root = parse(path, notation, old)?;
        let mut change = Change {
            file: path.to_owned(),
            old: old.to_owned(),
            new: text.to_owned(),
            notation,
            servers: Vec::new(),
        };
        let first = self.found.len();
        for (client, location, entry) in file.entries(&root) {
            let Some(node) = root.at(&entry) else { continue };
            let is_seen = self.found[first..].iter().any(|found| found.path == entry);
            if is_seen || !selection.has_client(client.name) || !selection.has_scope(location.scope) {
                continue;
            }
            let verdict = if !selection.has_server(entry.last().map_or("", String::as_str)) {
                Verdict::NotSelected
            } else {
                match wrap(&change.new, notation, client, (location.scope, &entry), options) {
                    Ok((text, wrapped, verdict)) => {
                        change.new = text;
                        change.servers.push(wrapped);
                        verdict
                    }
                    Err(verdict) => verdict,
                }
            };
            let remarks = remarks(node, client, location.scope, &verdict);
            let (scope, file, off) = (location.scope, path.to_owned(), is_disabled(node));
            self.found.push(FoundServer {
                client,
                scope,
                file,
                notation,
                path: entry,
                off,
                verdict,
                remarks,
            });
        }
        if change.servers.is_empty() {
            return Ok(());
        }
        change.new.insert_str(0, bom);
        self.changes.push(change);
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.permissions().readonly() => {
                self.drop_last_change();
                Err(FileError::ReadOnly(path.to_owned()))
            }
            Ok(_) => Ok(()),
            Err(source) => {
                self.drop_last_change();
                Err(FileError::Unusable { path: path.to_owned(), source })
            }
        }
    }

    /// Drops the last change, whose file cannot be written.
    fn drop_last_change(&mut self) {
        let Some(change) = self.changes.pop() else { return };
        let wrapped =
            |found: &&mut FoundServer| matches!(found.verdict, Verdict::WrapCommand | Verdict::WrapRemote);
        for found in self.found.iter_mut().filter(|found| found.file == change.file).filter(wrapped) {
            found.verdict = Verdict::Skipped("its file cannot be written".into());
        }
    }
}

/// Returns what the user must do besides wrapping the server.
fn remarks(entry: &Node, client: &Client, scope: Scope, verdict: &Verdict) -> Vec<String> {
    let (format, mut remarks) = (&client.format, Vec::new());
    let is_written = matches!(verdict, Verdict::WrapCommand | Verdict::WrapRemote);
    if is_written && scope == Scope::Project && sets_path(entry, format) {
        remarks.push(format!("its {} sets PATH, so tidegate must be on that PATH", format.environment));
    }
    let is_wrapped = is_written || *verdict == Verdict::AlreadyWrapped;
    if let Some(list) = list_without_result_query(entry, format).filter(|_| is_wrapped) {
        remarks.push(format!("add \"result_query\" to its {list}, or the client will not offer the tool"));
    }
    remarks
}

/// Writes a change: the backup, the manifest, and then the file.
///
/// # Errors
///
/// Fails if any of them cannot be written, or if the file changed since the plan was made. The file is then unchanged.
pub fn apply(change: &Change, records: &Records, disk: &Disk) -> Result<(), InstallError> {
    let path = resolve_links(&change.file);
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
    let manifest_path = records.path();
    records
        .write(&manifest, disk)
        .map_err(|source| ManifestError::Unusable { path: manifest_path, source })?;
    Ok(disk.replace(&path, change.new.as_bytes()).map_err(failed)?)
}

/// Why a change was not installed or undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The client's file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The manifest cannot be used.
    #[error(transparent)]
    Records(#[from] ManifestError),
}
