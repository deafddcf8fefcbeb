//! Reads the rows of separated values as RFC 4180 defines them, and leniently where a text departs from it.
//!
//! A quote opens a quoted cell only at the beginning of a cell, and such a cell must be closed by a quote before a
//! delimiter or a line end; it may contain delimiters, line breaks and doubled quotes. If a cell is not closed like
//! that, its quotes are ordinary characters and its row ends with its line, so that a stray quote affects one cell and
//! no other row.

use std::collections::VecDeque;
use std::io;

use crate::lines::{Lines, OwnedLine};

/// The maximum number of bytes of one row. A quote that is not closed within them is an ordinary character.
const MAX_ROW_BYTES: u64 = 4 * 1024 * 1024;
/// The maximum number of cells whose memory is kept.
const MAX_SPARE_CELLS: usize = 256;

/// One row.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its offset in the text.
    pub(crate) at: u64,
    pub(crate) cells: Vec<String>,
    /// Whether the cells are all of the row rather than its beginning.
    pub(crate) whole: bool,
    /// Whether the text ended before a quoted cell did.
    pub(crate) cut_off: bool,
}

/// Reads rows of cells.
pub(crate) struct Rows<'a> {
    lines: Lines<'a>,
    /// Lines that were read to find the end of a quoted cell which has none.
    pending: VecDeque<OwnedLine>,
    delimiter: u8,
    /// Memory of earlier rows, for the cells of the next one.
    spare: Vec<String>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(lines: Lines<'a>, delimiter: u8) -> Self {
        Self { lines, pending: VecDeque::new(), delimiter, spare: Vec::new() }
    }

    /// Takes the memory of a row that is no longer needed.
    pub(crate) fn reuse(&mut self, row: Row) {
        // The next row takes its first cell from the end.
        self.spare.extend(row.cells.into_iter().rev());
        self.spare.truncate(MAX_SPARE_CELLS);
    }

    /// Returns the offset of the next row.
    pub(crate) fn position(&self) -> u64 {
        self.pending.front().map_or_else(|| self.lines.position(), |line| line.at)
    }

    /// Returns the next row that is not blank.
    pub(crate) fn next(&mut self) -> io::Result<Option<Row>> {
        let delimiter = self.delimiter;
        let is_blank = |byte: u8| byte.is_ascii_whitespace() && byte != delimiter;
        loop {
            match self.next_line()? {
                Some(line) if line.text.bytes().all(is_blank) => {}
                Some(line) => return self.row(line).map(Some),
                None => return Ok(None),
            }
        }
    }

    fn next_line(&mut self) -> io::Result<Option<OwnedLine>> {
        match self.pending.pop_front() {
            Some(line) => Ok(Some(line)),
            None => self.lines.next_whole(MAX_ROW_BYTES),
        }
    }

    /// Reads the row that begins with a line.
    fn row(&mut self, first: OwnedLine) -> io::Result<Row> {
        let spare = std::mem::take(&mut self.spare);
        let mut splitter = RowSplitter { delimiter: self.delimiter, cells: Vec::new(), open: None, spare };
        let mut end = splitter.add(&first.text);
        let mut further: Vec<OwnedLine> = Vec::new();
        while end == RowEnd::Open {
            let last = further.last().unwrap_or(&first);
            let last_end = last.at + last.length;
            if last_end - first.at > MAX_ROW_BYTES {
                break;
            }
            let Some(line) = self.next_line()? else { break };
            splitter.break_line(line.at - last_end);
            end = splitter.add(&line.text);
            further.push(line);
        }
        self.spare = splitter.spare;
        if end == RowEnd::Complete {
            let whole = first.whole && further.iter().all(|line| line.whole);
            return Ok(Row { at: first.at, cells: splitter.cells, whole, cut_off: false });
        }
        further.into_iter().rev().for_each(|line| self.pending.push_front(line));
        let cells = lenient_cells(&first.text, self.delimiter);
        Ok(Row { at: first.at, cells, whole: first.whole, cut_off: end == RowEnd::Open })
    }
}

/// How a row stands after one of its lines.
#[derive(Debug, PartialEq, Eq)]
enum RowEnd {
    Complete,
    /// A quoted cell goes on in the next line.
    Open,
    /// A quoted cell is followed by something else than a delimiter or a line end.
    Malformed,
}

/// Splits a row into cells, line by line.
struct RowSplitter {
    delimiter: u8,
    cells: Vec<String>,
    /// The quoted cell that is not closed yet.
    open: Option<String>,
    spare: Vec<String>,
}

impl RowSplitter {
    /// Adds the line break inside the open cell, which is `bytes` long.
    fn break_line(&mut self, bytes: u64) {
        if let Some(cell) = &mut self.open {
            cell.push_str(if bytes == 2 { "\r\n" } else { "\n" });
        }
    }

    fn add(&mut self, line: &str) -> RowEnd {
        let mut rest = line;
        loop {
            let open = self.open.take();
            let quoted = if open.is_some() { Some(rest) } else { rest.strip_prefix('"') };
            let after = match quoted {
                None => {
                    let end = memchr::memchr(self.delimiter, rest.as_bytes());
                    let mut cell = self.spare.pop().unwrap_or_default();
                    cell.clear();
                    cell.push_str(&rest[..end.unwrap_or(rest.len())]);
                    self.cells.push(cell);
                    end.map(|end| &rest[end + 1..])
                }
                Some(quoted) => match quoted_cell(open.unwrap_or_default(), quoted) {
                    (cell, None) => {
                        self.open = Some(cell);
                        return RowEnd::Open;
                    }
                    (cell, Some(after)) => {
                        self.cells.push(cell);
                        let next = after.strip_prefix(char::from(self.delimiter));
                        if next.is_none() && !after.is_empty() {
                            return RowEnd::Malformed;
                        }
                        next
                    }
                },
            };
            match after {
                Some(after) => rest = after,
                None => return RowEnd::Complete,
            }
        }
    }
}

/// Reads on inside a quoted cell; returns the cell and what follows its closing quote, `None` if it is not closed.
fn quoted_cell(mut cell: String, quoted: &str) -> (String, Option<&str>) {
    let mut rest = quoted;
    loop {
        let Some(quote) = rest.find('"') else {
            cell.push_str(rest);
            return (cell, None);
        };
        cell.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                cell.push('"');
                rest = after;
            }
            None => return (cell, Some(rest)),
        }
    }
}

/// Splits a line by itself; in a cell that is not closed by a quote, quotes are ordinary characters.
fn lenient_cells(line: &str, delimiter: u8) -> Vec<String> {
    let delimiter = char::from(delimiter);
    let mut cells = Vec::new();
    let mut rest = Some(line);
    while let Some(from) = rest {
        let closed = from.strip_prefix('"').and_then(|quoted| match quoted_cell(String::new(), quoted) {
            (cell, Some("")) => Some((cell, None)),
            (cell, Some(after)) => after.strip_prefix(delimiter).map(|next| (cell, Some(next))),
            _ => None,
        });
        let (cell, next) = closed.unwrap_or_else(|| match from.split_once(delimiter) {
            Some((cell, next)) => (cell.to_owned(), Some(next)),
            None => (from.to_owned(), None),
        });
        cells.push(cell);
        rest = next;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;
    use crate::text::Text;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let source = text.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        let mut rows = Rows::new(Lines::new(&text), b',');
        let mut all = Vec::new();
        let mut before = 0;
        while let Some(row) = rows.next().unwrap() {
            assert!(row.at >= before && rows.position() > row.at);
            before = row.at;
            all.push(row.cells);
        }
        all
    }

    #[test]
    fn quoted_cells_keep_commas_quotes_and_line_breaks() {
        assert_eq!(rows("a,\"b,c\",\"d\"\"e\","), [["a", "b,c", "d\"e", ""]]);
        assert_eq!(rows("\"one\r\ntwo\n\nthree\",x\r\n1,2\n"), [["one\r\ntwo\n\nthree", "x"], ["1", "2"]]);
        assert_eq!(rows("\"\",\"\"\"\"\n,\n\n"), [["", "\""], ["", ""]]);
    }

    #[test]
    fn a_stray_quote_affects_one_cell() {
        assert_eq!(rows("1,5\" pipe,2\n2,b,3\n"), [["1", "5\" pipe", "2"], ["2", "b", "3"]]);
        assert_eq!(rows("1,\"open,2\n2,b,3\n"), [["1", "\"open", "2"], ["2", "b", "3"]]);
        assert_eq!(rows("1,\"a\" b,2\n\"2\",\"b,c\",3\n"), [["1", "\"a\" b", "2"], ["2", "b,c", "3"]]);
        assert_eq!(
            rows("1,\"open,2\n2,\"b\nc\",3\n4,5,6"),
            [vec!["1", "\"open", "2"], vec!["2", "b\nc", "3"], vec!["4", "5", "6"]]
        );
    }

    #[test]
    fn a_quoted_cell_may_have_very_many_lines() {
        let long = "a line\n".repeat(20_000);
        assert_eq!(rows(&format!("1,\"{long}\"\n2,b\n"))[1], ["2", "b"]);
    }
}
