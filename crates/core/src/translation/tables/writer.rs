//! The second pass over tables drawn in text: their rows are cut again and written as JSON.

use std::borrow::Cow;
use std::rc::Rc;

use super::Table;
use crate::json::string;
use crate::translation::typed::Column;
use crate::translation::window::Window;
use crate::translation::{JsonWriter, Step};
use crate::trim::trimmed_lines;

/// The tables of a text, and how they are written.
pub(super) struct Tables {
    pub(super) tables: Vec<Table>,
    /// Whether all tables have the same columns, and are one list; the first one has the types of all.
    pub(super) is_same: bool,
    /// Whether each row has the caption of its table.
    pub(super) has_captions: bool,
    /// The names of the lists of tables with different columns.
    pub(super) keys: Vec<String>,
}

impl Tables {
    /// Returns how the rows of a table among these lines are written.
    fn row_form(&self, table: usize, lines: &str) -> Option<JsonRow<'_>> {
        let table = self.tables.get(table)?;
        let mut keys: Vec<String> = table.form.names.iter().map(|name| json_key(",", name)).collect();
        let caption = self.has_captions.then(|| {
            let mut caption = json_key("", caption_name(&table.form.names));
            string::write(table.caption.as_deref().unwrap_or_default(), &mut caption);
            caption
        });
        if let (None, Some(first)) = (&caption, keys.first_mut()) {
            first.remove(0);
        }
        let columns = if self.is_same { &self.tables[0].columns } else { &table.columns };
        Some(JsonRow { table, caption, keys, columns, may_have_escapes: table.form.may_have_escapes(lines) })
    }
}

/// How the rows of a table are written.
struct JsonRow<'t> {
    table: &'t Table,
    /// The member that says which table it is.
    caption: Option<String>,
    /// What is written before each cell.
    keys: Vec<String>,
    columns: &'t [Column],
    may_have_escapes: bool,
}

impl JsonRow<'_> {
    /// Writes the members of a row.
    fn write(&self, cells: &[&str], json: &mut String) {
        json.push_str(self.caption.as_deref().unwrap_or_default());
        for ((key, column), cell) in self.keys.iter().zip(self.columns).zip(cells) {
            json.push_str(key);
            column.write(&unescaped(cell, self.may_have_escapes), json);
        }
    }
}

/// Returns a name as the key of a member, after a separator.
fn json_key(separator: &str, name: &str) -> String {
    let mut key = separator.to_owned();
    string::write(name, &mut key);
    key.push(':');
    key
}

/// Writes tables as JSON.
#[derive(Clone)]
pub(super) struct TableWriter {
    tables: Rc<Tables>,
    /// The number of the table that is written, or that comes next.
    table: usize,
    /// The number of the next line.
    line: usize,
    place: WriterPosition,
}

/// Where a writer of tables is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriterPosition {
    Begin,
    /// Before the first row of a list.
    ListBegin,
    /// After a row of a list.
    AfterRow,
}

impl JsonWriter for TableWriter {
    fn write(&mut self, window: &Window<'_>, json: &mut String) -> Option<Step> {
        let lines = window.lines();
        if lines.is_empty() && !window.is_end {
            return Some(Step::NeedsMore);
        }
        let tables = Rc::clone(&self.tables);
        if self.place == WriterPosition::Begin {
            self.place = WriterPosition::ListBegin;
            json.push(if tables.is_same { '[' } else { '{' });
            self.begin_list(json);
        }
        let mut cells = Vec::new();
        let mut row = tables.row_form(self.table, lines);
        for line in trimmed_lines(lines) {
            while tables.tables.get(self.table).is_some_and(|table| self.line >= table.end) {
                self.end_table(json);
                row = tables.row_form(self.table, lines);
            }
            if let Some(row) = row.as_ref().filter(|row| self.line >= row.table.first)
                && row.table.form.find_cells(line, &mut cells)
            {
                let is_first =
                    std::mem::replace(&mut self.place, WriterPosition::AfterRow) == WriterPosition::ListBegin;
                json.push_str(if is_first { "{" } else { ",{" });
                row.write(&cells, json);
                json.push('}');
            }
            self.line += 1;
        }
        if !window.is_end {
            return Some(Step::Used(lines.len()));
        }
        while self.table < tables.tables.len() {
            self.end_table(json);
        }
        json.push(if tables.is_same { ']' } else { '}' });
        Some(Step::End)
    }
}

impl TableWriter {
    pub(super) fn new(tables: Tables) -> Self {
        Self { tables: Rc::new(tables), table: 0, line: 0, place: WriterPosition::Begin }
    }

    /// Begins the list of a table, if each has its own.
    fn begin_list(&mut self, json: &mut String) {
        if let Some(key) = self.tables.keys.get(self.table) {
            json.push_str(if self.table > 0 { "," } else { "" });
            string::write(key, json);
            json.push_str(":[");
            self.place = WriterPosition::ListBegin;
        }
    }

    /// Ends a table and begins the next one.
    fn end_table(&mut self, json: &mut String) {
        if !self.tables.is_same {
            json.push(']');
        }
        self.table += 1;
        self.begin_list(json);
    }
}

/// Returns the name of the column that says which table a row is of.
fn caption_name(names: &[String]) -> &'static str {
    ["table", "section", "table_"]
        .into_iter()
        .find(|name| !names.iter().any(|known| known == name))
        .unwrap_or("table__")
}

/// Returns a cell as it was before it was written between bars.
pub(super) fn unescaped(cell: &str, may_have_escapes: bool) -> Cow<'_, str> {
    if may_have_escapes { cell.replace("\\|", "|").into() } else { cell.into() }
}
