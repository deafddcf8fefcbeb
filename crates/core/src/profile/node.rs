//! One place in the data: everything that stands under the same path, array positions left aside.

use serde::{Deserialize, Serialize};

use super::names::Names;
use super::number::{Number, NumberStats};
use super::tally::Tally;
use super::time;

/// Names a node of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u32);

/// How a node is reached from its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Root,
    /// A member of an object.
    Key(Box<str>),
    /// Any element of an array.
    Items,
    /// Any value of an object that is used as a map.
    Values,
    /// Members called so anywhere below the point where the profile stopped telling paths apart.
    Anywhere(Box<str>),
}

/// A child of an object, found by the raw text of its key.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(super) raw: Box<[u8]>,
    pub(crate) node: NodeId,
}

/// How many values of each type stand at a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Types {
    pub(crate) nulls: u64,
    pub(crate) trues: u64,
    pub(crate) falses: u64,
    pub(crate) numbers: u64,
    pub(crate) strings: u64,
    pub(crate) objects: u64,
    pub(crate) arrays: u64,
}

impl Types {
    pub(crate) fn bools(&self) -> u64 {
        self.trues + self.falses
    }

    pub(crate) fn scalars(&self) -> u64 {
        self.nulls + self.bools() + self.numbers + self.strings
    }

    pub(crate) fn containers(&self) -> u64 {
        self.objects + self.arrays
    }

    fn add(&mut self, other: &Self) {
        self.nulls += other.nulls;
        self.trues += other.trues;
        self.falses += other.falses;
        self.numbers += other.numbers;
        self.strings += other.strings;
        self.objects += other.objects;
        self.arrays += other.arrays;
    }
}

/// Lengths: of strings in characters, of arrays in elements, of objects in members.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lengths {
    pub(crate) count: u64,
    pub(crate) total: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// Where the first longest stands.
    pub(crate) max_at: u64,
    pub(crate) empty: u64,
}

impl Lengths {
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

    fn merge(&mut self, other: &Self) {
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

/// The earliest and the latest of the points in time at a node.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) count: u64,
    pub(crate) min: i64,
    pub(crate) max: i64,
    pub(crate) min_at: u64,
    pub(crate) max_at: u64,
    last: i64,
    rises: u64,
    falls: u64,
}

impl Times {
    /// Returns whether the times never go back, or never go on, and do move.
    pub(crate) fn is_sorted(&self) -> bool {
        self.count > 2 && (self.falls == 0) != (self.rises == 0)
    }

    #[inline]
    fn add(&mut self, seconds: i64, at: u64) {
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

    fn merge(&mut self, other: &Self) {
        if other.count > 0 {
            let count = self.count + other.count;
            self.add(other.min, other.min_at);
            self.add(other.max, other.max_at);
            // The earliest and the latest may be one and the same.
            self.count = count;
        }
    }
}

/// Offsets of every `stride`-th element of one container, so that any element is found by a short scan.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq)]
pub(crate) struct SparseIndex {
    offsets: Vec<u64>,
    stride: u64,
    pub(crate) count: u64,
}

const INDEX_ENTRIES: usize = 2048;

impl SparseIndex {
    #[inline]
    pub(crate) fn push(&mut self, offset: u64) {
        self.stride = self.stride.max(1);
        if self.count.is_multiple_of(self.stride) {
            if self.offsets.len() == INDEX_ENTRIES {
                self.offsets = self.offsets.iter().copied().step_by(2).collect();
                self.stride *= 2;
            }
            if self.count.is_multiple_of(self.stride) {
                self.offsets.push(offset);
            }
        }
        self.count += 1;
    }

    /// Returns the number and the offset of the last noted element at or before element `index`.
    pub(crate) fn before(&self, index: u64) -> Option<(u64, u64)> {
        let slot = (index / self.stride.max(1)).min(self.offsets.len().checked_sub(1)? as u64);
        Some((slot * self.stride, self.offsets[slot as usize]))
    }

    /// Returns the number and the offset of the last noted element that begins at or before `offset`.
    pub(crate) fn at_or_before(&self, offset: u64) -> Option<(u64, u64)> {
        let after = self.offsets.partition_point(|&start| start <= offset);
        let slot = after.checked_sub(1)?;
        Some((slot as u64 * self.stride, self.offsets[slot]))
    }
}

/// The longest list whose elements are told apart by position.
pub(crate) const TUPLE: usize = 4;

/// Statistics of the numbers at each position of short lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Positions {
    pub(crate) numbers: [NumberStats; TUPLE],
    /// Set once a list was longer, or held something else than numbers.
    pub(crate) broken: bool,
}

impl Positions {
    fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.numbers.iter_mut().zip(&other.numbers) {
            ours.merge(theirs);
        }
        self.broken |= other.broken;
    }
}

/// One place in the data.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) parent: Option<NodeId>,
    pub(crate) step: Step,
    pub(crate) types: Types,
    /// Bytes of all values that stand here.
    pub(crate) bytes: u64,
    /// Where the first and the last value stand.
    pub(crate) first_at: u64,
    pub(crate) last_at: u64,
    pub(crate) children: Vec<Child>,
    /// The elements, where arrays stand here.
    pub(crate) items: Option<NodeId>,
    /// The values, where objects stand here that are used as maps.
    pub(crate) values: Option<NodeId>,
    /// The keys of a map, with where their values stand.
    pub(crate) keys: Tally,
    pub(crate) numbers: Option<Box<NumberStats>>,
    pub(crate) lengths: Option<Box<Lengths>>,
    pub(crate) members: Option<Box<Lengths>>,
    pub(crate) times: Option<Box<Times>>,
    pub(crate) tally: Tally,
    /// What the values of an identifier have in common.
    pub(crate) names: Option<Box<Names>>,
    /// Statistics by position, where short lists of numbers stand here: points, vectors, pairs.
    pub(crate) positions: Option<Box<Positions>>,
    /// Elements of the one container that stands here; gone once a second one comes.
    pub(crate) index: Option<Box<SparseIndex>>,
    /// The object instance in which this key was seen last, to notice it a second time.
    pub(super) seen_in: u64,
    /// How often a key stood twice in one object, and where first.
    pub(crate) duplicates: u64,
    pub(crate) duplicate_at: u64,
    /// Whether this node has been merged away.
    pub(crate) gone: bool,
}

impl Node {
    pub(super) fn new(parent: Option<NodeId>, step: Step) -> Self {
        Self {
            parent,
            step,
            types: Types::default(),
            bytes: 0,
            first_at: u64::MAX,
            last_at: 0,
            children: Vec::new(),
            items: None,
            values: None,
            keys: Tally::default(),
            numbers: None,
            lengths: None,
            members: None,
            times: None,
            tally: Tally::default(),
            names: None,
            positions: None,
            index: None,
            seen_in: 0,
            duplicates: 0,
            duplicate_at: 0,
            gone: false,
        }
    }

    /// Returns how many values stand here.
    pub(crate) fn seen(&self) -> u64 {
        self.types.scalars() + self.types.containers()
    }

    #[inline]
    pub(super) fn note(&mut self, at: u64, bytes: u64) {
        self.first_at = self.first_at.min(at);
        self.last_at = at;
        self.bytes += bytes;
    }

    #[inline]
    pub(super) fn add_number(&mut self, raw: &[u8], at: u64, room: &mut usize) {
        self.note(at, raw.len() as u64);
        self.types.numbers += 1;
        if let Some(number) = Number::parse(raw) {
            self.numbers.get_or_insert_default().add(&number, at);
        }
        self.tally.add(raw, false, at, room);
    }

    #[inline]
    pub(super) fn add_string(&mut self, raw: &[u8], length: u64, escapes: bool, at: u64, room: &mut usize) {
        self.note(at, length + 2);
        self.types.strings += 1;
        self.lengths.get_or_insert_default().add(characters(raw, length, escapes), at);
        // A column of texts is not tried again and again: once a few values were no numbers, none will be.
        let tried = self.types.strings <= 8;
        if let Some(first) = raw.first() {
            let worth = |found: u64| tried || found * 2 > self.types.strings;
            if (first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'v' | b'$' | b'#'))
                && worth(self.numbers.as_ref().map_or(0, |numbers| numbers.count))
            {
                let digits = if matches!(first, b'v' | b'$' | b'#') { &raw[1..] } else { raw };
                if let Some(number) = Number::parse(digits) {
                    self.numbers.get_or_insert_default().add(&number, at);
                }
            }
            if raw.len() >= 10
                && worth(self.times.as_ref().map_or(0, |times| times.count))
                && let Some(seconds) = time::parse(raw)
            {
                self.times.get_or_insert_default().add(seconds, at);
            }
        }
        if self.tally.is_identifier()
            && let Some(names) = &mut self.names
        {
            names.add(raw, at, 1);
        }
        self.tally.add(raw, escapes, at, room);
        let let_go = self.tally.take_let_go();
        if !let_go.is_empty() {
            self.names = Names::of(&let_go).map(Box::new);
        }
    }

    /// Adds what another node saw; the children are the profile's business.
    pub(super) fn merge(&mut self, other: &Self, room: &mut usize) {
        self.types.add(&other.types);
        self.bytes += other.bytes;
        self.first_at = self.first_at.min(other.first_at);
        self.last_at = self.last_at.max(other.last_at);
        if let Some(numbers) = &other.numbers {
            self.numbers.get_or_insert_default().merge(numbers);
        }
        if let Some(lengths) = &other.lengths {
            self.lengths.get_or_insert_default().merge(lengths);
        }
        if let Some(members) = &other.members {
            self.members.get_or_insert_default().merge(members);
        }
        if let Some(times) = &other.times {
            self.times.get_or_insert_default().merge(times);
        }
        self.tally.merge(&other.tally, room);
        self.names = None;
        match (&mut self.positions, &other.positions) {
            (Some(ours), Some(theirs)) => ours.merge(theirs),
            (ours @ None, Some(theirs)) if self.types.arrays == other.types.arrays => {
                *ours = Some(theirs.clone());
            }
            _ => self.positions = None,
        }
        self.keys.merge(&other.keys, room);
        self.index = None;
        if other.duplicates > 0 && self.duplicates == 0 {
            self.duplicate_at = other.duplicate_at;
        }
        self.duplicates += other.duplicates;
    }
}

/// The number of characters of a string; of a long one its bytes, which escapes and accents make more.
#[inline]
fn characters(raw: &[u8], length: u64, escapes: bool) -> u64 {
    if raw.len() as u64 != length {
        return length;
    }
    if !escapes {
        return raw.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64;
    }
    let mut count = 0;
    let mut index = 0;
    while index < raw.len() {
        index += match raw[index] {
            b'\\' if raw.get(index + 1) == Some(&b'u') => 6,
            b'\\' => 2,
            _ => 1,
        };
        count += u64::from(raw.get(index).is_none_or(|byte| byte & 0xc0 != 0x80));
    }
    count
}
