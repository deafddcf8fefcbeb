//! How a match is shown: a small record whole, a large one by what identifies it and the parts of it that match.

use std::ops::{ControlFlow, Range};

use tidegate_core::view::{
    Place, RecordText, UnitContent, is_inner_json, record_values, shown_pointer, value_from, visible_text,
};

use super::expression::Expression;

/// The maximum number of bytes of a record that is shown whole.
pub(super) const MAX_WHOLE_RECORD_BYTES: usize = 700;
/// The maximum number of bytes of an object inside a record that is shown whole.
const MAX_WHOLE_PART_BYTES: usize = 350;
/// Bytes shown before a match in a long text; twice as many are shown after it.
const CONTEXT_BYTES: usize = 120;
/// The maximum number of bytes shown of a match itself.
const MAX_MATCH_BYTES: usize = 400;
/// The maximum number of matching parts shown of a large record.
const MAX_SHOWN_PARTS: usize = 6;
/// The maximum number of values that identify a record.
const MAX_IDENTITY_VALUES: usize = 5;
/// The maximum number of bytes of a value that identifies a record.
const MAX_IDENTITY_BYTES: usize = 80;

/// Returns a matching record with its path: whole if it is small, else what identifies it and the objects in it that
/// match.
pub(super) fn shown_record(
    expression: &Expression,
    place: &Place<'_>,
    record: &RecordText<'_>,
    values: u64,
) -> String {
    let pointer = place.pointer();
    if record.json.len() <= MAX_WHOLE_RECORD_BYTES {
        return format!("{} {}", shown_pointer(&pointer), record.json);
    }
    let mut lines = vec![format!("{} {}", shown_pointer(&pointer), identity(record, values))];
    // Below a record that no path leads to, no path leads anywhere.
    let base = place.is_exact().then_some(pointer.as_str());
    let mut shown: Vec<String> = Vec::new();
    let mut matching = 0;
    record_values(record.json, &mut |unit| {
        let UnitContent::Value { key, text } = &unit.content else { return ControlFlow::Continue(()) };
        // What matches in a text of several lines, or in JSON in a string, is a match of its own.
        let text = text.filter(|text| !text.contains('\n') && !is_inner_json(text));
        let found = text.and_then(|text| expression.find(text));
        if found.is_none() && !key.is_some_and(|key| expression.is_match(key)) {
            return ControlFlow::Continue(());
        }
        matching += 1;
        let parent = unit.place.parent();
        if shown.contains(&parent) || shown.len() == MAX_SHOWN_PARTS {
            return ControlFlow::Continue(());
        }
        let at = |below: &str| match base {
            Some(base) if below == "/" => shown_pointer(base),
            Some(base) => shown_pointer(&format!("{base}{below}")),
            None => shown_pointer(&pointer),
        };
        let part =
            unit.place.parent_start().and_then(|start| value_from(record.json, start, MAX_WHOLE_PART_BYTES));
        lines.push(match part {
            Some(json) => format!("{} {json}", at(&parent)),
            None => {
                let text = text.unwrap_or_default().as_bytes();
                let mark = if found.is_none() { "(key) " } else { "" };
                format!("{} {mark}{}", at(&unit.place.pointer()), piece(text, found.unwrap_or(0..0)))
            }
        });
        shown.push(parent);
        ControlFlow::Continue(())
    });
    if matching > shown.len() {
        lines.push(format!("{matching} keys and values match in it"));
    }
    lines.join("\n")
}

/// The maximum number of bytes of a record that is shown whole around a match.
const MAX_AROUND_BYTES: usize = 240;

/// Returns a record around a match, on one line: whole if it is small, else what identifies it.
pub(super) fn one_line_record(place: &Place<'_>, record: &RecordText<'_>) -> String {
    let text =
        if record.json.len() <= MAX_AROUND_BYTES { record.json.to_owned() } else { identity(record, 0) };
    format!("{}- {text}", shown_pointer(&place.pointer()))
}

/// The maximum number of short values of a record that are looked at.
const MAX_LOOKED_AT: usize = 60;
/// Names of members that identify a record, also in an object in it. Unlike the words that name the columns of a table, these are
/// whole keys: a key that only contains one of them (`file_size`) does not identify a record.
const NAMING_KEYS: [&str; 8] = ["name", "title", "id", "key", "label", "subject", "path", "file"];

/// Returns the short values of a record that identify it: those called a name or an id, then others, addresses last.
fn identity(record: &RecordText<'_>, values: u64) -> String {
    let mut names: Vec<(u8, String)> = Vec::new();
    record_values(record.json, &mut |unit| {
        if let UnitContent::Value { key, text: Some(text) } = &unit.content
            && text.len() <= MAX_IDENTITY_BYTES
            && let Some(rank) = identity_rank(&unit.place, key.unwrap_or_default(), text)
        {
            let path = unit.place.pointer().trim_start_matches('/').replace('/', ".");
            names.push((rank, format!("{}={}", one_line(&path), one_line(text))));
        }
        if names.len() < MAX_LOOKED_AT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    names.sort_by_key(|(rank, _)| *rank);
    let key = record.key.map(|key| format!("key={}", one_line(key)));
    let names: Vec<String> =
        key.into_iter().chain(names.into_iter().map(|(_, name)| name)).take(MAX_IDENTITY_VALUES).collect();
    let matching = if values == 0 { String::new() } else { format!(", {values} matching values") };
    format!("({} bytes{matching}) {}", record.json.len(), names.join(" | "))
}

/// Returns how well a value identifies the record, best first; `None` for a value that does not.
fn identity_rank(place: &Place<'_>, key: &str, text: &str) -> Option<u8> {
    let is_naming = NAMING_KEYS.contains(&key) && !text.is_empty();
    match place.depth() {
        1 if is_naming => Some(0),
        2 if is_naming => Some(2),
        1 if text.is_empty() || text == "null" || text.contains("://") => Some(3),
        1 => Some(1),
        _ => None,
    }
}

fn one_line(text: &str) -> String {
    visible_text(text).replace('\n', "\\n")
}

/// Returns the part of a long text around a match, on one line.
pub(super) fn piece(text: &[u8], found: Range<usize>) -> String {
    let is_boundary = |at: usize| text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let mut from = found.start.min(text.len()).saturating_sub(CONTEXT_BYTES);
    while !is_boundary(from) {
        from -= 1;
    }
    let end = found.end.clamp(found.start, found.start + MAX_MATCH_BYTES);
    let mut to = (end + 2 * CONTEXT_BYTES).min(text.len());
    while !is_boundary(to) {
        to += 1;
    }
    let head = if from > 0 { "…" } else { "" };
    let characters = || text.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    let tail = if to < text.len() { format!("… ({} characters)", characters()) } else { String::new() };
    format!("{head}{}{tail}", one_line(&String::from_utf8_lossy(&text[from..to])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_bounded_and_keeps_characters_whole() {
        let text = "é".repeat(5000);
        let shown = piece(text.as_bytes(), 4001..8001);
        assert!(shown.len() < 1200 && shown.starts_with("…é") && shown.ends_with("é… (5000 characters)"));
        assert_eq!(piece(b"a\nb", 0..1), "a\\nb");
    }

    #[test]
    fn names_identify_a_record_rather_than_addresses() {
        let json = r#"{"url":"https://x.org/1","self":"https://x.org/2","a":1,"title":"T","b":null,"c":"","metadata":{"name":"N","uid":"u"},"d":true}"#;
        let record = RecordText { number: 0, key: None, json, whole: true };
        let shown = identity(&record, 0);
        assert_eq!(
            shown,
            format!("({} bytes) title=T | a=1 | d=true | metadata.name=N | url=https://x.org/1", json.len())
        );
    }
}
