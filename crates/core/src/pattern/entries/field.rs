//! The fields in a line of an entry.

use super::title::bullet;
use crate::trim::{trim, trim_start};

/// The maximum number of bytes and of words of a key.
const MAX_KEY_BYTES: usize = 40;
const MAX_KEY_WORDS: usize = 4;

/// Returns the fields of a line with their keys: `Status: open`, `- **Status:** open`, `Status: open | Votes: 3`. A line that
/// is not made of fields has none.
pub(super) fn fields(line: &str) -> Vec<(&str, &str)> {
    let line = trim(bullet(line).unwrap_or(line));
    let Some(whole) = field(line) else { return Vec::new() };
    if line.is_ascii() && memchr::memchr(b'|', line.as_bytes()).is_none() {
        return vec![whole];
    }
    [" | ", " · ", " • "]
        .iter()
        .filter(|separator| line.contains(**separator))
        .find_map(|separator| line.split(separator).map(field).collect::<Option<Vec<_>>>())
        .unwrap_or_else(|| vec![whole])
}

/// Returns whether a line is made of fields.
pub(super) fn is_field(line: &str) -> bool {
    !fields(line).is_empty()
}

/// Returns the key and the value of a text that is one field.
fn field(text: &str) -> Option<(&str, &str)> {
    // Many tools put a symbol before the key.
    let text = trim_start(trim(text).trim_start_matches(|c: char| !c.is_ascii() && !c.is_alphanumeric()));
    let marks = if text.starts_with(['*', '_', '`']) { &["**", "__", "*", "`"][..] } else { &[] };
    let (key, value) = marks.iter().find_map(|mark| emphasized(text, mark)).or_else(|| {
        let colon = memchr::memchr(b':', text.as_bytes())?;
        let value = &text[colon + 1..];
        (value.is_empty() || value.starts_with([' ', '\t'])).then_some((&text[..colon], value))
    })?;
    let (key, value) = (trim(key), trim(value));
    // Lines of code end like that.
    (is_key(key) && !value.ends_with([';', '{', ','])).then_some((key, value))
}

/// Splits `**Key:** value` or `**Key**: value`.
fn emphasized<'t>(text: &'t str, mark: &str) -> Option<(&'t str, &'t str)> {
    let (key, value) = text.strip_prefix(mark)?.split_once(mark)?;
    match key.strip_suffix(':') {
        Some(key) => Some((key, value)),
        None => Some((key, value.trim_start().strip_prefix(':')?)),
    }
}

fn is_key(key: &str) -> bool {
    key.starts_with(char::is_alphabetic)
        && key.len() <= MAX_KEY_BYTES
        && key.split(' ').count() <= MAX_KEY_WORDS
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/' | '(' | ')' | '&' | '\''))
}
