//! Undoes what install changed.
//!
//! A file that still has the bytes that install wrote is restored from its backup. In any other file, tidegate is removed from
//! each wrapped server, and everything else stays as it is now.
//!
//! A recorded entry is undone. A wrapped entry without a record was written by hand, or its record was lost with the data
//! folder; only the user knows which. So it is listed and stays, unless the user names it: then it is undone from what the entry
//! itself contains (`wrap/guess.rs`). If an entry, once undone, equals a recorded entry that is gone, it is that entry, renamed.

use std::path::PathBuf;

use crate::client::{Client, Scope};
use crate::client_files::{ClientFile, files, server_names};
use crate::disk::Disk;
use crate::document::{Node, Notation, equal};
use crate::error::FileError;
use crate::folders::Folders;
use crate::install::{InstallError, Selection};
use crate::manifest::{Layer, ManifestError, Record, Records, hash};
use crate::mask::mask_secrets;
use crate::text::{parse, read, split_bom};
use crate::wrap::{Undone, Wrapped, guess, undo};

/// What uninstall does with a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Its whole file is restored from the backup.
    Restored,
    /// Tidegate is removed from its entry; other changes of the file stay.
    Unwrapped,
    /// There is nothing to undo: the entry is gone, or was undone by hand.
    NothingToUndo,
    /// Its file does not exist at the moment; the record stays.
    FileMissing,
    /// It is wrapped, but no record says that install did it, and the selection does not name it; it stays.
    NotRecorded,
    /// It stays as it is, for this reason.
    Skipped(String),
}

/// The planned reversal of one file.
#[derive(Debug)]
pub struct Reversal {
    /// The file.
    pub file: PathBuf,
    /// Its content now; `None` if it does not exist.
    pub old: Option<String>,
    /// Its new content; `None` if it stays as it is.
    pub new: Option<String>,
    /// The format of the file.
    pub notation: Notation,
    /// What is done with each server.
    pub servers: Vec<(Wrapped, Outcome)>,
    /// The layers that stay in the manifest.
    layers: Vec<Layer>,
}

/// The reversals to make.
#[derive(Debug, Default)]
pub struct UndoPlan {
    /// The files to change.
    pub reversals: Vec<Reversal>,
    /// The files that cannot be read or changed.
    pub problems: Vec<FileError>,
    /// Whether nothing is recorded and no wrapped server was found.
    pub is_empty: bool,
}

/// Reads the manifest and the files of all clients and plans the reversals; writes nothing.
///
/// # Errors
///
/// If the manifest cannot be read.
pub fn plan(records: &Records, folders: &Folders, selection: &Selection) -> Result<UndoPlan, ManifestError> {
    let manifest = records.read()?;
    let files = files(folders);
    let selection = selection.resolved(|| {
        let recorded =
            manifest.files.iter().flat_map(|record| &record.layers).flat_map(|layer| &layer.servers);
        recorded.map(|wrapped| wrapped.server().to_owned()).chain(server_names(&files)).collect()
    });
    let unrecorded = files.iter().filter(|file| manifest.record(&file.real).is_none()).map(|file| Record {
        path: file.real.clone(),
        notation: file.notation,
        layers: Vec::new(),
        others: Vec::new(),
    });
    let mut plan = UndoPlan::default();
    for record in manifest.files.iter().cloned().chain(unrecorded) {
        let file = files.iter().find(|file| file.real == record.path);
        match reverse(&record, file, records, &selection) {
            Ok(reversal) if reversal.servers.is_empty() => {}
            Ok(reversal) => plan.reversals.push(reversal),
            Err(problem) => plan.problems.push(problem),
        }
    }
    plan.is_empty = manifest.files.is_empty() && plan.reversals.is_empty() && plan.problems.is_empty();
    Ok(plan)
}

/// Plans the reversal of one file.
fn reverse(
    record: &Record,
    file: Option<&ClientFile>,
    records: &Records,
    selection: &Selection,
) -> Result<Reversal, FileError> {
    let is_chosen = |wrapped: &Wrapped| {
        selection.has_client(&wrapped.client)
            && selection.has_scope(wrapped.scope)
            && selection.has_server(wrapped.server())
    };
    let recorded: Vec<&Wrapped> = record.layers.iter().flat_map(|layer| &layer.servers).collect();
    let mut reversal = Reversal {
        file: record.path.clone(),
        old: None,
        new: None,
        notation: record.notation,
        servers: Vec::new(),
        layers: record.layers.clone(),
    };
    let is_candidate =
        |wrapped: &&Wrapped| selection.has_client(&wrapped.client) && selection.has_scope(wrapped.scope);
    if !recorded.iter().any(is_candidate) && file.is_none_or(|file| file.selected_paths(selection).is_empty())
    {
        return Ok(reversal);
    }
    let old = match read(&record.path) {
        Ok(Some(old)) => old,
        Ok(None) => {
            let servers = recorded.into_iter().filter(|wrapped| is_chosen(wrapped));
            reversal.servers = servers.map(|wrapped| (wrapped.clone(), Outcome::FileMissing)).collect();
            return Ok(reversal);
        }
        Err(_) if recorded.is_empty() => return Ok(reversal),
        Err(problem) => return Err(problem),
    };
    if !recorded.iter().any(|wrapped| is_chosen(wrapped)) && !old.contains("tidegate") {
        return Ok(reversal);
    }
    parse(&record.path, record.notation, &old)?;
    reversal.layers.clear();
    let mut content = old.clone();
    for layer in record.layers.iter().rev() {
        content = reversal.undo_layer(layer, content, records, &is_chosen);
    }
    reversal.layers.reverse();
    let selected = SelectedServers { selection, is_chosen: &is_chosen };
    content = reversal.undo_unrecorded(record, file, content, &selected, records);
    if old != content {
        if std::fs::metadata(&record.path).is_ok_and(|metadata| metadata.permissions().readonly()) {
            return Err(FileError::ReadOnly(record.path.clone()));
        }
        reversal.new = Some(content);
    }
    reversal.old = Some(old);
    Ok(reversal)
}

impl Reversal {
    /// Returns the old and the new content with secrets masked; `None` if the file stays as it is.
    pub fn shown(&self) -> Option<(String, String)> {
        let clients = || self.servers.iter().map(|(wrapped, _)| wrapped.client.as_str());
        let shown = |text: &str| mask_secrets(text, self.notation, clients());
        Some((shown(self.old.as_deref()?), shown(self.new.as_deref()?)))
    }

    /// Undoes one layer; returns the content without it.
    fn undo_layer(
        &mut self,
        layer: &Layer,
        content: String,
        records: &Records,
        is_chosen: &impl Fn(&Wrapped) -> bool,
    ) -> String {
        let (undone, kept): (Vec<&Wrapped>, Vec<&Wrapped>) =
            layer.servers.iter().partition(|wrapped| is_chosen(wrapped));
        if undone.is_empty() {
            self.layers.push(layer.clone());
            return content;
        }
        let now = hash(content.as_bytes());
        if now == layer.before {
            // The change was never written, or a crash came between undoing it and recording that.
            self.servers.extend(undone.into_iter().map(|wrapped| (wrapped.clone(), Outcome::NothingToUndo)));
            return content;
        }
        let backup =
            std::fs::read(records.backup(&layer.backup)).ok().filter(|bytes| hash(bytes) == layer.before);
        let backup = backup.and_then(|bytes| String::from_utf8(bytes).ok());
        if let (true, true, Some(backup)) = (kept.is_empty(), now == layer.after, backup) {
            self.servers.extend(undone.into_iter().map(|wrapped| (wrapped.clone(), Outcome::Restored)));
            return backup;
        }
        let mut kept: Vec<Wrapped> = kept.into_iter().cloned().collect();
        let (bom, text) = split_bom(&content);
        let mut text = text.to_owned();
        let first = self.servers.len();
        for wrapped in undone.into_iter().rev() {
            let outcome = match Client::named(&wrapped.client) {
                None => Outcome::Skipped(format!("unknown client {}", wrapped.client)),
                Some(client) => match undo(&text, self.notation, client, wrapped) {
                    Undone::Absent => Outcome::NothingToUndo,
                    Undone::Changed(why) => Outcome::Skipped(why),
                    Undone::Done(new) => {
                        text = new;
                        Outcome::Unwrapped
                    }
                },
            };
            if matches!(outcome, Outcome::Skipped(_)) {
                kept.push(wrapped.clone());
            }
            self.servers.insert(first, (wrapped.clone(), outcome));
        }
        let content = format!("{bom}{text}");
        if !kept.is_empty() {
            // The rest can still be restored from the backup if nobody else has changed the file.
            let after = if now == layer.after { hash(content.as_bytes()) } else { layer.after.clone() };
            self.layers.push(Layer { after, servers: kept, ..layer.clone() });
        }
        content
    }
}

/// The servers that the user selects.
struct SelectedServers<'s, F> {
    selection: &'s Selection,
    is_chosen: &'s F,
}

impl Reversal {
    /// Undoes wrapped entries without a record that are renamed recorded ones, or that the user names; returns the new content.
    fn undo_unrecorded(
        &mut self,
        record: &Record,
        file: Option<&ClientFile>,
        content: String,
        selected: &SelectedServers<'_, impl Fn(&Wrapped) -> bool>,
        records: &Records,
    ) -> String {
        let (bom, text) = split_bom(&content);
        let mut text = text.to_owned();
        let Ok(root) = self.notation.syntax().parse(&text) else { return content };
        let kept = self.layers.iter().flat_map(|layer| &layer.servers);
        let mut seen: Vec<Vec<String>> = kept.map(|wrapped| wrapped.path.clone()).collect();
        let mut gone = self.missing_originals(record, records);
        for (client, scope, path) in candidates(record, file, &root) {
            let is_seen = seen.contains(&path);
            seen.push(path.clone());
            let Some(guess) = guess(&text, self.notation, client, (scope, &path)).filter(|_| !is_seen) else {
                continue;
            };
            let (Ok(wrapped) | Err(wrapped)) = &guess;
            if !(selected.is_chosen)(wrapped) {
                continue;
            }
            let renamed = gone.iter().position(|original| original.is_original_of(&text, client, &path));
            let outcome = if let Some(original) = renamed.map(|index| gone.swap_remove(index)) {
                self.undo_one(&mut text, client, &original.renamed_to(&path))
            } else if !selected.selection.servers.iter().any(|name| name == wrapped.server()) {
                Outcome::NotRecorded
            } else if let Ok(wrapped) = &guess {
                self.undo_one(&mut text, client, wrapped)
            } else {
                Outcome::Skipped(NO_ORIGINAL.into())
            };
            self.servers.push((wrapped.clone(), outcome));
        }
        format!("{bom}{text}")
    }

    /// Unwraps one entry in a text.
    fn undo_one(&self, text: &mut String, client: &Client, wrapped: &Wrapped) -> Outcome {
        match undo(text, self.notation, client, wrapped) {
            Undone::Done(new) => {
                *text = new;
                Outcome::Unwrapped
            }
            Undone::Changed(why) => Outcome::Skipped(why),
            Undone::Absent => Outcome::Skipped(NO_ORIGINAL.into()),
        }
    }

    /// Returns the recorded entries that are no longer in the file, as they were before install.
    fn missing_originals(&self, record: &Record, records: &Records) -> Vec<Original> {
        let is_gone = |wrapped: &Wrapped| {
            self.servers.iter().any(|(other, outcome)| other == wrapped && *outcome == Outcome::NothingToUndo)
        };
        let originals = record.layers.iter().flat_map(|layer| {
            let bytes = std::fs::read(records.backup(&layer.backup)).unwrap_or_default();
            let text = (hash(&bytes) == layer.before).then(|| String::from_utf8(bytes).ok()).flatten();
            let gone = layer.servers.iter().filter(|wrapped| is_gone(wrapped));
            gone.filter_map(move |wrapped| {
                let text = split_bom(text.as_deref()?).1.to_owned();
                Some(Original { wrapped: wrapped.clone(), notation: record.notation, text })
            })
        });
        originals.collect()
    }
}

/// An entry that install wrapped, and the text it was in before.
struct Original {
    wrapped: Wrapped,
    notation: Notation,
    text: String,
}

impl Original {
    /// Returns how the entry is undone under another name.
    fn renamed_to(&self, path: &[String]) -> Wrapped {
        Wrapped { path: path.to_vec(), ..self.wrapped.clone() }
    }

    /// Returns whether the entry at a path, once undone, is this one.
    fn is_original_of(&self, text: &str, client: &Client, path: &[String]) -> bool {
        let Undone::Done(undone) = undo(text, self.notation, client, &self.renamed_to(path)) else {
            return false;
        };
        let parsed = |text: &str| self.notation.syntax().parse(text).ok();
        let (Some(before), Some(now)) = (parsed(&self.text), parsed(&undone)) else { return false };
        match (before.at(&self.wrapped.path), now.at(path)) {
            (Some(before), Some(now)) => equal((&self.text, before), (&undone, now)),
            _ => false,
        }
    }
}

const NO_ORIGINAL: &str = "there is no record of its original entry";

/// Returns the entries of a file that may be wrapped without a record.
fn candidates<'c>(
    record: &Record,
    file: Option<&'c ClientFile>,
    root: &Node,
) -> Vec<(&'c Client, Scope, Vec<String>)> {
    let mut entries: Vec<(&Client, Scope, Vec<String>)> = Vec::new();
    // The siblings of recorded entries, whose file may belong to a project that is not the current one.
    for wrapped in record.layers.iter().flat_map(|layer| &layer.servers) {
        let Some((client, (_, parent))) = Client::named(&wrapped.client).zip(wrapped.path.split_last())
        else {
            continue;
        };
        let siblings = root.at(parent).map(Node::members).unwrap_or_default().iter();
        entries
            .extend(siblings.map(|member| {
                (client, wrapped.scope, [parent, std::slice::from_ref(&member.name)].concat())
            }));
    }
    let found = file.map(|file| file.entries(root)).unwrap_or_default();
    entries.extend(found.into_iter().map(|(client, location, path)| (client, location.scope, path)));
    entries
}

/// Writes a reversal: the file and then the manifest; afterwards removes the backups that are no longer needed.
///
/// # Errors
///
/// If any of them cannot be written, or the file changed since the plan was made.
pub fn apply(reversal: &Reversal, records: &Records, disk: &Disk) -> Result<(), InstallError> {
    let path = &reversal.file;
    if let Some(new) = &reversal.new {
        if read(path)? != reversal.old {
            return Err(FileError::Moved(path.clone()).into());
        }
        disk.replace(path, new.as_bytes())
            .map_err(|source| FileError::Unusable { path: path.clone(), source })?;
    }
    let mut manifest = records.read()?;
    let backups: Vec<String> = manifest
        .record(path)
        .into_iter()
        .flat_map(|record| &record.layers)
        .map(|layer| layer.backup.clone())
        .collect();
    for record in manifest.files.iter_mut().filter(|record| record.path == *path) {
        record.layers.clone_from(&reversal.layers);
    }
    manifest.files.retain(|record| !record.layers.is_empty());
    let unusable = |source| ManifestError::Unusable { path: records.path(), source };
    records.write(&manifest, disk).map_err(unusable)?;
    for backup in backups.iter().filter(|backup| !manifest.needs(backup)) {
        disk.remove(&records.backup(backup)).map_err(unusable)?;
    }
    records.remove_empty_folder();
    Ok(())
}
