//! Describes what changed: a summary in tidegate's words, and one line for each change.
//!
//! The summary may stand outside the fence, because all that it takes from the results is plain names. The lines are upstream
//! text with hidden characters escaped; an answer shows as many of the first ones as fit, and `tidegate diff` shows them all.

use std::collections::BTreeMap;

use super::members::flattened;
use super::{Change, ChangeKind, Changes, RecordKey, Unit};
use crate::{plain_name, visible, write};

/// The maximum number of characters of a record, line or element.
const MAX_ITEM_CHARACTERS: usize = 240;
/// The maximum number of characters of a value.
const MAX_VALUE_CHARACTERS: usize = 80;
/// The maximum number of fields shown of a changed record.
const MAX_FIELDS: usize = 8;
/// Stands for a missing value.
const ABSENT: &str = "(absent)";

impl Changes {
    /// Returns how many changes there are of a kind.
    pub fn count(&self, kind: ChangeKind) -> u64 {
        self.list.iter().filter(|change| change.kind == kind).count() as u64
    }

    /// Says what changed, in tidegate's words: `2 rows changed, 1 removed, 3 added (by number)`.
    pub fn summary(&self) -> String {
        let noun = match &self.unit {
            Unit::Records { noun, .. } => noun,
            Unit::Elements => "element",
            Unit::Lines => "line",
        };
        let kinds = [
            (ChangeKind::Changed, "changed"),
            (ChangeKind::Removed, "removed"),
            (ChangeKind::Added, "added"),
        ];
        let mut words = Vec::new();
        for (kind, verb) in kinds {
            match self.count(kind) {
                0 => {}
                count if words.is_empty() => words.push(format!("{} {verb}", write::plural(count, noun))),
                count => words.push(format!("{} {verb}", write::grouped(count))),
            }
        }
        let nouns = write::plural(2, noun).replace("2 ", "");
        if words.is_empty() && self.is_reordered {
            words.push(format!("the same {nouns} in another order"));
        } else if words.is_empty() {
            words.push(format!("the same {nouns}"));
        } else if self.is_reordered {
            words.push("in another order".to_owned());
        }
        match self.count(ChangeKind::Beside) {
            0 if self.list.is_empty() && !self.is_reordered => words.push("other bytes differ".to_owned()),
            0 => {}
            count => words.push(format!("{} beside them changed", write::plural(count, "value"))),
        }
        let by = match &self.unit {
            _ if self.list.is_empty() => String::new(),
            Unit::Records { key: RecordKey::Field(field), .. } if plain_name::is_plain(field) => {
                format!(" (by {field})")
            }
            Unit::Records { key: RecordKey::Content, .. } => " (by content)".to_owned(),
            Unit::Records { .. } => " (by key)".to_owned(),
            Unit::Elements => " (by reference)".to_owned(),
            Unit::Lines => String::new(),
        };
        format!("{}{by}", words.join(", "))
    }

    /// Returns one line for each change.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.list.iter().map(|change| change.line(&self.unit))
    }
}

impl Change {
    /// Says what happened in one line: `~ number 7: state "open" -> "closed"`.
    fn line(&self, unit: &Unit) -> String {
        let (old, new) = (self.old.as_deref().unwrap_or(ABSENT), self.new.as_deref().unwrap_or(ABSENT));
        let item = |text: &str| shown(text, MAX_ITEM_CHARACTERS);
        let name = shown(&self.name, MAX_VALUE_CHARACTERS);
        let place = match unit {
            Unit::Lines if !name.is_empty() => format!("{name}: "),
            Unit::Records { key: RecordKey::Member, .. } => format!("{name}: "),
            _ => String::new(),
        };
        match self.kind {
            ChangeKind::Added => format!("+ {place}{}", item(new)),
            ChangeKind::Removed => format!("- {place}{}", item(old)),
            ChangeKind::Beside => {
                format!(
                    "~ {name}: {} -> {}",
                    shown(old, MAX_VALUE_CHARACTERS),
                    shown(new, MAX_VALUE_CHARACTERS)
                )
            }
            ChangeKind::Changed => match unit {
                Unit::Records { key, .. } => {
                    let field = match key {
                        RecordKey::Field(field) => format!("{} ", shown(field, MAX_VALUE_CHARACTERS)),
                        RecordKey::Member | RecordKey::Content => String::new(),
                    };
                    format!("~ {field}{name}: {}", field_changes(old, new))
                }
                Unit::Elements | Unit::Lines => {
                    format!("~ {name}: {} -> {}", item(old), item(new))
                }
            },
        }
    }
}

/// Says which fields of a record changed, and how.
fn field_changes(old: &str, new: &str) -> String {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    flattened(old, "", &mut before);
    flattened(new, "", &mut after);
    if before.is_empty() || after.is_empty() {
        return format!("{} -> {}", shown(old, MAX_VALUE_CHARACTERS), shown(new, MAX_VALUE_CHARACTERS));
    }
    let change = |path: &str, old: Option<&str>, new: Option<&str>| {
        let value = |value: Option<&str>| shown(value.unwrap_or(ABSENT), MAX_VALUE_CHARACTERS);
        format!("{} {} -> {}", shown(path, MAX_VALUE_CHARACTERS), value(old), value(new))
    };
    // The last one of duplicate names counts, as in most parsers.
    let was: BTreeMap<&str, &str> = before.iter().map(|(path, value)| (path.as_str(), *value)).collect();
    let now: BTreeMap<&str, &str> = after.iter().map(|(path, value)| (path.as_str(), *value)).collect();
    let mut changes = Vec::new();
    for (path, value) in &before {
        match now.get(path.as_str()) {
            Some(now) if now == value => {}
            now => changes.push(change(path, Some(value), now.copied())),
        }
    }
    for (path, value) in after.iter().filter(|(path, _)| !was.contains_key(path.as_str())) {
        changes.push(change(path, None, Some(value)));
    }
    match changes.len() {
        0 => "written differently".to_owned(),
        1..=MAX_FIELDS => changes.join(", "),
        count => format!("{}, +{} fields", changes[..MAX_FIELDS].join(", "), count - MAX_FIELDS),
    }
}

/// Returns a text on one line with hidden characters escaped, cut after `limit` characters. Keeps other white space.
fn shown(text: &str, limit: usize) -> String {
    let text = text.trim_end_matches(['\r', '\n']);
    let one_line = |text: &str| visible::text(text).replace('\n', "\\n");
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", one_line(&text[..end])),
        None => one_line(text),
    }
}
