//! Tables drawn in text, with whatever is before, between and after them.
//!
//! A text with one table, or with several that have the same columns, is a list of rows; several tables with different
//! columns are an object of lists, each under the line above it. Most lines must be rows, so that a document with a
//! table in it stays a document.

use std::borrow::Cow;

use super::typed::Column;
use super::{MAX_JSON_BYTES, aligned, bars};
use crate::csv;
use crate::json::string;
use crate::pattern::OtherLines;
use crate::sample::Sample;

/// The maximum number of tables with different columns.
const MAX_TABLES: usize = 24;
/// The minimum number of rows of a text.
const MIN_ROWS: usize = 3;

/// One table. Its cells are not kept: they are cut from its lines again whenever they are needed.
pub(super) struct Table {
    pub(super) names: Vec<String>,
    /// The numbers of the lines that are its rows, from 0.
    pub(super) rows: Vec<u32>,
    /// The number of its first line, from 0.
    pub(super) line: usize,
    cut: RowCut,
    columns: Vec<Column>,
}

/// How the cells of a row are found.
pub(super) enum RowCut {
    /// They are between bars; `\|` in a cell is a bar.
    Bars,
    Aligned(aligned::Cut),
}

impl Table {
    pub(super) fn new(names: Vec<String>, line: usize, cut: RowCut) -> Self {
        Self { columns: vec![Column::default(); names.len()], names, rows: Vec::new(), line, cut }
    }

    /// Adds the row at a line.
    pub(super) fn add(&mut self, line: usize, cells: &[&str]) {
        self.rows.push(line as u32);
        self.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.add(cell));
    }

    /// Finds the cells of a line; returns false if it is not a row.
    pub(super) fn fits<'l>(&self, line: &'l str, cells: &mut Vec<&'l str>) -> bool {
        match &self.cut {
            RowCut::Bars => bars::find_cells(line, cells),
            RowCut::Aligned(cut) => cut.find_cells(line, cells),
        }
    }

    /// Finds the cells of a row, one for each column.
    fn find_cells<'l>(&self, row: &'l str, cells: &mut Vec<&'l str>) {
        self.fits(row, cells);
        // Markdown may leave out the last cells of a row.
        cells.resize(self.names.len(), "");
    }

    /// Returns a cell as it was before it was written between bars.
    fn unescaped<'l>(&self, cell: &'l str) -> Cow<'l, str> {
        match matches!(self.cut, RowCut::Bars) && cell.contains('\\') {
            true => cell.replace("\\|", "|").into(),
            false => cell.into(),
        }
    }

    /// Returns the cells of a row, one for each column.
    #[cfg(test)]
    pub(super) fn cells(&self, row: &str) -> Vec<String> {
        let mut cells = Vec::new();
        self.find_cells(row, &mut cells);
        cells.into_iter().map(|cell| self.unescaped(cell).into_owned()).collect()
    }
}

pub(super) fn recognise(sample: &Sample<'_>) -> bool {
    // A few short rows of separated values may have spaces where a column could end.
    if csv::has_separated_rows(sample) {
        return false;
    }
    // The last line may be cut off, and with it the last row.
    let end = if sample.whole { sample.head.len() } else { sample.head.rfind('\n').unwrap_or(0) };
    Drawn::read(&sample.head[..end]).is_mostly_rows()
}

pub(super) fn translate(text: &str) -> Option<(String, OtherLines)> {
    let drawn = Drawn::read(text);
    drawn.is_mostly_rows().then(|| drawn.json())?
}

/// A text with its tables.
struct Drawn<'t> {
    lines: Vec<&'t str>,
    /// The tables, each with the line above it.
    tables: Vec<(Table, Option<&'t str>)>,
    others: OtherLines,
    rows: usize,
    /// How many lines are neither blank nor a part of a table.
    other_lines: usize,
}

impl<'t> Drawn<'t> {
    fn read(text: &'t str) -> Self {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let mut drawn = Self {
            lines: Vec::new(),
            tables: Vec::new(),
            others: OtherLines::default(),
            rows: 0,
            other_lines: 0,
        };
        let mut at = 0;
        let mut caption = None;
        while at < lines.len() {
            if let Some((table, next)) = bars::table_at(&lines, at).or_else(|| aligned::table_at(&lines, at))
            {
                let mut rows = table.rows.iter().map(|line| *line as usize).peekable();
                for (line, text) in lines.iter().enumerate().take(next).skip(table.line + 1) {
                    match rows.next_if_eq(&line) {
                        Some(_) => drawn.rows += 1,
                        None if bars::is_rule(text) || aligned::ends_table(text) => {}
                        None => drawn.add_other(line, text),
                    }
                }
                drop(rows);
                drawn.tables.push((table, caption.take()));
                at = next;
                continue;
            }
            if !aligned::ends_table(lines[at]) && !bars::is_rule(lines[at]) {
                drawn.add_other(at, lines[at]);
                caption = Some(lines[at].trim().trim_matches(['#', '*', ' ', ':']));
            }
            at += 1;
        }
        Self { lines, ..drawn }
    }

    fn add_other(&mut self, line: usize, text: &str) {
        self.other_lines += 1;
        self.others.push(line as u64 + 1, text);
    }

    fn is_mostly_rows(&self) -> bool {
        let mut headers: Vec<&[String]> =
            self.tables.iter().map(|(table, _)| table.names.as_slice()).collect();
        headers.sort_unstable();
        headers.dedup();
        self.rows >= MIN_ROWS && self.rows * 2 >= self.other_lines * 3 && headers.len() <= MAX_TABLES
    }

    fn json(self) -> Option<(String, OtherLines)> {
        let same = self.tables.windows(2).all(|pair| pair[0].0.names == pair[1].0.names);
        let mut captions: Vec<&str> = self.tables.iter().filter_map(|(_, caption)| *caption).collect();
        captions.sort_unstable();
        captions.dedup();
        let captioned = same && captions.len() > 1 && captions.len() == self.tables.len();
        let mut out = String::from(if same { "[" } else { "{" });
        let mut keys: Vec<String> = Vec::new();
        let mut columns = Vec::new();
        let mut cells = Vec::new();
        for (number, (table, caption)) in self.tables.iter().enumerate() {
            if number == 0 || !same {
                let of_same = if same { &self.tables[..] } else { &self.tables[number..=number] };
                columns = typed_columns(of_same.iter().map(|(table, _)| table));
            }
            if !same {
                separate(&mut out);
                let key = key(caption.unwrap_or_default(), number, &keys);
                string::write(&key, &mut out);
                out.push_str(":[");
                keys.push(key);
            }
            let keys: Vec<String> = table.names.iter().map(|name| json_key(name)).collect();
            for line in &table.rows {
                separate(&mut out);
                out.push('{');
                if captioned {
                    string::write(caption_name(&table.names), &mut out);
                    out.push(':');
                    string::write(caption.unwrap_or_default(), &mut out);
                }
                table.find_cells(self.lines[*line as usize], &mut cells);
                for ((key, column), cell) in keys.iter().zip(&columns).zip(&cells) {
                    separate(&mut out);
                    out.push_str(key);
                    column.write(&table.unescaped(cell), &mut out);
                }
                out.push('}');
                if out.len() > MAX_JSON_BYTES {
                    return None;
                }
            }
            if !same {
                out.push(']');
            }
        }
        out.push(if same { ']' } else { '}' });
        Some((out, self.others))
    }
}

/// Returns which columns of tables with the same columns are numbers.
fn typed_columns<'a>(tables: impl Iterator<Item = &'a Table>) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for table in tables {
        columns.resize(table.names.len(), Column::default());
        columns.iter_mut().zip(&table.columns).for_each(|(column, more)| column.merge(more));
    }
    columns
}

/// Returns a name as the key of a member.
fn json_key(name: &str) -> String {
    let mut key = String::new();
    string::write(name, &mut key);
    key.push(':');
    key
}

/// Writes a comma, unless a list or an object was just opened.
fn separate(out: &mut String) {
    if !out.ends_with(['[', '{']) {
        out.push(',');
    }
}

/// Returns the name of the column that says which table a row is of.
fn caption_name(names: &[String]) -> &'static str {
    ["table", "section", "table_"]
        .into_iter()
        .find(|name| !names.iter().any(|known| known == name))
        .unwrap_or("table__")
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
    use super::*;

    fn json(text: &str) -> String {
        translate(text).map_or_else(|| "none".into(), |(json, _)| json)
    }

    #[test]
    fn one_table_is_a_list_of_rows() {
        let text = "Prices:\n\n| item | price |\n|---|---|\n| a\\|b | 1.50 |\n| c | 12.00 |\n| d |  |\n\nTotal 13.50\n";
        assert_eq!(
            json(text),
            r#"[{"item":"a|b","price":1.50},{"item":"c","price":12.00},{"item":"d","price":null}]"#
        );
        let (_, others) = translate(text).unwrap();
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
