//! Separated values: recognises them, reads their rows and feeds them to a profile.
//!
//! Rows are read here rather than by a library because the engine needs the offset of every record to read it again.

use std::io;

use serde::{Deserialize, Serialize};

use crate::json::value::Value;
use crate::json::{StringToken, string};
use crate::lines::Lines;
use crate::profile::ProfileBuilder;
use crate::text::Text;

/// A delimiter and the names of the columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Format {
    pub(crate) delimiter: u8,
    pub(crate) names: Vec<String>,
}

/// Reads rows of cells.
pub(crate) struct Rows<'a> {
    lines: Lines<'a>,
    delimiter: u8,
}

/// The maximum number of lines of one row, so that a stray quote does not swallow the rest of the text.
const MAX_ROW_LINES: usize = 200;

impl<'a> Rows<'a> {
    pub(crate) fn new(lines: Lines<'a>, delimiter: u8) -> Self {
        Self { lines, delimiter }
    }

    /// Returns the offset of the next row.
    pub(crate) fn position(&self) -> u64 {
        self.lines.position()
    }

    /// Returns the next row that is not empty, with its offset.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, Vec<String>)>> {
        loop {
            let (at, mut row) = match self.lines.next()? {
                Some(line) => (line.at, line.text().into_owned()),
                None => return Ok(None),
            };
            if row.trim().is_empty() {
                continue;
            }
            for _ in 0..MAX_ROW_LINES {
                if row.bytes().filter(|&byte| byte == b'"').count() % 2 == 0 {
                    break;
                }
                let Some(line) = self.lines.next()? else { break };
                row.push('\n');
                row.push_str(&line.text());
            }
            return Ok(Some((at, cells(&row, self.delimiter))));
        }
    }
}

/// Splits one row into its cells; a quoted cell may contain the delimiter, and doubled quotes.
pub(crate) fn cells(row: &str, delimiter: u8) -> Vec<String> {
    let mut cells = Vec::new();
    let mut rest = row;
    loop {
        let (cell, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_cell(quoted, delimiter),
            None => match rest.find(char::from(delimiter)) {
                Some(end) => (rest[..end].to_owned(), Some(&rest[end + 1..])),
                None => (rest.to_owned(), None),
            },
        };
        cells.push(cell);
        match after {
            Some(after) => rest = after,
            None => return cells,
        }
    }
}

fn quoted_cell(quoted: &str, delimiter: u8) -> (String, Option<&str>) {
    let mut cell = String::new();
    let mut rest = quoted;
    loop {
        let Some(quote) = rest.find('"') else {
            cell.push_str(rest);
            return (cell, None);
        };
        cell.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        if let Some(after) = rest.strip_prefix('"') {
            cell.push('"');
            rest = after;
            continue;
        }
        return match rest.find(char::from(delimiter)) {
            Some(end) => {
                cell.push_str(&rest[..end]);
                (cell, Some(&rest[end + 1..]))
            }
            None => {
                cell.push_str(rest);
                (cell, None)
            }
        };
    }
}

/// The minimum number of rows of a text of separated values, its header row included.
const MIN_SAMPLE_ROWS: usize = 3;
/// The maximum number of rows examined.
const MAX_SAMPLE_ROWS: usize = 64;

/// Recognises separated values from the beginning of a text.
pub(crate) fn recognise(head: &str, whole: bool) -> Option<Format> {
    let mut lines: Vec<&str> =
        head.lines().filter(|line| !line.trim().is_empty()).take(MAX_SAMPLE_ROWS).collect();
    if !whole {
        lines.pop();
    }
    if lines.len() < MIN_SAMPLE_ROWS {
        return None;
    }
    [b',', b'\t', b';', b'|'].into_iter().find_map(|delimiter| {
        let rows: Vec<Vec<String>> = lines.iter().map(|line| cells(line, delimiter)).collect();
        let width = rows[0].len();
        let even = rows.iter().filter(|row| row.len() == width).count();
        (width >= 2 && even * 20 >= rows.len() * 19 && is_header(&rows[0]))
            .then(|| Format { delimiter, names: rows[0].iter().map(|name| name.trim().to_owned()).collect() })
    })
}

/// Returns whether cells can be a header row: short, distinct, no numbers, none empty except the first.
fn is_header(cells: &[String]) -> bool {
    let named = cells.iter().skip(1).all(|cell| !cell.trim().is_empty());
    let short = cells.iter().all(|cell| cell.len() <= 60 && !cell.contains(['{', '}', '=']));
    let words =
        cells.iter().all(|cell| crate::profile::number::Number::parse(cell.trim().as_bytes()).is_none());
    let distinct = cells.iter().enumerate().all(|(at, cell)| !cells[..at].contains(cell));
    // Sentences contain commas, too.
    let sentence = cells.iter().filter(|cell| cell.split_whitespace().count() > 5).count() * 3 > cells.len();
    named && short && words && distinct && !sentence
}

impl Format {
    /// Returns a row as an object.
    pub(crate) fn object(&self, cells: &[String]) -> Value {
        let members = self.names.iter().zip(cells);
        Value::object(members.map(|(name, cell)| (name.as_str().into(), Value::string(cell))).collect())
    }

    /// Returns a row as JSON.
    pub(crate) fn json(&self, cells: &[String]) -> String {
        let members = self.names.iter().zip(cells).map(|(name, cell)| (name.as_str(), cell.as_str()));
        json_object(members)
    }

    /// Feeds all rows to a profile and returns the offset after the last.
    pub(crate) fn profile(&self, text: &Text<'_>, builder: &mut ProfileBuilder) -> io::Result<u64> {
        let mut rows = Rows::new(Lines::new(text), self.delimiter);
        rows.next()?;
        builder.open(false, rows.position());
        while let Some((at, cells)) = rows.next()? {
            builder.open(true, at);
            for (name, cell) in self.names.iter().zip(&cells) {
                feed_cell(builder, name, cell, at);
            }
            builder.close(rows.position());
        }
        let end = rows.position();
        builder.close(end);
        Ok(end)
    }
}

/// Returns an object of strings as JSON; an empty string becomes null, as in the statistics.
pub(crate) fn json_object<'m>(members: impl Iterator<Item = (&'m str, &'m str)>) -> String {
    let mut out = String::from("{");
    for (at, (name, value)) in members.enumerate() {
        if at > 0 {
            out.push(',');
        }
        string::write_visible(name, &mut out);
        out.push(':');
        match value {
            "" => out.push_str("null"),
            value => string::write_visible(value, &mut out),
        }
    }
    out.push('}');
    out
}

/// Feeds one cell to a profile; an empty cell counts as null.
pub(crate) fn feed_cell(builder: &mut ProfileBuilder, name: &str, cell: &str, at: u64) {
    builder.key(&StringToken::unescaped(name), at);
    if cell.is_empty() {
        builder.null(at);
    } else {
        builder.string(&StringToken::unescaped(cell), at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_quotes() {
        assert_eq!(cells("a,\"b,c\",\"d\"\"e\",", b','), ["a", "b,c", "d\"e", ""]);
        assert_eq!(cells("\"open", b','), ["open"]);
    }

    #[test]
    fn separated_values_and_prose_are_distinguished() {
        let table = recognise("date,rain,wind\n2012-01-01,0.0,4.7\n2012-01-02,10.9,4.5\n", true).unwrap();
        assert_eq!(table.names, ["date", "rain", "wind"]);
        assert!(
            recognise("First, a word, then\nanother, and one, more\nand so, on it, goes\n", true).is_some()
        );
        assert!(recognise("1,2,3\n4,5,6\n7,8,9\n", true).is_none(), "no header");
        assert!(recognise("one line\nand another\nand a third\n", true).is_none());
    }
}
