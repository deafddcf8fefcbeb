//! The strategy for records: an overview shows the statistics of every field over all records, then rows.
//!
//! All records are shown with few fields if that fits; otherwise the most useful ones ([`pick_rows`](super::pick_rows)).

use std::collections::BTreeMap;
use std::io;

use super::cell_grid::CellGrid;
use super::field::{Field, FieldKind};
use super::grid::Grid;
use super::layout::{NAME_CELL_WIDTHS, RowLayout};
use super::pick_rows::pick_rows;
use super::row_series::RowSeries;
use super::section_writer::SectionWriter;
use super::series::course;
use super::statistics::FieldStatistics;
use super::table::{Table, shown_path};
use crate::records::Record;

/// What an overview of a table shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShownCounts {
    /// How many records.
    pub(crate) records: u64,
    /// How many fields of them.
    pub(crate) fields: usize,
    /// How many of their values are shown whole, and how many in total.
    pub(crate) whole: u64,
    pub(crate) values: u64,
}

/// The share of the budget that statistics may take before the rows.
const STATISTICS_SHARE: f64 = 0.62;
/// The same for a list of cells, whose rows and columns need none.
const CELL_STATISTICS_SHARE: f64 = 0.25;

/// Writes an overview of a table into `section` and the two after it; returns what it shows.
pub(crate) fn compose(
    table: &Table<'_>,
    arguments: &[String],
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<ShownCounts> {
    let cells = CellGrid::of(table);
    let share = if cells.is_some() { CELL_STATISTICS_SHARE } else { STATISTICS_SHARE };
    let share = (writer.left() as f64 * share) as u64;
    writer.within(share, |writer| write_fields(table, writer, section))?;
    if let Some(shown) = cells.map(|cells| cells.write(table, writer, section + 1)).transpose()?.flatten() {
        return Ok(shown);
    }
    let grid = Grid::of(table);
    match (&grid, axis(table)) {
        (Some(grid), _) => {
            let share = writer.left() / 2;
            writer.within(share, |writer| grid.write(table, writer, section + 1))?;
        }
        (None, Some(axis)) => write_courses(table, axis, writer, section + 1),
        (None, None) => {}
    }
    write_rows(table, arguments, writer, section + 2)
}

/// Returns the field along which records are ordered: points in time that only rise or only fall.
pub(crate) fn axis<'t>(table: &'t Table<'_>) -> Option<&'t Field> {
    let sorted = |field: &&Field| {
        let node = table.data.profile.node(field.node);
        let sorted = match field.kind {
            FieldKind::Time => node.times.as_ref().is_some_and(|times| times.is_sorted()),
            _ => false,
        };
        sorted && field.single && field.depth == 0 && node.counts.is_unique()
    };
    let measured = table.fields.iter().any(|field| field.kind == FieldKind::Number);
    table.fields.iter().find(sorted).filter(|_| measured && table.count >= 16)
}

/// Writes the courses of the most useful numbers along an axis.
fn write_courses(table: &Table<'_>, axis: &Field, writer: &mut SectionWriter<'_>, section: usize) {
    let mut fields: Vec<&Field> = table
        .fields
        .iter()
        .filter(|field| field.kind == FieldKind::Number && field.path != axis.path)
        .collect();
    fields.sort_by(|one, two| two.score.total_cmp(&one.score));
    let share = writer.left() / 5;
    writer.within(share, |writer| {
        for field in fields.into_iter().take(3) {
            let numbers = field.numbers(table.data.profile.node(field.node));
            if let Some(course) =
                numbers.filter(|numbers| numbers.varies()).and_then(|numbers| course(&field.path, numbers))
            {
                writer.push(section, course);
            }
        }
    });
}

/// The maximum number of fields whose statistics are tried.
const MAX_TRIED_FIELDS: usize = 600;

/// Writes the statistics of the fields, the most useful first, and the names of the rest.
pub(crate) fn write_fields(
    table: &Table<'_>,
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<()> {
    let path = if table.path.is_empty() { String::new() } else { format!("{}: ", table.path) };
    let over = match (table.data.regular_records(), table.path.is_empty()) {
        (regular, true) if regular < table.count => {
            format!("over {regular} of {} {}", table.count, table.nouns())
        }
        _ => format!("over all {} {}", table.count, table.nouns()),
    };
    let at_least = if table.data.profile.capped { "at least " } else { "" };
    let blank = if table.data.others.blank > 0 { ", blank lines aside" } else { "" };
    writer.push(section, format!("{path}{at_least}{} fields, {over}{blank}:", table.fields.len()));
    let mut order: Vec<&Field> = table.fields.iter().collect();
    order.sort_by(|one, two| two.score.total_cmp(&one.score));
    // Space is reserved for the names of the fields whose statistics do not fit.
    let mut names: u64 = order.iter().map(|field| name_cost(writer, field)).sum();
    let max_for_names = writer.left() * 3 / 10;
    let mut shown: Vec<&Field> = Vec::new();
    for field in order.into_iter().take(MAX_TRIED_FIELDS) {
        let available = writer.left().saturating_sub(names.min(max_for_names));
        if available < 8 {
            break;
        }
        // The first few fields may list more of their values.
        let part = if shown.len() < 3 { 3 } else { 4 };
        for cap in [(available / part).max(24), 12] {
            let text = FieldStatistics { table, writer, cap }.of(field)?;
            let line = match shown_path(&field.path) {
                path if path.is_empty() => text,
                path => format!("{path}: {text}"),
            };
            if writer.cost(&line) <= available && writer.push(section, line) {
                names -= name_cost(writer, field).min(names);
                shown.push(field);
                break;
            }
        }
    }
    let is_missing = |field: &&Field| !shown.iter().any(|known| known.path == field.path);
    let rest: Vec<&Field> = table.fields.iter().filter(is_missing).collect();
    write_names(&rest, writer, section);
    Ok(())
}

fn name_cost(writer: &SectionWriter<'_>, field: &Field) -> u64 {
    let path = shown_path(&field.path);
    writer.cost(path.rsplit('.').next().unwrap_or(&path))
}

/// Writes the names of fields whose statistics do not fit: those near the top first, all of them if they fit.
fn write_names(fields: &[&Field], writer: &mut SectionWriter<'_>, section: usize) {
    if fields.is_empty() {
        return;
    }
    let depth = |field: &&Field| field.path.matches(['.', '[']).count();
    let mut depths: Vec<usize> = fields.iter().map(depth).collect();
    depths.sort_unstable();
    depths.dedup();
    for deepest in depths.into_iter().rev() {
        let shown: Vec<&Field> = fields.iter().copied().filter(|field| depth(field) <= deepest).collect();
        let more = fields.len() - shown.len();
        let mark = if more == 0 { String::new() } else { format!(" +{more} more fields") };
        let names = grouped_names(&shown);
        // Counting the tokens of thousands of names takes longer than seeing that their bytes do not fit.
        if names.len() as u64 <= writer.bytes() && writer.push(section, format!("also: {names}{mark}")) {
            return;
        }
    }
    let top: Vec<&Field> = fields.iter().copied().filter(|field| depth(field) == 0).collect();
    let mut count = top.len();
    while count > 0 {
        let (names, more) = (grouped_names(&top[..count]), fields.len() - count);
        if names.len() as u64 <= writer.bytes()
            && writer.push(section, format!("also: {names} +{more} more fields"))
        {
            return;
        }
        count = count * 3 / 4;
    }
    writer.push(section, format!("+{} more fields", fields.len()));
}

/// Writes names with common parents written once: `actor{login,id}`.
fn grouped_names(fields: &[&Field]) -> String {
    let mut out = String::new();
    let mut open: Vec<&str> = Vec::new();
    for field in fields {
        let (parents, name) = match field.path.rfind('.') {
            Some(at) if !field.path.contains('"') => {
                (field.path[..at].split('.').collect(), shown_path(&field.path[at + 1..]))
            }
            _ => (Vec::new(), shown_path(&field.path)),
        };
        let common = open.iter().zip(&parents).take_while(|(one, two)| one == two).count();
        out.extend((common..open.len()).map(|_| '}'));
        open.truncate(common);
        if !out.is_empty() && !out.ends_with('{') {
            out.push(',');
        }
        for parent in &parents[common..] {
            out.push_str(parent);
            out.push('{');
            open.push(parent);
        }
        out.push_str(&name);
    }
    out.extend(open.iter().map(|_| '}'));
    out
}

/// A layout in which this many rows fit is wide enough, where not all rows fit in any.
const MIN_PARTIAL_ROWS: u64 = 8;

fn write_rows(
    table: &Table<'_>,
    arguments: &[String],
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<ShownCounts> {
    if table.count == 0 || writer.left() < 24 {
        return Ok(ShownCounts::default());
    }
    let series = RowSeries::of(table);
    let sample = sample(table, &series)?;
    let choose = |series: RowSeries| {
        let (layout, all) = choose_layout(table, &series, &sample, writer);
        (series, layout, all)
    };
    // Less of the series is better than not all rows.
    let all_rows = series.choices().map(&choose).find(|(_, _, all)| *all);
    let (series, layout, all) = all_rows.unwrap_or_else(|| choose(series));
    if !writer.push(section, "rows:") || !writer.push(section, layout.header() + &series.header()) {
        return Ok(ShownCounts::default());
    }
    let order = if all { (0..table.count).collect() } else { pick_rows(table, arguments)? };
    let mut rows: BTreeMap<u64, String> = BTreeMap::new();
    let mut cut = 0;
    // The first and the last record come first, so that they always have a place.
    for number in [0, table.count - 1].into_iter().chain(order) {
        if rows.contains_key(&number) {
            continue;
        }
        let Some(record) = series.record(table, number)? else { continue };
        let (row, cut_cells) = layout.row(&record);
        let row = row + &series.cells(&record);
        if !writer.reserve(&row) {
            break;
        }
        cut += cut_cells;
        rows.insert(number, row);
    }
    let records = rows.len() as u64;
    rows.into_values().for_each(|row| writer.place(section, row));
    let what = match records {
        every if every == table.count => format!("all {records} {}", table.nouns()),
        some => format!("{some} of {} {}", table.count, table.nouns()),
    };
    let (width, values) = (layout.width(), records * layout.width() as u64);
    writer.replace_first(section, format!("{what}, {width} of {} fields:", table.fields.len().max(width)));
    Ok(ShownCounts { records, fields: width, whole: values - cut, values })
}

/// Chooses the widest layout in which all records are expected to fit, or else one in which some do; returns whether
/// all are expected to fit.
fn choose_layout(
    table: &Table<'_>,
    series: &RowSeries,
    sample: &[Record],
    writer: &SectionWriter<'_>,
) -> (RowLayout, bool) {
    let widest = RowLayout::widest(table, sample);
    let left = writer.left().saturating_sub(24);
    let fits = |layout: &RowLayout, rows: u64| {
        let row = |record: &Record| layout.row(record).0 + &series.cells(record);
        let cost: u64 = sample.iter().map(|record| writer.cost(&row(record))).sum();
        (cost / sample.len().max(1) as u64 + 1) * rows <= left
    };
    let widths = |least: usize| (least.min(widest.width())..=widest.width()).rev();
    for least in [2, 1] {
        for name_cell in NAME_CELL_WIDTHS {
            let layouts = widths(least).map(|width| widest.narrowed(width, name_cell));
            if let Some(layout) = layouts.into_iter().find(|layout| fits(layout, table.count)) {
                return (layout, true);
            }
        }
    }
    let mut some = widths(1).map(|width| widest.narrowed(width, NAME_CELL_WIDTHS[0]));
    let layout = some.find(|layout| fits(layout, MIN_PARTIAL_ROWS));
    (layout.unwrap_or_else(|| widest.narrowed(1, NAME_CELL_WIDTHS[2])), false)
}

/// Returns a few records spread over the table, to see how long their rows are.
fn sample(table: &Table<'_>, series: &RowSeries) -> io::Result<Vec<Record>> {
    let last = table.count - 1;
    let mut numbers = vec![0, last / 4, last / 2, last * 3 / 4, last];
    numbers.dedup();
    let mut records = Vec::new();
    for number in numbers {
        records.extend(series.record(table, number)?);
    }
    Ok(records)
}
