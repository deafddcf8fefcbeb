//! Writes one value without white space between its parts, everything else as written.
//!
//! Control, direction and invisible characters inside strings become JSON escapes, so the text is safe to show and
//! still means the same. A Python literal becomes the corresponding JSON value; what has none, such as
//! `Decimal('1.5')`, becomes a string.

use super::{Dialect, Event, ScanError, Scanner, StringToken, string};
use crate::visible;

/// A value as JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompactJson {
    pub(crate) text: String,
    /// Whether the text is the whole value rather than its beginning.
    pub(crate) whole: bool,
}

/// Writes the next value of a scanner; no more than about `max_bytes` bytes of it are kept.
pub(crate) fn value(
    scanner: &mut Scanner<'_>,
    dialect: Dialect,
    max_bytes: usize,
) -> Result<CompactJson, ScanError> {
    scanner.keep_strings(max_bytes);
    let outside = scanner.depth();
    let mut compact = CompactJson { text: String::new(), whole: true };
    // Whether the next key or value needs a comma before it.
    let mut due = false;
    loop {
        let event = scanner.next()?;
        if compact.text.len() > max_bytes {
            compact.whole = false;
        }
        if compact.whole {
            due = compact.push(&event, due, dialect);
        }
        let at_key = matches!(event, Event::Key(_));
        if scanner.depth() == outside && !at_key {
            return Ok(compact);
        }
    }
}

impl CompactJson {
    fn push(&mut self, event: &Event<'_>, due: bool, dialect: Dialect) -> bool {
        let out = &mut self.text;
        if due && !matches!(event, Event::EndObject | Event::EndArray | Event::End) {
            out.push(',');
        }
        match event {
            Event::StartObject => out.push('{'),
            Event::StartArray => out.push('['),
            Event::EndObject => out.push('}'),
            Event::EndArray => out.push(']'),
            Event::Key(token) => {
                self.whole &= push_string(token, dialect, out);
                out.push(':');
            }
            Event::String(token) => self.whole &= push_string(token, dialect, out),
            Event::Number(raw) => out.push_str(&String::from_utf8_lossy(raw)),
            Event::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Event::Null => out.push_str("null"),
            Event::End => {}
        }
        !matches!(event, Event::StartObject | Event::StartArray | Event::Key(_))
    }
}

/// Writes a string with its quotes; returns false if only its beginning is known.
fn push_string(token: &StringToken<'_>, dialect: Dialect, out: &mut String) -> bool {
    let text = String::from_utf8_lossy(token.raw);
    if dialect == Dialect::Python {
        string::write_visible(&string::decode_text(token.raw), out);
    } else if text.bytes().any(|byte| !(b' '..=b'~').contains(&byte)) {
        out.push('"');
        push_raw_visible(&text, out);
        out.push('"');
    } else {
        out.push('"');
        out.push_str(&text);
        out.push('"');
    }
    !token.is_cut()
}

/// Copies the inside of a JSON string, with hidden characters as escapes.
fn push_raw_visible(raw: &str, out: &mut String) {
    for character in raw.chars() {
        if visible::is_hidden(character) || character < ' ' {
            string::push_escape(character, out);
        } else {
            out.push(character);
        }
    }
}
