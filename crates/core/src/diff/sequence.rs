//! Aligns two sequences: which runs of the old one were replaced by which runs of the new one.
//!
//! Bounded and deterministic. Each item is represented by a number; equal items have equal numbers. The equal beginning and
//! end are skipped. Items that occur equally often in both sequences, and in the same order, are anchors; the gap between
//! two anchors is aligned in the same way. A small gap is aligned exactly; a large gap without anchors is one replacement.

use std::collections::BTreeMap;
use std::ops::Range;

/// A run of the old sequence, and the run of the new one that replaces it. Either may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replaced {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The largest product of lengths that is aligned exactly.
const MAX_EXACT_CELLS: usize = 1 << 14;
/// How deep the search for anchors between anchors may go.
const MAX_DEPTH: usize = 8;

/// Assigns numbers to items: equal items get the same number, others get different ones.
pub(super) struct Numbering<T>(BTreeMap<T, u32>);

impl<T: Ord> Numbering<T> {
    pub(super) fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(super) fn of(&mut self, item: T) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(item).or_insert(next)
    }
}

/// Returns what was replaced, in order; adjacent runs are merged.
pub(super) fn replacements(old: &[u32], new: &[u32]) -> Vec<Replaced> {
    let mut aligner = Aligner { old, new, replaced: Vec::new() };
    aligner.align(0..old.len(), 0..new.len(), 0);
    aligner.replaced
}

struct Aligner<'s> {
    old: &'s [u32],
    new: &'s [u32],
    replaced: Vec<Replaced>,
}

impl Aligner<'_> {
    fn align(&mut self, old: Range<usize>, new: Range<usize>, depth: usize) {
        let (a, b) = (&self.old[old.clone()], &self.new[new.clone()]);
        let before = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let (a, b) = (&a[before..], &b[before..]);
        let after = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        let (a, b) = (&a[..a.len() - after], &b[..b.len() - after]);
        let (at_old, at_new) = (old.start + before, new.start + before);
        if a.is_empty() || b.is_empty() {
            return self.replace(at_old..at_old + a.len(), at_new..at_new + b.len());
        }
        let pairs = match a.len().saturating_mul(b.len()) <= MAX_EXACT_CELLS {
            true => common(a, b),
            false if depth < MAX_DEPTH => anchors(a, b),
            false => Vec::new(),
        };
        if pairs.is_empty() {
            return self.replace(at_old..at_old + a.len(), at_new..at_new + b.len());
        }
        let (end_old, end_new) = (at_old + a.len(), at_new + b.len());
        let (mut from_old, mut from_new) = (at_old, at_new);
        for (in_old, in_new) in pairs {
            let (in_old, in_new) = (at_old + in_old, at_new + in_new);
            self.align(from_old..in_old, from_new..in_new, depth + 1);
            (from_old, from_new) = (in_old + 1, in_new + 1);
        }
        self.align(from_old..end_old, from_new..end_new, depth + 1);
    }

    fn replace(&mut self, old: Range<usize>, new: Range<usize>) {
        if old.is_empty() && new.is_empty() {
            return;
        }
        match self.replaced.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                (last.old.end, last.new.end) = (old.end, new.end);
            }
            _ => self.replaced.push(Replaced { old, new }),
        }
    }
}

/// Returns a longest common subsequence as pairs of positions.
fn common(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    // The length of the longest common subsequence of the two suffixes at each pair of positions; at most 2^14.
    let mut lengths = vec![0_u16; (a.len() + 1) * width];
    for (i, x) in a.iter().enumerate().rev() {
        for (j, y) in b.iter().enumerate().rev() {
            lengths[i * width + j] = match x == y {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// Returns pairs of positions of items that occur equally often on both sides: as many as possible in the same order.
fn anchors(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, item) in b.iter().enumerate() {
        places.entry(*item).or_default().push(at);
    }
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for item in a {
        *counts.entry(*item).or_default() += 1;
    }
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (at, item) in a.iter().enumerate() {
        let Some(places) = places.get(item).filter(|places| places.len() == counts[item]) else { continue };
        let occurrence = seen.entry(*item).or_default();
        pairs.push((at, places[*occurrence]));
        *occurrence += 1;
    }
    rising(&pairs)
}

/// Returns a longest subsequence of pairs whose second positions rise.
fn rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The pair that ends the best subsequence of each length, and the pair before each pair in its subsequence.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; pairs.len()];
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < pair.1);
        before[at] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut chosen = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(pair) = at {
        chosen.push(pairs[pair]);
        at = before[pair];
    }
    chosen.reverse();
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn applied(old: &[u32], new: &[u32], replaced: &[Replaced]) -> Vec<u32> {
        let (mut out, mut at) = (Vec::new(), 0);
        for run in replaced {
            out.extend_from_slice(&old[at..run.old.start]);
            out.extend_from_slice(&new[run.new.clone()]);
            at = run.old.end;
        }
        out.extend_from_slice(&old[at..]);
        out
    }

    #[test]
    fn single_changes_among_many_items_are_found() {
        let old: Vec<u32> = (0..5000).collect();
        let mut new = old.clone();
        new[1234] = 9999;
        new.remove(4000);
        new.insert(10, 7777);
        let replaced = replacements(&old, &new);
        let sizes: Vec<(usize, usize)> = replaced.iter().map(|run| (run.old.len(), run.new.len())).collect();
        assert_eq!(sizes, [(0, 1), (1, 1), (1, 0)]);
        assert_eq!(applied(&old, &new, &replaced), new);
    }

    #[test]
    fn long_sequences_without_anchors_are_one_replacement() {
        let old: Vec<u32> = (0..3000).map(|n| n % 3).collect();
        let new: Vec<u32> = (0..3500).map(|n| 3 + n % 5).collect();
        assert_eq!(replacements(&old, &new), [Replaced { old: 0..3000, new: 0..3500 }]);
    }

    proptest! {
        #[test]
        fn replacements_turn_the_old_sequence_into_the_new_one(
            old in prop::collection::vec(0_u32..40, 0..400),
            new in prop::collection::vec(0_u32..40, 0..400),
        ) {
            prop_assert_eq!(applied(&old, &new, &replacements(&old, &new)), new);
        }

        #[test]
        fn equal_sequences_have_no_replacement(items in prop::collection::vec(0_u32..9, 0..300)) {
            prop_assert_eq!(replacements(&items, &items), []);
        }
    }
}
