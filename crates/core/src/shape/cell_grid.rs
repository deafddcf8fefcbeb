//! Lists of cells: records with a row, a column and a value, or with an address such as `B7` and a value.
//!
//! An overview shows them as the grid they come from. [`grid`](super::grid) is for measurements over two axes instead.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::field::{Field, FieldKind};
use super::rows::ShownCounts;
use super::section_writer::SectionWriter;
use super::table::{Table, field_value, scalar_text};
use crate::profile::PathNode;
use crate::records::Record;

/// The maximum number of cells that are read.
const MAX_CELLS: u64 = 20_000;
/// The least cells that are shown as a grid.
const MIN_CELLS: u64 = 6;
/// The maximum number of columns that are shown.
const MAX_SHOWN_COLUMNS: usize = 40;
/// The maximum number of characters of one cell.
const MAX_CELL_CHARACTERS: usize = 32;
/// A grid has at most this many places per cell.
const MAX_PLACES_PER_CELL: u64 = 4;

/// A list of cells.
pub(crate) struct CellGrid<'t> {
    place: CellAddress<'t>,
    value: &'t Field,
}

/// Where a cell says its place is.
enum CellAddress<'t> {
    /// The fields of its row and its column.
    Axes(&'t Field, &'t Field),
    /// The field of its address.
    Address(&'t Field),
}

/// A row or a column: numbers in their order, then names.
type Axis = (u64, String);

impl<'t> CellGrid<'t> {
    /// Recognises a list of cells.
    pub(crate) fn of(table: &'t Table<'_>) -> Option<Self> {
        if !(MIN_CELLS..=MAX_CELLS).contains(&table.count) || table.keyed() {
            return None;
        }
        let node = |field: &Field| table.data.profile.node(field.node);
        let varying = |field: &&Field| !matches!(field.kind, FieldKind::Constant | FieldKind::Empty);
        let fields: Vec<&Field> = table.fields.iter().filter(varying).collect();
        if !(2..=6).contains(&fields.len()) || fields.iter().any(|field| !field.single || field.depth > 0) {
            return None;
        }
        let always = |field: &Field| node(field).seen() == table.count && node(field).types.nulls == 0;
        let address =
            fields.iter().copied().find(|field| always(field) && is_address(node(field), table.count));
        let numbered =
            |field: &&&Field| always(field) && is_numbering(node(field), table.count) && names_axis(field);
        let axes: Vec<&Field> = fields.iter().filter(numbered).copied().collect();
        let mut rest = fields.iter().copied();
        let is_place = |field: &Field| {
            let same = |other: &Field| other.path == field.path;
            axes.iter().take(2).any(|axis| same(axis)) || address.is_some_and(same)
        };
        let value = rest.find(|field| !is_place(field) && field.kind != FieldKind::List)?;
        let more = rest.filter(|field| !is_place(field) && field.kind != FieldKind::Bool).count();
        let place = match (axes.as_slice(), address) {
            ([one, two, ..], _) => {
                let places = distinct(node(one)) * distinct(node(two));
                (table.count..=table.count * MAX_PLACES_PER_CELL).contains(&places).then_some(())?;
                if is_row(two) || is_column(one) {
                    CellAddress::Axes(two, one)
                } else {
                    CellAddress::Axes(one, two)
                }
            }
            (_, Some(address)) => CellAddress::Address(address),
            _ => return None,
        };
        (more <= 1).then_some(Self { place, value })
    }

    /// Reads the cells; `None` if the records are not cells of a grid after all.
    pub(crate) fn read(self, table: &Table<'_>) -> io::Result<Option<FilledGrid<'t>>> {
        let mut rows: BTreeMap<Axis, BTreeMap<Axis, String>> = BTreeMap::new();
        let mut columns: BTreeSet<Axis> = BTreeSet::new();
        let mut is_grid = true;
        table.records.for_each(|record| {
            let Some((row, column)) = self.place(record) else {
                is_grid = false;
                return;
            };
            let value = field_value(&record.value, &self.value.path);
            let value = value.map(|value| scalar_text(value, MAX_CELL_CHARACTERS)).unwrap_or_default();
            columns.insert(column.clone());
            is_grid &= rows.entry(row).or_default().insert(column, value).is_none();
        })?;
        let is_grid = is_grid && columns.len() >= 2 && rows.len() >= 2;
        let columns = columns.into_iter().take(MAX_SHOWN_COLUMNS).collect();
        Ok(is_grid.then_some(FilledGrid { cells: self, rows, columns }))
    }

    fn place(&self, record: &Record) -> Option<(Axis, Axis)> {
        let text = |field: &Field| Some(scalar_text(field_value(&record.value, &field.path)?, 80));
        match self.place {
            CellAddress::Axes(row, column) => {
                let axis = |text: String| (text.parse().unwrap_or(u64::MAX), text);
                Some((axis(text(row)?), axis(text(column)?)))
            }
            CellAddress::Address(field) => {
                let address = text(field)?;
                let (letters, row) = split_address(&address)?;
                let number =
                    letters.bytes().fold(0, |number, letter| number * 26 + u64::from(letter - b'A') + 1);
                Some(((row, row.to_string()), (number, letters.to_owned())))
            }
        }
    }
}

/// The cells of a grid at their places.
pub(crate) struct FilledGrid<'t> {
    cells: CellGrid<'t>,
    rows: BTreeMap<Axis, BTreeMap<Axis, String>>,
    columns: Vec<Axis>,
}

impl FilledGrid<'_> {
    /// Writes as many rows of the grid as fit; `None` if none does.
    pub(crate) fn write(
        &self,
        table: &Table<'_>,
        writer: &mut SectionWriter<'_>,
        section: usize,
    ) -> Option<ShownCounts> {
        let value_name = &self.cells.value.path;
        let (row_name, column_name) = match &self.cells.place {
            CellAddress::Axes(row, column) => (row.path.as_str(), column.path.as_str()),
            CellAddress::Address(field) => ("row", field.path.as_str()),
        };
        writer.push(section, format!("{value_name} by {row_name} and {column_name}:"));
        let names: Vec<String> = self.columns.iter().map(|(_, name)| cell(name)).collect();
        if !writer.push(section, format!("{},{}", cell(row_name), names.join(","))) {
            return None;
        }
        let mut shown = ShownCounts { fields: table.fields.len(), ..ShownCounts::default() };
        for ((_, name), cells) in &self.rows {
            let line: Vec<String> = self
                .columns
                .iter()
                .map(|column| cells.get(column).map_or(String::new(), |text| cell(text)))
                .collect();
            if !writer.push(section, format!("{},{}", cell(name), line.join(","))) {
                break;
            }
            let texts = self.columns.iter().filter_map(|column| cells.get(column));
            shown.records += texts.clone().count() as u64;
            shown.whole += texts.filter(|text| !text.contains('…')).count() as u64;
        }
        shown.values = shown.records;
        (shown.records > 0).then_some(shown)
    }
}

/// Splits the address of a cell, such as `B7`.
fn split_address(address: &str) -> Option<(&str, u64)> {
    let letters = address.bytes().take_while(u8::is_ascii_uppercase).count();
    let (column, row) = address.split_at(letters);
    let plain =
        (1..=3).contains(&letters) && !row.is_empty() && row.bytes().all(|byte| byte.is_ascii_digit());
    Some((column, row.parse().ok().filter(|_| plain)?))
}

fn distinct(node: &PathNode) -> u64 {
    node.counts.distinct().0
}

/// Returns whether the values of a node are addresses of cells, as far as they are held.
fn is_address(node: &PathNode, count: u64) -> bool {
    let lengths = node.lengths.as_ref().map_or((0, 0), |lengths| (lengths.min, lengths.max));
    node.types.strings == count
        && node.counts.is_unique()
        && lengths.0 >= 2
        && lengths.1 <= 10
        && node.counts.entries().iter().all(|entry| split_address(&entry.text()).is_some())
}

/// Returns whether the values of a node can number rows or columns: few integers in a row, or column letters.
fn is_numbering(node: &PathNode, count: u64) -> bool {
    let (values, exact) = node.counts.distinct();
    if !exact || values < 2 || values * 2 > count {
        return false;
    }
    match &node.numbers {
        Some(numbers) if numbers.count == count => {
            let span = numbers.max.value - numbers.min.value + 1.0;
            numbers.integers == count && numbers.min.value >= 0.0 && span <= 2.0 * values as f64
        }
        _ => {
            let is_letters = |text: &[u8]| text.len() <= 3 && text.iter().all(u8::is_ascii_uppercase);
            node.types.strings == count && node.counts.entries().iter().all(|entry| is_letters(&entry.raw))
        }
    }
}

fn is_row(field: &Field) -> bool {
    let name = field.name();
    name.contains("row") || matches!(name.as_str(), "r" | "y" | "i" | "line")
}

fn is_column(field: &Field) -> bool {
    let name = field.name();
    name.contains("col") || matches!(name.as_str(), "c" | "x" | "j")
}

fn names_axis(field: &Field) -> bool {
    is_row(field) || is_column(field)
}

fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
