//! The hard limits of the response contract. A JSON value is cut down until its arrays, strings, logs and nesting are
//! within their limits and the whole is within its byte limit, with a mark wherever something was cut.
//!
//! An array that is too long becomes `{"items": [...], "totalCount": n, "showing": k}`, one more level; a string that is
//! too long ends with `...`; a text of too many lines keeps its first and last lines, with the number of omitted lines
//! between them; a container that is nested too deep is replaced by its size. Every mark counts towards the limit it
//! marks. If the whole is still too large, the limits are halved until it fits. Numbers, the order of keys and duplicate
//! keys stay as written.
//!
//! ```
//! use tidegate_gate::style::limits::HardLimits;
//!
//! let limits = HardLimits { array_items: 2, ..HardLimits::default() };
//! let cut = limits.apply("[1, 2, 3.0]").unwrap();
//! assert_eq!(cut, r#"{"items":[1,2],"totalCount":3,"showing":2}"#);
//! ```

use serde::de::IgnoredAny;
use tidegate_core::Bytes;
use tidegate_core::source::Span;
use tidegate_core::text::Text;

use super::{cut_within, quoted};
use crate::raw::{self, ByteRange};

/// The maximum number of elements read from one container; more than `array_items` may be.
const MAX_READ_ELEMENTS: usize = 1_024;
/// The maximum number of values read from one document.
const MAX_READ_VALUES: usize = 20_000;
/// Keys and numbers are never cut to fewer characters than this.
const MIN_NAME_CHARS: usize = 40;
/// Lines are never cut to fewer characters than this: a shorter piece of a line says nothing.
pub(crate) const MIN_LINE_CHARS: usize = 12;

/// The most that a response may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HardLimits {
    /// Bytes of the whole response.
    pub bytes: Bytes,
    /// Levels of nested containers, the outermost included.
    pub depth: usize,
    /// Elements of an array.
    pub array_items: usize,
    /// Characters of a string, its `...` included.
    pub string_chars: usize,
    /// Lines of a text, the one that counts the omitted lines included.
    pub log_lines: usize,
}

impl Default for HardLimits {
    fn default() -> Self {
        Self { bytes: Bytes(10 * 1024), depth: 4, array_items: 10, string_chars: 500, log_lines: 20 }
    }
}

/// A JSON value, read only as far as needed.
enum Value<'j> {
    /// A number, `true`, `false` or `null`, as written.
    Literal(&'j str),
    String(String),
    Array(Elements<Value<'j>>),
    Object(Elements<(String, Value<'j>)>),
    /// A container that was not read, because it is nested too deep or too many values precede it; its size in bytes.
    Unread(usize),
}

/// The elements that were read, how many there are, and how many bytes they have with their brackets.
struct Elements<T> {
    read: Vec<T>,
    total: usize,
    bytes: usize,
}

impl HardLimits {
    /// Returns a JSON value cut down to the limits; `None` if the text is not a JSON value.
    pub fn apply(&self, json: &str) -> Option<String> {
        let value = self.read(json)?;
        let mut limits = *self;
        loop {
            let mut out = String::new();
            limits.write(&value, limits.depth, &mut out);
            if out.len() as u64 <= self.bytes.0 {
                return Some(out);
            }
            if limits.array_items == 0 && limits.string_chars == 0 {
                return Some(truncated(json.len()));
            }
            limits.array_items /= 2;
            limits.string_chars /= 2;
            limits.log_lines = (limits.log_lines / 2).max(2);
        }
    }

    /// Returns whether a JSON value is within all limits as it is.
    pub fn hold_for(&self, json: &str) -> bool {
        json.len() as u64 <= self.bytes.0 && self.read(json).is_some_and(|value| self.hold_in(&value))
    }

    fn read<'j>(&self, json: &'j str) -> Option<Value<'j>> {
        serde_json::from_str::<IgnoredAny>(json).ok()?;
        let mut reader = ValueReader { json, max_depth: self.depth, values_left: MAX_READ_VALUES };
        reader.value(&raw::whole(json.as_bytes())?, 0)
    }

    fn hold_in(&self, value: &Value<'_>) -> bool {
        match value {
            Value::Literal(raw) => raw.len() <= self.string_chars,
            Value::String(text) => {
                text.chars().count() <= self.string_chars && text.lines().count() <= self.log_lines
            }
            Value::Array(elements) => {
                elements.total <= self.array_items && elements.read.iter().all(|value| self.hold_in(value))
            }
            Value::Object(members) => {
                members.total == members.read.len()
                    && members.read.iter().all(|(_, value)| self.hold_in(value))
            }
            Value::Unread(_) => false,
        }
    }

    /// Writes a value with at most `levels` levels of containers.
    fn write(&self, value: &Value<'_>, levels: usize, out: &mut String) {
        match value {
            Value::Literal(raw) if raw.len() <= self.string_chars.max(MIN_NAME_CHARS) => out.push_str(raw),
            Value::Literal(raw) => self.write_string(raw, out),
            Value::String(text) => self.write_string(text, out),
            Value::Array(Elements { bytes, .. }) | Value::Object(Elements { bytes, .. }) if levels == 0 => {
                out.push_str(&truncated(*bytes));
            }
            Value::Array(elements) => self.write_array(elements, levels, out),
            Value::Object(members) => self.write_object(members, levels - 1, out),
            Value::Unread(bytes) => out.push_str(&truncated(*bytes)),
        }
    }

    fn write_array(&self, elements: &Elements<Value<'_>>, levels: usize, out: &mut String) {
        let shown = elements.read.len().min(self.array_items);
        let is_cut = shown < elements.total;
        // The object around the elements that are shown is a level too.
        let Some(below) = levels.checked_sub(if is_cut { 2 } else { 1 }) else {
            return out.push_str(&truncated(elements.bytes));
        };
        out.push_str(if is_cut { "{\"items\":[" } else { "[" });
        for (index, element) in elements.read[..shown].iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            self.write(element, below, out);
        }
        out.push(']');
        if is_cut {
            out.push_str(&format!(",\"totalCount\":{},\"showing\":{shown}}}", elements.total));
        }
    }

    fn write_object(&self, members: &Elements<(String, Value<'_>)>, below: usize, out: &mut String) {
        // Members are structure, not a list: they are left out only if the byte limit requires it.
        let shown = if self.array_items == 0 { 0 } else { members.read.len() };
        out.push('{');
        for (index, (key, member)) in members.read[..shown].iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            push_string(&cut_within(key, self.string_chars.max(MIN_NAME_CHARS)), out);
            out.push(':');
            self.write(member, below, out);
        }
        let left = members.total - shown;
        if left > 0 {
            out.push_str(&format!("{}\"...\":\"{left} more keys\"", if shown > 0 { "," } else { "" }));
        }
        out.push('}');
    }

    fn write_string(&self, text: &str, out: &mut String) {
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > self.log_lines && self.log_lines >= 2 {
            let shown = self.log_lines - 1;
            let (head, tail) = (shown.div_ceil(2), shown / 2);
            let mark = format!("... {} lines omitted ...", lines.len() - shown);
            // Each line gets its share of the characters, so that the beginning does not push out the end.
            let share = (self.string_chars.saturating_sub(mark.len() + shown) / shown).max(MIN_LINE_CHARS);
            let short = |line: &&str| cut_within(line, share);
            let mut kept: Vec<String> = lines[..head].iter().map(short).collect();
            kept.push(mark);
            kept.extend(lines[lines.len() - tail..].iter().map(short));
            return push_string(&kept.join("\n"), out);
        }
        push_string(&cut_within(text, self.string_chars), out);
    }
}

/// Returns the mark for a value that is not shown, with its size.
fn truncated(bytes: usize) -> String {
    format!("\"[truncated: {bytes} bytes]\"")
}

/// Appends a JSON string; the line separators that some clients take for the end of a line are escaped.
fn push_string(text: &str, out: &mut String) {
    let json = quoted(text);
    match json.contains(['\u{2028}', '\u{2029}', '\u{85}']) {
        false => out.push_str(&json),
        true => out.push_str(
            &json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029").replace('\u{85}', "\\u0085"),
        ),
    }
}

struct ValueReader<'j> {
    json: &'j str,
    max_depth: usize,
    values_left: usize,
}

impl<'j> ValueReader<'j> {
    fn value(&mut self, place: &ByteRange, depth: usize) -> Option<Value<'j>> {
        let bytes = self.json.as_bytes();
        self.values_left = self.values_left.saturating_sub(1);
        match bytes.get(place.start)? {
            b'"' => self.string(place).map(Value::String),
            b'{' | b'[' if depth >= self.max_depth || self.values_left == 0 => {
                Some(Value::Unread(place.len()))
            }
            b'[' => {
                let places = raw::elements(bytes, place)?;
                let read = places.iter().take(MAX_READ_ELEMENTS);
                let read = read.map(|element| self.value(element, depth + 1)).collect::<Option<_>>()?;
                Some(Value::Array(Elements { read, total: places.len(), bytes: place.len() }))
            }
            b'{' => {
                let members = raw::members(bytes, place)?;
                let mut read = Vec::new();
                for member in members.iter().take(MAX_READ_ELEMENTS) {
                    read.push((member.key.to_string(), self.value(&member.value, depth + 1)?));
                }
                Some(Value::Object(Elements { read, total: members.len(), bytes: place.len() }))
            }
            _ => Some(Value::Literal(&self.json[place.clone()])),
        }
    }

    /// Decodes a string. A lone surrogate, which no parser can decode, stays as its escape.
    fn string(&self, place: &ByteRange) -> Option<String> {
        let bytes = self.json.as_bytes();
        if let Some(text) = raw::text(bytes, place) {
            return Some(text.into_owned());
        }
        let inside = Span { start: place.start as u64 + 1, end: place.end as u64 - 1 };
        let decoded = Text::escaped(&bytes, vec![inside]).to_bytes().ok()?;
        Some(String::from_utf8_lossy(&decoded).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(json: &str) -> String {
        HardLimits::default().apply(json).unwrap()
    }

    #[test]
    fn what_fits_stays_as_written() {
        let json = r#"{"b":1.0,"a":[1e400,18446744073709551616],"a":"\ud800"}"#;
        assert_eq!(apply(json), r#"{"b":1.0,"a":[1e400,18446744073709551616],"a":"\\ud800"}"#);
        assert_eq!(apply(r#"["a\u2028b"]"#), r#"["a\u2028b"]"#);
    }

    #[test]
    fn arrays_strings_depth_and_lines_are_cut_with_a_mark() {
        let numbers: Vec<String> = (0..25).map(|n| n.to_string()).collect();
        assert_eq!(
            apply(&format!("[{}]", numbers.join(","))),
            r#"{"items":[0,1,2,3,4,5,6,7,8,9],"totalCount":25,"showing":10}"#
        );
        let long = apply(&format!("\"{}\"", "x".repeat(600)));
        assert_eq!(long, format!("\"{}...\"", "x".repeat(497)));
        assert_eq!(apply("[[[[[1]]]]]"), r#"[[[["[truncated: 3 bytes]"]]]]"#);
        let long = format!("[[[[{}1]]]]", "1,".repeat(10));
        assert_eq!(apply(&long), r#"[[["[truncated: 23 bytes]"]]]"#, "the object around it is a level");
        let log: Vec<String> = (0..100).map(|n| format!("line {n}")).collect();
        let log = apply(&format!("\"{}\"", log.join("\\n")));
        assert!(log.contains("line 9\\n... 81 lines omitted ...\\nline 91"), "{log}");
    }

    #[test]
    fn values_above_the_limits_are_detected() {
        let limits = HardLimits::default();
        let text = |chars: usize| format!("{{\"t\":\"{}\"}}", "x".repeat(chars));
        for json in ["[[[[1]]]]", "{ \"a\": [1,2,3,4,5,6,7,8,9,10] }", &text(500), "null"] {
            assert!(limits.hold_for(json), "{json}");
        }
        let lines = format!("[\"{}\"]", "a\\n".repeat(21));
        for json in ["[[[[[1]]]]]", "[1,2,3,4,5,6,7,8,9,10,11]", &text(501), &lines, "{"] {
            assert!(!limits.hold_for(json), "{json}");
            assert!(limits.apply(json).is_none_or(|cut| limits.hold_for(&cut)), "{json}");
        }
    }

    #[test]
    fn a_shortened_value_has_at_most_10_kb() {
        let fat: Vec<String> =
            (0..300).map(|n| format!("{{\"id\":{n},\"text\":\"{}\"}}", "y".repeat(400))).collect();
        for json in [format!("{{\"rows\":[{}]}}", fat.join(",")), format!("{{\"{}\":1}}", "k".repeat(30_000))]
        {
            let cut = apply(&json);
            assert!(cut.len() <= 10 * 1024, "{}", cut.len());
        }
        let keys: Vec<String> = (0..5000).map(|n| format!("\"key{n}\":\"{}\"", "z".repeat(30))).collect();
        let cut = apply(&format!("{{{}}}", keys.join(",")));
        assert!(cut.len() <= 10 * 1024 && cut.contains("more keys"), "{}", cut.len());
    }

    #[test]
    fn broken_json_is_refused() {
        assert_eq!(HardLimits::default().apply("{\"a\":"), None);
        assert_eq!(HardLimits::default().apply(""), None);
    }
}
