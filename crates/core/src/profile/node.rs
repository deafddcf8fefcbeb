//! A node of a profile: the statistics of all values at one path, array positions ignored.
//!
//! [`ProfileBuilder`](super::ProfileBuilder) owns the nodes and links them; a node only counts. Its memory is bounded:
//! the distinct values it may hold come out of a capacity that all nodes share.

use super::lists::{HeldRow, RowForm};
use super::name_parts::NameParts;
use super::number::{KeptMarks, Number, NumberMarks, NumberStats};
use super::stats::{LengthStats, PositionStats, TimeStats, TypeCounts};
use super::time;
use super::value_counts::ValueCounts;

pub(crate) use super::sparse_index::SparseIndex;

/// Identifies a node of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u32);

/// How a node is reached from its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathStep {
    Root,
    /// A member of an object.
    Key(Box<str>),
    /// Any element of an array.
    Items,
    /// The element at a position of lists inside lists.
    Position(u32),
    /// The records that an object of equally long lists holds: one per position of the lists.
    Rows,
    /// Any value of an object that is used as a map.
    Values,
    /// A member of this name at any path, where the profile had no nodes left for separate paths.
    Anywhere(Box<str>),
}

/// A child of an object, found by its key.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    /// The key without escapes.
    pub(super) key: Box<[u8]>,
    /// Whether the key is also written like this: none of its bytes needs an escape.
    pub(super) is_plain: bool,
    pub(crate) node: NodeId,
}

impl Child {
    pub(super) fn new(key: &[u8], node: NodeId) -> Self {
        let is_plain = !key.iter().any(|byte| matches!(byte, b'"' | b'\'' | b'\\'));
        Self { key: key.into(), is_plain, node }
    }
}

/// The statistics of all values at one path.
#[derive(Debug, Clone)]
pub(crate) struct PathNode {
    pub(crate) parent: Option<NodeId>,
    pub(crate) step: PathStep,
    pub(crate) types: TypeCounts,
    /// The bytes of all values.
    pub(crate) bytes: u64,
    /// The offsets of the first and the last value.
    pub(crate) first_at: u64,
    pub(crate) last_at: u64,
    pub(crate) children: Vec<Child>,
    /// The node of the elements, where values are arrays; that of the records of an object of equally long lists.
    pub(crate) items: Option<NodeId>,
    /// The nodes of the elements by position, where values are lists inside lists.
    pub(crate) columns: Vec<NodeId>,
    /// Whether elements go to `columns` rather than to `items`.
    pub(super) by_position: bool,
    /// The first list inside this list, until it is known whether it is a header row.
    pub(super) held: Option<Box<HeldRow>>,
    /// How the records of this list get their columns, where they are not objects.
    pub(crate) rows: Option<Box<RowForm>>,
    /// The node of the members, where values are objects used as maps.
    pub(crate) values: Option<NodeId>,
    /// The keys of a map.
    pub(crate) keys: ValueCounts,
    /// Whether the keys of the map are `0`, `1`, `2` and so on, so that it is a list.
    pub(super) numbered: bool,
    pub(crate) numbers: Option<Box<NumberStats>>,
    pub(crate) lengths: Option<Box<LengthStats>>,
    pub(crate) members: Option<Box<LengthStats>>,
    pub(crate) times: Option<Box<TimeStats>>,
    pub(crate) counts: ValueCounts,
    /// How many of the strings are numbers, which `numbers` counts, too.
    pub(crate) numeric_strings: u64,
    /// What these strings have beside the number: `$`, ` ms`. A number with other marks is not counted.
    pub(crate) marks: Option<Box<KeptMarks>>,
    /// What the values have in common, where the field is an identifier.
    pub(crate) names: Option<Box<NameParts>>,
    /// Statistics by position, where values are short lists of numbers: points, vectors, pairs.
    pub(crate) positions: Option<Box<PositionStats>>,
    /// The elements of the only container at this path; `None` once there is a second one.
    pub(crate) index: Option<Box<SparseIndex>>,
    /// The object in which this key was last seen, to notice a duplicate key.
    pub(super) seen_in: u64,
    /// How often one object had this key twice, and the offset of the first such duplicate.
    pub(crate) duplicates: u64,
    pub(crate) duplicate_at: u64,
    /// Whether this node has been merged into another.
    pub(crate) gone: bool,
}

/// Returns the number of characters of a text.
#[inline]
fn characters_in(text: &[u8]) -> u64 {
    let is_first = |byte: &&u8| **byte & 0xc0 != 0x80;
    let count = if text.is_ascii() { text.len() } else { text.iter().filter(is_first).count() };
    count as u64
}

impl PathNode {
    pub(super) fn new(parent: Option<NodeId>, step: PathStep) -> Self {
        Self {
            parent,
            step,
            types: TypeCounts::default(),
            bytes: 0,
            first_at: u64::MAX,
            last_at: 0,
            children: Vec::new(),
            items: None,
            columns: Vec::new(),
            by_position: false,
            held: None,
            rows: None,
            values: None,
            keys: ValueCounts::default(),
            numbered: false,
            numbers: None,
            lengths: None,
            members: None,
            times: None,
            counts: ValueCounts::default(),
            numeric_strings: 0,
            marks: None,
            names: None,
            positions: None,
            index: None,
            seen_in: 0,
            duplicates: 0,
            duplicate_at: 0,
            gone: false,
        }
    }

    /// Returns how many values there are at this path.
    pub(crate) fn seen(&self) -> u64 {
        self.types.scalars() + self.types.containers()
    }

    /// Returns the node of the elements of a list, or of the values of a map.
    pub(super) fn elements(&self) -> Option<NodeId> {
        if self.types.arrays > 0 { self.items } else { self.values }
    }

    #[inline]
    pub(super) fn note(&mut self, at: u64, bytes: u64) {
        self.first_at = self.first_at.min(at);
        self.last_at = at;
        self.bytes += bytes;
    }

    #[inline]
    pub(super) fn add_number(&mut self, raw: &[u8], at: u64, capacity: &mut usize) {
        self.note(at, raw.len() as u64);
        self.types.numbers += 1;
        let number = Number::parse(raw);
        if let Some(number) = &number {
            self.numbers.get_or_insert_default().add(number, at);
        }
        self.counts.add_number(raw, number.as_ref(), at, capacity);
    }

    /// Adds a string without escapes; `length` is that of the whole, of which `text` may be only the beginning.
    #[inline]
    pub(super) fn add_string(&mut self, text: &[u8], length: u64, at: u64, capacity: &mut usize) {
        self.types.strings += 1;
        if text.len() as u64 != length {
            return self.add_long_string(text, length, at, capacity);
        }
        self.lengths.get_or_insert_default().add(characters_in(text), at);
        let (digits, marks) = NumberMarks::split(text);
        if let Some(number) = Number::parse(digits)
            && self.counts_numbers_with(marks)
        {
            self.numbers.get_or_insert_default().add(&number.written(text), at);
            self.numeric_strings += 1;
        }
        if let Some(time) = time::parse(text) {
            self.times.get_or_insert_default().add(time, text);
        }
        if self.counts.is_identifier()
            && let Some(names) = &mut self.names
        {
            names.add(text, at, 1);
        }
        self.counts.add(text, at, capacity);
        let values = self.counts.take_identifier_values();
        if !values.is_empty() {
            self.names = NameParts::of(&values).map(Box::new);
        }
    }

    /// Returns whether numbers with these marks are counted: those of the first number, or of the second if the first is alone
    /// with its own.
    #[inline]
    fn counts_numbers_with(&mut self, marks: NumberMarks<'_>) -> bool {
        let is_plain = self.marks.is_none() && marks.before.is_empty() && marks.after.is_empty();
        if is_plain || self.numbers.is_some() && marks == KeptMarks::of(&self.marks) {
            return true;
        }
        let counted = self.numbers.as_ref().map_or(0, |numbers| numbers.count);
        if counted == 0 || counted == 1 && self.numeric_strings == 1 {
            (self.numbers, self.numeric_strings) = (None, 0);
            self.marks = KeptMarks::keep(marks);
            return true;
        }
        false
    }

    /// Returns whether a text is one of the numbers that are counted.
    pub(crate) fn counts_as_number(&self, text: &[u8]) -> bool {
        Number::parse_text(text).is_some_and(|(_, marks)| marks == KeptMarks::of(&self.marks))
    }

    /// Adds a string that is too long to be read whole.
    #[cold]
    fn add_long_string(&mut self, head: &[u8], length: u64, at: u64, capacity: &mut usize) {
        let lengths = self.lengths.get_or_insert_default();
        lengths.add(length, at);
        lengths.rounded = true;
        self.counts.add_cut(head, length, at, capacity);
        // The end of the name is not known.
        self.counts.take_identifier_values();
        self.names = None;
    }

    /// Corrects what depends on the order of the values after the first of them, a text at offset `at`, was added last.
    pub(super) fn came_late(&mut self, text: &[u8], at: u64) {
        if let Some(numbers) = &mut self.numbers
            && Number::parse_text(text).is_some_and(|(_, marks)| marks == KeptMarks::of(&self.marks))
        {
            numbers.forget_order(at);
        }
        if let Some(times) = &mut self.times {
            times.forget_order();
        }
    }

    /// Adds the statistics of another node; the caller merges the children.
    pub(super) fn merge(&mut self, other: &Self, capacity: &mut usize) {
        self.types.add(&other.types);
        self.bytes += other.bytes;
        self.first_at = self.first_at.min(other.first_at);
        self.last_at = self.last_at.max(other.last_at);
        let same_marks = self.marks == other.marks || self.numbers.is_none() || other.numbers.is_none();
        if let Some(numbers) = other.numbers.as_ref().filter(|_| same_marks) {
            self.numbers.get_or_insert_default().merge(numbers);
            self.marks = self.marks.take().or_else(|| other.marks.clone());
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
        self.counts.merge(&other.counts, capacity);
        self.numeric_strings += other.numeric_strings;
        if !same_marks {
            (self.numbers, self.numeric_strings, self.marks) = (None, 0, None);
        }
        self.names = None;
        match (&mut self.positions, &other.positions) {
            (Some(ours), Some(theirs)) => ours.merge(theirs),
            (ours @ None, Some(theirs)) if self.types.arrays == other.types.arrays => {
                *ours = Some(theirs.clone());
            }
            _ => self.positions = None,
        }
        self.keys.merge(&other.keys, capacity);
        self.index = None;
        if other.duplicates > 0 && self.duplicates == 0 {
            self.duplicate_at = other.duplicate_at;
        }
        self.duplicates += other.duplicates;
    }
}
