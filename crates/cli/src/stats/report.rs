//! Everything that `tidegate stats` shows, collected in one pass over the ledger.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tidegate_store::{Call, CountMethod, Millis};

use super::By;
use super::advice::ReadingPattern;
use super::figures::Figures;
use crate::ledger::EntryKind;

/// The collected figures.
#[derive(Default)]
pub(super) struct Report {
    /// The times of the first and the last call.
    pub(super) span: Option<(Millis, Millis)>,
    pub(super) total: Figures,
    /// The figures by group; keys have the columns of [`By::columns`].
    pub(super) groups: BTreeMap<Vec<String>, Figures>,
    /// Results that were kept in memory, since the store could not be used.
    in_memory: HashSet<String>,
    /// Bytes stored by each session.
    sessions: HashMap<String, u64>,
    /// How tokens were counted (`None` if unknown), with the number of calls and the clients.
    pub(super) counted: BTreeMap<Option<CountMethod>, (u64, BTreeSet<String>)>,
    pub(super) reading: ReadingPattern,
}

impl Report {
    /// Adds a call.
    pub(super) fn add(&mut self, call: &Call, by: Option<By>) {
        if matches!(EntryKind::of(call), EntryKind::List | EntryKind::MoreOfList) {
            return;
        }
        let (first, last) = self.span.unwrap_or((call.at, call.at));
        self.span = Some((first.min(call.at), last.max(call.at)));
        if let Some(artifact) = &call.artifact
            && EntryKind::of(call) == EntryKind::Shaped
            && call.stored_bytes == 0
        {
            self.in_memory.insert(artifact.clone());
        }
        let from_memory = call.artifact.as_ref().is_some_and(|artifact| self.in_memory.contains(artifact));
        self.total.add(call, from_memory);
        if let Some(by) = by {
            self.groups.entry(by.key(call)).or_default().add(call, from_memory);
        }
        let counted = self.counted.entry(call.counted.clone()).or_default();
        counted.0 += 1;
        counted.1.insert(call.client.clone());
        if let Some(session) = call.session.as_ref().filter(|_| EntryKind::of(call) != EntryKind::Observed) {
            *self.sessions.entry(session.clone()).or_default() += call.stored_bytes;
        }
        self.reading.add(call);
    }

    /// Prepares the percentiles; call it after the last [`Report::add`].
    pub(super) fn finish(&mut self) {
        self.total.finish();
        self.groups.values_mut().for_each(Figures::finish);
    }

    /// Returns the number of sessions, and the mean and the maximum of bytes stored by one.
    pub(super) fn sessions(&self) -> (u64, Option<u64>, Option<u64>) {
        let count = self.sessions.len() as u64;
        let sum: u64 = self.sessions.values().sum();
        (count, sum.checked_div(count), self.sessions.values().max().copied())
    }

    /// Returns the groups in display order: days by date, others by cost.
    pub(super) fn ordered(&self, by: By) -> Vec<(&[String], &Figures)> {
        let mut groups: Vec<(&[String], &Figures)> =
            self.groups.iter().map(|(key, figures)| (key.as_slice(), figures)).collect();
        if by != By::Day {
            groups.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.raw_tokens));
        }
        groups
    }
}
