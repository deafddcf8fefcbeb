//! Reads the ledger for `stats` and `scan`: selects entries, and determines the kind of each.

mod percentile;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tidegate_config::Config;
use tidegate_gate::{ARTIFACT, LIST, MORE_OF_LIST, REFUSED, StoreLocation, StoreSettings};
use tidegate_store::{Call, Clock, Millis, StoreError, SystemClock, read_calls, read_lines};

use crate::error::CommandError;
use crate::keep::{causes, store_settings};
use crate::overrides::duration;
use crate::ui;
pub(crate) use percentile::percentile;

/// Which entries to read.
#[derive(Debug, Args)]
pub(crate) struct EntryFilter {
    /// Only calls since this time: a duration before now, such as 90m, 2h or 7d, or a day, such as 2026-11-14 (UTC)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,

    /// Only calls to servers with this name
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
}

/// The start of the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Ago(Duration),
    At(Millis),
}

fn since(text: &str) -> Result<Since, String> {
    let at = Millis::parse(text).map(Since::At);
    at.or_else(|| duration(text).ok().map(Since::Ago))
        .ok_or_else(|| "expected 90m, 2h, 7d, 2026-11-14 or 2026-11-14T09:30:00Z".into())
}

/// What an entry records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A result that passed unchanged.
    Passed,
    /// A result of `tidegate run --observe`.
    Observed,
    /// A result that was replaced by a shaped answer.
    Shaped,
    /// A call that could only be answered with an error.
    Lost,
    /// A part of a kept result.
    FollowUp,
    /// A call that was answered without running the tool.
    Refused,
    /// An artifact that a tool stored itself; nothing was sent.
    Artifact,
    /// The first page of a tool list.
    List,
    /// A further page of a tool list.
    MoreOfList,
}

impl EntryKind {
    /// Returns the kind of an entry.
    pub(crate) fn of(call: &Call) -> Self {
        match call.step.as_str() {
            "pass" | "whole" => Self::Passed,
            "observe" => Self::Observed,
            "view" | "fetch" => Self::FollowUp,
            REFUSED => Self::Refused,
            ARTIFACT => Self::Artifact,
            LIST => Self::List,
            MORE_OF_LIST => Self::MoreOfList,
            // The style `error` keeps the result and has an artifact.
            "error" if call.artifact.is_none() => Self::Lost,
            _ => Self::Shaped,
        }
    }
}

impl EntryFilter {
    /// Reads the selected entries, oldest first. A follow-up may arrive through a different server; it counts for the
    /// server that returned the result.
    pub(crate) fn read(&self, config: &Config, mut each: impl FnMut(Call)) -> Result<(), CommandError> {
        let (place, settings) = (config.place(), store_settings(config)?);
        let since = match self.since {
            None => Millis(0),
            Some(Since::At(time)) => time,
            Some(Since::Ago(duration)) => SystemClock.now().before(duration),
        };
        let mut origins: HashMap<String, String> = HashMap::new();
        let read = read_place(&place, &settings, since, &mut |mut call| {
            if let Some(artifact) = &call.artifact {
                match (EntryKind::of(&call), origins.get(artifact)) {
                    (EntryKind::FollowUp, Some(server)) => call.server.clone_from(server),
                    (EntryKind::FollowUp, None) => {}
                    _ => drop(origins.insert(artifact.clone(), call.server.clone())),
                }
            }
            if self.server.as_ref().is_none_or(|server| *server == call.server) {
                each(call);
            }
        });
        let damaged = read.map_err(|(path, error)| {
            let failed =
                CommandError::out_of_reach(format!("cannot read {}: {}", path.display(), causes(&error)));
            match place.remote() {
                Some(_) => failed,
                None => failed.hint("move the file away to start a new one"),
            }
        })?;
        if damaged > 0 {
            let lines = ui::count(damaged, "line");
            ui::note(&format!("skipped {lines} of the ledger that a server did not finish writing"));
        }
        Ok(())
    }

    /// Returns whether the filter leaves entries out.
    pub(crate) fn is_narrow(&self) -> bool {
        self.since.is_some() || self.server.is_some()
    }
}

/// Reads the calls since a time from the ledger of a place.
fn read_place(
    place: &StoreLocation,
    settings: &StoreSettings,
    since: Millis,
    each: &mut dyn FnMut(Call),
) -> Result<u64, (PathBuf, StoreError)> {
    if place.remote().is_none() {
        return place.folder().map_or(Ok(0), |folder| read_ledgers(&folder, since, each));
    }
    let calls = place.open_ledger(settings).and_then(|ledger| ledger.calls(since, usize::MAX));
    calls.map_err(|error| (PathBuf::from(place.shown()), error))?.into_iter().for_each(each);
    Ok(0)
}

/// Reads the calls since a time from both ledgers of a data folder: first the database, then the lines of servers without
/// one, each oldest first. Returns how many lines are damaged, or which file cannot be read.
pub(crate) fn read_ledgers(
    folder: &Path,
    since: Millis,
    each: &mut dyn FnMut(Call),
) -> Result<u64, (PathBuf, StoreError)> {
    let database = folder.join("ledger.db");
    read_calls(&database, since, each).map_err(|error| (database, error))?;
    read_lines(folder, since, each).map_err(|error| (folder.join("calls-*.jsonl"), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_begin_at() {
        assert_eq!(since("2h"), Ok(Since::Ago(Duration::from_secs(7200))));
        assert_eq!(since("1970-01-02"), Ok(Since::At(Millis(86_400_000))));
        for wrong in ["yesterday", "2026-02-30", "7y", ""] {
            assert!(since(wrong).unwrap_err().contains("7d, 2026-11-14"), "{wrong}");
        }
    }
}
