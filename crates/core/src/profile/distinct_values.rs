//! How many distinct values there are: counted exactly by their hashes as long as memory allows, estimated beyond that.
//!
//! A hash takes eight bytes where a value with its count takes about eight times as much, so that the values of an
//! identifier are still told apart when they are no longer held.

use super::distinct_sketch::DistinctSketch;

/// The maximum number of slots for the hashes of one field, three quarters of which may be used.
const MAX_HASH_SLOTS: usize = 1 << 18;
/// The number of slots at first.
const MIN_HASH_SLOTS: usize = 64;
/// How many slots take as much memory as one value that is held with its count.
const SLOTS_PER_VALUE: usize = 8;

/// The distinct values among those that are not held.
#[derive(Debug, Clone)]
pub(super) enum DistinctValues {
    /// All hashes, in an open-addressing table; 0 where a slot is empty.
    Exact { slots: Vec<u64>, count: usize },
    /// An estimate in fixed memory.
    Estimate(Box<DistinctSketch>),
}

impl Default for DistinctValues {
    fn default() -> Self {
        Self::Exact { slots: Vec::new(), count: 0 }
    }
}

/// Returns a hash that is not 0.
fn filled(hash: u64) -> u64 {
    hash.max(1)
}

impl DistinctValues {
    /// Adds a value by its hash; `capacity` is the memory left, in values that are held with their counts.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, capacity: &mut usize) {
        match self {
            Self::Estimate(sketch) => sketch.add(hash),
            Self::Exact { slots, count } => {
                let hash = filled(hash);
                match slot_of(slots, hash) {
                    Some(slot) if slots[slot] == hash => {}
                    Some(slot) if (*count + 1) * 4 <= slots.len() * 3 => {
                        slots[slot] = hash;
                        *count += 1;
                    }
                    _ => self.grow(hash, capacity),
                }
            }
        }
    }

    #[cold]
    fn grow(&mut self, hash: u64, capacity: &mut usize) {
        let Self::Exact { slots, count } = self else { return };
        let length = (slots.len() * 2).max(MIN_HASH_SLOTS);
        let cost = (length - slots.len()) / SLOTS_PER_VALUE;
        // At most half of what is left, so that fields that come later can hold values, too.
        if length > MAX_HASH_SLOTS || cost * 2 > *capacity {
            self.estimate(capacity);
            return self.add(hash, capacity);
        }
        *capacity -= cost;
        let mut larger = vec![0; length];
        for &old in slots.iter().filter(|&&old| old != 0).chain([&hash]) {
            if let Some(slot) = slot_of(&larger, old) {
                larger[slot] = old;
            }
        }
        *slots = larger;
        *count += 1;
    }

    /// Gives up the hashes for an estimate.
    fn estimate(&mut self, capacity: &mut usize) -> &mut DistinctSketch {
        if let Self::Exact { slots, .. } = self {
            let mut sketch = Box::<DistinctSketch>::default();
            slots.iter().filter(|&&hash| hash != 0).for_each(|&hash| sketch.add(hash));
            *capacity += slots.len() / SLOTS_PER_VALUE;
            *self = Self::Estimate(sketch);
        }
        match self {
            Self::Estimate(sketch) => sketch,
            Self::Exact { .. } => unreachable!("replaced above"),
        }
    }

    /// Returns whether a value may be among these.
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        match self {
            Self::Estimate(_) => true,
            Self::Exact { slots, .. } => slot_of(slots, filled(hash)).is_some_and(|slot| slots[slot] != 0),
        }
    }

    /// Adds the values of another field.
    pub(super) fn merge(&mut self, other: &Self, capacity: &mut usize) {
        match other {
            Self::Exact { slots, .. } => {
                slots.iter().filter(|&&hash| hash != 0).for_each(|&hash| self.add(hash, capacity));
            }
            Self::Estimate(theirs) => self.estimate(capacity).merge(theirs),
        }
    }

    /// Returns the number of distinct values, and whether it is exact.
    pub(super) fn count(&self) -> (u64, bool) {
        match self {
            Self::Exact { count, .. } => (*count as u64, true),
            Self::Estimate(sketch) => (sketch.estimate(), false),
        }
    }
}

/// Returns the slot that has a hash, or the empty one where it belongs.
#[inline]
fn slot_of(slots: &[u64], hash: u64) -> Option<usize> {
    let mask = slots.len().checked_sub(1)?;
    let mut slot = hash as usize & mask;
    while slots[slot] != 0 && slots[slot] != hash {
        slot = (slot + 1) & mask;
    }
    Some(slot)
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
    fn exact_while_memory_allows() {
        let mut capacity = 60_000;
        assert_eq!(distinct(0..100_000, &mut capacity).count(), (100_000, true));
        assert_eq!(capacity, 60_000 - (1 << 18) / SLOTS_PER_VALUE);
        let mut capacity = 60_000;
        let (count, exact) = distinct((0..1_000_000).map(|value| value % 500_000), &mut capacity).count();
        assert!(!exact && (450_000..550_000).contains(&count), "{count}");
        assert_eq!(capacity, 60_000, "given back");
        assert!(!distinct(0..1000, &mut 100).count().1);
    }

    #[test]
    fn merging_counts_common_values_once() {
        let mut capacity = 60_000;
        let mut one = distinct(0..1000, &mut capacity);
        one.merge(&distinct(500..2000, &mut capacity), &mut capacity);
        assert_eq!(one.count(), (2000, true));
        assert!(one.may_contain(hash::mix(1999)) && !one.may_contain(hash::mix(2000)));
    }
}
