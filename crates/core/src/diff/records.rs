//! Compares the records of two results, and the values beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;

use super::members::flattened;
use super::sequence::Numbering;
use super::{Change, ChangeKind, Changes, RecordKey, Unit, key};
use crate::json::value::{ReadLimits, Value};
use crate::outline::RecordsOutline;
use crate::records::{Notation, read_value_at};
use crate::view::Dataset;
use crate::visible;

/// How much is read of the values beside the records.
const BESIDE_LIMITS: ReadLimits = ReadLimits { depth: 6, elements: 64, string_bytes: 300, values: 600 };

/// The records of a result as JSON.
struct Rows {
    /// The names of members, where the records are members of an object.
    names: Vec<String>,
    json: Vec<String>,
}

impl Rows {
    /// Reads all records; `None` if there are none, or if one cannot be read whole.
    fn read(dataset: &Dataset<'_>) -> io::Result<Option<Self>> {
        let mut rows = Self { names: Vec::new(), json: Vec::new() };
        let mut is_whole = true;
        dataset.json_records(0, usize::MAX, |record| {
            is_whole &= record.whole;
            rows.names.extend(record.key);
            rows.json.push(record.json);
            if is_whole { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        // Truncated data has fewer records than were counted.
        let is_complete = is_whole && rows.json.len() as u64 == dataset.record_count();
        Ok((is_complete && dataset.main().is_some()).then_some(rows))
    }
}

/// Compares two results by their records; `None` if they are better compared as texts.
pub(super) fn compare(old: &Dataset<'_>, new: &Dataset<'_>) -> io::Result<Option<Changes>> {
    let is_data = |dataset: &Dataset<'_>| dataset.main().is_some();
    if !is_data(old) || !is_data(new) || old.is_keyed() != new.is_keyed() {
        return Ok(None);
    }
    let (Some(old_rows), Some(new_rows)) = (Rows::read(old)?, Rows::read(new)?) else { return Ok(None) };
    let noun = new.main().map_or_else(String::new, |main| main.noun.clone());
    let (key, mut list, is_reordered) = if new.is_keyed() {
        let (list, is_reordered) = by_name(&old_rows, &new_rows, names(&old_rows), names(&new_rows));
        (RecordKey::Member, list, is_reordered)
    } else if let Some(field) = key::detect(&old_rows.json, &new_rows.json) {
        let of = |rows: &Rows| -> Vec<String> {
            let values = rows.json.iter().map(|record| key::value(record, &field).unwrap_or_default());
            values.map(str::to_owned).collect()
        };
        let (list, is_reordered) = by_name(&old_rows, &new_rows, of(&old_rows), of(&new_rows));
        (RecordKey::Field(field), list, is_reordered)
    } else if is_of_lines(old) || is_of_lines(new) {
        return Ok(None);
    } else {
        let (list, is_reordered) = by_content(old_rows.json, new_rows.json);
        (RecordKey::Content, list, is_reordered)
    };
    list.extend(beside(old, new, None)?);
    Ok(Some(Changes { unit: Unit::Records { noun, key }, list, is_reordered }))
}

/// Returns whether records without a key are read more easily as lines.
fn is_of_lines(dataset: &Dataset<'_>) -> bool {
    dataset.outline.data.as_ref().is_some_and(|data| matches!(data.notation, Notation::Pattern(_)))
}

fn names(rows: &Rows) -> Vec<String> {
    let quoted = |name: &String| {
        let mut out = String::new();
        crate::json::string::write_visible(name, &mut out);
        out
    };
    rows.names.iter().map(quoted).collect()
}

/// Pairs records by name. Also returns whether the paired ones are in another order.
fn by_name(old: &Rows, new: &Rows, old_names: Vec<String>, new_names: Vec<String>) -> (Vec<Change>, bool) {
    // The occurrences of a name that repeats, as duplicate members do, are paired in order.
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, name) in old_names.iter().enumerate().rev() {
        places.entry(name).or_default().push(at);
    }
    let (mut changed, mut added) = (Vec::new(), Vec::new());
    let mut is_paired = vec![false; old.json.len()];
    let (mut last, mut is_reordered) = (None, false);
    for (name, json) in new_names.iter().zip(&new.json) {
        let Some(at) = places.get_mut(name.as_str()).and_then(Vec::pop) else {
            added.push(Change {
                kind: ChangeKind::Added,
                name: name.clone(),
                old: None,
                new: Some(json.clone()),
            });
            continue;
        };
        is_paired[at] = true;
        is_reordered |= last.is_some_and(|last| last > at);
        last = Some(at);
        if old.json[at] != *json && !is_same_data(&old.json[at], json) {
            let (old, new) = (Some(old.json[at].clone()), Some(json.clone()));
            changed.push(Change { kind: ChangeKind::Changed, name: name.clone(), old, new });
        }
    }
    let removed = is_paired.iter().enumerate().filter(|(_, paired)| !**paired).map(|(at, _)| Change {
        kind: ChangeKind::Removed,
        name: old_names[at].clone(),
        old: Some(old.json[at].clone()),
        new: None,
    });
    changed.extend(removed);
    changed.append(&mut added);
    (changed, is_reordered)
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
    let value = read_value_at(dataset.data_text()?, data.start, dialect, BESIDE_LIMITS)?;
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
