//! The small statistics of a node: counts by type, lengths, points in time, and numbers by position.
//!
//! Each takes one value at a time with its offset, and can be merged with that of another node when two paths turn
//! out to be one.

use super::number::NumberStats;
use super::time::Time;
use super::trend::Trend;

/// How many values of each type a node has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TypeCounts {
    pub(crate) nulls: u64,
    pub(crate) trues: u64,
    pub(crate) falses: u64,
    pub(crate) numbers: u64,
    pub(crate) strings: u64,
    pub(crate) objects: u64,
    pub(crate) arrays: u64,
}

impl TypeCounts {
    pub(crate) fn bools(&self) -> u64 {
        self.trues + self.falses
    }

    pub(crate) fn scalars(&self) -> u64 {
        self.nulls + self.bools() + self.numbers + self.strings
    }

    pub(crate) fn containers(&self) -> u64 {
        self.objects + self.arrays
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.nulls += other.nulls;
        self.trues += other.trues;
        self.falses += other.falses;
        self.numbers += other.numbers;
        self.strings += other.strings;
        self.objects += other.objects;
        self.arrays += other.arrays;
    }
}

/// Statistics of lengths: of strings in characters, of arrays in elements, of objects in members.
#[derive(Debug, Clone, Default)]
pub(crate) struct LengthStats {
    pub(crate) count: u64,
    pub(crate) total: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// The offset of the first of the longest.
    pub(crate) max_at: u64,
    pub(crate) empty: u64,
    /// Whether some length is only an upper bound.
    pub(crate) rounded: bool,
}

impl LengthStats {
    #[inline]
    pub(crate) fn add(&mut self, length: u64, at: u64) {
        if self.count == 0 || length < self.min {
            self.min = length;
        }
        if self.count == 0 || length > self.max {
            (self.max, self.max_at) = (length, at);
        }
        self.count += 1;
        self.total += length;
        self.empty += u64::from(length == 0);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 || other.max > self.max {
            (self.max, self.max_at) = (other.max, other.max_at);
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.count += other.count;
        self.total += other.total;
        self.empty += other.empty;
        self.rounded |= other.rounded;
    }
}

/// The earliest and the latest of the points in time of a node, as written.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeStats {
    pub(crate) count: u64,
    pub(crate) min: KeptTime,
    pub(crate) max: KeptTime,
    trend: Trend,
    last: Time,
}

/// A point in time that is kept as written.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptTime {
    time: Time,
    raw: Vec<u8>,
}

impl KeptTime {
    fn set(&mut self, time: Time, raw: &[u8]) {
        self.time = time;
        self.raw.clear();
        self.raw.extend_from_slice(raw);
    }

    /// Returns the time as written.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }
}

impl TimeStats {
    /// Returns whether the times only ever rise or only ever fall.
    pub(crate) fn is_sorted(&self) -> bool {
        self.trend.is_sorted(self.count)
    }

    #[inline]
    pub(super) fn add(&mut self, time: Time, raw: &[u8]) {
        if self.count > 0 {
            self.trend.note(time.cmp(&self.last));
        }
        self.last = time;
        if self.count == 0 || time < self.min.time {
            self.min.set(time, raw);
        }
        if self.count == 0 || time > self.max.time {
            self.max.set(time, raw);
        }
        self.count += 1;
    }

    /// Forgets the order of the times.
    pub(super) fn forget_order(&mut self) {
        self.trend.forget();
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if other.count > 0 {
            let count = self.count + other.count;
            self.add(other.min.time, &other.min.raw);
            self.add(other.max.time, &other.max.raw);
            // The two calls above counted two values, however many there were.
            self.count = count;
            self.trend.forget();
        }
    }
}

/// The longest list whose elements get statistics by position.
pub(crate) const MAX_TUPLE_LENGTH: usize = 4;

/// Statistics of the numbers at each position of short lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct PositionStats {
    pub(crate) numbers: [NumberStats; MAX_TUPLE_LENGTH],
    /// Set once a list was longer than [`MAX_TUPLE_LENGTH`].
    pub(crate) broken: bool,
}

impl PositionStats {
    pub(super) fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.numbers.iter_mut().zip(&other.numbers) {
            ours.merge(theirs);
        }
        self.broken |= other.broken;
    }
}
