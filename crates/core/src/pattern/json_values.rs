//! Lines of JSON with other lines among them, such as a trace in a log of JSON lines.
//!
//! A line that is one JSON object or array is that record; any other line is a record with its text.

use crate::json::value::{ReadLimits, Value};
use crate::json::{Dialect, Scanner, compact, strict};
use crate::pattern::RecordLines;
use crate::profile::ProfileBuilder;
use crate::source::Span;
use crate::text::Text;

/// The minimum number of lines of JSON in the sample.
const MIN_JSON_LINES: usize = 3;

/// Returns whether most lines at the beginning of a text are JSON objects or arrays.
pub(crate) fn is_mostly_json(head: &str, whole: bool) -> bool {
    let mut lines: Vec<&str> = head.lines().filter(|line| !line.trim().is_empty()).collect();
    if !whole {
        lines.pop();
    }
    let json = lines.iter().filter(|line| strict::is_container(line)).count();
    json >= MIN_JSON_LINES && json * 2 > lines.len()
}

/// Returns whether a record is a line of JSON.
pub(super) fn is_json(raw: &RecordLines) -> bool {
    raw.whole && strict::is_container(raw.first())
}

pub(super) fn feed(raw: &RecordLines, at: u64, builder: &mut ProfileBuilder) {
    let source = raw.first().as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let mut scanner = Scanner::new(&text, Dialect::Json);
    scanner.decode_strings();
    // All values inside a line get the line's offset, because the line is read again as one record.
    let _ = builder.scan_value_at(&mut scanner, at);
}

pub(super) fn json(raw: &RecordLines) -> String {
    let source = raw.first().as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let compact = compact::value(&mut Scanner::new(&text, Dialect::Json), Dialect::Json, usize::MAX);
    compact.map_or_else(|_| raw.first().trim().to_owned(), |compact| compact.text)
}

pub(super) fn object(raw: &RecordLines) -> Value {
    let source = raw.first().as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    Value::read(&mut Scanner::new(&text, Dialect::Json), ReadLimits::RECORD).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_lines_must_be_json() {
        let line = "{\"a\":1}\n";
        assert!(is_mostly_json(&format!("{}Traceback:\n  at x\n", line.repeat(3)), true));
        assert!(!is_mostly_json(&format!("{line}one\ntwo\n"), true));
        assert!(!is_mostly_json("[0] a\n[1] b\n[2] c\n", true));
    }
}
