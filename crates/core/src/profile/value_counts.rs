//! Counts how often each value of a field occurs, in bounded memory.
//!
//! Two rules bound it. A field whose first [`IDENTIFIER_AFTER_VALUES`] values are all different is an identifier: its
//! values are dropped and only their number is estimated. A field with more than [`MAX_FIELD_VALUES`] distinct values
//! accepts no new ones: the counts of those it holds stay exact, and the number of distinct values becomes an
//! estimate, which callers mark as such.

use super::distinct_sketch::DistinctSketch;
use crate::hash;

/// A field whose first values, this many of them, all differ is an identifier.
const IDENTIFIER_AFTER_VALUES: usize = 512;
/// The maximum number of distinct values held for one field.
const MAX_FIELD_VALUES: usize = 4096;
/// How many offsets of a value are kept after its first one: enough to name every record with a rare value.
const MAX_FURTHER_OFFSETS: usize = 5;
/// The maximum number of bytes kept of one value.
const MAX_VALUE_BYTES: usize = 160;

/// One distinct value and how often it occurs.
#[derive(Debug, Clone)]
pub(crate) struct ValueCount {
    hash: u64,
    pub(crate) count: u64,
    /// The offset of its first occurrence.
    pub(crate) first: u64,
    /// The offsets of the next few occurrences.
    offsets: Option<Box<[u64; MAX_FURTHER_OFFSETS]>>,
    /// The raw value, cut at [`MAX_VALUE_BYTES`].
    pub(crate) raw: Box<[u8]>,
    pub(crate) escapes: bool,
}

/// The distinct values of one field with their counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueCounts {
    /// An open-addressing hash table: index + 1 into `entries`, 0 where a slot is empty.
    slots: Vec<u32>,
    entries: Vec<ValueCount>,
    total: u64,
    sketch: Option<Box<DistinctSketch>>,
    identifier: bool,
    /// The first values of an identifier, until [`take_identifier_values`](Self::take_identifier_values) takes them.
    identifier_values: Vec<ValueCount>,
}

impl ValueCounts {
    /// Counts a value; `capacity` is how many more distinct values all fields together may hold.
    #[inline]
    pub(crate) fn add(&mut self, raw: &[u8], escapes: bool, at: u64, capacity: &mut usize) {
        self.add_hashed(hash::bytes(raw), raw, escapes, at, capacity);
    }

    /// Counts a value that occurs `count` times, first at `at`.
    pub(crate) fn add_many(&mut self, raw: &[u8], at: u64, count: u64, capacity: &mut usize) {
        let hash = hash::bytes(raw);
        self.add_hashed(hash, raw, false, at, capacity);
        self.total += count - 1;
        if let Ok(index) = self.find(hash) {
            self.entries[index].count += count - 1;
        }
    }

    #[inline]
    fn add_hashed(&mut self, hash: u64, raw: &[u8], escapes: bool, at: u64, capacity: &mut usize) {
        self.total += 1;
        if self.identifier {
            if let Some(sketch) = &mut self.sketch {
                sketch.add(hash);
            }
            return;
        }
        match self.find(hash) {
            Ok(index) => self.entries[index].again(at),
            Err(slot) => self.insert(slot, ValueCount::new(hash, raw, escapes, at), capacity),
        }
    }

    #[inline]
    fn find(&self, hash: u64) -> Result<usize, usize> {
        if self.slots.is_empty() {
            return Err(0);
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                index if self.entries[index as usize - 1].hash == hash => return Ok(index as usize - 1),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn insert(&mut self, slot: usize, entry: ValueCount, capacity: &mut usize) {
        if let Some(sketch) = &mut self.sketch {
            sketch.add(entry.hash);
            return;
        }
        if self.entries.len() == MAX_FIELD_VALUES || *capacity == 0 {
            self.start_sketch(entry.hash);
            return;
        }
        *capacity -= 1;
        self.entries.push(entry);
        if self.entries.len() * 2 > self.slots.len() {
            self.rehash();
        } else {
            self.slots[slot] = self.entries.len() as u32;
        }
        if self.entries.len() == IDENTIFIER_AFTER_VALUES && self.total == IDENTIFIER_AFTER_VALUES as u64 {
            self.start_sketch(0);
            self.identifier = true;
            *capacity += self.entries.len();
            self.identifier_values = std::mem::take(&mut self.entries);
            self.slots = Vec::new();
        }
    }

    fn start_sketch(&mut self, hash: u64) {
        let mut sketch = Box::<DistinctSketch>::default();
        self.entries.iter().for_each(|entry| sketch.add(entry.hash));
        if hash != 0 {
            sketch.add(hash);
        }
        self.sketch = Some(sketch);
    }

    fn rehash(&mut self) {
        let length = (self.entries.len() * 4).next_power_of_two().max(16);
        self.slots = vec![0; length];
        for (index, entry) in self.entries.iter().enumerate() {
            let mut slot = entry.hash as usize & (length - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (length - 1);
            }
            self.slots[slot] = index as u32 + 1;
        }
    }

    /// Adds the counts of another field.
    pub(crate) fn merge(&mut self, other: &Self, capacity: &mut usize) {
        for entry in &other.entries {
            let before = self.total;
            self.add_hashed(entry.hash, &entry.raw, entry.escapes, entry.first, capacity);
            self.total = before + entry.count;
            if let Ok(index) = self.find(entry.hash) {
                let held = &mut self.entries[index];
                let rest = entry.offsets().map(|offsets| offsets[1..].to_vec());
                match rest {
                    Some(rest) => rest.into_iter().for_each(|at| held.again(at)),
                    None => held.count += entry.count - 1,
                }
            }
        }
        if let Some(theirs) = &other.sketch {
            if self.sketch.is_none() {
                self.start_sketch(0);
            }
            if let Some(ours) = &mut self.sketch {
                ours.merge(theirs);
            }
            self.total += other.total - other.entries.iter().map(|entry| entry.count).sum::<u64>();
        }
    }

    /// Returns whether the field is an identifier, so that its values are not held.
    #[inline]
    pub(crate) fn is_identifier(&self) -> bool {
        self.identifier
    }

    /// Takes the values that were dropped when the field turned out to be an identifier.
    #[inline]
    pub(crate) fn take_identifier_values(&mut self) -> Vec<ValueCount> {
        std::mem::take(&mut self.identifier_values)
    }

    /// Returns how many values were counted.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of distinct values, and whether it is exact.
    pub(crate) fn distinct(&self) -> (u64, bool) {
        match &self.sketch {
            Some(sketch) => (sketch.estimate().min(self.total), false),
            None => (self.entries.len() as u64, true),
        }
    }

    /// Returns whether every distinct value is held with its exact count.
    pub(crate) fn is_complete(&self) -> bool {
        self.sketch.is_none()
    }

    /// Returns whether all values differ, as far as is known.
    pub(crate) fn is_unique(&self) -> bool {
        let (distinct, exact) = self.distinct();
        self.total > 1 && if exact { distinct == self.total } else { distinct * 20 >= self.total * 19 }
    }

    /// Returns the values held, in order of first appearance.
    pub(crate) fn entries(&self) -> &[ValueCount] {
        &self.entries
    }

    /// Returns the values held, most frequent first; equally frequent ones in order of appearance.
    pub(crate) fn ranked(&self) -> Vec<&ValueCount> {
        let mut ranked: Vec<&ValueCount> = self.entries.iter().collect();
        ranked.sort_by_key(|entry| std::cmp::Reverse(entry.count));
        ranked
    }
}

impl ValueCount {
    fn new(hash: u64, raw: &[u8], escapes: bool, first: u64) -> Self {
        let mut end = raw.len().min(MAX_VALUE_BYTES);
        while end > 0 && end < raw.len() && raw[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        Self { hash, count: 1, first, offsets: None, raw: raw[..end].into(), escapes }
    }

    #[inline]
    fn again(&mut self, at: u64) {
        if self.count <= MAX_FURTHER_OFFSETS as u64 {
            self.offsets.get_or_insert_default()[self.count as usize - 1] = at;
        }
        self.count += 1;
    }

    /// Returns the offsets of all occurrences, if the value is rare enough for all of them to be known.
    pub(crate) fn offsets(&self) -> Option<Vec<u64>> {
        if self.count > MAX_FURTHER_OFFSETS as u64 + 1 {
            return None;
        }
        let mut offsets = vec![self.first];
        if let Some(more) = &self.offsets {
            offsets.extend(&more[..self.count as usize - 1]);
        }
        (offsets.len() as u64 == self.count).then_some(offsets)
    }

    /// Returns the value as text.
    pub(crate) fn text(&self) -> String {
        if self.escapes {
            crate::json::string::decode_text(&self.raw)
        } else {
            String::from_utf8_lossy(&self.raw).into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: impl Iterator<Item = String>) -> ValueCounts {
        let mut counts = ValueCounts::default();
        let mut capacity = 100_000;
        for (at, value) in values.enumerate() {
            counts.add(value.as_bytes(), false, at as u64, &mut capacity);
        }
        counts
    }

    #[test]
    fn few_values_are_counted_exactly() {
        let counts = counts((0..10_000).map(|n| format!("v{}", n % 7)));
        assert_eq!(counts.distinct(), (7, true));
        assert_eq!(counts.ranked()[0].count, 1429);
        assert!(!counts.is_unique());
    }

    #[test]
    fn identifiers_are_dropped_and_estimated() {
        let counts = counts((0..50_000).map(|n| format!("id-{n}")));
        let (distinct, exact) = counts.distinct();
        assert!(!exact && (47_500..52_500).contains(&distinct), "{distinct}");
        assert!(counts.is_unique() && counts.entries().is_empty());
    }

    #[test]
    fn many_values_keep_the_counts_of_those_held() {
        let counts = counts((0..40_000).map(|n| if n % 2 == 0 { "often".into() } else { format!("x{n}") }));
        assert!(!counts.is_complete());
        assert_eq!(counts.ranked()[0].count, 20_000);
        let (distinct, _) = counts.distinct();
        assert!((19_000..21_000).contains(&distinct), "{distinct}");
    }

    #[test]
    fn merging_adds_counts() {
        let mut one = counts(["a", "b", "a"].map(String::from).into_iter());
        let two = counts(["b", "c", "b"].map(String::from).into_iter());
        one.merge(&two, &mut 100);
        let counts: Vec<_> = one.ranked().iter().map(|entry| (entry.text(), entry.count)).collect();
        assert_eq!(counts, [("b".into(), 3), ("a".into(), 2), ("c".into(), 1)]);
        assert_eq!(one.total(), 6);
    }
}
