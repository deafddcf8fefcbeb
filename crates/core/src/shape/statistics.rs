//! Writes the statistics of a field over all records as one line.
//!
//! Every figure is that of all records and exact, or marked `~`.

use std::io;

use super::field::{Field, FieldKind};
use super::section_writer::SectionWriter;
use super::table::{Table, field_value, scalar_text};
use super::value_list::{fit, group_counts, shown};
use crate::json::value::Value;
use crate::profile::name_parts::NameParts;
use crate::profile::node::PathNode;
use crate::profile::number::NumberStats;
use crate::profile::value_counts::{ValueCount, ValueCounts};
use crate::{visible, write};

/// The maximum number of characters shown of a record's label.
const MAX_LABEL_CHARACTERS: usize = 60;

/// Writes the statistics of fields, each within a limit.
pub(crate) struct FieldStatistics<'a, 'd> {
    pub(crate) table: &'a Table<'d>,
    pub(crate) writer: &'a SectionWriter<'a>,
    /// About how many tokens a list of values may take.
    pub(crate) cap: u64,
}

impl FieldStatistics<'_, '_> {
    /// Writes the statistics of a field.
    pub(crate) fn of(&self, field: &Field) -> io::Result<String> {
        let node = self.table.data.profile.node(field.node);
        let mut parts = vec![match field.kind {
            FieldKind::Empty => "null".into(),
            FieldKind::Constant => {
                format!("always {}", node.counts.entries().first().map(shown).unwrap_or_default())
            }
            FieldKind::Bool => bools(node),
            FieldKind::Category => self.groups(field, node)?,
            FieldKind::Number => self.numbers(field, node)?,
            FieldKind::Time => self.times(field, node)?,
            FieldKind::Identifier => self.identifiers(field, node),
            FieldKind::Text => self.texts(node)?,
            FieldKind::List => self.lists(node)?,
            FieldKind::Map => self.map(field, node)?,
            FieldKind::Object => "object".into(),
        }];
        parts.extend(self.missing(field, node)?);
        parts.retain(|part| !part.is_empty());
        Ok(parts.join("; "))
    }

    /// Returns the label of the record at an offset, in parentheses.
    fn label(&self, word: &str, offset: u64) -> io::Result<String> {
        let label = self.table.label_at(offset)?.filter(|label| !label.is_empty());
        Ok(label
            .map(|label| format!(" ({word}{})", visible::cut(&label, MAX_LABEL_CHARACTERS)))
            .unwrap_or_default())
    }

    /// Writes counts of values, most frequent first; a rare value is followed by the labels of its records.
    fn groups(&self, field: &Field, node: &PathNode) -> io::Result<String> {
        let entries = node.counts.entries();
        let rare = entries.iter().filter(|entry| entry.count <= 3).count();
        let named = field.single && rare <= 6 && entries.len() > 1;
        let list = self.list(&node.counts, |entry| {
            let Some(places) =
                entry.offsets().filter(|places| named && (places.len() == 1 || entries.len() <= 6))
            else {
                return Ok(None);
            };
            let mut labels: Vec<String> = Vec::new();
            for &place in &places {
                let label =
                    self.table.label_at(place)?.map(|label| visible::cut(&label, MAX_LABEL_CHARACTERS));
                labels.extend(label.filter(|label| *label != shown(entry) && !labels.contains(label)));
            }
            Ok((labels.len() == places.len()).then(|| labels.join(", ")))
        })?;
        Ok(list)
    }

    fn list(
        &self,
        counts: &ValueCounts,
        note: impl FnMut(&ValueCount) -> io::Result<Option<String>>,
    ) -> io::Result<String> {
        group_counts(counts, self.writer, self.cap, note)
    }

    fn numbers(&self, field: &Field, node: &PathNode) -> io::Result<String> {
        let Some(numbers) = field.numbers(node).filter(|numbers| numbers.count > 0) else {
            return Ok(String::new());
        };
        let (distinct, exact) = node.counts.distinct();
        let whole = field.position.is_none();
        if whole && exact && distinct <= 24 && distinct * 4 <= numbers.count {
            let groups = self.groups(field, node)?;
            if distinct <= 3 || !is_additive(&field.name()) {
                return Ok(groups);
            }
            let (sum, exact) = numbers.sum();
            let about = write::estimate_mark(exact);
            return Ok(format!("sum {about}{sum}{}; {groups}", self.label("max: ", numbers.max_at)?));
        }
        let (min, max) =
            (self.table.value(field, numbers.min_at, 40)?, self.table.value(field, numbers.max_at, 40)?);
        if numbers.min >= numbers.max {
            return Ok(min);
        }
        if whole && node.counts.is_unique() && numbers.is_sorted() {
            let way = if numbers.falls == 0 { "rising" } else { "falling" };
            return Ok(format!("{min} to {max}, {way}"));
        }
        let measures = self.measures(field, numbers);
        Ok(format!("{min} to {max}{measures}{}", self.label("max: ", numbers.max_at)?))
    }

    fn measures(&self, field: &Field, numbers: &NumberStats) -> String {
        let mut out = format!(", mean {}", write::float(numbers.mean()));
        if self.cap >= 80 {
            let (median, exact) = numbers.median();
            out.push_str(&format!(", median {}{}", write::estimate_mark(exact), write::float(median)));
        }
        if is_additive(&field.name()) {
            let (sum, exact) = numbers.sum();
            out.push_str(&format!(", sum {}{sum}", write::estimate_mark(exact)));
        }
        out
    }

    fn times(&self, field: &Field, node: &PathNode) -> io::Result<String> {
        let Some(times) = &node.times else { return Ok(String::new()) };
        let (min, max) =
            (self.table.value(field, times.min_at, 40)?, self.table.value(field, times.max_at, 40)?);
        Ok(if min == max { min } else { format!("{min} to {max}") })
    }

    fn identifiers(&self, field: &Field, node: &PathNode) -> String {
        let mut out = if field.single {
            "unique".to_owned()
        } else {
            format!("{} values, unique", node.counts.total())
        };
        if let Some(names) = node.names.as_deref().cloned().or_else(|| NameParts::of(node.counts.entries())) {
            out.push_str(&self.names(&names));
        }
        out
    }

    /// Writes what names have in common: folders, beginnings, endings.
    fn names(&self, names: &NameParts) -> String {
        let mut out = String::new();
        if let Some((folder, parts)) = names.below_common_folder() {
            if let Ok(list) = self.list(&parts, |_| Ok(None)) {
                out.push_str(&format!("; in {folder}: {list}"));
            }
            return out;
        }
        for (word, counts) in [("beginning", &names.beginnings), ("ending", &names.endings)] {
            let (distinct, exact) = counts.distinct();
            let max_distinct = if word == "ending" { 24 } else { 8 };
            if exact
                && distinct <= max_distinct
                && distinct * 4 <= names.total
                && counts.total() * 2 >= names.total
                && (distinct > 1 || word == "ending")
                && let Ok(list) = self.list(counts, |_| Ok(None))
            {
                out.push_str(&format!("; {word} {list}"));
            }
        }
        out
    }

    fn texts(&self, node: &PathNode) -> io::Result<String> {
        let Some(lengths) = &node.lengths else { return Ok("text".into()) };
        if lengths.min == lengths.max {
            return Ok(format!("text of {}", write::plural(lengths.max, "character")));
        }
        let mean = lengths.total / lengths.count.max(1);
        let longest =
            if lengths.max > 2 * mean { self.label("longest: ", lengths.max_at)? } else { String::new() };
        Ok(format!("text of {} to {} characters{longest}", lengths.min, lengths.max))
    }

    fn lists(&self, node: &PathNode) -> io::Result<String> {
        let Some(members) = &node.members else { return Ok("list".into()) };
        if members.max == 0 {
            return Ok("empty lists".into());
        }
        if members.count == 1 {
            return Ok(format!("list of {}", members.max));
        }
        if members.min == members.max {
            return Ok(format!("{} in all, lists of {}", members.total, members.max));
        }
        let filled = if members.empty > 0 {
            format!(", {} non-empty", members.count - members.empty)
        } else {
            String::new()
        };
        let most = self.label("most: ", members.max_at)?;
        Ok(format!("{} in all, lists of {} to {}{filled}{most}", members.total, members.min, members.max))
    }

    /// Writes how many keys a map has, and the first of them, with their values if those are scalars.
    fn map(&self, field: &Field, node: &PathNode) -> io::Result<String> {
        let (distinct, exact) = node.keys.distinct();
        let sizes = node.members.as_ref().map_or((0, 0), |members| (members.min, members.max));
        let about = write::estimate_mark(exact);
        let mut out = format!("map, {about}{distinct} keys");
        if node.types.objects > 1 {
            out.push_str(&format!(" ({} to {} each)", sizes.0, sizes.1));
        }
        let pairs = self.pairs(field, node)?;
        let (shown, left) = fit(
            self.writer,
            self.cap,
            if pairs.is_empty() {
                node.keys.ranked().iter().map(|entry| shown(entry)).collect()
            } else {
                pairs
            },
        );
        let left = left.max((distinct as usize).saturating_sub(shown.len()));
        if !shown.is_empty() {
            out.push_str(&format!(": {}", shown.join(", ")));
        }
        if left > 0 {
            out.push_str(&format!(" +{left} more"));
        }
        Ok(out)
    }

    /// Returns the first members of a map of scalars as `key=value`.
    fn pairs(&self, field: &Field, node: &PathNode) -> io::Result<Vec<String>> {
        let scalars =
            node.values.is_some_and(|values| self.table.data.profile.node(values).types.containers() == 0);
        if !field.single || !scalars {
            return Ok(Vec::new());
        }
        let record = self.table.records.holding(node.first_at)?;
        let Some(Value::Object(members)) =
            record.as_ref().and_then(|record| field_value(&record.value, &field.path))
        else {
            return Ok(Vec::new());
        };
        let pairs = members.read.iter().take(40);
        Ok(pairs
            .map(|(key, value)| format!("{}={}", visible::cut(key, 40), scalar_text(value, 40)))
            .collect())
    }

    /// Writes how many records lack the field, or which few have it.
    fn missing(&self, field: &Field, node: &PathNode) -> io::Result<Option<String>> {
        let have = node.seen() - node.types.nulls;
        if have >= field.expected || field.expected < 2 || field.kind == FieldKind::Empty {
            return Ok(None);
        }
        let lack = field.expected - have;
        if have <= 2 && field.expected > 4 {
            return Ok(Some(format!("only in {have}{}", self.label("", node.first_at)?)));
        }
        Ok(Some(if lack <= have {
            let word = if node.types.nulls == lack { "null" } else { "missing" };
            format!("{word} in {lack}")
        } else {
            format!("in {have}")
        }))
    }
}

/// Words in the names of numbers whose sum is meaningless.
const NOT_ADDITIVE: &[&str] = &[
    "id",
    "index",
    "order",
    "position",
    "line",
    "column",
    "row",
    "col",
    "x",
    "y",
    "z",
    "lat",
    "lon",
    "lng",
    "latitude",
    "longitude",
    "year",
    "month",
    "day",
    "time",
    "timestamp",
    "date",
    "updated",
    "created",
    "version",
    "port",
    "code",
    "tz",
    "rank",
    "level",
    "status",
    "temp",
    "rate",
    "ratio",
    "percent",
    "mean",
    "min",
    "max",
    "avg",
];

fn is_additive(name: &str) -> bool {
    !name.split(|c: char| !c.is_ascii_alphabetic()).any(|word| NOT_ADDITIVE.contains(&word))
        && !["line", "column", "temp", "version", "index", "order", "time", "date"]
            .iter()
            .any(|word| name.ends_with(word))
}

fn bools(node: &PathNode) -> String {
    let counts = [("true", node.types.trues), ("false", node.types.falses)];
    counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| format!("{word}={count}"))
        .collect::<Vec<_>>()
        .join(" ")
}
