//! Tables drawn in text, with whatever is before, between and after them.
//!
//! A text with one table, or with several that have the same columns, is a list of rows; several tables with different
//! columns are an object of lists, each under the line above it. Most lines must be rows, so that a document with a
//! table in it stays a document.
//!
//! The first pass finds the tables and which of their columns are numbers; the rows are cut again when they are written.

mod writer;

use std::io;
use std::rc::Rc;

use super::typed::Column;
use super::window::{Window, scan};
use super::{Begun, aligned, bars};
use crate::csv;
use crate::pattern::OtherLines;
use crate::sample::Sample;
use crate::text::Text;
use crate::trim::trimmed_lines;
use writer::{TableWriter, Tables};

/// The maximum number of tables with different columns.
const MAX_TABLES: usize = 24;
/// The minimum number of rows of a text.
const MIN_ROWS: usize = 3;
/// How many lines after a line can decide what it is: outside of a table, and in one.
const MAX_LINES_AHEAD: usize = aligned::MANY_ROWS + 8;
const MAX_LINES_AFTER_ROW: usize = 4;

/// How a table is drawn: its columns and how its rows are cut into cells.
#[derive(PartialEq)]
pub(super) struct TableForm {
    names: Vec<String>,
    /// The cells of the header as they are written.
    pub(super) header: Vec<String>,
    cut: RowCut,
}

/// How the cells of a row are found.
#[derive(PartialEq)]
pub(super) enum RowCut {
    /// They are between bars; `\|` in a cell is a bar.
    Bars {
        boxed: bool,
    },
    Aligned(aligned::Cut),
}

/// What a line is to the table above it.
pub(super) enum LineInTable {
    Row,
    /// A part of the table that is not a row.
    NoRow,
    /// The last line of the table, which is not a row.
    Last,
    /// Not a part of the table.
    After,
}

/// The beginning of a table; lines are numbered from 0.
pub(super) struct FoundTable {
    pub(super) form: TableForm,
    /// The line with the names of the columns.
    pub(super) header: usize,
    /// The line of the first row.
    pub(super) first: usize,
}

impl TableForm {
    pub(super) fn new(names: Vec<String>, header: &[&str], cut: RowCut) -> Self {
        Self { names, header: header.iter().map(|&cell| cell.to_owned()).collect(), cut }
    }

    /// Finds the cells of a line; returns false if it is not a row.
    pub(super) fn fits<'l>(&self, line: &'l str, cells: &mut Vec<&'l str>) -> bool {
        match &self.cut {
            RowCut::Bars { .. } => bars::find_cells(line, cells),
            RowCut::Aligned(cut) => cut.find_cells(line, cells),
        }
    }

    /// Returns whether cells are those of the header, which may be repeated.
    pub(super) fn is_header(&self, cells: &[&str]) -> bool {
        self.header == cells
    }

    /// Returns what line `at` is to the table above it.
    fn line_in_table<'l>(
        &self,
        lines: &[&'l str],
        at: usize,
        is_first: bool,
        cells: &mut Vec<&'l str>,
    ) -> LineInTable {
        match &self.cut {
            RowCut::Bars { boxed } => bars::line_in_table(self, *boxed, lines, at, cells),
            RowCut::Aligned(_) => aligned::line_in_table(self, lines, at, is_first, cells),
        }
    }

    /// Finds the cells of a line between the first and the last row of the table, one for each column; returns false if
    /// the line is not a row.
    fn find_cells<'l>(&self, line: &'l str, cells: &mut Vec<&'l str>) -> bool {
        let is_rule = matches!(self.cut, RowCut::Bars { .. }) && bars::is_rule(line);
        if is_rule || !self.fits(line, cells) || self.is_header(cells) {
            return false;
        }
        // Markdown may leave out the last cells of a row.
        cells.resize(self.names.len(), "");
        true
    }

    /// Returns whether a cell among these lines may have an escaped bar.
    fn may_have_escapes(&self, lines: &str) -> bool {
        matches!(self.cut, RowCut::Bars { .. }) && memchr::memchr(b'\\', lines.as_bytes()).is_some()
    }
}

#[cfg(test)]
impl FoundTable {
    /// Returns the names of the columns, the cells of all rows, and the line after the table.
    pub(super) fn rows(self, lines: &[&str]) -> Option<(Vec<String>, Vec<Vec<String>>, usize)> {
        let (form, mut at, mut rows, mut cells) = (self.form, self.first, Vec::new(), Vec::new());
        while at < lines.len() {
            let line = form.line_in_table(lines, at, at == self.first, &mut cells);
            if matches!(line, LineInTable::Row) && form.find_cells(lines[at], &mut cells) {
                let may_have_escapes = form.may_have_escapes(lines[at]);
                rows.push(
                    cells.iter().map(|cell| writer::unescaped(cell, may_have_escapes).into_owned()).collect(),
                );
            }
            at += usize::from(!matches!(line, LineInTable::After));
            if matches!(line, LineInTable::After | LineInTable::Last) {
                break;
            }
        }
        Some((form.names, rows, at))
    }
}

pub(super) fn recognise(sample: &Sample<'_>) -> bool {
    // A few short rows of separated values may have spaces where a column could end.
    if csv::has_separated_rows(sample) {
        return false;
    }
    // The last line may be cut off, and with it the last row.
    let end = if sample.whole { sample.head.len() } else { sample.head.rfind('\n').unwrap_or(0) };
    let mut finder = TableFinder::default();
    finder.read(&Window::whole(&sample.head[..end]));
    finder.is_mostly_rows()
}

pub(super) fn begin(text: &Text<'_>, start: u64) -> io::Result<Option<Begun>> {
    let mut finder = TableFinder::default();
    scan(text, start, |window| Some(finder.read(window)))?;
    if !finder.is_mostly_rows() {
        return Ok(None);
    }
    let others = std::mem::take(&mut finder.others);
    Ok(Some((Box::new(TableWriter::new(finder.tables())), others)))
}

/// One table of a text; lines are numbered from 0.
struct Table {
    form: Rc<TableForm>,
    /// The line above it.
    caption: Option<String>,
    /// The line of the first row, and the line after the last one.
    first: usize,
    end: usize,
    columns: Vec<Column>,
}

/// Finds the tables of a text, window by window.
#[derive(Default)]
struct TableFinder {
    tables: Vec<Table>,
    /// Whether the last table may go on.
    is_open: bool,
    /// The number of the next line.
    line: usize,
    caption: Option<String>,
    others: OtherLines,
    rows: usize,
    /// How many lines are neither blank nor a part of a table.
    other_lines: usize,
}

impl TableFinder {
    /// Reads the lines of a window whose meaning is certain; returns how many bytes they have.
    fn read(&mut self, window: &Window<'_>) -> usize {
        let text = window.lines();
        let lines: Vec<&str> = trimmed_lines(text).collect();
        let mut cells = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let ahead = if self.is_open { MAX_LINES_AFTER_ROW } else { MAX_LINES_AHEAD };
            if !window.is_end && at + ahead >= lines.len() {
                break;
            }
            let next = match self.is_open {
                true => self.read_in_table(&lines, at, &mut cells),
                false => self.read_outside(&lines, at),
            };
            self.line += next - at;
            at = next;
        }
        match lines.get(at) {
            Some(rest) => rest.as_ptr() as usize - text.as_ptr() as usize,
            None => text.len(),
        }
    }

    /// Reads a line of the table that is open; returns the line to read next.
    fn read_in_table<'l>(&mut self, lines: &[&'l str], at: usize, cells: &mut Vec<&'l str>) -> usize {
        let Some(table) = self.tables.last_mut() else { return at + 1 };
        let is_before_rows = self.line < table.first;
        let line = match is_before_rows {
            true => LineInTable::NoRow,
            false => table.form.line_in_table(lines, at, self.line == table.first, cells),
        };
        match line {
            LineInTable::Row => {
                table.columns.iter_mut().zip(&*cells).for_each(|(column, cell)| column.add(cell));
                self.rows += 1;
            }
            LineInTable::NoRow | LineInTable::Last => self.add_other(self.line, lines[at]),
            LineInTable::After => {}
        }
        if matches!(line, LineInTable::After | LineInTable::Last) {
            self.close_table();
        }
        at + usize::from(!matches!(line, LineInTable::After))
    }

    fn close_table(&mut self) {
        self.is_open = false;
        if let Some(table) = self.tables.last_mut() {
            table.end = self.line;
        }
    }

    /// Reads a line that is not in a table, unless one begins there; returns the line to read next.
    fn read_outside(&mut self, lines: &[&str], at: usize) -> usize {
        if let Some(found) = bars::table_at(lines, at).or_else(|| aligned::table_at(lines, at)) {
            let next = found.header + 1;
            self.open_table(found, at);
            return next;
        }
        self.add_other(self.line, lines[at]);
        if says_something(lines[at]) {
            self.caption = Some(lines[at].trim().trim_matches(['#', '*', ' ', ':']).to_owned());
        }
        at + 1
    }

    fn open_table(&mut self, found: FoundTable, at: usize) {
        let last = self.tables.last().map(|table| &table.form).filter(|form| ***form == found.form);
        let form = last.map_or_else(|| Rc::new(found.form), Rc::clone);
        let columns = vec![Column::default(); form.names.len()];
        let (caption, first) = (self.caption.take(), self.line + found.first - at);
        self.tables.push(Table { form, caption, first, end: usize::MAX, columns });
        self.is_open = true;
    }

    /// Counts a line that is not a row, if it says something.
    fn add_other(&mut self, line: usize, text: &str) {
        if says_something(text) {
            self.other_lines += 1;
            self.others.push(line as u64 + 1, text);
        }
    }

    fn is_mostly_rows(&self) -> bool {
        let mut headers: Vec<&[String]> =
            self.tables.iter().map(|table| table.form.names.as_slice()).collect();
        headers.sort_unstable();
        headers.dedup();
        self.rows >= MIN_ROWS && self.rows * 2 >= self.other_lines * 3 && headers.len() <= MAX_TABLES
    }

    /// Returns the tables as they are written.
    fn tables(mut self) -> Tables {
        let is_same = self.tables.windows(2).all(|pair| pair[0].form.names == pair[1].form.names);
        let mut captions: Vec<&str> =
            self.tables.iter().filter_map(|table| table.caption.as_deref()).collect();
        captions.sort_unstable();
        captions.dedup();
        let has_captions = is_same && captions.len() > 1 && captions.len() == self.tables.len();
        let mut keys = Vec::new();
        if is_same {
            let columns = typed_columns(&self.tables);
            self.tables.iter_mut().for_each(|table| table.columns = Vec::new());
            if let Some(first) = self.tables.first_mut() {
                first.columns = columns;
            }
        } else {
            for (number, table) in self.tables.iter().enumerate() {
                keys.push(key(table.caption.as_deref().unwrap_or_default(), number, &keys));
            }
        }
        Tables { tables: self.tables, is_same, has_captions, keys }
    }
}

/// Returns whether a line is neither blank nor drawn.
fn says_something(line: &str) -> bool {
    !bars::is_rule(line) && !aligned::ends_table(line)
}

/// Returns which columns of tables with the same columns are numbers.
fn typed_columns(tables: &[Table]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for table in tables {
        columns.resize(table.columns.len(), Column::default());
        columns.iter_mut().zip(&table.columns).for_each(|(column, more)| column.merge(more));
    }
    columns
}

/// Returns the name of a table among others.
fn key(caption: &str, number: usize, known: &[String]) -> String {
    let caption: String = caption.chars().take(60).collect();
    let base = if caption.is_empty() { format!("table_{}", number + 1) } else { caption };
    match known.contains(&base) {
        true => format!("{base} ({})", number + 1),
        false => base,
    }
}

#[cfg(test)]
mod tests {
    use crate::translation::Translation;
    use crate::translation::tests::translate;

    fn json(text: &str) -> String {
        translate(Translation::Tables, text).map_or_else(|| "none".into(), |(json, _)| json)
    }

    #[test]
    fn one_table_is_a_list_of_rows() {
        let text = "Prices:\n\n| item | price |\n|---|---|\n| a\\|b | 1.50 |\n| c | 12.00 |\n| d |  |\n\nTotal 13.50\n";
        assert_eq!(
            json(text),
            r#"[{"item":"a|b","price":1.50},{"item":"c","price":12.00},{"item":"d","price":null}]"#
        );
        let (_, others) = translate(Translation::Tables, text).unwrap();
        assert_eq!(others.lines, [(1, "Prices:".to_owned()), (9, "Total 13.50".to_owned())]);
    }

    #[test]
    fn tables_with_the_same_columns_are_one_list() {
        let sheet =
            |name: &str| format!("## {name}\n\n| id | v |\n| --- | --- |\n| 1 | 1.1 |\n| 2 | 1.10 |\n\n");
        let both = format!("{}{}", sheet("North"), sheet("South"));
        assert_eq!(
            json(&both),
            r#"[{"table":"North","id":1,"v":"1.1"},{"table":"North","id":2,"v":"1.10"},{"table":"South","id":1,"v":"1.1"},{"table":"South","id":2,"v":"1.10"}]"#
        );
    }

    #[test]
    fn tables_with_different_columns_are_an_object() {
        let text = "NAME   READY\npod-a  1/1\npod-b  0/1\n\nNAME   TYPE       PORT\nsvc-a  ClusterIP  80\nsvc-b  NodePort   443\n";
        assert_eq!(
            json(text),
            r#"{"table_1":[{"NAME":"pod-a","READY":"1/1"},{"NAME":"pod-b","READY":"0/1"}],"table_2":[{"NAME":"svc-a","TYPE":"ClusterIP","PORT":80},{"NAME":"svc-b","TYPE":"NodePort","PORT":443}]}"#
        );
    }

    #[test]
    fn a_document_with_a_table_stays_a_document() {
        let prose = "This is a line of text.\nAnd this is another one, too.\n";
        let table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n";
        assert_eq!(json(&format!("{}{table}", prose.repeat(5))), "none");
        assert_ne!(json(&format!("{prose}{table}")), "none");
    }
}
