//! Group counts: how often each value of a field occurs, as long as the distinct values are few enough to hold.
//!
//! Two ways out keep it bounded. A field whose first [`IDENTIFIER`] values are all different is an identifier: its
//! values are let go and only an estimate of their number is kept. A field with more than [`MOST`] distinct
//! values stops taking in new ones; the counts of those it holds stay exact, the number of distinct values
//! becomes an estimate, labelled so.

use crate::hash;

/// When all of so many first values differ, the field is taken for an identifier.
const IDENTIFIER: usize = 512;
/// The most distinct values held for one field.
const MOST: usize = 4096;
/// After the first, so many places of a value are kept: enough to name all records of a rare one.
const PLACES: usize = 5;
/// Bytes kept of one value.
const VALUE_BYTES: usize = 160;

/// One distinct value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    hash: u64,
    pub(crate) count: u64,
    /// Where it stands first.
    pub(crate) first: u64,
    /// Where it stands the next few times.
    places: Option<Box<[u64; PLACES]>>,
    /// The raw value, perhaps cut.
    pub(crate) raw: Box<[u8]>,
    pub(crate) escapes: bool,
}

/// Group counts of one field.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// Index + 1 of the entry, by hash.
    slots: Vec<u32>,
    entries: Vec<Entry>,
    total: u64,
    sketch: Option<Box<Sketch>>,
    identifier: bool,
    /// The values let go when the field turned out to be an identifier, until they are taken.
    let_go: Vec<Entry>,
}

impl Tally {
    /// Counts a value; `room` is how many more distinct values may be held over all fields.
    #[inline]
    pub(crate) fn add(&mut self, raw: &[u8], escapes: bool, at: u64, room: &mut usize) {
        self.add_hashed(hash::bytes(raw), raw, escapes, at, room);
    }

    /// Counts a value that occurs `count` times, first at `at`.
    pub(crate) fn add_many(&mut self, raw: &[u8], at: u64, count: u64, room: &mut usize) {
        let hash = hash::bytes(raw);
        self.add_hashed(hash, raw, false, at, room);
        self.total += count - 1;
        if let Ok(index) = self.find(hash) {
            self.entries[index].count += count - 1;
        }
    }

    #[inline]
    fn add_hashed(&mut self, hash: u64, raw: &[u8], escapes: bool, at: u64, room: &mut usize) {
        self.total += 1;
        if self.identifier {
            if let Some(sketch) = &mut self.sketch {
                sketch.add(hash);
            }
            return;
        }
        match self.find(hash) {
            Ok(index) => self.entries[index].again(at),
            Err(slot) => self.insert(slot, Entry::new(hash, raw, escapes, at), room),
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

    fn insert(&mut self, slot: usize, entry: Entry, room: &mut usize) {
        if let Some(sketch) = &mut self.sketch {
            sketch.add(entry.hash);
            return;
        }
        if self.entries.len() == MOST || *room == 0 {
            self.start_sketch(entry.hash);
            return;
        }
        *room -= 1;
        self.entries.push(entry);
        if self.entries.len() * 2 > self.slots.len() {
            self.rehash();
        } else {
            self.slots[slot] = self.entries.len() as u32;
        }
        if self.entries.len() == IDENTIFIER && self.total == IDENTIFIER as u64 {
            self.start_sketch(0);
            self.identifier = true;
            *room += self.entries.len();
            self.let_go = std::mem::take(&mut self.entries);
            self.slots = Vec::new();
        }
    }

    fn start_sketch(&mut self, hash: u64) {
        let mut sketch = Box::<Sketch>::default();
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

    /// Adds the counts of another tally.
    pub(crate) fn merge(&mut self, other: &Self, room: &mut usize) {
        for entry in &other.entries {
            let before = self.total;
            self.add_hashed(entry.hash, &entry.raw, entry.escapes, entry.first, room);
            self.total = before + entry.count;
            if let Ok(index) = self.find(entry.hash) {
                let held = &mut self.entries[index];
                let rest = entry.places().map(|places| places[1..].to_vec());
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

    /// Returns whether the field is an identifier, whose values are not held.
    #[inline]
    pub(crate) fn is_identifier(&self) -> bool {
        self.identifier
    }

    /// Takes the values that were let go when the field turned out to be an identifier.
    #[inline]
    pub(crate) fn take_let_go(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.let_go)
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

    /// Returns whether every value that occurs is held with its exact count.
    pub(crate) fn is_complete(&self) -> bool {
        self.sketch.is_none()
    }

    /// Returns whether all values differ, as far as is known.
    pub(crate) fn is_unique(&self) -> bool {
        let (distinct, exact) = self.distinct();
        self.total > 1 && if exact { distinct == self.total } else { distinct * 20 >= self.total * 19 }
    }

    /// Returns the values held, in order of first appearance.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the values held, most frequent first, equals in order of appearance.
    pub(crate) fn ranked(&self) -> Vec<&Entry> {
        let mut ranked: Vec<&Entry> = self.entries.iter().collect();
        ranked.sort_by_key(|entry| std::cmp::Reverse(entry.count));
        ranked
    }
}

impl Entry {
    fn new(hash: u64, raw: &[u8], escapes: bool, first: u64) -> Self {
        let mut end = raw.len().min(VALUE_BYTES);
        while end > 0 && end < raw.len() && raw[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        Self { hash, count: 1, first, places: None, raw: raw[..end].into(), escapes }
    }

    #[inline]
    fn again(&mut self, at: u64) {
        if self.count <= PLACES as u64 {
            self.places.get_or_insert_default()[self.count as usize - 1] = at;
        }
        self.count += 1;
    }

    /// Returns where the value stands, if it is rare enough for all places to be known.
    pub(crate) fn places(&self) -> Option<Vec<u64>> {
        if self.count > PLACES as u64 + 1 {
            return None;
        }
        let mut places = vec![self.first];
        if let Some(more) = &self.places {
            places.extend(&more[..self.count as usize - 1]);
        }
        (places.len() as u64 == self.count).then_some(places)
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

const REGISTERS_LOG2: u32 = 11;
const REGISTERS: usize = 1 << REGISTERS_LOG2;

/// A HyperLogLog sketch: the number of distinct values within about three percent, in 2 KB.
#[derive(Debug, Clone)]
struct Sketch {
    registers: [u8; REGISTERS],
}

impl Default for Sketch {
    fn default() -> Self {
        Self { registers: [0; REGISTERS] }
    }
}

impl Sketch {
    #[inline]
    fn add(&mut self, hash: u64) {
        let register = (hash >> (64 - REGISTERS_LOG2)) as usize;
        let rank = ((hash << REGISTERS_LOG2) | 1).leading_zeros() as u8 + 1;
        let held = &mut self.registers[register];
        *held = (*held).max(rank);
    }

    fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *ours = (*ours).max(*theirs);
        }
    }

    fn estimate(&self) -> u64 {
        let count = REGISTERS as f64;
        // A power of two is its exponent.
        let power = |rank: u8| f64::from_bits(u64::from(1023 - u16::from(rank)) << 52);
        let sum: f64 = self.registers.iter().map(|&rank| power(rank)).sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / sum;
        let empty = self.registers.iter().filter(|&&rank| rank == 0).count();
        let estimate = if raw < 2.5 * count && empty > 0 { count * (count / empty as f64).ln() } else { raw };
        estimate.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(values: impl Iterator<Item = String>) -> Tally {
        let mut tally = Tally::default();
        let mut room = 100_000;
        for (at, value) in values.enumerate() {
            tally.add(value.as_bytes(), false, at as u64, &mut room);
        }
        tally
    }

    #[test]
    fn few_values_are_counted_exactly() {
        let tally = tally((0..10_000).map(|n| format!("v{}", n % 7)));
        assert_eq!(tally.distinct(), (7, true));
        assert_eq!(tally.ranked()[0].count, 1429);
        assert!(!tally.is_unique());
    }

    #[test]
    fn identifiers_are_let_go_and_estimated() {
        let tally = tally((0..50_000).map(|n| format!("id-{n}")));
        let (distinct, exact) = tally.distinct();
        assert!(!exact && (47_500..52_500).contains(&distinct), "{distinct}");
        assert!(tally.is_unique() && tally.entries().is_empty());
    }

    #[test]
    fn many_values_keep_the_counts_of_those_held() {
        let tally = tally((0..40_000).map(|n| if n % 2 == 0 { "often".into() } else { format!("x{n}") }));
        assert!(!tally.is_complete());
        assert_eq!(tally.ranked()[0].count, 20_000);
        let (distinct, _) = tally.distinct();
        assert!((19_000..21_000).contains(&distinct), "{distinct}");
    }

    #[test]
    fn merging_adds_counts() {
        let mut one = tally(["a", "b", "a"].map(String::from).into_iter());
        let two = tally(["b", "c", "b"].map(String::from).into_iter());
        one.merge(&two, &mut 100);
        let counts: Vec<_> = one.ranked().iter().map(|entry| (entry.text(), entry.count)).collect();
        assert_eq!(counts, [("b".into(), 3), ("a".into(), 2), ("c".into(), 1)]);
        assert_eq!(one.total(), 6);
    }
}
