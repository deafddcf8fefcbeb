//! How records are written as rows: which fields, how wide, and what their values have in common.

use super::field::{Field, FieldKind};
use super::table::{Table, field_value, scalar_text};
use crate::records::Record;
use crate::visible;

/// The most fields a row is shown with.
const ROW_FIELDS: usize = 9;
/// Characters of one cell.
const CELL: usize = 48;
/// Characters of the first cell, which names the record: the longest that fits is taken.
pub(crate) const NAME_CELLS: [usize; 3] = [90, 44, 26];

/// One column of rows.
#[derive(Debug, Clone)]
struct Column {
    /// The path of the field; empty for the record itself.
    path: String,
    /// A beginning that its values share and that is written once, in the header.
    prefix: String,
}

/// Rows as they are written.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    columns: Vec<Column>,
    keyed: bool,
    name_cell: usize,
}

impl Layout {
    /// Returns the widest layout of a table; `sample` tells how long its values get.
    pub(crate) fn widest(table: &Table<'_>, sample: &[Record]) -> Self {
        let paths = row_fields(table);
        let columns = paths.into_iter().enumerate().map(|(at, path)| {
            let limit = if at == 0 { NAME_CELLS[0] } else { CELL };
            let prefix = shared_prefix(sample, &path, limit);
            Column { path, prefix }
        });
        Self { columns: columns.collect(), keyed: table.keyed(), name_cell: NAME_CELLS[0] }
    }

    /// Returns the layout with fewer columns and another width of the first.
    pub(crate) fn narrowed(&self, width: usize, name_cell: usize) -> Self {
        Self { columns: self.columns[..width].to_vec(), keyed: self.keyed, name_cell }
    }

    /// Returns how many fields a row shows.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Writes the names of the columns.
    pub(crate) fn header(&self) -> String {
        let mut names = vec![if self.keyed { "key" } else { "#" }.to_owned()];
        names.extend(self.columns.iter().map(|column| {
            let name = if column.path.is_empty() { "value" } else { &column.path };
            match column.prefix.as_str() {
                "" => cell(name),
                prefix => cell(&format!("{name} after {prefix}")),
            }
        }));
        names.join(",")
    }

    /// Writes a record as separated values, and returns how many of them are cut; the first cell is its number
    /// from 1, or its key.
    pub(crate) fn row(&self, record: &Record) -> (String, u64) {
        let mut cells = vec![match &record.key {
            Some(key) => cell(&visible::cut_name(key, NAME_CELLS[0])),
            None => (record.number + 1).to_string(),
        }];
        let mut cut = 0;
        for (at, column) in self.columns.iter().enumerate() {
            let limit = if at == 0 { self.name_cell } else { CELL.min(self.name_cell) };
            let text = field_value(&record.value, &column.path)
                .map(|value| scalar_text(value, 4 * limit + column.prefix.len()))
                .unwrap_or_default();
            let rest = text.strip_prefix(column.prefix.as_str()).filter(|_| !column.prefix.is_empty());
            let shown = visible::cut_name(rest.unwrap_or(&text), limit);
            cut += u64::from(shown.contains('…'));
            cells.push(cell(&rest.map_or(shown.clone(), |_| format!("…{shown}"))));
        }
        (cells.join(","), cut)
    }
}

fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A long beginning that the values of a sample share, where they would be cut otherwise.
fn shared_prefix(sample: &[Record], path: &str, limit: usize) -> String {
    let values = sample.iter().filter_map(|record| field_value(&record.value, path));
    let values: Vec<String> = values.map(|value| scalar_text(value, 400)).collect();
    let long = values.len() > 1 && values.iter().any(|value| value.chars().count() > limit);
    let Some(first) = values.first().filter(|_| long) else { return String::new() };
    let same = values.iter().fold(first.len(), |same, value| {
        first.bytes().zip(value.bytes()).take(same).take_while(|(one, two)| one == two).count()
    });
    let end =
        first.get(..same).and_then(|prefix| prefix.rfind(['/', '#', ':', '?', ' '])).map_or(0, |at| at + 1);
    if end < 16 { String::new() } else { first[..end].to_owned() }
}

/// The paths of the fields of a row, those that tell most first; the label leads. Records that have no field in
/// common are shown themselves.
fn row_fields(table: &Table<'_>) -> Vec<String> {
    let said = table.data.hints.fields.iter();
    let said: Vec<String> =
        said.filter(|path| table.fields.iter().any(|field| field.path == **path)).cloned().collect();
    if !said.is_empty() {
        return said;
    }
    let label = table.label.map(|label| &table.fields[label]);
    let mut rest: Vec<(f64, &Field)> = table
        .fields
        .iter()
        .filter(|field| label.is_none_or(|label| label.node != field.node))
        .filter_map(|field| Some((worth(table, field)?, field)))
        .collect();
    rest.sort_by(|one, two| two.0.total_cmp(&one.0));
    let fields = label.into_iter().chain(rest.into_iter().map(|(_, field)| field)).take(ROW_FIELDS);
    let paths: Vec<String> = fields.map(|field| field.path.clone()).collect();
    if paths.is_empty() { vec![String::new()] } else { paths }
}

/// Names of fields that say in words what a record is about.
const WORDS: &[&str] =
    &["message", "title", "summary", "reason", "error", "short_name", "description", "subject"];

/// How much a field tells in a row; `None` where it has no place there.
fn worth(table: &Table<'_>, field: &Field) -> Option<f64> {
    let kind = match field.kind {
        FieldKind::Identifier => 20.0,
        FieldKind::Category | FieldKind::Number | FieldKind::Time => 0.0,
        FieldKind::Bool => -10.0,
        FieldKind::Text => 10.0,
        _ => return None,
    };
    let node = table.data.profile.node(field.node);
    let coverage = (node.seen() - node.types.nulls) as f64 / table.count.max(1) as f64;
    if !field.single || field.position.is_some() || coverage < 0.25 {
        return None;
    }
    let name = field.name();
    let identity = matches!(name.as_str(), "id" | "key" | "number") && field.depth == 0;
    let words = WORDS.contains(&name.as_str());
    let bonus = kind + if identity { 60.0 } else { 0.0 } + if words { 40.0 } else { 0.0 };
    Some(field.score + bonus - (1.0 - coverage.min(1.0)) * 40.0)
}
