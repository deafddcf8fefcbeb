//! Separated values: recognises them, reads their rows and feeds them to a profile.
//!
//! Rows are read here rather than by a library because the engine needs the offset of every record to read it again.

mod cell_feed;
mod rows;

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};

pub(crate) use cell_feed::{CellFeed, NumberForms};
pub(crate) use rows::Rows;

use crate::json::string;
use crate::json::value::Value;
use crate::lines::Lines;
use crate::sample::Sample;
use crate::source::Span;
use crate::text::Text;

/// A delimiter and the names of the columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Format {
    pub(crate) delimiter: u8,
    pub(crate) names: Vec<String>,
}

/// The minimum number of rows of a text of separated values, its header row included.
const MIN_SAMPLE_ROWS: usize = 3;
/// The maximum number of rows examined.
const MAX_SAMPLE_ROWS: usize = 64;

/// The maximum number of lines before the header row, and the minimum number of rows after such lines.
const MAX_LINES_BEFORE: usize = 30;
const MIN_ROWS_AFTER_LINES: usize = 5;

/// Recognises separated values in the beginning of a text; returns their format and the offset of their header row.
///
/// Comments and a title may be before them.
pub(crate) fn recognise(sample: &Sample<'_>) -> Option<(Format, u64)> {
    if let Some(format) = recognise_at_start(sample.head, sample.whole) {
        return Some((format, 0));
    }
    let mut start = 0;
    let mut longest = 0;
    for line in sample.bytes.split_inclusive(|byte| *byte == b'\n').take(MAX_LINES_BEFORE) {
        let begin = start;
        start += line.len();
        let marks = |line: &[u8], mark: u8| memchr::memchr_iter(mark, line).count();
        let next = sample.bytes[start..].split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_comment = line.starts_with(b"#") || line.starts_with(b"%") || line.starts_with(b"//");
        let even = DELIMITERS
            .into_iter()
            .any(|mark| marks(line, mark) > 0 && marks(line, mark) == marks(next, mark));
        if begin > 0 && even {
            let head = String::from_utf8_lossy(&sample.bytes[begin..]);
            let format = recognise_at_start(&head, sample.whole)
                .filter(|format| has_rows_unlike(&head, sample.whole, format))
                .filter(|format| longest < format.names.len());
            if let Some(format) = format {
                return Some((format, begin as u64));
            }
        }
        if !is_comment {
            // A line with as many cells is not a title, and the rows began before it.
            let cells = DELIMITERS.into_iter().map(|mark| marks(line, mark) + 1).max();
            longest = longest.max(cells.unwrap_or(1));
        }
    }
    None
}

/// Returns whether a text is rows separated by commas, semicolons or tabs under a header row. Bars also separate the columns
/// of drawn tables.
pub(crate) fn has_separated_rows(sample: &Sample<'_>) -> bool {
    recognise_at_start(sample.head, sample.whole).is_some_and(|format| format.delimiter != b'|')
}

/// The delimiters that are tried.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// Returns whether enough rows follow the first one, and it is unlike them: in no column, more than a quarter of the rows have
/// the cell of the first row, digits aside.
fn has_rows_unlike(head: &str, whole: bool, format: &Format) -> bool {
    let rows = sample(head, whole, format.delimiter);
    let Some((header, rows)) = rows.split_first() else { return false };
    let digitless = |cell: &str| cell.trim().replace(|c: char| c.is_ascii_digit(), "");
    let is_of_rows = |at: usize| {
        let name = digitless(&header[at]);
        rows.iter().filter(|row| row.get(at).is_some_and(|cell| digitless(cell) == name)).count() * 4
            > rows.len()
    };
    rows.len() >= MIN_ROWS_AFTER_LINES && !(0..header.len()).any(is_of_rows)
}

/// Recognises separated values whose header row is the first line.
fn recognise_at_start(head: &str, whole: bool) -> Option<Format> {
    let head = head.trim_start_matches('\u{feff}');
    DELIMITERS.into_iter().find_map(|delimiter| {
        let rows = sample(head, whole, delimiter);
        let header = rows.first().filter(|_| rows.len() >= MIN_SAMPLE_ROWS)?;
        let even = rows.iter().filter(|row| row.len() == header.len()).count();
        let is_headed = is_header(header) && !is_row_of(header, &rows[1..]);
        (header.len() >= 2 && even * 20 >= rows.len() * 19 && is_headed).then(|| Format {
            delimiter,
            names: header.iter().map(|name| name.trim().trim_start_matches('#').trim().to_owned()).collect(),
        })
    })
}

/// Returns whether a header row looks like the other rows: several of its cells equal those of most rows, digits aside.
fn is_row_of(header: &[String], rows: &[Vec<String>]) -> bool {
    let digitless = |cell: &str| cell.trim().replace(|c: char| c.is_ascii_digit(), "");
    let is_alike = |at: &usize| {
        let name = digitless(&header[*at]);
        let alike = rows.iter().filter(|row| row.get(*at).is_some_and(|cell| digitless(cell) == name));
        !name.is_empty() && alike.count() * 2 > rows.len()
    };
    (0..header.len()).filter(is_alike).count() >= 2
}

/// Returns the first rows of a text; the last one only if it is known to be whole.
fn sample(head: &str, whole: bool, delimiter: u8) -> Vec<Vec<String>> {
    let source = head.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let mut reader = Rows::new(Lines::new(&text), delimiter);
    let mut rows = Vec::new();
    let ended = loop {
        match reader.next() {
            Ok(Some(row)) if !row.cut_off || whole => rows.push(row.cells),
            Ok(Some(_)) => break false,
            Ok(None) | Err(_) => break true,
        }
        if rows.len() == MAX_SAMPLE_ROWS {
            break false;
        }
    };
    if ended && !whole {
        rows.pop();
    }
    rows
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

/// The maximum number of columns for cells beyond the header; one more column holds the rest of the row.
const MAX_FURTHER_COLUMNS: usize = 64;

impl Format {
    /// Returns the members of a row. Cells beyond the header have columns of their own, unless they are empty.
    pub(crate) fn members<'r>(&'r self, cells: &'r [String]) -> Vec<(Cow<'r, str>, Cow<'r, str>)> {
        let named = self.names.iter().zip(cells);
        let mut members: Vec<(Cow<'_, str>, Cow<'_, str>)> =
            named.map(|(name, cell)| (name.into(), cell.into())).collect();
        let further = cells.get(self.names.len()..).unwrap_or_default();
        let (own, rest) = further.split_at(further.len().min(MAX_FURTHER_COLUMNS));
        let own = own.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
        members.extend(own.map(|(at, cell)| (self.further_name(at).into(), cell.into())));
        if rest.iter().any(|cell| !cell.is_empty()) {
            let rest = rest.join(&char::from(self.delimiter).to_string());
            members.push((self.further_name(MAX_FURTHER_COLUMNS).into(), rest.into()));
        }
        members
    }

    /// Returns the name of a column beyond the header: `c4` for the fourth, unless the header has that name.
    fn further_name(&self, at: usize) -> String {
        let mut name = format!("c{}", self.names.len() + at + 1);
        while self.names.contains(&name) {
            name.push('_');
        }
        name
    }

    /// Returns a row as an object.
    pub(crate) fn object(&self, cells: &[String]) -> Value {
        let members = self.members(cells).into_iter();
        Value::object(members.map(|(name, cell)| (name.into(), Value::string(&cell))).collect())
    }

    /// Returns a row as JSON.
    pub(crate) fn json(&self, cells: &[String]) -> String {
        json_object(self.members(cells).iter().map(|(name, cell)| (&**name, &**cell)))
    }

    /// Feeds all rows after the header row at `start` to a profile and returns the offset after the last.
    pub(crate) fn profile(&self, text: &Text<'_>, start: u64, feed: &mut CellFeed<'_>) -> io::Result<u64> {
        let mut lines = Lines::new(text);
        while lines.position() < start && lines.next()?.is_some() {}
        let mut rows = Rows::new(lines, self.delimiter);
        rows.next()?;
        feed.builder.open(false, rows.position());
        while let Some(row) = rows.next()? {
            feed.builder.open(true, row.at);
            if row.cells.len() <= self.names.len() {
                self.names.iter().zip(&row.cells).for_each(|(name, cell)| feed.cell(name, cell, row.at));
            } else {
                self.members(&row.cells).iter().for_each(|(name, cell)| feed.cell(name, cell, row.at));
            }
            feed.builder.close(rows.position());
            rows.reuse(row);
        }
        let end = rows.position();
        feed.builder.close(end);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_beyond_the_header_have_columns() {
        let format = Format { delimiter: b',', names: vec!["id".into(), "c3".into()] };
        let cells = |row: &str| row.split(',').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(format.json(&cells("1,a")), r#"{"id":"1","c3":"a"}"#);
        assert_eq!(format.json(&cells("1")), r#"{"id":"1"}"#);
        assert_eq!(format.json(&cells("1,a,b,,c")), r#"{"id":"1","c3":"a","c3_":"b","c5":"c"}"#);
        let wide = format.json(&cells(&"x,".repeat(200)));
        assert_eq!(wide.matches('x').count(), 200, "{wide}");
    }

    #[test]
    fn separated_values_and_prose_are_distinguished() {
        let table =
            recognise_at_start("date,rain,wind\n2012-01-01,0.0,4.7\n2012-01-02,10.9,4.5\n", true).unwrap();
        assert_eq!(table.names, ["date", "rain", "wind"]);
        assert!(
            recognise_at_start("First, a word, then\nanother, and one, more\nand so, on it, goes\n", true)
                .is_some()
        );
        assert!(recognise_at_start("1,2,3\n4,5,6\n7,8,9\n", true).is_none(), "no header");
        assert!(recognise_at_start("one line\nand another\nand a third\n", true).is_none());
    }

    #[test]
    fn a_sample_may_have_quoted_line_breaks_and_a_byte_order_mark() {
        let row = "1,\"two\nlines\n\"\n";
        let table = recognise_at_start(&format!("\u{feff}id,note\n{}", row.repeat(9)), true).unwrap();
        assert_eq!(table.names, ["id", "note"]);
        assert!(recognise_at_start(&format!("id,note\n{}1,\"cut\noff\n", row.repeat(9)), false).is_some());
    }

    #[test]
    fn comments_and_a_title_may_stand_before_the_header() {
        let rows = "1,a,0.5\n2,b,1.5\n3,c,2.5\n4,d,3.5\n5,e,4.5\n";
        for before in
            ["# made by x, y\n# at 12:00, today\n", "Report of May\n\n", "Report,May\n", "% a\n% b\n"]
        {
            let text = format!("{before}id,name,value\n{rows}");
            let (format, start) = recognise(&Sample::of(&text)).unwrap();
            assert_eq!(
                (format.names.join(","), start),
                ("id,name,value".into(), before.len() as u64),
                "{text}"
            );
        }
        let commented = format!("# made by x\n#id,name,value\n{rows}");
        assert_eq!(recognise(&Sample::of(&commented)).unwrap().0.names, ["id", "name", "value"]);
        for text in [
            "Hello,\n\nthis is, as it were,\na letter, and so on,\nwith commas, like so,\nand more, of those,\nthan rows, of a table,\n",
            "a,b,c\nd,e\n",
            "Trace:\n  in \"a\", line 1, of f\n  in \"b\", line 2, of g\n  in \"c\", line 3, of h\n  in \"d\", line 4, of i\n  in \"e\", line 5, of j\n  in \"e\", line 6, of j\n",
        ] {
            assert!(recognise(&Sample::of(text)).is_none(), "{text}");
        }
    }
}
