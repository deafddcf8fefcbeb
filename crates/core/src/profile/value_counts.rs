//! Counts how often each value of a field occurs, in bounded memory.
//!
//! Two rules bound it. A field whose first [`IDENTIFIER_AFTER_VALUES`] values are all different is an identifier: its
//! values are dropped. A field with more than [`MAX_FIELD_VALUES`] distinct values accepts no new ones. Values that are
//! not held are still told apart ([`DistinctValues`]). The count of a value that is held is always that of all its
//! occurrences.

use super::distinct_values::DistinctValues;
use super::number::Number;
use crate::hash;

/// A field whose first values, this many of them, all differ is an identifier.
const IDENTIFIER_AFTER_VALUES: usize = 512;
/// The maximum number of distinct values held for one field.
pub(crate) const MAX_FIELD_VALUES: usize = 4096;
/// How many offsets of a value are kept after its first one: enough to name every record with a rare value.
const MAX_FURTHER_OFFSETS: usize = 11;
/// The maximum number of bytes kept of one value.
const MAX_VALUE_BYTES: usize = 160;
/// Separates the hashes of numbers from those of texts.
const NUMBER_HASH_SEED: u64 = 0x6e75_6d62;

/// One distinct value and how often it occurs.
#[derive(Debug, Clone)]
pub(crate) struct ValueCount {
    hash: u64,
    pub(crate) count: u64,
    /// The offset of its first occurrence.
    pub(crate) first: u64,
    /// The offsets of the next few occurrences.
    offsets: Option<Box<[u64; MAX_FURTHER_OFFSETS]>>,
    /// The value without escapes, cut at [`MAX_VALUE_BYTES`].
    pub(crate) raw: Box<[u8]>,
    /// Whether `raw` is only the beginning.
    pub(crate) is_cut: bool,
    /// Whether it is a JSON number rather than a text.
    pub(crate) is_number: bool,
}

/// The distinct values of one field with their counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueCounts {
    /// An open-addressing hash table: index + 1 into `entries`, 0 where a slot is empty.
    slots: Vec<u32>,
    entries: Vec<ValueCount>,
    total: u64,
    /// The values that are not held, if there are any; none of them is among the entries.
    unheld: Option<DistinctValues>,
    identifier: bool,
    /// The first values of an identifier, until [`take_identifier_values`](Self::take_identifier_values) takes them.
    identifier_values: Vec<ValueCount>,
    /// Whether only the beginning of some value was seen, so that different values may have been counted as one.
    cut: bool,
}

impl ValueCounts {
    /// Counts a text; `capacity` is how many more distinct values all fields together may hold.
    #[inline]
    pub(crate) fn add(&mut self, text: &[u8], at: u64, capacity: &mut usize) {
        self.add_hashed(hash::bytes(text), text, false, at, capacity);
    }

    /// Counts a text of which only the beginning is known, and its length.
    pub(crate) fn add_cut(&mut self, head: &[u8], length: u64, at: u64, capacity: &mut usize) {
        self.cut = true;
        self.add_hashed(hash::mix(hash::bytes(head) ^ length), head, false, at, capacity);
    }

    /// Counts a number; numbers that are equal are one value, shown as first written.
    #[inline]
    pub(crate) fn add_number(
        &mut self,
        raw: &[u8],
        number: Option<&Number<'_>>,
        at: u64,
        capacity: &mut usize,
    ) {
        let hash = number.map_or_else(|| hash::bytes(raw), Number::hash);
        self.add_hashed(hash::mix(hash ^ NUMBER_HASH_SEED), raw, true, at, capacity);
    }

    /// Counts a text that occurs `count` times, first at `at`.
    pub(crate) fn add_many(&mut self, text: &[u8], at: u64, count: u64, capacity: &mut usize) {
        if count == 0 {
            return;
        }
        let hash = hash::bytes(text);
        self.add_hashed(hash, text, false, at, capacity);
        if count == 1 {
            return;
        }
        self.total += count - 1;
        if let Ok(index) = self.find(hash) {
            self.entries[index].count += count - 1;
        }
    }

    #[inline]
    fn add_hashed(&mut self, hash: u64, raw: &[u8], is_number: bool, at: u64, capacity: &mut usize) {
        self.total += 1;
        match self.find(hash) {
            Ok(index) => self.entries[index].again(at),
            Err(slot) => match &mut self.unheld {
                Some(unheld) => unheld.add(hash, capacity),
                None => {
                    self.insert(slot, ValueCount::new(hash, raw, is_number, at), capacity);
                    self.notice_identifier(capacity);
                }
            },
        }
    }

    #[inline]
    fn notice_identifier(&mut self, capacity: &mut usize) {
        if self.entries.len() == IDENTIFIER_AFTER_VALUES && self.total == IDENTIFIER_AFTER_VALUES as u64 {
            self.identifier = true;
            self.identifier_values = self.unhold_entries(|_| true, capacity);
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
        if self.entries.len() == MAX_FIELD_VALUES || *capacity == 0 {
            self.unhold(entry.hash, capacity);
            return;
        }
        *capacity -= 1;
        self.entries.push(entry);
        if self.entries.len() * 2 > self.slots.len() {
            self.rehash();
        } else {
            self.slots[slot] = self.entries.len() as u32;
        }
    }

    fn unhold(&mut self, hash: u64, capacity: &mut usize) {
        self.unheld.get_or_insert_default().add(hash, capacity);
    }

    /// Moves entries to the values that are not held, and returns them.
    fn unhold_entries(
        &mut self,
        is_moved: impl Fn(&ValueCount) -> bool,
        capacity: &mut usize,
    ) -> Vec<ValueCount> {
        let (moved, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.entries).into_iter().partition(is_moved);
        *capacity += moved.len();
        moved.iter().for_each(|entry| self.unhold(entry.hash, capacity));
        self.entries = kept;
        if self.entries.is_empty() {
            self.slots = Vec::new();
        } else {
            self.rehash();
        }
        moved
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
    ///
    /// A value stays held only if neither field may have occurrences of it that it did not count.
    pub(crate) fn merge(&mut self, other: &Self, capacity: &mut usize) {
        self.cut |= other.cut;
        let mut unheld = other.unheld.clone();
        unheld.iter_mut().for_each(DistinctValues::settle);
        if let Some(unheld) = &unheld {
            let uncounted =
                |entry: &ValueCount| other.find(entry.hash).is_err() && unheld.may_contain(entry.hash);
            if self.entries.iter().any(uncounted) {
                self.unhold_entries(uncounted, capacity);
            }
        }
        for entry in &other.entries {
            match self.find(entry.hash) {
                Ok(index) => self.entries[index].merge(entry),
                Err(slot) => match &mut self.unheld {
                    Some(unheld) => unheld.add(entry.hash, capacity),
                    None => self.insert(slot, entry.clone(), capacity),
                },
            }
        }
        self.total += other.total;
        if let Some(unheld) = &other.unheld {
            self.unheld.get_or_insert_default().merge(unheld, capacity);
        }
    }

    /// Prepares the counts for queries, once all values were added.
    pub(crate) fn settle(&mut self) {
        self.unheld.iter_mut().for_each(DistinctValues::settle);
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
        let (unheld, exact) = self.unheld.as_ref().map_or((0, true), DistinctValues::count);
        ((self.entries.len() as u64 + unheld).min(self.total), exact && !self.cut)
    }

    /// Returns whether every distinct value is held with its exact count.
    pub(crate) fn is_complete(&self) -> bool {
        self.unheld.is_none() && !self.cut
    }

    /// Returns whether all values differ; false if that is not certain.
    pub(crate) fn is_unique(&self) -> bool {
        self.total > 1 && self.distinct() == (self.total, true)
    }

    /// Returns whether nearly all values differ, as far as is known.
    pub(crate) fn is_nearly_unique(&self) -> bool {
        self.total > 1 && self.distinct().0 * 20 >= self.total * 19
    }

    /// Returns how often a value that is not held can occur at most.
    pub(crate) fn max_unheld_count(&self) -> u64 {
        let Some(unheld) = &self.unheld else { return 0 };
        let occurrences = self.total - self.entries.iter().map(|entry| entry.count).sum::<u64>();
        match unheld.count() {
            // All but one occur at least once.
            (count, true) => occurrences - count.saturating_sub(1),
            (_, false) => occurrences,
        }
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
    fn new(hash: u64, raw: &[u8], is_number: bool, first: u64) -> Self {
        let mut end = raw.len().min(MAX_VALUE_BYTES);
        while end > 0 && end < raw.len() && raw[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        Self {
            hash,
            count: 1,
            first,
            offsets: None,
            raw: raw[..end].into(),
            is_cut: end < raw.len(),
            is_number,
        }
    }

    #[inline]
    fn again(&mut self, at: u64) {
        if self.count <= MAX_FURTHER_OFFSETS as u64 {
            self.offsets.get_or_insert_default()[self.count as usize - 1] = at;
        } else if self.count == MAX_FURTHER_OFFSETS as u64 + 1 {
            // Now there are too many to name all.
            self.offsets = None;
        }
        self.count += 1;
    }

    /// Adds the occurrences of the same value in another field.
    fn merge(&mut self, other: &Self) {
        match other.offsets() {
            Some(offsets) => offsets.into_iter().for_each(|at| self.again(at)),
            None => {
                // Too many to know the offsets of all.
                self.count += other.count;
                self.offsets = None;
            }
        }
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
        String::from_utf8_lossy(&self.raw).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: impl Iterator<Item = String>) -> ValueCounts {
        let mut counts = ValueCounts::default();
        let mut capacity = 100_000;
        for (at, value) in values.enumerate() {
            counts.add(value.as_bytes(), at as u64, &mut capacity);
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
    fn identifiers_are_dropped_and_still_counted_as_distinct() {
        let unique = counts((0..50_000).map(|n| format!("id-{n}")));
        assert_eq!(unique.distinct(), (50_000, true));
        assert!(unique.is_unique() && unique.entries().is_empty());
        let repeated = counts((0..50_000).map(|n| format!("id-{}", if n == 49_999 { 7 } else { n })));
        assert_eq!(repeated.distinct(), (49_999, true));
        assert!(!repeated.is_unique() && repeated.is_nearly_unique());
        let many = counts((0..500_000).map(|n| format!("id-{n}")));
        let (distinct, exact) = many.distinct();
        assert!(!exact && (450_000..=500_000).contains(&distinct), "{distinct}");
        assert!(!many.is_unique() && many.is_nearly_unique(), "not certain");
    }

    #[test]
    fn many_values_keep_the_counts_of_those_held() {
        let counts = counts((0..40_000).map(|n| if n % 2 == 0 { "often".into() } else { format!("x{n}") }));
        assert!(!counts.is_complete());
        assert_eq!(counts.ranked()[0].count, 20_000);
        assert_eq!(counts.distinct(), (20_001, true));
        assert_eq!(counts.max_unheld_count(), 1);
    }

    #[test]
    fn a_value_that_comes_late_is_not_ruled_out() {
        let late = (0..9000).map(|n| format!("x{}", n / 2)).chain((0..100).map(|_| "late".into()));
        let counts = counts(late);
        assert!(counts.ranked().iter().all(|entry| entry.text() != "late"));
        assert!(counts.max_unheld_count() >= 100);
    }

    #[test]
    fn numbers_and_texts_differ_and_equal_numbers_do_not() {
        let mut counts = ValueCounts::default();
        let mut capacity = 100;
        for raw in ["1", "1.0", "2"] {
            counts.add_number(raw.as_bytes(), Number::parse(raw.as_bytes()).as_ref(), 0, &mut capacity);
        }
        counts.add(b"1", 0, &mut capacity);
        let counts: Vec<_> = counts.entries().iter().map(|e| (e.text(), e.is_number, e.count)).collect();
        assert_eq!(counts, [("1".into(), true, 2), ("2".into(), true, 1), ("1".into(), false, 1)]);
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

    #[test]
    fn merging_holds_no_value_with_occurrences_that_were_not_counted() {
        let identifier = || counts((0..1000).map(|n| format!("id-{n}")));
        let few = || counts(["id-3", "id-3", "other"].map(String::from).into_iter());
        let (mut one, mut two) = (identifier(), few());
        one.merge(&few(), &mut 10_000);
        two.merge(&identifier(), &mut 10_000);
        for merged in [&one, &two] {
            assert_eq!((merged.distinct(), merged.total()), ((1001, true), 1003));
            assert!(merged.entries().iter().all(|entry| entry.text() != "id-3"));
        }
    }
}
