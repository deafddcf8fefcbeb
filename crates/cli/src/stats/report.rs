//! Everything that `tidegate stats` tells, gathered in one pass over the ledger.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tidegate_store::{Call, Counted, Millis};

use super::By;
use super::advice::Habits;
use super::figures::Figures;
use crate::notes::Kind;

/// What was gathered.
#[derive(Default)]
pub(super) struct Report {
    /// The first and the last note.
    pub(super) span: Option<(Millis, Millis)>,
    pub(super) total: Figures,
    /// By what the command was asked for; the names are those of [`By::columns`].
    pub(super) groups: BTreeMap<Vec<String>, Figures>,
    /// Bytes that each session stored.
    sessions: HashMap<String, u64>,
    /// How tokens were counted, and for which clients; none where it is unknown.
    pub(super) counted: BTreeMap<Option<Counted>, (u64, BTreeSet<String>)>,
    pub(super) habits: Habits,
}

impl Report {
    /// Adds a note.
    pub(super) fn add(&mut self, call: &Call, by: Option<By>) {
        if matches!(Kind::of(call), Kind::List | Kind::MoreOfList) {
            return;
        }
        let first = self.span.map_or(call.at, |(first, _)| first);
        self.span = Some((first, call.at));
        self.total.add(call);
        if let Some(by) = by {
            self.groups.entry(by.key(call)).or_default().add(call);
        }
        let counted = self.counted.entry(call.counted.clone()).or_default();
        counted.0 += 1;
        counted.1.insert(call.client.clone());
        if let Some(session) = call.session.as_ref().filter(|_| Kind::of(call) != Kind::Observed) {
            *self.sessions.entry(session.clone()).or_default() += call.stored_bytes;
        }
        self.habits.add(call);
    }

    /// Puts what needs an order in order.
    pub(super) fn finish(&mut self) {
        self.total.finish();
        self.groups.values_mut().for_each(Figures::finish);
    }

    /// Returns how many sessions there were, and the mean and the most bytes that one stored.
    pub(super) fn sessions(&self) -> (u64, Option<u64>, Option<u64>) {
        let count = self.sessions.len() as u64;
        let sum: u64 = self.sessions.values().sum();
        (count, sum.checked_div(count), self.sessions.values().max().copied())
    }

    /// Returns the groups in the order in which they are shown: days as they came, others by their cost.
    pub(super) fn ordered(&self, by: By) -> Vec<(&[String], &Figures)> {
        let mut groups: Vec<(&[String], &Figures)> =
            self.groups.iter().map(|(key, figures)| (key.as_slice(), figures)).collect();
        if by != By::Day {
            groups.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.raw_tokens));
        }
        groups
    }
}
