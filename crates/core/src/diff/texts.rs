//! Compares two texts: line by line, or by the references of their elements if they are accessibility snapshots.

use std::collections::BTreeMap;
use std::io;

use super::sequence::{Numbering, replacements};
use super::{Change, ChangeKind, Changes, Unit};
use crate::shape::element_reference;

/// A text is a snapshot only if at least one in this many lines has a reference.
const MIN_REFERENCE_SHARE: usize = 4;

/// Compares two texts.
pub(super) fn compare(old: &[u8], new: &[u8]) -> io::Result<Changes> {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let (old, new) = (lines(&old), lines(&new));
    if let (Some(old), Some(new)) = (elements(&old), elements(&new)) {
        return Ok(Changes { unit: Unit::Elements, list: by_reference(&old, &new), is_reordered: false });
    }
    Ok(Changes { unit: Unit::Lines, list: by_line(&old, &new), is_reordered: false })
}

/// Splits a text into lines; a line feed at its end does not start another line.
fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

fn by_line(old: &[&str], new: &[&str]) -> Vec<Change> {
    let mut numbering = Numbering::new();
    let old_numbers: Vec<u32> = old.iter().map(|line| numbering.of(*line)).collect();
    let new_numbers: Vec<u32> = new.iter().map(|line| numbering.of(*line)).collect();
    let mut list = Vec::new();
    for run in replacements(&old_numbers, &new_numbers) {
        list.extend(run.old.map(|at| Change {
            kind: ChangeKind::Removed,
            name: (at + 1).to_string(),
            old: Some(old[at].to_owned()),
            new: None,
        }));
        list.extend(run.new.map(|at| Change {
            kind: ChangeKind::Added,
            name: (at + 1).to_string(),
            old: None,
            new: Some(new[at].to_owned()),
        }));
    }
    list
}

/// A line of a snapshot: the reference of its element, if it has one, and its text.
type Element<'l> = (Option<&'l str>, &'l str);

/// Returns the elements of a snapshot; `None` if the text is not a snapshot, or if a reference occurs twice.
fn elements<'l>(lines: &[&'l str]) -> Option<Vec<Element<'l>>> {
    let elements: Vec<Element<'l>> = lines
        .iter()
        .map(|line| (element_reference(line), line.trim()))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let mut references: Vec<&str> = elements.iter().filter_map(|(reference, _)| *reference).collect();
    let is_snapshot = !references.is_empty() && references.len() * MIN_REFERENCE_SHARE >= elements.len();
    references.sort_unstable();
    (is_snapshot && references.is_sorted_by(|a, b| a < b)).then_some(elements)
}

fn by_reference(old: &[Element<'_>], new: &[Element<'_>]) -> Vec<Change> {
    let change = |kind, name: &str, old: Option<&str>, new: Option<&str>| Change {
        kind,
        name: name.to_owned(),
        old: old.map(str::to_owned),
        new: new.map(str::to_owned),
    };
    let mut before: BTreeMap<&str, &str> =
        old.iter().filter_map(|(name, line)| Some(((*name)?, *line))).collect();
    let (mut changed, mut added) = (Vec::new(), Vec::new());
    for (name, line) in new.iter().filter_map(|(name, line)| Some(((*name)?, *line))) {
        match before.remove(name) {
            Some(was) if was == line => {}
            Some(was) => changed.push(change(ChangeKind::Changed, name, Some(was), Some(line))),
            None => added.push(change(ChangeKind::Added, name, None, Some(line))),
        }
    }
    let gone = old.iter().filter_map(|(name, line)| Some(((*name)?, *line)));
    let gone = gone.filter(|(name, _)| before.contains_key(name));
    changed.extend(gone.map(|(name, line)| change(ChangeKind::Removed, name, Some(line), None)));
    changed.append(&mut added);
    // Lines without a reference, such as texts, URLs and lines around the tree, are compared as lines.
    let plain = |elements: &[Element<'_>]| -> Vec<String> {
        elements.iter().filter(|(name, _)| name.is_none()).map(|(_, line)| (*line).to_owned()).collect()
    };
    let (old, new) = (plain(old), plain(new));
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    changed.extend(by_line(&old, &new).into_iter().map(|line| Change { name: String::new(), ..line }));
    changed
}
