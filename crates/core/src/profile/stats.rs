//! The small statistics of a node: counts by type, lengths, points in time, and numbers by position.
//!
//! Each takes one value at a time with its offset, and can be merged with that of another node when two paths turn
//! out to be one.

use super::number::NumberStats;

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
    }
}

/// The earliest and the latest of the points in time of a node.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TimeStats {
    pub(crate) count: u64,
    pub(crate) min: i64,
    pub(crate) max: i64,
    pub(crate) min_at: u64,
    pub(crate) max_at: u64,
    last: i64,
    rises: u64,
    falls: u64,
}

impl TimeStats {
    /// Returns whether the times only ever rise or only ever fall.
    pub(crate) fn is_sorted(&self) -> bool {
        self.count > 2 && (self.falls == 0) != (self.rises == 0)
    }

    #[inline]
    pub(super) fn add(&mut self, seconds: i64, at: u64) {
        if self.count > 0 {
            self.rises += u64::from(seconds > self.last);
            self.falls += u64::from(seconds < self.last);
        }
        self.last = seconds;
        if self.count == 0 || seconds < self.min {
            (self.min, self.min_at) = (seconds, at);
        }
        if self.count == 0 || seconds > self.max {
            (self.max, self.max_at) = (seconds, at);
        }
        self.count += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if other.count > 0 {
            let count = self.count + other.count;
            self.add(other.min, other.min_at);
            self.add(other.max, other.max_at);
            // The two calls above counted two values, however many there were.
            self.count = count;
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
