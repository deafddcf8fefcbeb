//! Undoes what was installed.
//!
//! A file that is as it was written gets its copy back, byte for byte. In any other, tidegate is taken away from in front
//! of each server, and everything else stays as it is now.
//!
//! Entries may have tidegate in front of them that no record tells of: a server was renamed, or the data folder is lost. They
//! are undone by what stands in them (`wrap/guess.rs`), or named. What was so before anything was installed stays.

use std::path::PathBuf;

use crate::client::{Client, Scope};
use crate::disk::Disk;
use crate::display::masked;
use crate::document::{Node, Notation};
use crate::folders::Folders;
use crate::install::{InstallError, Selection};
use crate::manifest::{Layer, ManifestError, Record, Records, hash};
use crate::places::{ClientFile, files, server_names};
use crate::text::{FileError, read, unmarked};
use crate::wrap::{Undone, Wrapped, guess, undo};

/// What happens with a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The whole file is as it was before.
    Restored,
    /// Tidegate is taken away; what else was changed in the file stays.
    TakenOut,
    /// There is nothing to undo: it is gone, or was undone by hand.
    Absent,
    /// Its file is not there at the moment; what is recorded stays.
    Away,
    /// It is left as it is, for this reason.
    Left(String),
}

/// A file that is to be changed back.
#[derive(Debug)]
pub struct Reversal {
    /// The file.
    pub file: PathBuf,
    /// What is in it now; `None` if it is gone.
    pub old: Option<String>,
    /// What is to be in it.
    pub new: Option<String>,
    /// How it is written.
    pub notation: Notation,
    /// What happens with each server.
    pub servers: Vec<(Wrapped, Outcome)>,
    /// What stays recorded.
    layers: Vec<Layer>,
}

/// What is to be undone.
#[derive(Debug, Default)]
pub struct UndoPlan {
    /// The changes.
    pub reversals: Vec<Reversal>,
    /// The files that cannot be used.
    pub problems: Vec<FileError>,
    /// Whether nothing is recorded at all, and nothing was found.
    pub is_empty: bool,
}

/// Looks at what was installed, and at the files of all clients; changes nothing.
///
/// # Errors
///
/// A record that cannot be read.
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
    let is_near =
        |wrapped: &&Wrapped| selection.has_client(&wrapped.client) && selection.has_scope(wrapped.scope);
    if !recorded.iter().any(is_near) && file.is_none_or(|file| file.names(selection).is_empty()) {
        return Ok(reversal);
    }
    let old = match read(&record.path) {
        Ok(Some(old)) => old,
        Ok(None) => {
            let servers = recorded.into_iter().filter(|wrapped| is_chosen(wrapped));
            reversal.servers = servers.map(|wrapped| (wrapped.clone(), Outcome::Away)).collect();
            return Ok(reversal);
        }
        Err(_) if recorded.is_empty() => return Ok(reversal),
        Err(problem) => return Err(problem),
    };
    if !recorded.iter().any(|wrapped| is_chosen(wrapped)) && !old.contains("tidegate") {
        return Ok(reversal);
    }
    let syntax = record.notation.syntax();
    syntax
        .parse(unmarked(&old).1)
        .map_err(|broken| FileError::Broken { path: record.path.clone(), broken })?;
    reversal.layers.clear();
    let mut content = old.clone();
    for layer in record.layers.iter().rev() {
        content = reversal.layer(layer, content, records, &is_chosen);
    }
    reversal.layers.reverse();
    content = reversal.strays(record, file, content, &is_chosen);
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
    /// Returns what is in the file and what is to be in it, as it may be shown: secrets are hidden. `None` if it stays.
    pub fn shown(&self) -> Option<(String, String)> {
        let clients = || self.servers.iter().map(|(wrapped, _)| wrapped.client.as_str());
        let shown = |text: &str| masked(text, self.notation, clients());
        Some((shown(self.old.as_deref()?), shown(self.new.as_deref()?)))
    }

    /// Undoes one layer; returns what the file holds without it.
    fn layer(
        &mut self,
        layer: &Layer,
        content: String,
        records: &Records,
        chosen: &impl Fn(&Wrapped) -> bool,
    ) -> String {
        let (take, keep): (Vec<&Wrapped>, Vec<&Wrapped>) =
            layer.servers.iter().partition(|wrapped| chosen(wrapped));
        if take.is_empty() {
            self.layers.push(layer.clone());
            return content;
        }
        let now = hash(content.as_bytes());
        if now == layer.before {
            // It was never written, or it was undone and a crash kept that from being recorded.
            self.servers.extend(take.into_iter().map(|wrapped| (wrapped.clone(), Outcome::Absent)));
            return content;
        }
        let backup =
            std::fs::read(records.backup(&layer.backup)).ok().filter(|bytes| hash(bytes) == layer.before);
        let backup = backup.and_then(|bytes| String::from_utf8(bytes).ok());
        if let (true, true, Some(backup)) = (keep.is_empty(), now == layer.after, backup) {
            self.servers.extend(take.into_iter().map(|wrapped| (wrapped.clone(), Outcome::Restored)));
            return backup;
        }
        let mut keep: Vec<Wrapped> = keep.into_iter().cloned().collect();
        let (mark, text) = unmarked(&content);
        let mut text = text.to_owned();
        let first = self.servers.len();
        for wrapped in take.into_iter().rev() {
            let outcome = match Client::named(&wrapped.client) {
                None => Outcome::Left(format!("the client {} is not known", wrapped.client)),
                Some(client) => match undo(&text, self.notation, client, wrapped) {
                    Undone::Absent => Outcome::Absent,
                    Undone::Changed(why) => Outcome::Left(why),
                    Undone::Done(new) => {
                        text = new;
                        Outcome::TakenOut
                    }
                },
            };
            if matches!(outcome, Outcome::Left(_)) {
                keep.push(wrapped.clone());
            }
            self.servers.insert(first, (wrapped.clone(), outcome));
        }
        let content = format!("{mark}{text}");
        if !keep.is_empty() {
            // What is left can be restored as long as nobody else has changed the file.
            let after = if now == layer.after { hash(content.as_bytes()) } else { layer.after.clone() };
            self.layers.push(Layer { after, servers: keep, ..layer.clone() });
        }
        content
    }
}

impl Reversal {
    /// Undoes what no record tells of; returns what the file holds without it.
    fn strays(
        &mut self,
        record: &Record,
        file: Option<&ClientFile>,
        content: String,
        is_chosen: &impl Fn(&Wrapped) -> bool,
    ) -> String {
        let (mark, text) = unmarked(&content);
        let mut text = text.to_owned();
        let Ok(root) = self.notation.syntax().parse(&text) else { return content };
        let mut entries: Vec<(&Client, Scope, Vec<String>)> = Vec::new();
        // Beside what is recorded, for a project that is not this one.
        for wrapped in record.layers.iter().flat_map(|layer| &layer.servers) {
            let Some((client, (_, above))) = Client::named(&wrapped.client).zip(wrapped.path.split_last())
            else {
                continue;
            };
            let beside = root.at(above).map(Node::members).unwrap_or_default().iter();
            entries.extend(
                beside.map(|member| {
                    (client, wrapped.scope, [above, std::slice::from_ref(&member.name)].concat())
                }),
            );
        }
        let found = file.map(|file| file.entries(&root)).unwrap_or_default();
        entries.extend(found.into_iter().map(|(client, place, path)| (client, place.scope, path)));
        let mut known = record.others.clone();
        let kept = self.layers.iter().flat_map(|layer| &layer.servers);
        known.extend(kept.map(|wrapped| wrapped.path.clone()));
        for (client, scope, path) in entries {
            let is_known = known.contains(&path);
            known.push(path.clone());
            let Some(guess) = guess(&text, self.notation, client, (scope, &path)).filter(|_| !is_known)
            else {
                continue;
            };
            let (Ok(wrapped) | Err(wrapped)) = &guess;
            if !is_chosen(wrapped) {
                continue;
            }
            let outcome = match guess.as_ref().map(|wrapped| undo(&text, self.notation, client, wrapped)) {
                Ok(Undone::Done(new)) => {
                    text = new;
                    Outcome::TakenOut
                }
                Ok(Undone::Changed(why)) => Outcome::Left(why),
                Ok(Undone::Absent) | Err(_) => Outcome::Left("no record tells what it was".into()),
            };
            self.servers.push((wrapped.clone(), outcome));
        }
        format!("{mark}{text}")
    }
}

/// Writes a reversal: the file, the record, and then the copies that nobody needs any more are taken away.
///
/// # Errors
///
/// Where any of them cannot be written, or the file was changed since the plan was made; then it is as it was.
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
    let gone: Vec<String> = manifest
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
    for backup in gone.iter().filter(|backup| !manifest.needs(backup)) {
        disk.remove(&records.backup(backup)).map_err(unusable)?;
    }
    records.tidy();
    Ok(())
}
