//! The values of a field that its statistics do not cover, such as words among numbers.
//!
//! A statistic covers the values of one kind. So that a reader does not take it for all values, the others are counted
//! after it: `+70 text (FRAUD=70)`.

use super::value_list::shown;
use crate::profile::node::PathNode;
use crate::profile::number::Number;
use crate::profile::time;
use crate::profile::value_counts::ValueCount;

/// Which values of a field a statistic covers; nulls are always counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Covered {
    /// Numbers, and texts that are numbers.
    Numbers,
    /// Texts that are points in time.
    Times,
    /// All texts and numbers.
    Values,
    /// All texts.
    Texts,
    Bools,
    Lists,
    Objects,
}

/// How many values of each type a statistic does not cover.
#[derive(Debug)]
pub(crate) struct Uncovered {
    covered: Covered,
    texts: u64,
    numbers: u64,
    trues: u64,
    falses: u64,
    lists: u64,
    objects: u64,
}

/// The maximum number of texts named.
const MAX_NAMED_TEXTS: usize = 2;

impl Uncovered {
    /// Counts the values of a node that a statistic does not cover.
    pub(crate) fn of(node: &PathNode, covered: Covered) -> Self {
        let types = &node.types;
        let parsed = node.numbers.as_ref().map_or(0, |numbers| numbers.count) - node.numeric_strings;
        let times = node.times.as_ref().map_or(0, |times| times.count);
        let unless = |is_covered: bool, count: u64| if is_covered { 0 } else { count };
        Self {
            covered,
            texts: match covered {
                Covered::Values | Covered::Texts => 0,
                Covered::Numbers => types.strings - node.numeric_strings,
                Covered::Times => types.strings - times,
                _ => types.strings,
            },
            numbers: match covered {
                Covered::Values => 0,
                Covered::Numbers => types.numbers - parsed,
                _ => types.numbers,
            },
            trues: unless(covered == Covered::Bools, types.trues),
            falses: unless(covered == Covered::Bools, types.falses),
            lists: unless(covered == Covered::Lists, types.arrays),
            objects: unless(covered == Covered::Objects, types.objects),
        }
    }

    /// Writes the counts; `None` if the statistic covers all values.
    pub(crate) fn text(&self, node: &PathNode) -> Option<String> {
        let noun = |count: u64, one: &str, several: &str| match count {
            0 => String::new(),
            1 => format!("+1 {one}"),
            _ => format!("+{count} {several}"),
        };
        let texts = match self.texts {
            0 => String::new(),
            count => format!("+{count} text{}", self.most_frequent(node, false)),
        };
        let numbers = match self.numbers {
            count if count > 0 && self.covered == Covered::Numbers => {
                format!("+{count} not counted{}", self.most_frequent(node, true))
            }
            count => noun(count, "number", "numbers"),
        };
        let parts = [
            texts,
            numbers,
            noun(self.trues, "true", "true"),
            noun(self.falses, "false", "false"),
            noun(self.lists, "list", "lists"),
            noun(self.objects, "object", "objects"),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Returns the most frequent of the texts, or numbers, that are not covered, in parentheses; empty if they are not
    /// held.
    fn most_frequent(&self, node: &PathNode, numbers: bool) -> String {
        let total = if numbers { self.numbers } else { self.texts };
        let is_covered = |entry: &ValueCount| match self.covered {
            Covered::Numbers if entry.is_number => Number::parse(&entry.raw).is_some(),
            Covered::Numbers => node.counts_as_number(&entry.raw),
            Covered::Times => time::parse(&entry.raw).is_some(),
            _ => false,
        };
        let ranked = node.counts.ranked().into_iter();
        let named: Vec<&ValueCount> = ranked
            .filter(|entry| entry.is_number == numbers && !entry.is_cut && !is_covered(entry))
            .take(MAX_NAMED_TEXTS)
            .collect();
        if named.is_empty() || named[0].count < node.counts.max_unheld_count() {
            return String::new();
        }
        let more = if named.iter().map(|entry| entry.count).sum::<u64>() < total { ", …" } else { "" };
        let named: Vec<String> =
            named.into_iter().map(|entry| format!("{}={}", shown(entry), entry.count)).collect();
        format!(" ({}{more})", named.join(", "))
    }
}
