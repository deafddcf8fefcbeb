//! Writes the statistics of a field over all records as one line.
//!
//! Every figure is that of all records and exact, or marked `~`. Values that a figure does not cover are counted beside
//! it ([`Uncovered`]).

use std::io;

use super::additive::is_additive;
use super::field::{Field, FieldKind};
use super::pick_rows::is_severe;
use super::section_writer::SectionWriter;
use super::table::{Table, field_value, scalar_text};
use super::uncovered::{Covered, Uncovered};
use super::value_list::{fit, group_counts, number_text, shown};
use crate::json::value::Value;
use crate::profile::name_parts::NameParts;
use crate::profile::node::PathNode;
use crate::profile::number::{Number, NumberStats};
use crate::profile::value_counts::{ValueCount, ValueCounts};
use crate::{visible, write};

/// The maximum number of characters shown of a record's label.
const MAX_LABEL_CHARACTERS: usize = 60;

/// The maximum number of values that are listed though each occurs once.
const MAX_LISTED_IDENTIFIERS: u64 = 10;
/// The maximum number of texts that are listed, and the maximum number of characters of each.
const MAX_LISTED_TEXTS: u64 = 2;
const MAX_LISTED_TEXT_CHARACTERS: u64 = 60;
/// The maximum number of distinct values of a field whose rare values are followed by the names of their records.
const MAX_VALUES_OF_NAMED_GROUPS: u64 = 24;
/// The maximum number of tokens of the names of records after the values of a severity.
const MAX_SEVERE_NOTES_TOKENS: u64 = 90;
/// The maximum number of records named after the rare values of one field.
const MAX_NAMED_RECORDS: u64 = 14;

/// Writes the statistics of fields, each within a limit.
pub(crate) struct FieldStatistics<'a, 'd> {
    pub(crate) table: &'a Table<'d>,
    pub(crate) writer: &'a SectionWriter<'a>,
    /// About how many tokens a list of values may take.
    pub(crate) cap: u64,
    pub(crate) members: Members,
}

/// What the statistics say about the records with a rare value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Members {
    /// Which they are.
    Named,
    /// How many they are, since all rows are shown.
    Counted,
}

impl FieldStatistics<'_, '_> {
    /// Writes the statistics of a field.
    pub(crate) fn of(&self, field: &Field) -> io::Result<String> {
        let node = self.table.data.profile.node(field.node);
        let (text, covered) = match field.kind {
            FieldKind::Empty => (nulls(field, node), Covered::Values),
            FieldKind::Constant => {
                let value = node.counts.entries().first().map(shown).unwrap_or_default();
                (format!("always {value}"), Covered::Values)
            }
            FieldKind::Bool => (bools(node), Covered::Bools),
            FieldKind::Category => (self.groups(field, node)?, Covered::Values),
            FieldKind::Number => self.numbers(field, node)?,
            FieldKind::Time => (times(node), Covered::Times),
            FieldKind::Identifier => (self.identifiers(field, node)?, Covered::Values),
            FieldKind::Text => (self.texts(field, node)?, Covered::Texts),
            FieldKind::List => (self.lists(field, node)?, Covered::Lists),
            FieldKind::Map => (self.map(field, node)?, Covered::Objects),
            FieldKind::Object => ("object".into(), Covered::Objects),
        };
        let mut parts = vec![text];
        parts.extend(Uncovered::of(node, covered).text(node));
        parts.extend(self.missing(field, node)?);
        parts.retain(|part| !part.is_empty());
        Ok(parts.join("; "))
    }

    /// Returns the label of the record at an offset.
    fn label(&self, offset: u64) -> io::Result<Option<String>> {
        let label = self.table.label_at(offset)?.filter(|label| !label.is_empty());
        Ok(label.map(|label| visible::cut(&label, MAX_LABEL_CHARACTERS)))
    }

    /// Returns ` (longest at name fix crash)`: the record at an offset, by the field that names records; nothing if it
    /// would only repeat the value itself.
    fn place(&self, field: &Field, what: &str, offset: u64) -> io::Result<String> {
        let naming = match self.table.label {
            _ if self.table.keyed() => "key",
            Some(label) if self.table.fields[label].node != field.node => &self.table.fields[label].path,
            _ => return Ok(String::new()),
        };
        let label = self.label(offset)?;
        Ok(label.map(|label| format!(" ({what}at {naming} {label})")).unwrap_or_default())
    }

    /// Writes counts of values, most frequent first; a rare value is followed by the labels of its records.
    fn groups(&self, field: &Field, node: &PathNode) -> io::Result<String> {
        let named = self.named_values(field, node);
        // Readers ask for the records of the worst group more often than for those of any other.
        let notes_cap = if field.is_severity() { MAX_SEVERE_NOTES_TOKENS } else { self.cap / 2 };
        group_counts(&node.counts, self.writer, (self.cap, notes_cap), |entry| {
            let Some(places) = entry.offsets().filter(|_| named.contains(&entry.first)) else {
                return Ok(None);
            };
            let mut labels: Vec<String> = Vec::new();
            for &place in &places {
                let label = self.label(place)?;
                labels.extend(label.filter(|label| *label != shown(entry) && !labels.contains(label)));
            }
            Ok((!labels.is_empty()).then(|| labels.join(", ")))
        })
    }

    /// Returns the first offsets of the rare values whose records are named: the rarest, until enough are named.
    fn named_values(&self, field: &Field, node: &PathNode) -> Vec<u64> {
        let entries = node.counts.entries();
        let (distinct, exact) = node.counts.distinct();
        let named = |label: &Field| label.node != field.node && label.kind != FieldKind::Number;
        let labelled =
            self.table.keyed() || self.table.label.is_some_and(|label| named(&self.table.fields[label]));
        if self.members == Members::Counted
            || !field.single
            || !labelled
            || !exact
            || !(2..=MAX_VALUES_OF_NAMED_GROUPS).contains(&distinct)
        {
            return Vec::new();
        }
        // Among values that are all about as frequent none is rare.
        let most = entries.iter().map(|entry| entry.count).max().unwrap_or(0);
        let is_rare = |entry: &&ValueCount| {
            entry.count * 4 <= most && entry.count * 8 <= node.counts.total() && entry.offsets().is_some()
        };
        let mut rare: Vec<&ValueCount> = entries.iter().filter(is_rare).collect();
        match field.numbers(node).filter(|_| field.kind == FieldKind::Number) {
            // Readers ask for the smallest and the largest number.
            Some(numbers) => {
                let value = |entry: &ValueCount| Number::parse(&entry.raw).map_or(0.0, |number| number.value);
                let least = |entry: &ValueCount| value(entry) == numbers.min.value;
                rare.sort_by(|one, two| least(two).cmp(&least(one)).then(value(two).total_cmp(&value(one))));
            }
            None => rare.sort_by_key(|entry| (!is_severe(field, &entry.text()), entry.count)),
        }
        let mut left = MAX_NAMED_RECORDS;
        let fits = |entry: &&&ValueCount| {
            let fits = entry.count <= left;
            left -= if fits { entry.count } else { 0 };
            fits
        };
        rare.iter().filter(fits).map(|entry| entry.first).collect()
    }

    fn list(&self, counts: &ValueCounts) -> io::Result<String> {
        group_counts(counts, self.writer, (self.cap, 0), |_| Ok(None))
    }

    fn numbers(&self, field: &Field, node: &PathNode) -> io::Result<(String, Covered)> {
        let whole = field.position.is_none();
        let covered = if whole { Covered::Numbers } else { Covered::Lists };
        let Some(numbers) = field.numbers(node).filter(|numbers| numbers.count > 0) else {
            return Ok((String::new(), covered));
        };
        let (distinct, exact) = node.counts.distinct();
        if whole && exact && distinct <= 24 && distinct * 4 <= numbers.count {
            return Ok((self.number_groups(field, node, numbers, distinct)?, Covered::Values));
        }
        let (min, max) = (number_text(&numbers.min), number_text(&numbers.max));
        if !numbers.varies() {
            return Ok((if distinct == 1 || !whole { min } else { format!("all equal to {min}") }, covered));
        }
        if whole && (numbers.is_rising() || numbers.is_falling()) {
            let way = if numbers.is_rising() { "rising" } else { "falling" };
            return Ok((format!("{min} to {max}, {way}"), covered));
        }
        let measures = self.measures(field, numbers);
        let what = if numbers.max.count > 1 { "max first " } else { "max " };
        let place = self.place(field, what, numbers.max.at)?;
        Ok((format!("{min} to {max}{measures}{place}"), covered))
    }

    /// Writes how often each of a few numbers occurs, and their sum if it means something.
    fn number_groups(
        &self,
        field: &Field,
        node: &PathNode,
        numbers: &NumberStats,
        distinct: u64,
    ) -> io::Result<String> {
        let groups = self.groups(field, node)?;
        if distinct <= 3 || !is_additive(&field.name()) {
            return Ok(groups);
        }
        let (sum, exact) = numbers.sum();
        let about = write::estimate_mark(exact);
        let of = match numbers.count {
            all if all == node.counts.total() => String::new(),
            some => format!(" of {some} numbers"),
        };
        let what = if numbers.max.count > 1 { "first " } else { "" };
        let (max, place) = (number_text(&numbers.max), self.place(field, what, numbers.max.at)?);
        Ok(format!("sum{of} {about}{sum}, max {max}{place}; {groups}"))
    }

    fn measures(&self, field: &Field, numbers: &NumberStats) -> String {
        let (mean, exact) = numbers.mean();
        let mut out = format!(", mean {}{mean}", write::estimate_mark(exact));
        if let Some((median, exact)) = numbers.median().filter(|_| self.cap >= 80 && self.writer.fills()) {
            out.push_str(&format!(", median {}{median}", write::estimate_mark(exact)));
        }
        if is_additive(&field.name()) {
            let (sum, exact) = numbers.sum();
            out.push_str(&format!(", sum {}{sum}", write::estimate_mark(exact)));
        }
        out
    }

    fn identifiers(&self, field: &Field, node: &PathNode) -> io::Result<String> {
        let counts = &node.counts;
        let (distinct, exact) = counts.distinct();
        let mut out = match (field.single, counts.is_unique()) {
            // Few values are worth more than a word about them.
            (true, true) if counts.total() <= MAX_LISTED_IDENTIFIERS && counts.total() < self.table.count => {
                let values = counts.entries().iter().map(shown).collect();
                let (kept, left) = fit(self.writer, self.cap, values);
                let more = if left > 0 { format!("; +{left} more") } else { String::new() };
                return Ok(format!("unique: {}{more}", kept.join("; ")));
            }
            (true, true) => "unique".to_owned(),
            (false, true) => format!("{} values, unique", counts.total()),
            // The few that repeat are worth showing.
            (_, false) if counts.is_complete() => return self.groups(field, node),
            (_, false) => format!("{}{distinct} distinct of {}", write::estimate_mark(exact), counts.total()),
        };
        if let Some(names) = node.names.as_deref().cloned().or_else(|| NameParts::of(counts.entries())) {
            out.push_str(&self.names(&names));
        }
        Ok(out)
    }

    /// Writes what names have in common: folders, beginnings, endings.
    fn names(&self, names: &NameParts) -> String {
        let without = |counts: &ValueCounts| match names.total - counts.total() {
            0 => String::new(),
            count => format!(" +{count} without"),
        };
        let mut out = String::new();
        if let Some((folder, parts)) = names.below_common_folder() {
            if let Ok(list) = self.list(&parts) {
                let folder = visible::line(&folder);
                out.push_str(&format!("; in {folder}: {list}{}", without(&names.folders)));
            }
            return out;
        }
        for (word, counts) in [("beginning", &names.beginnings), ("ending", &names.endings)] {
            let (distinct, exact) = counts.distinct();
            let max_distinct = if word == "ending" { 24 } else { 8 };
            if exact
                && (1..=max_distinct).contains(&distinct)
                && distinct * 4 <= names.total
                && counts.total() * 2 >= names.total
                && (distinct > 1 || word == "ending")
                && let Ok(list) = self.list(counts)
            {
                out.push_str(&format!("; {word} {list}{}", without(counts)));
            }
        }
        out
    }

    fn texts(&self, field: &Field, node: &PathNode) -> io::Result<String> {
        let Some(lengths) = &node.lengths else { return Ok("text".into()) };
        let (distinct, exact) = node.counts.distinct();
        if exact && (1..=MAX_LISTED_TEXTS).contains(&distinct) && lengths.max <= MAX_LISTED_TEXT_CHARACTERS {
            return Ok(node.counts.entries().iter().map(shown).collect::<Vec<_>>().join("; "));
        }
        let about = write::estimate_mark(!lengths.rounded);
        if lengths.min == lengths.max {
            return Ok(format!("text of {about}{}", write::plural(lengths.max, "character")));
        }
        let mean = lengths.total / lengths.count.max(1);
        let longest = if lengths.max > 2 * mean {
            self.place(field, "longest ", lengths.max_at)?
        } else {
            String::new()
        };
        Ok(format!("text of {} to {about}{} characters{longest}", lengths.min, lengths.max))
    }

    fn lists(&self, field: &Field, node: &PathNode) -> io::Result<String> {
        // Where some values are objects, the sizes are theirs, too.
        let Some(members) = node.members.as_ref().filter(|_| node.types.objects == 0) else {
            let noun = if node.types.arrays == 1 { "list" } else { "lists" };
            return Ok(format!("{} {noun}", node.types.arrays));
        };
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
        let most = self.place(field, "most ", members.max_at)?;
        Ok(format!("{} in all, lists of {} to {}{filled}{most}", members.total, members.min, members.max))
    }

    /// Writes how many keys a map has, and the first of them, with their values if those are scalars.
    fn map(&self, field: &Field, node: &PathNode) -> io::Result<String> {
        let (distinct, exact) = node.keys.distinct();
        let about = write::estimate_mark(exact);
        let mut out = format!("map, {about}{distinct} keys");
        if let Some(sizes) =
            node.members.as_ref().filter(|_| node.types.objects > 1 && node.types.arrays == 0)
        {
            out.push_str(&format!(" ({} to {} each)", sizes.min, sizes.max));
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
            out.push_str(&format!(" +{about}{left} more"));
        }
        Ok(out)
    }

    /// Returns the first members of the only map of scalars as `key=value`.
    fn pairs(&self, field: &Field, node: &PathNode) -> io::Result<Vec<String>> {
        let scalars =
            node.values.is_some_and(|values| self.table.data.profile.node(values).types.containers() == 0);
        if !field.single || !scalars || node.types.objects != 1 {
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

    /// Writes how many records lack the field or have null there, or which few have it.
    fn missing(&self, field: &Field, node: &PathNode) -> io::Result<Option<String>> {
        if let (Some(_), Some(numbers)) = (field.position, field.numbers(node))
            && numbers.count < node.types.arrays
        {
            return Ok(Some(format!("in {} of {} lists", numbers.count, node.types.arrays)));
        }
        // A key that an object has twice is in one record.
        let present = (node.seen() - node.duplicates).min(field.expected);
        let (nulls, absent) = (node.types.nulls, field.expected - present);
        let have = present.saturating_sub(nulls);
        if nulls + absent == 0 || field.expected < 2 || field.kind == FieldKind::Empty {
            return Ok(None);
        }
        if have <= 2 && field.expected > 4 {
            let label = self.label(node.first_at)?.filter(|_| have == 1 && nulls == 0);
            let label = label.map(|label| format!(" ({label})")).unwrap_or_default();
            return Ok(Some(format!("only in {have}{label}")));
        }
        if nulls + absent > have {
            return Ok(Some(format!("in {have}")));
        }
        let counts = [("null", nulls), ("missing", absent)].into_iter().filter(|(_, count)| *count > 0);
        Ok(Some(counts.map(|(word, count)| format!("{word} in {count}")).collect::<Vec<_>>().join(", ")))
    }
}

fn nulls(field: &Field, node: &PathNode) -> String {
    match node.types.nulls {
        all if all >= field.expected => "null".into(),
        some => format!("null in {some}, missing in {}", field.expected.saturating_sub(some)),
    }
}

fn times(node: &PathNode) -> String {
    let Some(times) = &node.times else { return String::new() };
    let (min, max) = (times.min.text(), times.max.text());
    if min == max { min } else { format!("{min} to {max}") }
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
