//! Everything the tools work with: the tree, the journal, the memory, and where artifacts are kept. One for all sessions.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tidegate_sdk::contract::{Item, MAX_ITEMS};
use tidegate_sdk::{Artifacts, Keyset, Scope};

use crate::answer::{Answer, Refusal, shown};
use crate::finding::{Counts, Finding, Kind};
use crate::journal::{Journal, ScanNote};
use crate::memory::Memory;
use crate::scan::{Scan, scan};
use crate::trace::{Note, Recorder};
use crate::tree::Tree;

pub(crate) struct Workshop {
    pub(crate) tree: Tree,
    pub(crate) artifacts: Artifacts,
    journal: Mutex<Journal>,
    memory: Mutex<Memory>,
    cursors: Keyset<Position>,
}

/// Where a page ends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Position {
    /// What is listed: the reference of a scan, which never changes, or nothing where the rows live here.
    pub(crate) of: String,
    /// The key of the last row that was shown.
    after: String,
}

/// A list that is asked for.
pub(crate) struct Listing {
    pub(crate) scope: Scope,
    pub(crate) limit: Option<u64>,
    pub(crate) position: Option<Position>,
    pub(crate) of: String,
    pub(crate) summary: String,
}

impl Workshop {
    pub(crate) fn new(tree: Tree, artifacts: Artifacts) -> Result<Self, getrandom::Error> {
        let cursors = Keyset::ephemeral()?;
        Ok(Self { tree, artifacts, journal: Mutex::default(), memory: Mutex::default(), cursors })
    }

    pub(crate) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what was taken down, and returns the note on it.
    pub(crate) fn keep_trace(&self, recorder: Recorder) -> Result<Note, Refusal> {
        let id = self.journal().next_trace();
        let trace = recorder.finish(id);
        let kept = self.artifacts.store("trace", &trace).map_err(Refusal::internal)?;
        let note = trace.note(kept.reference().to_owned());
        self.journal().add_trace(note.clone());
        Ok(note)
    }

    /// Scans a place, keeps all findings and the trace, and returns the findings with the note on them.
    pub(crate) fn scan(&self, kind: Kind, place: &Path) -> Result<(Scan, ScanNote), Refusal> {
        let path = self.tree.told(place);
        let mut recorder = Recorder::start(&format!("{}_scan", kind.name()), path.clone());
        let findings = scan(&self.tree, place, &[kind], &mut recorder);
        let trace = self.keep_trace(recorder)?.id;
        let scan = Scan { kind, path: path.clone(), counts: Counts::of(&findings), findings };
        let kept = self.artifacts.store(kind.name(), &scan).map_err(Refusal::internal)?;
        let note = ScanNote { path, counts: scan.counts, reference: kept.reference().to_owned(), trace };
        self.journal().add_scan(kind, note.clone());
        Ok((scan, note))
    }

    /// What a scan found that was made before.
    pub(crate) fn scanned(&self, reference: &str) -> Result<Scan, Refusal> {
        let kept = self.artifacts.retrieve(reference).map_err(Refusal::internal)?;
        serde_json::from_value(kept).map_err(Refusal::internal)
    }

    /// A finding of the latest scans, by its id.
    pub(crate) fn finding(&self, id: &str) -> Result<Finding, Refusal> {
        let notes: Vec<ScanNote> = {
            let journal = self.journal();
            [Kind::Bugfix, Kind::Refactor].iter().filter_map(|kind| journal.scan(*kind).cloned()).collect()
        };
        let mut some = Vec::new();
        for note in notes {
            let findings = self.scanned(&note.reference)?.findings;
            if let Some(found) = findings.iter().find(|finding| finding.id == id) {
                return Ok(found.clone());
            }
            some.extend(findings.iter().take(3).map(Finding::item));
        }
        let words = format!("no finding {}; ids are in bugfix_list and refactor_list", shown(id));
        Err(Refusal::new(words).accepting(some))
    }

    /// Reads a cursor of a list.
    pub(crate) fn position(&self, scope: &Scope, cursor: Option<&str>) -> Result<Option<Position>, Refusal> {
        let Some(cursor) = cursor else { return Ok(None) };
        let decoded = self.cursors.decode(scope, cursor).map_err(|_| {
            Refusal::new(format!(
                "cursor {} is not of this list; pass nextCursor as it is, with the same filters",
                shown(cursor)
            ))
        });
        decoded.map(Some)
    }

    /// Lists rows that are in the order of their keys: at most ten, with the cursor behind those that are shown.
    pub(crate) fn list<T>(
        &self,
        listing: Listing,
        rows: &[T],
        key: impl Fn(usize, &T) -> String,
        item: impl Fn(&T) -> Item,
    ) -> Result<Answer, Refusal> {
        let Listing { scope, limit, position, of, summary } = listing;
        let limit = match limit.unwrap_or(MAX_ITEMS as u64) {
            limit @ 1..=10 => limit as usize,
            other => {
                return Err(Refusal::new(format!(
                    "limit must be a whole number from 1 to {MAX_ITEMS}, not {other}"
                )));
            }
        };
        let after = position.map(|position| position.after);
        let keyed = rows.iter().enumerate().map(|(index, row)| (key(index, row), row));
        let rest: Vec<(String, &T)> =
            keyed.filter(|(key, _)| after.as_ref().is_none_or(|after| key > after)).collect();
        let cursor = |key: &str| {
            let position = Position { of: of.clone(), after: key.to_owned() };
            self.cursors.encode(&scope, &position).map_err(Refusal::internal)
        };
        let shown = &rest[..rest.len().min(limit)];
        let cursors = shown.iter().map(|(key, _)| cursor(key)).collect::<Result<Vec<_>, _>>()?;
        let (items, left) = (shown.iter().map(|(_, row)| item(row)).collect(), rest.len());
        let next = move |shown: usize| {
            let last = cursors.get(shown.checked_sub(1)?)?;
            (shown < left).then(|| last.clone())
        };
        Ok(Answer::items(summary, rows.len() as u64, items).next(next))
    }
}

/// A number as a key that sorts like the number.
pub(crate) fn ordered(number: u64) -> String {
    format!("{number:08}")
}

/// Rows as they are kept whole.
pub(crate) fn data(rows: &impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(rows).map_err(Refusal::internal)
}
