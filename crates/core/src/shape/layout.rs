//! The layout of rows: which fields of the records are shown, how wide, and which prefix their values share.
//!
//! [`rows`](super::rows) starts from the widest layout and narrows it until enough rows fit.

use super::field::{Field, FieldKind};
use super::table::{Table, field_value, scalar_text, shown_path};
use super::value_list::shared_prefix;
use crate::json::value::Value;
use crate::records::Record;
use crate::visible;

/// The maximum number of fields of a row.
const MAX_ROW_FIELDS: usize = 12;
/// The maximum number of characters of one cell.
const MAX_CELL_CHARACTERS: usize = 48;
/// The maximum number of characters of a cell that is a list of a few numbers.
const MAX_LIST_CHARACTERS: usize = 72;
/// The numbers of characters that the first cell, which names the record, may have; the largest that fits is used.
pub(crate) const NAME_CELL_WIDTHS: [usize; 3] = [90, 44, 26];

/// One column of rows.
#[derive(Debug, Clone)]
struct Column {
    /// The path of the field; empty for the record itself.
    path: String,
    /// The prefix that its values share, which is written once, in the header.
    prefix: String,
}

/// The columns of rows and the width of the first.
#[derive(Debug, Clone)]
pub(crate) struct RowLayout {
    columns: Vec<Column>,
    keyed: bool,
    name_cell: usize,
}

impl RowLayout {
    /// Returns the widest layout of a table; `sample` shows how long its values are.
    pub(crate) fn widest(table: &Table<'_>, sample: &[Record]) -> Self {
        let paths = row_fields(table, sample);
        let columns = paths.into_iter().enumerate().map(|(at, path)| {
            let limit = if at == 0 { NAME_CELL_WIDTHS[0] } else { MAX_CELL_CHARACTERS };
            let prefix = column_prefix(sample, &path, limit);
            Column { path, prefix }
        });
        Self { columns: columns.collect(), keyed: table.keyed(), name_cell: NAME_CELL_WIDTHS[0] }
    }

    /// Returns the layout with its first `width` columns and another width of the first cell.
    pub(crate) fn narrowed(&self, width: usize, name_cell: usize) -> Self {
        Self { columns: self.columns[..width].to_vec(), keyed: self.keyed, name_cell }
    }

    /// Returns how many fields a row shows.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Returns whether each row would show only the beginning of an object, which says little.
    pub(crate) fn shows_objects_only(&self, sample: &[Record]) -> bool {
        let nested = |record: &Record| matches!(record.value, Value::Object(_));
        self.columns.iter().all(|column| column.path.is_empty())
            && !sample.is_empty()
            && sample.iter().all(nested)
    }

    /// Writes the names of the columns.
    pub(crate) fn header(&self) -> String {
        let mut names = vec![if self.keyed { "key" } else { "#" }.to_owned()];
        names.extend(self.columns.iter().map(|column| {
            let name = if column.path.is_empty() { "value".into() } else { shown_path(&column.path) };
            match column.prefix.as_str() {
                "" => cell(&name),
                prefix => cell(&format!("{name} after {prefix}")),
            }
        }));
        names.join(",")
    }

    /// Writes a record as separated values, and returns how many of them are cut; the first cell is the record's key
    /// or its number, from 1.
    pub(crate) fn row(&self, record: &Record) -> (String, u64) {
        let mut cells = vec![match &record.key {
            Some(key) => cell(&visible::cut_name(key, NAME_CELL_WIDTHS[0])),
            None => (record.number + 1).to_string(),
        }];
        let mut cut = 0;
        for (at, column) in self.columns.iter().enumerate() {
            let limit = if at == 0 { self.name_cell } else { MAX_CELL_CHARACTERS.min(self.name_cell) };
            let value = field_value(&record.value, &column.path);
            let limit = if matches!(value, Some(Value::Array(_))) { MAX_LIST_CHARACTERS } else { limit };
            let text =
                value.map(|value| scalar_text(value, 4 * limit + column.prefix.len())).unwrap_or_default();
            let rest = text.strip_prefix(column.prefix.as_str()).filter(|_| !column.prefix.is_empty());
            let shown = visible::cut_name(rest.unwrap_or(&text), limit);
            cut += u64::from(shown.contains('…'));
            cells.push(cell(&rest.map_or(shown.clone(), |_| format!("…{shown}"))));
        }
        let filled = cells[1..].iter().filter(|cell| !cell.is_empty()).count();
        if filled * 4 < self.columns.len() || filled == 0 {
            // A record that has hardly any of the fields shown is shown as a whole, as far as it fits.
            let shown = scalar_text(&record.value, self.name_cell);
            let cut = u64::from(shown.contains('…'));
            return (format!("{},{}", cells[0], cell(&shown)), cut);
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

/// Returns a long prefix that the values of a sample share, if they would be cut otherwise.
fn column_prefix(sample: &[Record], path: &str, limit: usize) -> String {
    let values = sample.iter().filter_map(|record| field_value(&record.value, path));
    let values: Vec<String> = values.map(|value| scalar_text(value, 400)).collect();
    let long = values.len() > 1 && values.iter().any(|value| value.chars().count() > limit);
    if long { shared_prefix(&values, &['/', '#', ':', '?', ' '], 16) } else { String::new() }
}

/// Returns the paths of the fields of a row: the label, then the most useful fields first. Records without fields in
/// common are shown as a whole, by the empty path.
fn row_fields(table: &Table<'_>, sample: &[Record]) -> Vec<String> {
    let hinted = hinted_fields(table);
    if !hinted.is_empty() {
        return hinted;
    }
    let label = table.label.map(|label| &table.fields[label]);
    let mut rest: Vec<(f64, &Field)> = table
        .fields
        .iter()
        .filter(|field| label.is_none_or(|label| label.node != field.node))
        .filter_map(|field| Some((worth(table, field)?, field)))
        .collect();
    rest.sort_by(|one, two| two.0.total_cmp(&one.0));
    let mut chosen: Vec<&Field> = label.into_iter().filter(|label| !repeats_key(sample, label)).collect();
    for (worth, field) in rest {
        // An address or a hash is shown only if there is little else to show.
        let useful = worth > 0.0 || chosen.len() < 3;
        if chosen.len() < MAX_ROW_FIELDS
            && useful
            && !repeats_key(sample, field)
            && !chosen.iter().any(|known| repeats(table, sample, known, field))
        {
            chosen.push(field);
        }
    }
    let paths: Vec<String> = chosen.into_iter().map(column_path).collect();
    if paths.is_empty() { vec![String::new()] } else { paths }
}

/// Returns the path of the column of a field: that of the list for the first of its positions.
fn column_path(field: &Field) -> String {
    let path = field.path.as_str();
    let list = path.strip_suffix("[0]").filter(|_| field.position == Some(0));
    list.unwrap_or(path).to_owned()
}

/// Returns the fields that the policy names, in its order: paths of records, or, where records are objects, of members
/// of their members.
fn hinted_fields(table: &Table<'_>) -> Vec<String> {
    let plain = |path: &str| path.trim_start_matches('$').trim_start_matches(['.', '/']).replace('/', ".");
    let hinted = table.data.hints.fields.iter().map(|path| plain(path));
    let below = |path: &String, field: &Field| {
        field.path == *path
            || field.path.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))
    };
    hinted.filter(|path| table.fields.iter().any(|field| below(path, field))).collect()
}

/// Returns whether a field has the same value as another in every record, as far as the profile and a sample tell.
fn repeats(table: &Table<'_>, sample: &[Record], known: &Field, field: &Field) -> bool {
    let (one, two) = (table.data.profile.node(known.node), table.data.profile.node(field.node));
    let same_counts = one.seen() == two.seen()
        && one.types.nulls == two.types.nulls
        && one.counts.distinct() == two.counts.distinct()
        && one.bytes == two.bytes;
    let text = |record: &Record, field: &Field| {
        field_value(&record.value, &column_path(field)).map(|value| scalar_text(value, 400))
    };
    same_counts && sample.iter().all(|record| text(record, known) == text(record, field))
}

/// Returns whether a field is the key under which its record is found.
fn repeats_key(sample: &[Record], field: &Field) -> bool {
    let is_key = |record: &Record| {
        let value = field_value(&record.value, &field.path).map(|value| scalar_text(value, 400));
        record.key.is_some() && record.key.as_deref() == value.as_deref()
    };
    !sample.is_empty() && sample.iter().all(is_key)
}

/// Names of fields that describe a record in words.
const DESCRIPTIVE_NAMES: &[&str] =
    &["message", "title", "summary", "reason", "error", "short_name", "description", "subject"];

/// The mean length, in bytes, above which texts are not shown in rows.
const MAX_MEAN_TEXT_BYTES: u64 = 200;

/// Returns how useful a field is in a row; `None` if it does not belong in one.
fn worth(table: &Table<'_>, field: &Field) -> Option<f64> {
    let node = table.data.profile.node(field.node);
    let kind = match field.kind {
        FieldKind::Identifier => 20.0,
        FieldKind::Time => 12.0,
        FieldKind::Category | FieldKind::Number => 0.0,
        FieldKind::Bool if node.types.trues == 0 || node.types.falses == 0 => return None,
        FieldKind::Bool => -10.0,
        FieldKind::Text => 10.0,
        _ => return None,
    };
    let coverage = (node.seen() - node.types.nulls) as f64 / table.count.max(1) as f64;
    // A list of a few numbers is one column.
    let further = field.position.is_some_and(|position| position > 0);
    if !field.single || further || coverage < 0.25 {
        return None;
    }
    let name = field.name();
    let identity = matches!(name.as_str(), "id" | "key" | "number") && field.depth == 0;
    let words = DESCRIPTIVE_NAMES.contains(&name.as_str());
    let mean = node.lengths.as_ref().map_or(0, |lengths| lengths.total / lengths.count.max(1));
    if mean > MAX_MEAN_TEXT_BYTES && !words {
        return None;
    }
    let address = if field.is_address(node) { -150.0 } else { 0.0 };
    let bonus = kind + if identity { 60.0 } else { 0.0 } + if words { 40.0 } else { 0.0 };
    Some(field.score + bonus + address - (1.0 - coverage.min(1.0)) * 40.0)
}
