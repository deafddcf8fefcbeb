//! Series inside rows: each record has a list of numbers, of pairs of a time and a number, or of small objects with one.
//!
//! Statistics over all records would mix the series, so the rows show of each series its first and last number and its
//! extremes.

use std::io;

use super::field::{Field, FieldKind};
use super::table::{Table, field_value};
use crate::json::value::{ReadLimits, Value};
use crate::profile::number::{KeptNumber, Number};
use crate::profile::{DataProfile, PathNode, PathStep};
use crate::records::Record;

/// The maximum number of series of a record that are shown.
const MAX_SERIES: usize = 2;
/// The minimum number of elements that a list has in the mean if it is a series.
const MIN_MEAN_LENGTH: u64 = 5;
/// How much is read of a record with series; longer series are not shown.
const SERIES_LIMITS: ReadLimits =
    ReadLimits { depth: 64, elements: 20_000, string_bytes: 4096, values: 100_000 };

/// The series of the records of a table.
#[derive(Clone)]
pub(crate) struct RowSeries {
    series: Vec<Series>,
    /// What is shown of each.
    parts: &'static [Part],
}

/// What is shown of a series.
#[derive(Debug, Clone, Copy)]
enum Part {
    First,
    Last,
    Min,
    Max,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

/// What may be shown of a series, from most to least.
static CHOICES: [&[Part]; 4] =
    [&[Part::First, Part::Last, Part::Min, Part::Max], &[Part::Last, Part::Max], &[Part::Last], &[]];

/// One series of each record.
#[derive(Clone)]
struct Series {
    path: String,
    measure: Measure,
}

/// Where the number of an element is.
#[derive(Clone)]
enum Measure {
    /// The element is the number.
    Element,
    /// The number is at a position of the element, which is a list.
    Position(usize),
    /// The number is a member of the element, which is an object.
    Member(String),
}

impl RowSeries {
    /// Finds the series of the records.
    pub(crate) fn of(table: &Table<'_>) -> Self {
        let profile = &table.data.profile;
        let found = table.fields.iter().filter(|field| field.kind == FieldKind::List && field.single);
        let series = found
            .filter_map(|field| Some(Series { path: field.path.clone(), measure: measure(profile, field)? }));
        Self { series: series.take(MAX_SERIES).collect(), parts: CHOICES[0] }
    }

    /// Returns whether the records have no series.
    pub(crate) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Returns the same series with more or less of them shown, most first.
    pub(crate) fn choices(&self) -> impl Iterator<Item = Self> {
        let count = if self.series.is_empty() { 1 } else { CHOICES.len() };
        CHOICES[..count].iter().map(|&parts| Self { series: self.series.clone(), parts })
    }

    /// Returns whether statistics of a field over all records would mix the series.
    pub(crate) fn mixes(&self, field: &Field) -> bool {
        self.series.iter().any(|series| match &series.measure {
            Measure::Element => field.path == format!("{}[]", series.path),
            Measure::Position(_) => field.path == series.name() || field.path == format!("{}[]", series.path),
            Measure::Member(_) => field.path == series.name(),
        })
    }

    /// Returns what the header row says of the series.
    pub(crate) fn header(&self) -> String {
        let name = |series: &Series| {
            let parts: Vec<&str> = self.parts.iter().map(|part| part.name()).collect();
            format!(",{} {}", series.name(), parts.join(","))
        };
        self.series.iter().filter(|_| !self.parts.is_empty()).map(name).collect()
    }

    /// Reads a record, its series whole if there are any.
    pub(crate) fn record(&self, table: &Table<'_>, number: u64) -> io::Result<Option<Record>> {
        if self.series.is_empty() {
            return table.records.nth(number);
        }
        table.records.nth_within(number, SERIES_LIMITS)
    }

    /// Returns the cells of a record.
    pub(crate) fn cells(&self, record: &Record) -> String {
        self.series.iter().map(|series| series.cells(record, self.parts)).collect()
    }
}

impl Series {
    /// Returns the path of its numbers.
    fn name(&self) -> String {
        match &self.measure {
            Measure::Member(name) => format!("{}[].{}", self.path, crate::visible::key(name)),
            Measure::Position(position) => format!("{}[][{position}]", self.path),
            Measure::Element => self.path.clone(),
        }
    }

    /// Returns the cells of a record; empty ones if not all of the series was read.
    fn cells(&self, record: &Record, parts: &[Part]) -> String {
        let empty = || ",".repeat(parts.len());
        let Some(Value::Array(elements)) = field_value(&record.value, &self.path) else { return empty() };
        if elements.read.len() as u64 != elements.total {
            return empty();
        }
        let (mut first, mut last, mut min, mut max) = (None, "", None, None);
        for element in &elements.read {
            let Some(text) = self.number(element) else { continue };
            let Some(number) = Number::parse(text.as_bytes()) else { continue };
            first.get_or_insert(text);
            last = text;
            if min.as_ref().is_none_or(|(known, _): &(KeptNumber, _)| known.compare(&number).is_lt()) {
                min = Some((KeptNumber::new(&number, 0), text));
            }
            if max.as_ref().is_none_or(|(known, _): &(KeptNumber, _)| known.compare(&number).is_gt()) {
                max = Some((KeptNumber::new(&number, 0), text));
            }
        }
        let cell = |part: &Part| match part {
            Part::First => first.unwrap_or_default(),
            Part::Last => last,
            Part::Min => min.as_ref().map_or("", |(_, text)| *text),
            Part::Max => max.as_ref().map_or("", |(_, text)| *text),
        };
        parts.iter().map(|part| format!(",{}", cell(part))).collect()
    }

    /// Returns the number of an element as written.
    fn number<'v>(&self, element: &'v Value) -> Option<&'v str> {
        let value = match (&self.measure, element) {
            (Measure::Element, value) => value,
            (Measure::Position(position), Value::Array(cells)) => cells.read.get(*position)?,
            (Measure::Member(name), object) => object.get(name)?,
            _ => return None,
        };
        match value {
            Value::Number(raw) => Some(raw),
            Value::String(text) if text.left_out == 0 => Some(&text.text),
            _ => None,
        }
    }
}

/// Returns where the numbers of a list field are, if it is a series.
fn measure(profile: &DataProfile, field: &Field) -> Option<Measure> {
    let list = profile.node(field.node);
    let members = list.members.as_ref()?;
    if list.types.objects > 0 || members.total < members.count * MIN_MEAN_LENGTH {
        return None;
    }
    let element = profile.node(list.items?);
    if element.types.containers() == 0 {
        return (is_number(element) && !is_vector(field, element)).then_some(Measure::Element);
    }
    if element.types.arrays == element.seen() {
        let columns: Vec<&PathNode> = element.columns.iter().map(|column| profile.node(*column)).collect();
        let (axis, values) = columns.split_first()?;
        let position = values.iter().position(|column| is_number(column))?;
        return is_axis(axis).then_some(Measure::Position(position + 1));
    }
    let children: Vec<&PathNode> = profile.children(list.items?).map(|(_, child)| child).collect();
    let has_axis = children.iter().any(|child| is_axis(child));
    let mut measures = children.iter().filter(|child| is_number(child) && !is_axis(child));
    match (measures.next().map(|child| &child.step), measures.next()) {
        (Some(PathStep::Key(name)), None) if has_axis => Some(Measure::Member(name.to_string())),
        _ => None,
    }
}

fn is_number(node: &PathNode) -> bool {
    let numbers = node.types.numbers + node.numeric_strings;
    node.types.containers() == 0 && numbers > 0 && numbers * 10 >= (node.seen() - node.types.nulls) * 9
}

/// Returns whether values are points in time, as text or as seconds or milliseconds since 1970.
fn is_axis(node: &PathNode) -> bool {
    let times = node.times.as_ref().map_or(0, |times| times.count);
    let is_epoch = node.numbers.as_ref().is_some_and(|numbers| {
        let since = |unit: f64| numbers.min.value > 1e8 * unit && numbers.max.value < 1e10 * unit;
        is_number(node) && (since(1.0) || since(1e3) || since(1e6) || since(1e9))
    });
    let year = |value: f64| (1500.0..2200.0).contains(&value);
    let is_year = node
        .numbers
        .as_ref()
        .is_some_and(|numbers| is_number(node) && year(numbers.min.value) && year(numbers.max.value));
    times * 10 >= node.seen() * 9 || is_epoch || is_year
}

/// Returns whether numbers are the elements of vectors rather than measurements.
fn is_vector(field: &Field, element: &PathNode) -> bool {
    let unit = element.numbers.as_ref().is_some_and(|numbers| {
        numbers.min.value >= -1.0 && numbers.min.value < 0.0 && numbers.max.value <= 1.0
    });
    let name = field.name();
    unit || ["embedding", "vector", "bbox", "coordinates"].iter().any(|word| name.contains(word))
}
