//! What `stats` and `scan` share: which notes of the ledger are read, and what each of them is.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tidegate_gate::{LIST, MORE_OF_LIST, Place};
use tidegate_store::{Call, Clock, Millis, SystemClock, read_calls};

use crate::error::CommandError;
use crate::keep::causes;
use crate::overrides::duration;

/// Which notes are meant.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Only what was noted since: a time back such as 90m, 2h or 7d, or a day such as 2026-11-14 (UTC)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,

    /// Only what servers of this name answered
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
}

/// A time to begin at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Ago(Duration),
    At(Millis),
}

fn since(text: &str) -> Result<Since, String> {
    let at = Millis::read(text).map(Since::At);
    at.or_else(|| duration(text).ok().map(Since::Ago))
        .ok_or_else(|| "write it like 90m, 2h, 7d, 2026-11-14 or 2026-11-14T09:30:00Z".into())
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A result that crossed as it came.
    Passed,
    /// A result that was only looked at.
    Observed,
    /// A result in whose place something else was answered.
    Shaped,
    /// A call of which only an error could be told.
    Lost,
    /// A part of a kept result.
    FollowUp,
    /// A list of tools, or its first page.
    List,
    /// A further page of a list of tools.
    MoreOfList,
}

impl Kind {
    /// Returns what a note is about.
    pub(crate) fn of(call: &Call) -> Self {
        match call.step.as_str() {
            "pass" | "whole" => Self::Passed,
            "observe" => Self::Observed,
            "view" | "fetch" => Self::FollowUp,
            LIST => Self::List,
            MORE_OF_LIST => Self::MoreOfList,
            // The style `error` keeps the result.
            "error" if call.artifact.is_none() => Self::Lost,
            _ => Self::Shaped,
        }
    }
}

impl Selection {
    /// Reads the notes that are meant, oldest first. A follow-up may reach a kept result through another server than
    /// the one whose tool was called; here it counts for that one.
    pub(crate) fn read(
        &self,
        ledger: Option<PathBuf>,
        mut each: impl FnMut(Call),
    ) -> Result<(), CommandError> {
        let Some(path) = ledger else { return Ok(()) };
        let since = match self.since {
            None => Millis(0),
            Some(Since::At(time)) => time,
            Some(Since::Ago(duration)) => SystemClock.now().before(duration),
        };
        let mut origins: HashMap<String, String> = HashMap::new();
        let read = read_calls(&path, since, &mut |mut call| {
            if let Some(artifact) = &call.artifact {
                match (Kind::of(&call), origins.get(artifact)) {
                    (Kind::FollowUp, Some(server)) => call.server.clone_from(server),
                    (Kind::FollowUp, None) => {}
                    _ => drop(origins.insert(artifact.clone(), call.server.clone())),
                }
            }
            if self.server.as_ref().is_none_or(|server| *server == call.server) {
                each(call);
            }
        });
        read.map_err(|error| {
            CommandError::out_of_reach(format!("cannot read {}: {}", path.display(), causes(&error)))
                .hint("move the file away to begin a new one")
        })
    }

    /// Returns whether anything narrows what is read.
    pub(crate) fn is_narrow(&self) -> bool {
        self.since.is_some() || self.server.is_some()
    }
}

/// Returns where the ledger is, whether it is there or not.
pub(crate) fn ledger(place: &Place) -> Option<PathBuf> {
    place.folder().map(|folder| folder.join("ledger.db"))
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
