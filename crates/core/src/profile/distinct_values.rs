//! How many distinct values there are: counted exactly by their hashes as long as memory allows, estimated beyond that.
//!
//! A hash takes eight bytes where a value with its count takes about eight times as much, so that the values of an
//! identifier are still told apart when they are no longer held. Hashes are collected and then merged into a sorted list,
//! many at a time: looking each of them up in a table would wait for memory each time, since such a table does not fit
//! the caches. The list takes no more memory than its hashes, and is merged in place.

use super::distinct_sketch::DistinctSketch;

/// The maximum number of distinct hashes kept for one field.
const MAX_HASHES: usize = 192 * 1024;
/// The minimum and the maximum number of hashes that are sorted together.
const MIN_RECENT_HASHES: usize = 64;
const MAX_RECENT_HASHES: usize = 64 * 1024;
/// How many hashes take as much memory as one value that is held with its count.
const HASHES_PER_VALUE: usize = 8;

/// The distinct values among those that are not held.
#[derive(Debug, Clone)]
pub(super) enum DistinctValues {
    Exact(HashSet),
    /// An estimate in fixed memory.
    Estimate(Box<DistinctSketch>),
}

/// The hashes of all values.
#[derive(Debug, Clone, Default)]
pub(super) struct HashSet {
    /// In order, each once.
    sorted: Vec<u64>,
    /// Those added since the last sort, in order of arrival.
    recent: Vec<u64>,
    /// How many recent ones there may be.
    max_recent: usize,
    /// How many hashes the memory taken out of the capacity holds.
    room: usize,
}

impl Default for DistinctValues {
    fn default() -> Self {
        Self::Exact(HashSet::default())
    }
}

impl DistinctValues {
    /// Adds a value by its hash; `capacity` is the memory left, in values that are held with their counts.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, capacity: &mut usize) {
        match self {
            Self::Estimate(sketch) => sketch.add(hash),
            Self::Exact(set) => {
                if set.recent.len() < set.max_recent || set.make_room(capacity) {
                    set.recent.push(hash);
                } else {
                    self.estimate(capacity).add(hash);
                }
            }
        }
    }

    /// Gives up the hashes for an estimate.
    #[cold]
    fn estimate(&mut self, capacity: &mut usize) -> &mut DistinctSketch {
        if let Self::Exact(set) = self {
            let mut sketch = Box::<DistinctSketch>::default();
            set.hashes().for_each(|hash| sketch.add(hash));
            *capacity += set.room / HASHES_PER_VALUE;
            *self = Self::Estimate(sketch);
        }
        match self {
            Self::Estimate(sketch) => sketch,
            Self::Exact(_) => unreachable!("replaced above"),
        }
    }

    /// Sorts all hashes, which makes [`count`](Self::count) and [`may_contain`](Self::may_contain) fast.
    pub(super) fn settle(&mut self) {
        if let Self::Exact(set) = self {
            set.settle();
        }
    }

    /// Returns whether a value may be among these.
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        match self {
            Self::Estimate(_) => true,
            Self::Exact(set) => set.sorted.binary_search(&hash).is_ok() || set.recent.contains(&hash),
        }
    }

    /// Adds the values of another field.
    pub(super) fn merge(&mut self, other: &Self, capacity: &mut usize) {
        match other {
            Self::Exact(set) => set.hashes().for_each(|hash| self.add(hash, capacity)),
            Self::Estimate(theirs) => self.estimate(capacity).merge(theirs),
        }
    }

    /// Returns the number of distinct values, and whether it is exact.
    pub(super) fn count(&self) -> (u64, bool) {
        match self {
            Self::Exact(set) => (set.count() as u64, true),
            Self::Estimate(sketch) => (sketch.estimate(), false),
        }
    }
}

impl HashSet {
    /// Sorts all hashes and takes memory for more out of the capacity; returns false if there is not enough.
    #[cold]
    fn make_room(&mut self, capacity: &mut usize) -> bool {
        self.settle();
        self.max_recent = (self.sorted.len() / 2).clamp(MIN_RECENT_HASHES, MAX_RECENT_HASHES);
        let room = self.room.max(self.sorted.len() + self.max_recent);
        let cost = room / HASHES_PER_VALUE - self.room / HASHES_PER_VALUE;
        // At most half of what is left, so that fields that come later can hold values, too.
        if self.sorted.len() > MAX_HASHES || cost * 2 > *capacity {
            return false;
        }
        *capacity -= cost;
        self.room = room;
        true
    }

    /// Moves the recent hashes to their places among the sorted ones.
    fn settle(&mut self) {
        if self.recent.is_empty() {
            return;
        }
        self.recent.sort_unstable();
        self.recent.dedup();
        merge_into(&mut self.sorted, &self.recent);
        self.sorted.dedup();
        self.recent.clear();
    }

    /// Returns all hashes; recent ones may repeat others.
    fn hashes(&self) -> impl Iterator<Item = u64> {
        self.sorted.iter().chain(&self.recent).copied()
    }

    fn count(&self) -> usize {
        let mut new: Vec<u64> = self.recent.clone();
        new.retain(|hash| self.sorted.binary_search(hash).is_err());
        new.sort_unstable();
        new.dedup();
        self.sorted.len() + new.len()
    }
}

/// Adds hashes to others, from the end on, so that no other memory is needed; both lists are in order.
///
/// Which list has the greater hash next is as good as random, so the loop has no branch that depends on it.
fn merge_into(sorted: &mut Vec<u64>, new: &[u64]) {
    let (mut known, mut left) = (sorted.len(), new.len());
    sorted.reserve_exact(left);
    sorted.resize(known + left, 0);
    while known > 0 && left > 0 {
        let (ours, theirs) = (sorted[known - 1], new[left - 1]);
        let is_ours = ours > theirs;
        sorted[known + left - 1] = if is_ours { ours } else { theirs };
        known -= usize::from(is_ours);
        left -= usize::from(!is_ours);
    }
    sorted[..left].copy_from_slice(&new[..left]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;

    fn distinct(values: impl Iterator<Item = u64>, capacity: &mut usize) -> DistinctValues {
        let mut distinct = DistinctValues::default();
        values.for_each(|value| distinct.add(hash::mix(value), capacity));
        distinct
    }

    #[test]
    fn distinct_values_are_estimated_when_the_memory_is_used_up() {
        let mut capacity = 60_000;
        assert_eq!(distinct(0..100_000, &mut capacity).count(), (100_000, true));
        assert!((30_000..50_000).contains(&capacity), "{capacity}");
        let mut capacity = 60_000;
        let (count, exact) = distinct((0..1_000_000).map(|value| value % 500_000), &mut capacity).count();
        assert!(!exact && (450_000..550_000).contains(&count), "{count}");
        assert_eq!(capacity, 60_000, "given back");
        assert!(!distinct(0..1000, &mut 100).count().1);
    }

    #[test]
    fn repeated_values_are_counted_once() {
        let mut capacity = 60_000;
        let values = (0..300_000_u64).map(|value| value * value % 5003);
        let expected: std::collections::BTreeSet<u64> = values.clone().collect();
        assert_eq!(distinct(values, &mut capacity).count(), (expected.len() as u64, true));
    }

    #[test]
    fn hashes_stay_in_order_and_take_little_memory() {
        let mut set = HashSet::default();
        let mut capacity = 60_000;
        let mut expected = std::collections::BTreeSet::new();
        for value in 0..40_000_u64 {
            let hash = hash::mix(value % 30_011 * 7);
            expected.insert(hash);
            assert!(set.recent.len() < set.max_recent || set.make_room(&mut capacity));
            set.recent.push(hash);
        }
        let taken = set.sorted.capacity() + set.recent.capacity();
        assert!(taken <= expected.len() * 2, "{taken} for {}", expected.len());
        set.settle();
        assert!(set.sorted.iter().eq(&expected));
    }

    #[test]
    fn merging_counts_common_values_once() {
        let mut capacity = 60_000;
        let mut one = distinct(0..1000, &mut capacity);
        one.merge(&distinct(500..2000, &mut capacity), &mut capacity);
        assert_eq!(one.count(), (2000, true));
        for _ in 0..2 {
            assert!(one.may_contain(hash::mix(1999)) && !one.may_contain(hash::mix(2000)));
            one.settle();
            assert_eq!(one.count(), (2000, true));
        }
    }
}
