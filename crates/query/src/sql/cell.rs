//! Values of a row as cells of a CSV line: a quoted cell is text, an empty one null.

use rusqlite::types::ValueRef;
use tidegate_core::view::visible_text;

use crate::order::cut_result;

/// A CSV line of at most about `max_bytes`: what is over is not kept.
pub(super) struct CsvLine {
    text: String,
    max_bytes: usize,
    cells: usize,
}

impl CsvLine {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { text: String::new(), max_bytes, cells: 0 }
    }

    /// Adds a value; a float of a column with fixed decimals is written with them.
    pub(super) fn push(&mut self, value: ValueRef<'_>, decimals: Option<usize>) {
        if self.text.len() > self.max_bytes {
            return;
        }
        if self.cells > 0 {
            self.text.push(',');
        }
        self.cells += 1;
        match value {
            ValueRef::Null => {}
            ValueRef::Integer(integer) => self.text.push_str(&integer.to_string()),
            ValueRef::Real(float) => self.text.push_str(&float_text(float, decimals)),
            ValueRef::Text(bytes) => self.push_text(bytes),
            ValueRef::Blob(bytes) => self.text.push_str(&format!("\"{} bytes\"", bytes.len())),
        }
    }

    fn push_text(&mut self, bytes: &[u8]) {
        // More of one cell is never shown.
        let kept = &bytes[..bytes.len().min(self.max_bytes.saturating_add(4))];
        self.text.push_str(&cell_of_text(&String::from_utf8_lossy(kept)));
    }

    pub(super) fn finish(mut self) -> String {
        cut_result(&mut self.text, self.max_bytes);
        self.text
    }
}

/// Returns a value as JSON; numbers that JSON cannot write become strings.
pub(super) fn json_of_cell(value: ValueRef<'_>, decimals: Option<usize>) -> String {
    let string = |text: &str| serde_json::Value::from(text).to_string();
    match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(integer) => integer.to_string(),
        ValueRef::Real(float) if !float.is_finite() => string(&float.to_string()),
        ValueRef::Real(float) => float_text(float, decimals),
        ValueRef::Text(bytes) => string(&String::from_utf8_lossy(bytes)),
        ValueRef::Blob(bytes) => string(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

fn float_text(float: f64, decimals: Option<usize>) -> String {
    if let Some(decimals) = decimals {
        return format!("{float:.decimals$}");
    }
    let text = format!("{float}");
    if text.contains(['.', 'e', 'N', 'i']) || text.len() > 20 { text } else { format!("{text}.0") }
}

/// Returns a text as a cell. Text that looks like a number is quoted; a line feed stays one, so that it differs from a
/// backslash and an n.
pub(super) fn cell_of_text(text: &str) -> String {
    let shown = visible_text(text);
    let plain = !shown.is_empty()
        && !shown.contains([',', '"', '\n'])
        && shown.trim() == shown
        && !shown.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+'));
    if plain { shown } else { format!("\"{}\"", shown.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(value: ValueRef<'_>, decimals: Option<usize>) -> String {
        let mut line = CsvLine::new(1000);
        line.push(value, decimals);
        line.finish()
    }

    #[test]
    fn cells_tell_numbers_from_text() {
        assert_eq!(cell(ValueRef::Text(b"12"), None), "\"12\"");
        assert_eq!(cell(ValueRef::Integer(12), None), "12");
        assert_eq!(cell(ValueRef::Real(2.0), None), "2.0");
        assert_eq!(cell(ValueRef::Real(2.5), Some(2)), "2.50");
        assert_eq!(cell(ValueRef::Text(b"a,b"), None), "\"a,b\"");
        assert_eq!(cell(ValueRef::Text(b"plain words"), None), "plain words");
        assert_eq!(cell(ValueRef::Null, None), "");
    }

    #[test]
    fn a_line_feed_differs_from_a_backslash_and_an_n() {
        assert_eq!(cell(ValueRef::Text(b"a\nb"), None), "\"a\nb\"");
        assert_eq!(cell(ValueRef::Text(b"a\\nb"), None), "a\\nb");
    }

    #[test]
    fn a_line_is_bounded_while_it_is_built() {
        let long = vec![b'x'; 100_000];
        let mut line = CsvLine::new(50);
        for _ in 0..1000 {
            line.push(ValueRef::Text(&long), None);
        }
        assert_eq!(line.finish().len(), 54);
    }
}
