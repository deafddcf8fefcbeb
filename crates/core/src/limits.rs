//! The hard limits of the response contract: a JSON value cut down until every array, string, log and nesting is
//! within its limit and the whole within its bytes, with a mark wherever something was cut.
//!
//! An array that is too long becomes `{"items": [...], "totalCount": n, "showing": k}`; a string that is too long
//! ends with `...`; a text of too many lines keeps its first and last with the number between; what is nested too
//! deep is named by its size. If the whole is still too large, the limits are halved until it is not.
//!
//! ```
//! use tidegate_core::limits::HardLimits;
//!
//! let limits = HardLimits { array_items: 2, ..HardLimits::default() };
//! let cut = limits.apply(b"[1, 2, 3.0]").unwrap();
//! assert_eq!(cut, r#"{"items":[1,2],"totalCount":3,"showing":2}"#);
//! ```

use crate::json::value::{Elements, ReadLimits, Text as ValueText, Value};
use crate::json::{Dialect, ScanError, Scanner, string};
use crate::quantity::Bytes;
use crate::source::Span;
use crate::text::Text;

/// What a response may hold at the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HardLimits {
    /// Bytes of the whole.
    pub bytes: Bytes,
    /// Containers inside one another.
    pub depth: usize,
    /// Elements of an array.
    pub array_items: usize,
    /// Characters of a string.
    pub string_chars: usize,
    /// Lines of a text.
    pub log_lines: usize,
}

impl Default for HardLimits {
    fn default() -> Self {
        Self { bytes: Bytes(10 * 1024), depth: 4, array_items: 10, string_chars: 500, log_lines: 20 }
    }
}

/// Why a value could not be cut down.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The bytes are no JSON value.
    #[error("not valid JSON: {reason} at byte {offset}")]
    NotJson {
        /// What is wrong.
        reason: &'static str,
        /// Where.
        offset: u64,
    },
}

impl HardLimits {
    /// Cuts a JSON value down to the limits; numbers and the order of keys stay as written.
    ///
    /// # Errors
    ///
    /// Where the bytes are no JSON value.
    pub fn apply(&self, json: &[u8]) -> Result<String, LimitError> {
        let text = Text::plain(&json, Span::whole(&json));
        // The deepest level is read one further, to know what stands there.
        let most = ReadLimits { depth: self.depth, elements: 512, string_bytes: 64 * 1024, values: 20_000 };
        let value =
            Value::read(&mut Scanner::new(&text, Dialect::Json), most).map_err(|error| match error {
                ScanError::Syntax { offset, reason } => LimitError::NotJson { reason, offset },
                ScanError::Source(_) => {
                    LimitError::NotJson { reason: "the bytes could not be read", offset: 0 }
                }
            })?;
        let mut limits = *self;
        loop {
            let mut out = String::new();
            limits.write(&value, &mut out);
            if out.len() as u64 <= self.bytes.0 {
                return Ok(out);
            }
            if limits.array_items == 0 && limits.string_chars == 0 {
                return Ok(format!("\"[truncated: {} bytes]\"", json.len()));
            }
            limits.array_items /= 2;
            limits.string_chars /= 2;
            limits.log_lines = (limits.log_lines / 2).max(2);
        }
    }

    fn write(&self, value: &Value, out: &mut String) {
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Number(raw) if raw.len() <= self.string_chars.max(40) => out.push_str(raw),
            Value::Number(raw) => self.write_string(&ValueText { text: raw.clone(), left_out: 0 }, out),
            Value::String(text) => self.write_string(text, out),
            Value::Array(elements) => self.write_array(elements, out),
            Value::Object(members) => self.write_object(members, out),
            Value::Unread(bytes) => out.push_str(&format!("\"[truncated: {bytes} bytes]\"")),
        }
    }

    fn write_array(&self, elements: &Elements<Value>, out: &mut String) {
        let shown = elements.read.len().min(self.array_items);
        let cut = (shown as u64) < elements.total;
        out.push_str(if cut { "{\"items\":[" } else { "[" });
        for (index, element) in elements.read[..shown].iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            self.write(element, out);
        }
        out.push(']');
        if cut {
            out.push_str(&format!(",\"totalCount\":{},\"showing\":{shown}}}", elements.total));
        }
    }

    fn write_object(&self, members: &Elements<(Box<str>, Value)>, out: &mut String) {
        // Keys are structure, not a list: they are cut only where the bytes demand it.
        let most = if self.array_items == 0 { 0 } else { members.read.len() };
        out.push('{');
        for (index, (key, member)) in members.read[..most].iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            string::write(&cut_chars(key, self.string_chars.max(40)), out);
            out.push(':');
            self.write(member, out);
        }
        let left = members.total - most as u64;
        if left > 0 {
            out.push_str(&format!("{}\"...\":\"{left} more keys\"", if most > 0 { "," } else { "" }));
        }
        out.push('}');
    }

    fn write_string(&self, text: &ValueText, out: &mut String) {
        let lines: Vec<&str> = text.text.lines().collect();
        if lines.len() > self.log_lines && self.log_lines >= 2 {
            let (head, tail) = (self.log_lines.div_ceil(2), self.log_lines / 2);
            let between = lines.len() - head - tail;
            // Each line gets its share of the characters, so that the end is not cut away by the beginning.
            let share = (self.string_chars / (self.log_lines + 1)).max(16);
            let mut kept: Vec<String> = lines[..head].iter().map(|line| cut_chars(line, share)).collect();
            kept.push(format!("... {between} lines omitted ..."));
            kept.extend(lines[lines.len() - tail..].iter().map(|line| cut_chars(line, share)));
            return string::write(&kept.join("\n"), out);
        }
        let mut shown = cut_chars(&text.text, self.string_chars);
        if text.left_out > 0 && !shown.ends_with("...") {
            shown.push_str("...");
        }
        string::write(&shown, out);
    }
}

/// The first characters of a text, with `...` where something is cut; never more than `limit` characters and the mark.
fn cut_chars(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(json: &str) -> String {
        HardLimits::default().apply(json.as_bytes()).unwrap()
    }

    #[test]
    fn what_fits_stays_as_written() {
        let json = r#"{"b":1.0,"a":[1e400,18446744073709551616],"a":"\ud800"}"#;
        assert_eq!(apply(json), r#"{"b":1.0,"a":[1e400,18446744073709551616],"a":"\\ud800"}"#);
    }

    #[test]
    fn arrays_strings_depth_and_lines_are_cut_with_a_mark() {
        let numbers: Vec<String> = (0..25).map(|n| n.to_string()).collect();
        assert_eq!(
            apply(&format!("[{}]", numbers.join(","))),
            r#"{"items":[0,1,2,3,4,5,6,7,8,9],"totalCount":25,"showing":10}"#
        );
        let long = apply(&format!("\"{}\"", "x".repeat(600)));
        assert_eq!(long, format!("\"{}...\"", "x".repeat(500)));
        assert_eq!(apply("[[[[[1]]]]]"), r#"[[[["[truncated: 3 bytes]"]]]]"#);
        let log: Vec<String> = (0..100).map(|n| format!("line {n}")).collect();
        let log = apply(&format!("\"{}\"", log.join("\\n")));
        assert!(log.contains("line 9\\n... 80 lines omitted ...\\nline 90"), "{log}");
    }

    #[test]
    fn the_whole_is_bounded() {
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
    fn broken_json_is_an_error() {
        assert!(HardLimits::default().apply(b"{\"a\":").is_err());
        assert!(HardLimits::default().apply(b"").is_err());
    }
}
