//! One value without white space between its parts, everything else as written.
//!
//! What a reader would not see or would obey (control, direction and invisible characters inside strings) becomes
//! its JSON escape, so the text is safe to show and still says the same. A Python literal becomes the JSON value it
//! stands for; what has no JSON form, such as `Decimal('1.5')`, stays as a string.

use super::{Dialect, Event, ScanError, Scanner, StringToken, string};
use crate::visible;

/// A value as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compact {
    pub(crate) text: String,
    /// Whether it is all of the value, rather than its beginning.
    pub(crate) whole: bool,
}

/// Writes the value the scanner stands before; more than about `most` bytes of it are not kept.
pub(crate) fn value(scanner: &mut Scanner<'_>, dialect: Dialect, most: usize) -> Result<Compact, ScanError> {
    scanner.keep_strings(most);
    let outside = scanner.depth();
    let mut compact = Compact { text: String::new(), whole: true };
    // Whether a comma is due before the next key or value.
    let mut due = false;
    loop {
        let event = scanner.next()?;
        if compact.text.len() > most {
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

impl Compact {
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

/// Writes a string with its quotes; false where only its beginning is known.
fn push_string(token: &StringToken<'_>, dialect: Dialect, out: &mut String) -> bool {
    let text = String::from_utf8_lossy(token.raw);
    let foreign = dialect == Dialect::Python;
    if foreign {
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
