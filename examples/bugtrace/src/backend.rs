//! What the tools share: the tree, the journal, the memory, the artifacts and the cursors. All sessions use the same one.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tidegate_sdk::contract::{Item, MAX_ITEMS};
use tidegate_sdk::{Artifacts, Keyset, Scope};

use crate::answer::{Answer, Failure, quote};
use crate::finding::{Counts, Finding, Kind};
use crate::journal::{Journal, ScanSummary};
use crate::memory::Memory;
use crate::scan::{Scan, scan};
use crate::trace::{Recorder, TraceSummary};
use crate::tree::Tree;

pub(crate) struct Backend {
    pub(crate) tree: Tree,
    pub(crate) artifacts: Artifacts,
    journal: Mutex<Journal>,
    memory: Mutex<Memory>,
    cursors: Keyset<Position>,
}

/// The end of a page, encoded in the cursor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The artifact with the rows, which never changes; empty if the rows are in memory.
    pub(crate) artifact: String,
    /// The key of the last row on the page.
    after: String,
}

/// A request for one page of a list.
pub(crate) struct ListRequest {
    pub(crate) scope: Scope,
    pub(crate) limit: Option<u64>,
    pub(crate) position: Option<Position>,
    pub(crate) artifact: String,
    pub(crate) summary: String,
}

impl Backend {
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

    /// Stores the recorded trace and returns its summary.
    pub(crate) fn store_trace(&self, recorder: Recorder) -> Result<TraceSummary, Failure> {
        let id = self.journal().next_trace_id();
        let trace = recorder.finish(id);
        let stored = self.artifacts.store("trace", &trace).map_err(Failure::internal)?;
        let summary = trace.summarize(stored.reference().to_owned());
        self.journal().add_trace(self.artifacts.caller_key(), summary.clone());
        Ok(summary)
    }

    /// Scans a path, stores the findings and the trace, and returns the findings with their summary.
    pub(crate) fn scan(&self, kind: Kind, target: &Path) -> Result<(Scan, ScanSummary), Failure> {
        let path = self.tree.relative(target);
        let mut recorder = Recorder::start(&format!("{}_scan", kind.name()), path.clone());
        let findings = scan(&self.tree, target, &[kind], &mut recorder);
        let trace = self.store_trace(recorder)?.id;
        let scan = Scan { kind, path: path.clone(), counts: Counts::of(&findings), findings };
        let stored = self.artifacts.store(kind.name(), &scan).map_err(Failure::internal)?;
        let reference = stored.reference().to_owned();
        let summary = ScanSummary { path, counts: scan.counts, reference, trace };
        self.journal().add_scan(self.artifacts.caller_key(), kind, summary.clone());
        Ok((scan, summary))
    }

    /// Returns a stored scan.
    pub(crate) fn stored_scan(&self, reference: &str) -> Result<Scan, Failure> {
        let scan = self.artifacts.retrieve(reference).map_err(Failure::internal)?;
        serde_json::from_value(scan).map_err(Failure::internal)
    }

    /// Returns a finding of the latest scans by its id.
    pub(crate) fn finding(&self, id: &str) -> Result<Finding, Failure> {
        let scans: Vec<ScanSummary> = {
            let (journal, caller) = (self.journal(), self.artifacts.caller_key());
            let kinds = [Kind::Bugfix, Kind::Refactor];
            kinds.iter().filter_map(|kind| journal.scan(&caller, *kind).cloned()).collect()
        };
        let mut examples = Vec::new();
        for scan in scans {
            let findings = self.stored_scan(&scan.reference)?.findings;
            if let Some(found) = findings.iter().find(|finding| finding.id == id) {
                return Ok(found.clone());
            }
            examples.extend(findings.iter().take(3).map(Finding::item));
        }
        let summary = format!("no finding {}; ids are in bugfix_list and refactor_list", quote(id));
        Err(Failure::new(summary).with_accepted(examples))
    }

    /// Decodes a cursor of a list.
    pub(crate) fn position(&self, scope: &Scope, cursor: Option<&str>) -> Result<Option<Position>, Failure> {
        let Some(cursor) = cursor else { return Ok(None) };
        let decoded = self.cursors.decode(scope, cursor).map_err(|_| {
            Failure::new(format!(
                "cursor {} is not of this list; pass nextCursor unchanged, with the same filters",
                quote(cursor)
            ))
        });
        decoded.map(Some)
    }

    /// Returns a page of at most ten rows with the cursor of the next; rows must be sorted by key.
    pub(crate) fn list<T>(
        &self,
        request: ListRequest,
        rows: &[T],
        key: impl Fn(usize, &T) -> String,
        item: impl Fn(&T) -> Item,
    ) -> Result<Answer, Failure> {
        let ListRequest { scope, limit, position, artifact, summary } = request;
        let limit = match limit.unwrap_or(MAX_ITEMS as u64) {
            limit @ 1..=10 => limit as usize,
            other => {
                return Err(Failure::new(format!(
                    "limit must be a whole number from 1 to {MAX_ITEMS}, not {other}"
                )));
            }
        };
        let after = position.map(|position| position.after);
        let keyed = rows.iter().enumerate().map(|(index, row)| (key(index, row), row));
        let rest: Vec<(String, &T)> =
            keyed.filter(|(key, _)| after.as_ref().is_none_or(|after| key > after)).collect();
        let cursor = |key: &str| {
            let position = Position { artifact: artifact.clone(), after: key.to_owned() };
            self.cursors.encode(&scope, &position).map_err(Failure::internal)
        };
        let page = &rest[..rest.len().min(limit)];
        let cursors = page.iter().map(|(key, _)| cursor(key)).collect::<Result<Vec<_>, _>>()?;
        let (items, remaining) = (page.iter().map(|(_, row)| item(row)).collect(), rest.len());
        let next_cursor = move |shown: usize| {
            let last = cursors.get(shown.checked_sub(1)?)?;
            (shown < remaining).then(|| last.clone())
        };
        Ok(Answer::items(summary, rows.len() as u64, items).next_cursor(next_cursor))
    }
}

/// Returns a number as a key that sorts in numeric order.
pub(crate) fn sortable(number: u64) -> String {
    format!("{number:08}")
}

/// Converts data to JSON.
pub(crate) fn data(rows: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(rows).map_err(Failure::internal)
}
