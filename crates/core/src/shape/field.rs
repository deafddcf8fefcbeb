//! The fields of records: what kind of field each is, and how useful its statistics are.
//!
//! The kind decides which statistics are shown, the score in which order; both follow from the profile alone, so that
//! the same data always gives the same overview.

use crate::profile::node::PathNode;
use crate::profile::number::NumberStats;
use crate::profile::stats::MAX_TUPLE_LENGTH;
use crate::profile::{DataProfile, NodeId, PathStep};

/// What kind of field it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// Always null.
    Empty,
    /// One value throughout.
    Constant,
    /// Values that repeat; they are counted.
    Category,
    Bool,
    Number,
    Time,
    /// Different in every record, and short.
    Identifier,
    /// Free text.
    Text,
    /// A list; its length is the statistic.
    List,
    /// An object used as a map; its keys are the statistic.
    Map,
    /// An object that not every record has.
    Object,
}

/// One field of the records.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) node: NodeId,
    /// The position, if the field is one position of short lists of numbers, such as the first of each pair.
    pub(crate) position: Option<usize>,
    /// The path from the record.
    pub(crate) path: String,
    pub(crate) kind: FieldKind,
    /// How many values there would be if every object had this field.
    pub(crate) expected: u64,
    /// How useful its statistics are.
    pub(crate) score: f64,
    /// Whether each record has at most one value here.
    pub(crate) single: bool,
    /// How many objects with several members lie between the record and this field.
    pub(crate) depth: usize,
}

impl Field {
    /// Returns the statistics of its numbers.
    pub(crate) fn numbers<'n>(&self, node: &'n PathNode) -> Option<&'n NumberStats> {
        match self.position {
            Some(position) => node.positions.as_ref().map(|positions| &positions.numbers[position]),
            None => node.numbers.as_deref(),
        }
    }

    /// Returns whether it says how severe a record is, or how it ended.
    pub(crate) fn is_severity(&self) -> bool {
        let name = self.name();
        SEVERITY_NAMES.iter().any(|word| name.contains(word))
    }

    /// Returns whether its values are addresses, hashes or the like, by which a reader does not tell records apart.
    pub(crate) fn is_address(&self, node: &PathNode) -> bool {
        let entries = node.counts.entries();
        let links = entries.iter().take(20).filter(|entry| entry.text().contains("://")).count();
        self.has_useless_name() || links > 0 && links * 2 >= entries.len().min(20)
    }

    /// Returns whether a word of its name says that it holds addresses or hashes. A word is more than a part: `shared`
    /// does not contain the word `sha`.
    fn has_useless_name(&self) -> bool {
        words(self.last_step()).any(|word| USELESS_NAMES.contains(&word.as_str()))
    }

    /// Returns the last part of its path in lower case.
    pub(crate) fn name(&self) -> String {
        self.last_step().to_lowercase()
    }

    fn last_step(&self) -> &str {
        let path = self.path.trim_end_matches(|c: char| c == '[' || c == ']' || c.is_ascii_digit());
        let path = if path.is_empty() { &self.path } else { path };
        path.trim_end_matches('"').rsplit(['.', ']', '"']).next().unwrap_or(path)
    }
}

/// Returns the words of a name in lower case: `avatarUrl` and `avatar_url` have two.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for character in name.chars() {
        let starts = character.is_uppercase() && !before.is_uppercase() || !character.is_alphanumeric();
        if starts {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
        before = character;
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// The maximum depth at which fields are collected, which is that of the paths of a profile.
const MAX_FIELD_DEPTH: usize = 48;

/// Lists the fields below a record node, in order.
pub(crate) fn fields(profile: &DataProfile, record: NodeId) -> Vec<Field> {
    let mut collector = FieldCollector { profile, record, fields: Vec::new() };
    let node = profile.node(record);
    if node.types.scalars() > 0 || node.types.arrays > 0 {
        collector.add(record, node.seen(), true, 0);
    }
    collector.walk(record, true, 0, 0);
    collector.fields
}

struct FieldCollector<'p> {
    profile: &'p DataProfile,
    record: NodeId,
    fields: Vec<Field>,
}

impl FieldCollector<'_> {
    fn walk(&mut self, at: NodeId, single: bool, field_depth: usize, depth: usize) {
        // The statistics of lists of lists of lists stop at the third level.
        if depth > MAX_FIELD_DEPTH || self.profile.path(self.record, at).ends_with("[][][]") {
            return;
        }
        let profile = self.profile;
        let objects = profile.node(at).types.objects;
        let branching = usize::from(depth > 0 && profile.children(at).count() > 1);
        for (id, child) in profile.children(at) {
            let keyed = matches!(child.step, PathStep::Key(_));
            let expected = if keyed { objects } else { child.seen() };
            self.add(id, expected, single && keyed, field_depth + branching);
            self.walk(id, single && keyed, field_depth + branching, depth + 1);
        }
    }

    fn add(&mut self, id: NodeId, expected: u64, single: bool, depth: usize) {
        let node = self.profile.node(id);
        // The elements of a tuple have been added already, one field per position.
        let in_tuple = node.parent.is_some_and(|parent| is_tuple(self.profile.node(parent)))
            && node.step == PathStep::Items;
        let Some(kind) = kind_of(node, expected).filter(|_| !in_tuple) else { return };
        let path = self.profile.path(self.record, id);
        let mut field = Field { node: id, position: None, path, kind, expected, score: 0.0, single, depth };
        field.score = score(&field, node);
        let positions =
            if is_tuple(node) { node.members.as_ref().map_or(0, |members| members.max) as usize } else { 0 };
        for position in 0..positions {
            let mut element = Field {
                position: Some(position),
                path: format!("{}[{position}]", field.path),
                kind: FieldKind::Number,
                ..field.clone()
            };
            element.score = score(&element, node);
            self.fields.push(element);
        }
        if positions == 0 || node.members.as_ref().is_some_and(|members| members.min != members.max) {
            self.fields.push(field);
        }
    }
}

/// Returns whether the values of a node are lists of a few numbers.
fn is_tuple(node: &PathNode) -> bool {
    let lengths = node.members.as_ref().map_or((0, 0), |members| (members.min, members.max));
    let numbers = node.positions.as_ref().filter(|positions| !positions.broken);
    let counted =
        numbers.map_or(0, |positions| positions.numbers.iter().map(|numbers| numbers.count).sum::<u64>());
    node.types.arrays > 1
        && (1..=MAX_TUPLE_LENGTH as u64).contains(&lengths.1)
        && node.members.as_ref().is_some_and(|members| members.total == counted && counted > 0)
}

fn kind_of(node: &PathNode, expected: u64) -> Option<FieldKind> {
    let types = &node.types;
    if types.scalars() == 0 || types.containers() > types.scalars() - types.nulls {
        if types.arrays > 0 {
            return Some(FieldKind::List);
        }
        if node.values.is_some() {
            return Some(FieldKind::Map);
        }
        let optional = types.objects > 0 && types.objects < expected;
        return optional.then_some(FieldKind::Object);
    }
    if types.nulls == types.scalars() {
        return Some(FieldKind::Empty);
    }
    if types.bools() * 2 > types.scalars() - types.nulls {
        return Some(FieldKind::Bool);
    }
    Some(kind_of_values(node, expected))
}

fn kind_of_values(node: &PathNode, expected: u64) -> FieldKind {
    let values = node.types.strings + node.types.numbers;
    let (distinct, exact) = node.counts.distinct();
    if distinct == 1 && exact && values > 1 {
        return if values >= expected { FieldKind::Constant } else { FieldKind::Category };
    }
    if node.times.as_ref().is_some_and(|times| times.count * 10 >= values * 9) {
        return FieldKind::Time;
    }
    let empty = node.lengths.as_ref().map_or(0, |lengths| lengths.empty);
    let numeric = node
        .numbers
        .as_ref()
        .filter(|numbers| numbers.count * 10 >= (values - empty) * 9 && numbers.count * 2 > values);
    // Integers this large are identifiers rather than quantities.
    let large = |numbers: &NumberStats| numbers.max.value > 9e15 && numbers.integers == numbers.count;
    if numeric.is_some_and(|numbers| !large(numbers)) {
        return FieldKind::Number;
    }
    if node.counts.is_complete() && distinct * 2 <= values {
        return FieldKind::Category;
    }
    let mean = node.lengths.as_ref().map_or(0, |lengths| lengths.total / lengths.count.max(1));
    if mean <= 80 && node.counts.is_nearly_unique() {
        return FieldKind::Identifier;
    }
    if numeric.is_some() {
        return FieldKind::Number;
    }
    // Values that repeat are worth counting even if there are many distinct ones.
    let repeats = node.counts.entries().iter().map(|entry| entry.count).max().unwrap_or(0) >= 3;
    if mean <= 80 && repeats { FieldKind::Category } else { FieldKind::Text }
}

/// Words in a field's name that make its statistics likely to be useful.
const USEFUL_NAMES: &[&str] = &[
    "status",
    "state",
    "type",
    "kind",
    "category",
    "level",
    "severity",
    "priority",
    "result",
    "outcome",
    "reason",
    "success",
    "error",
    "fail",
    "warning",
    "conclusion",
    "license",
    "language",
    "country",
    "region",
    "role",
    "author",
    "owner",
    "total",
    "amount",
    "cost",
    "price",
    "count",
    "size",
    "score",
    "rate",
    "mag",
    "weight",
    "value",
    "duration",
    "bytes",
    "code",
    "method",
    "label",
    "tag",
    "namespace",
    "group",
    "service",
    "version",
    "rule",
    "alert",
    "color",
    "colour",
];

/// Parts of the names of fields that say how severe a record is, or how it ended.
const SEVERITY_NAMES: &[&str] = &[
    "severity",
    "level",
    "status",
    "state",
    "result",
    "outcome",
    "conclusion",
    "phase",
    "health",
    "priority",
    "impact",
    "verdict",
    "lvl",
    "score",
    "grade",
    "rating",
];

/// Words in the names of numbers that say where something is; their smallest and largest values say little.
const POSITION_NAMES: &[&str] = &[
    "line", "lines", "column", "col", "row", "offset", "start", "end", "index", "pos", "position", "x", "y",
    "sort", "order",
];

/// Words in a field's name that make its statistics useless.
const USELESS_NAMES: &[&str] = &[
    "url",
    "href",
    "uri",
    "urls",
    "link",
    "links",
    "avatar",
    "gravatar",
    "icon",
    "thumbnail",
    "sha",
    "sha1",
    "sha256",
    "md5",
    "hash",
    "digest",
    "etag",
    "token",
    "uuid",
    "guid",
    "uid",
    "checksum",
    "signature",
    "nonce",
];

fn score(field: &Field, node: &PathNode) -> f64 {
    let (distinct, _) = node.counts.distinct();
    let base = match field.kind {
        FieldKind::Category => 100.0 - (distinct as f64).ln() * 6.0,
        FieldKind::Number => 84.0,
        FieldKind::Time => 82.0,
        FieldKind::Bool => 64.0,
        FieldKind::List | FieldKind::Map => 66.0,
        FieldKind::Object => 40.0,
        FieldKind::Constant => 48.0,
        FieldKind::Text => 32.0,
        FieldKind::Identifier => 30.0,
        FieldKind::Empty => 8.0,
    };
    let name = field.name();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let hint = if field.has_useless_name() {
        -30.0
    } else if has(USEFUL_NAMES) {
        10.0
    } else {
        0.0
    };
    let number = field.kind == FieldKind::Number;
    let identifier =
        if number && (name == "id" || name.ends_with("_id") || name.ends_with("version") && distinct > 20) {
            -40.0
        } else {
            0.0
        };
    let empty =
        if field.kind == FieldKind::List && node.members.as_ref().is_some_and(|members| members.max == 0) {
            -50.0
        } else {
            0.0
        };
    let coverage = node.seen() as f64 / field.expected.max(1) as f64;
    let rare = if coverage < 0.05 { -10.0 } else { 0.0 };
    let lists = field.path.matches("[]").count() as f64 + 3.0 * field.path.matches('*').count() as f64;
    let mostly_different =
        if field.kind == FieldKind::Category && distinct * 2 > node.counts.total() && !has(USEFUL_NAMES) {
            -30.0
        } else {
            0.0
        };
    let position = if number && words(field.last_step()).any(|word| POSITION_NAMES.contains(&word.as_str())) {
        -25.0
    } else {
        0.0
    };
    let top = if field.depth == 0 && lists == 0.0 { 6.0 } else { 0.0 };
    base + hint + identifier + empty + rare + mostly_different + position + top
        - field.depth as f64 * 6.0
        - lists * 5.0
}
