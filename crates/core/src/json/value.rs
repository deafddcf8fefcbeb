//! A small value tree for the few records that are shown or cut to limits, never for a whole payload.
//!
//! Exact where serde's is not: numbers are the text as written, keys keep their order and their duplicates.
//! Reading stops at [`ReadLimits`]; what was left out is counted in the value itself.

use super::{Event, ScanError, Scanner, StringToken, string};

/// Limits on how much of a value is read into memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadLimits {
    pub(crate) depth: usize,
    /// The maximum number of elements of one array or members of one object.
    pub(crate) elements: usize,
    /// The maximum number of raw bytes of one string.
    pub(crate) string_bytes: usize,
    /// The maximum number of values in total.
    pub(crate) values: usize,
}

impl ReadLimits {
    /// Skips a value.
    pub(crate) const NOTHING: Self = Self { depth: 0, elements: 0, string_bytes: 0, values: 0 };
    /// Enough for any record worth showing.
    pub(crate) const RECORD: Self = Self { depth: 64, elements: 256, string_bytes: 4096, values: 4096 };
}

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// The number as written.
    Number(Box<str>),
    String(Text),
    Array(Elements<Value>),
    Object(Elements<(Box<str>, Value)>),
    /// A container that was not read because a limit was reached, with its size in bytes.
    Unread(u64),
}

/// A string, or the beginning of a long one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    pub(crate) text: Box<str>,
    /// The number of raw bytes left out.
    pub(crate) left_out: u64,
}

/// The elements or members that were read, and how many there are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Elements<T> {
    pub(crate) read: Vec<T>,
    pub(crate) total: u64,
}

impl Value {
    /// Returns a whole string as a value.
    pub(crate) fn string(text: &str) -> Self {
        Self::String(Text { text: text.into(), left_out: 0 })
    }

    /// Returns an object with all its members as a value.
    pub(crate) fn object(members: Vec<(Box<str>, Self)>) -> Self {
        Self::Object(Elements { total: members.len() as u64, read: members })
    }

    /// Reads the next value of a scanner.
    pub(crate) fn read(scanner: &mut Scanner<'_>, limits: ReadLimits) -> Result<Self, ScanError> {
        let mut reader = ValueReader { limits, left: limits.values };
        reader.value(scanner, 0)
    }

    /// Returns the value as JSON without white space; what was not read is missing.
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null | Self::Unread(_) => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(raw) => out.push_str(raw),
            Self::String(text) => string::write_visible(&text.text, out),
            Self::Array(elements) => {
                out.push('[');
                for (at, element) in elements.read.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    element.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, member)) in members.read.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    string::write_visible(key, out);
                    out.push(':');
                    member.write(out);
                }
                out.push('}');
            }
        }
    }

    /// Returns a member of an object; the last one if the key is duplicated, as most parsers do.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.read.iter().rev().find(|(name, _)| **name == *key).map(|(_, v)| v)
            }
            _ => None,
        }
    }
}

struct ValueReader {
    limits: ReadLimits,
    /// How many more values may be read.
    left: usize,
}

impl ValueReader {
    fn value(&mut self, scanner: &mut Scanner<'_>, depth: usize) -> Result<Value, ScanError> {
        self.left = self.left.saturating_sub(1);
        let limit = self.limits.string_bytes;
        let event = scanner.next()?;
        Ok(match event {
            Event::Null => Value::Null,
            Event::Bool(value) => Value::Bool(value),
            Event::Number(raw) => Value::Number(String::from_utf8_lossy(raw).into()),
            Event::String(token) => Value::String(read_text(&token, limit)),
            Event::StartArray | Event::StartObject if depth >= self.limits.depth || self.left == 0 => {
                let start = scanner.token_start();
                let outside = scanner.depth() - 1;
                scanner.skip_to_depth(outside)?;
                Value::Unread(scanner.position() - start)
            }
            Event::StartArray => self.array(scanner, depth)?,
            Event::StartObject => self.object(scanner, depth)?,
            Event::Key(_) | Event::EndObject | Event::EndArray | Event::End => Value::Null,
        })
    }

    fn array(&mut self, scanner: &mut Scanner<'_>, depth: usize) -> Result<Value, ScanError> {
        let open = scanner.depth();
        let mut elements = Elements { read: Vec::new(), total: 0 };
        loop {
            if scanner.has_element()? != Some(true) {
                // Reads the closing bracket, or returns the error.
                scanner.next()?;
                break;
            }
            elements.total += 1;
            if elements.read.len() < self.limits.elements && self.left > 0 {
                elements.read.push(self.value(scanner, depth + 1)?);
            } else {
                skip_value(scanner, open)?;
            }
        }
        Ok(Value::Array(elements))
    }

    fn object(&mut self, scanner: &mut Scanner<'_>, depth: usize) -> Result<Value, ScanError> {
        let open = scanner.depth();
        let mut members = Elements { read: Vec::new(), total: 0 };
        while let Event::Key(token) = scanner.next()? {
            // Members are found by their keys, so a key is never cut.
            let key: Box<str> = read_text(&token, usize::MAX).text;
            members.total += 1;
            if members.read.len() < self.limits.elements && self.left > 0 {
                members.read.push((key, self.value(scanner, depth + 1)?));
            } else {
                skip_value(scanner, open)?;
            }
        }
        Ok(Value::Object(members))
    }
}

/// Skips one value inside the container at depth `open`.
fn skip_value(scanner: &mut Scanner<'_>, open: usize) -> Result<(), ScanError> {
    scanner.next()?;
    scanner.skip_to_depth(open)
}

/// Decodes a string token, at most `limit` raw bytes of it.
pub(crate) fn read_text(token: &StringToken<'_>, limit: usize) -> Text {
    let mut end = token.raw.len().min(limit);
    if end < token.raw.len() {
        // Cuts neither inside a character nor inside an escape.
        while end > 0 && token.raw[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        let window = end.saturating_sub(string::MAX_ESCAPE_BYTES);
        if let Some(slash) = memchr::memrchr(b'\\', &token.raw[window..end]) {
            end = window + slash;
            while end > 0 && token.raw[end - 1] == b'\\' {
                end -= 1;
            }
        }
    }
    let raw = &token.raw[..end];
    let text =
        if token.escapes { string::decode_text(raw).into() } else { String::from_utf8_lossy(raw).into() };
    Text { text, left_out: token.length - end as u64 }
}
