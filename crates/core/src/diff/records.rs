//! Compares the records of two results, and the values beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::{ControlFlow, Range};

use super::members::{elements, flattened};
use super::sequence::Numbering;
use super::{Change, ChangeKind, Changes, RecordKey, Unit, key};
use crate::json::value::{ReadLimits, Value};
use crate::json::{Dialect, Scanner, compact};
use crate::outline::RecordsOutline;
use crate::records::{Notation, read_value_at};
use crate::source::Span;
use crate::text::Text;
use crate::view::Dataset;
use crate::visible;

/// How much is read of the values beside the records.
const BESIDE_LIMITS: ReadLimits = ReadLimits { depth: 6, elements: 64, string_bytes: 300, values: 600 };

/// The records of a result as JSON.
pub(super) struct Rows {
    /// The names of members, where the records are members of an object.
    names: Vec<String>,
    text: String,
    /// Where each record is in the text.
    ranges: Vec<Range<usize>>,
}

impl Rows {
    /// Returns all records; `None` if there are none, or if one cannot be read whole. Most of them are expected to be among
    /// `earlier` ones.
    fn read(dataset: &Dataset<'_>, earlier: Option<&Self>) -> io::Result<Option<Self>> {
        if let Some(rows) = Self::as_written(dataset, earlier)? {
            return Ok(Some(rows));
        }
        let mut rows = Self { names: Vec::new(), text: String::new(), ranges: Vec::new() };
        let mut is_whole = true;
        dataset.json_records(0, usize::MAX, |record| {
            is_whole &= record.whole;
            rows.names.extend(record.key);
            rows.push(&record.json);
            if is_whole { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        // Truncated data has fewer records than were counted.
        let is_complete = is_whole && rows.ranges.len() as u64 == dataset.record_count();
        Ok((is_complete && dataset.main().is_some()).then_some(rows))
    }

    /// Finds the elements of a JSON list without parsing them, which takes a fraction of the time: most are equal in both
    /// results. `None` if the records are in another form.
    fn as_written(dataset: &Dataset<'_>, earlier: Option<&Self>) -> io::Result<Option<Self>> {
        let (Some(records), Some(data)) = (dataset.main_records()?, &dataset.outline.data) else {
            return Ok(None);
        };
        let is_list =
            *records.notation == Notation::Json(Dialect::Json) && !records.keyed && records.form.is_none();
        let Some((0, start)) = records.index.before(0).filter(|_| is_list) else { return Ok(None) };
        let Ok(text) = String::from_utf8(records.text.read_known(start..data.end)?) else { return Ok(None) };
        let at = |place: usize| earlier.filter(|rows| place < rows.ranges.len()).map(|rows| rows.at(place));
        let ranges = elements(&text, &at).filter(|ranges| ranges.len() as u64 == records.count());
        Ok(ranges.map(|ranges| Self { names: Vec::new(), text, ranges }))
    }

    fn push(&mut self, json: &str) {
        let start = self.text.len();
        self.text.push_str(json);
        self.ranges.push(start..self.text.len());
    }

    /// Returns the records, as written or without white space.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.ranges.iter().map(|range| &self.text[range.clone()])
    }

    fn at(&self, number: usize) -> &str {
        &self.text[self.ranges[number].clone()]
    }

    #[cfg(test)]
    pub(super) fn of(records: &[&str]) -> Self {
        let mut rows = Self { names: Vec::new(), text: String::new(), ranges: Vec::new() };
        records.iter().for_each(|record| rows.push(record));
        rows
    }
}

/// Returns JSON without white space, and with hidden characters escaped.
fn compacted(json: &str) -> String {
    let bytes = json.as_bytes();
    let text = Text::plain(&bytes, Span { start: 0, end: bytes.len() as u64 });
    let compact = Scanner::at(&text, 0, Dialect::Json)
        .ok()
        .and_then(|mut scanner| compact::value(&mut scanner, Dialect::Json, usize::MAX).ok());
    compact.map_or_else(|| json.to_owned(), |compact| compact.text)
}

/// Compares two results by their records; `None` if they are better compared as texts.
pub(super) fn compare(old: &Dataset<'_>, new: &Dataset<'_>) -> io::Result<Option<Changes>> {
    let is_data = |dataset: &Dataset<'_>| dataset.main().is_some();
    if !is_data(old) || !is_data(new) || old.is_keyed() != new.is_keyed() {
        return Ok(None);
    }
    let Some(old_rows) = Rows::read(old, None)? else { return Ok(None) };
    let Some(new_rows) = Rows::read(new, Some(&old_rows))? else { return Ok(None) };
    let noun = new.main().map_or_else(String::new, |main| main.noun.clone());
    let (key, mut list, is_reordered) = if new.is_keyed() {
        let (old_names, new_names) = (quoted_names(&old_rows), quoted_names(&new_rows));
        let (list, is_reordered) =
            by_name(&old_rows, &new_rows, &borrowed(&old_names), &borrowed(&new_names));
        (RecordKey::Member, list, is_reordered)
    } else if let Some(key) = key::detect(&old_rows, &new_rows) {
        let (list, is_reordered) = by_name(&old_rows, &new_rows, &key.old, &key.new);
        (RecordKey::Field(key.name), list, is_reordered)
    } else if is_of_lines(old) || is_of_lines(new) {
        return Ok(None);
    } else {
        let (list, is_reordered) =
            by_content(old_rows.all().map(compacted).collect(), new_rows.all().map(compacted).collect());
        (RecordKey::Content, list, is_reordered)
    };
    list.extend(beside(old, new, None)?);
    Ok(Some(Changes { unit: Unit::Records { noun, key }, list, is_reordered }))
}

/// Returns whether records without a key are read more easily as lines.
fn is_of_lines(dataset: &Dataset<'_>) -> bool {
    dataset.outline.data.as_ref().is_some_and(|data| matches!(data.notation, Notation::Pattern(_)))
}

fn borrowed(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn quoted_names(rows: &Rows) -> Vec<String> {
    let quoted = |name: &String| {
        let mut out = String::new();
        crate::json::string::write_visible(name, &mut out);
        out
    };
    rows.names.iter().map(quoted).collect()
}

/// Pairs records by name. Also returns whether the paired ones are in another order.
fn by_name(old: &Rows, new: &Rows, old_names: &[&str], new_names: &[&str]) -> (Vec<Change>, bool) {
    let (before, after) = common_ends(old_names, new_names);
    let middle = before..old_names.len() - after;
    // The occurrences of a name that repeats, as duplicate members do, are paired in order.
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in middle.clone().rev() {
        places.entry(old_names[at]).or_default().push(at);
    }
    let change = |kind, name: &str, old: Option<&str>, new: Option<&str>| Change {
        kind,
        name: compacted(name),
        old: old.map(compacted),
        new: new.map(compacted),
    };
    let (mut changed, mut added) = (Vec::new(), Vec::new());
    let mut is_paired = vec![false; old.ranges.len()];
    let (mut last, mut is_reordered) = (None, false);
    for (number, (name, json)) in new_names.iter().zip(new.all()).enumerate() {
        let from_end = new_names.len() - number;
        let paired = match (number < before, from_end <= after) {
            (true, _) => Some(number),
            (false, true) => Some(old_names.len() - from_end),
            (false, false) => places.get_mut(name).and_then(Vec::pop),
        };
        let Some(at) = paired else {
            added.push(change(ChangeKind::Added, name, None, Some(json)));
            continue;
        };
        is_paired[at] = true;
        is_reordered |= last.is_some_and(|last| last > at);
        last = Some(at);
        if old.at(at) == json {
            continue;
        }
        let different = change(ChangeKind::Changed, name, Some(old.at(at)), Some(json));
        let is_same = different.old == different.new
            || different
                .old
                .as_ref()
                .zip(different.new.as_ref())
                .is_some_and(|(old, new)| is_same_data(old, new));
        if !is_same {
            changed.push(different);
        }
    }
    let removed = is_paired.iter().enumerate().filter(|(_, paired)| !**paired);
    changed.extend(removed.map(|(at, _)| change(ChangeKind::Removed, old_names[at], Some(old.at(at)), None)));
    changed.append(&mut added);
    (changed, is_reordered)
}

/// Returns how many names are equal at the beginning of both lists, and how many at the end.
fn common_ends(old: &[&str], new: &[&str]) -> (usize, usize) {
    let before = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    (before, after)
}

/// Returns whether two records have the same members in another order.
fn is_same_data(old: &str, new: &str) -> bool {
    let sorted = |json| {
        let mut fields = Vec::new();
        flattened(json, "", &mut fields);
        fields.sort_unstable();
        fields
    };
    old.len() == new.len() && old.starts_with('{') && sorted(old) == sorted(new)
}

/// Pairs records by content. Also returns whether they are the same records in another order.
fn by_content(old: Vec<String>, new: Vec<String>) -> (Vec<Change>, bool) {
    let mut numbering = Numbering::new();
    let old_numbers: Vec<u32> = old.iter().map(|json| numbering.of(json.as_str())).collect();
    let new_numbers: Vec<u32> = new.iter().map(|json| numbering.of(json.as_str())).collect();
    let is_reordered = old_numbers.len() == new_numbers.len() && old_numbers != new_numbers;
    let unpaired = |numbers: &[u32], others: &[u32]| {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for number in others {
            *counts.entry(*number).or_default() += 1;
        }
        let is_unpaired: Vec<bool> = numbers
            .iter()
            .map(|number| match counts.get_mut(number) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            })
            .collect();
        is_unpaired
    };
    let is_removed = unpaired(&old_numbers, &new_numbers);
    let is_added = unpaired(&new_numbers, &old_numbers);
    let change = |kind, old, new| Change { kind, name: String::new(), old, new };
    let removed = old.into_iter().zip(is_removed).filter(|(_, is_removed)| *is_removed);
    let added = new.into_iter().zip(is_added).filter(|(_, is_added)| *is_added);
    let mut list: Vec<Change> =
        removed.map(|(json, _)| change(ChangeKind::Removed, Some(json), None)).collect();
    list.extend(added.map(|(json, _)| change(ChangeKind::Added, None, Some(json))));
    let is_reordered = is_reordered && list.is_empty();
    (list, is_reordered)
}

/// Returns the values that differ beside the records, or beside the text at the path `without`.
pub(super) fn beside(old: &Dataset<'_>, new: &Dataset<'_>, without: Option<&str>) -> io::Result<Vec<Change>> {
    let (Some(old), Some(new)) = (values_beside(old, without)?, values_beside(new, without)?) else {
        return Ok(Vec::new());
    };
    let change = |name: &str, old: Option<&String>, new: Option<&String>| Change {
        kind: ChangeKind::Beside,
        name: name.to_owned(),
        old: old.cloned(),
        new: new.cloned(),
    };
    let find = |values: &[(String, String)], name: &str| {
        values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let mut list = Vec::new();
    for (name, value) in &old {
        match find(&new, name) {
            Some(now) if now == *value => {}
            now => list.push(change(name, Some(value), now.as_ref())),
        }
    }
    for (name, value) in new.iter().filter(|(name, _)| find(&old, name).is_none()) {
        list.push(change(name, None, Some(value)));
    }
    Ok(list)
}

/// Returns the paths and values of a JSON document without its records; `None` if there is nothing beside them.
fn values_beside(dataset: &Dataset<'_>, without: Option<&str>) -> io::Result<Option<Vec<(String, String)>>> {
    let Some(data) = dataset.outline.data.as_ref() else { return Ok(None) };
    let Notation::Json(dialect) = data.notation else { return Ok(None) };
    let skipped = match without {
        Some(path) => path.trim_start_matches('/').replace('/', "."),
        None => dataset.records_path().to_owned(),
    };
    let is_joined = without.is_none() && dataset.main().is_some_and(RecordsOutline::is_joined);
    if skipped.is_empty() || skipped.contains('[') || is_joined {
        return Ok(None);
    }
    let value = read_value_at(&*dataset.data_text()?, data.start, dialect, BESIDE_LIMITS)?;
    let mut values = Vec::new();
    if let Some(value) = value {
        flatten(&value, "", &skipped, &mut values);
    }
    // The last one of duplicate names counts, as in most parsers.
    let mut seen = BTreeSet::new();
    let mut values: Vec<(String, String)> =
        values.into_iter().rev().filter(|(name, _)| seen.insert(name.clone())).collect();
    values.reverse();
    Ok(Some(values))
}

fn flatten(value: &Value, path: &str, skipped: &str, out: &mut Vec<(String, String)>) {
    if path == skipped {
        return;
    }
    match value {
        Value::Object(members) => {
            for (name, value) in &members.read {
                let name = visible::key(name);
                let path = if path.is_empty() { name } else { format!("{path}.{name}") };
                flatten(value, &path, skipped, out);
            }
        }
        Value::Array(elements) => {
            for (at, value) in elements.read.iter().enumerate() {
                flatten(value, &format!("{path}[{at}]"), skipped, out);
            }
        }
        // Only its size is known.
        Value::Unread(bytes) => out.push((path.to_owned(), format!("({bytes} bytes)"))),
        scalar => out.push((path.to_owned(), scalar.to_json())),
    }
}
