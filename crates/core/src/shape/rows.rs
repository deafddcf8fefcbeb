//! The strategy for records: an overview shows the statistics of every field over all records, then rows.
//!
//! If all records fit with the fields that matter, all are shown. Otherwise the most useful ones are shown
//! ([`pick_rows`](super::pick_rows)), and the names of all records if those fit.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::by_group::write_groups;
use super::cell_grid::CellGrid;
use super::example::write_example;
use super::field::{Field, FieldKind};
use super::field_lines::write_field_lines;
pub(crate) use super::field_lines::write_fields;
use super::grid::Grid;
use super::layout::{NAME_CELL_WIDTHS, RowLayout};
use super::pick_rows::pick_rows;
use super::row_series::RowSeries;
use super::section_writer::SectionWriter;
use super::series::course;
use super::statistics::Members;
use super::table::{Table, shown_path};
use crate::json::value::ReadLimits;
use crate::profile::value_counts::ValueCounts;
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
/// The share of the budget that all rows, with every field that belongs in a row, may take before the statistics.
const ALL_ROWS_SHARE: f64 = 0.74;
/// The share of statistics of a list of cells, whose rows and columns need none.
const CELL_STATISTICS_SHARE: f64 = 0.25;

/// Writes an overview of a table into `section` and the three after it; returns what it shows.
pub(crate) fn compose(
    table: &Table<'_>,
    arguments: &[String],
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<ShownCounts> {
    let cells = CellGrid::of(table).map(|cells| cells.read(table)).transpose()?.flatten();
    if let Some(cells) = &cells {
        let share = writer.left() as f64 * CELL_STATISTICS_SHARE;
        writer.within(share as u64, |writer| write_fields(table, writer, section))?;
        if let Some(shown) = cells.write(table, writer, section + 1) {
            return Ok(shown);
        }
    }
    if table.fields.is_empty() && table.keyed() {
        return write_keys(table, writer, section);
    }
    let series = RowSeries::of(table);
    let sample = sample(table, &series)?;
    let left = writer.left() as f64;
    let widest = RowLayout::widest(table, &sample);
    let rows = rows_cost(&widest, &series, table.count, &sample, writer);
    // If all rows fit whole, they answer more questions than their statistics.
    let whole = (rows as f64) <= left * ALL_ROWS_SHARE && table.count > 0 && !writer.leaves_out_rows();
    if !whole {
        write_labels(table, &sample, writer, section + 1)?;
    }
    let share = match whole {
        true => left - rows as f64,
        false if writer.leaves_out_rows() => writer.left() as f64,
        false => writer.left() as f64 * STATISTICS_SHARE,
    };
    let members = if whole { Members::Counted } else { Members::Named };
    if !whole {
        write_groups(table, writer, section + 2)?;
    }
    if cells.is_none() {
        writer.within(share as u64, |writer| write_field_lines(table, members, writer, section))?;
    }
    let grid = Grid::of(table);
    match (&grid, axis(table)) {
        (Some(grid), _) => {
            let share = writer.left() / 2;
            writer.within(share, |writer| grid.write(table, writer, section + 2))?;
        }
        (None, Some(axis)) => write_courses(table, axis, writer, section + 2),
        (None, None) => {}
    }
    if writer.leaves_out_rows() {
        return Ok(ShownCounts::default());
    }
    write_rows(table, arguments, (&widest, series), &sample, writer, section + 3)
}

/// The maximum number of entries that are named if nothing else is known about them.
const MAX_NAMED_ENTRIES: u64 = 16;

/// Writes the first keys of a map whose entries have no fields in common, or too many to be counted.
fn write_keys(table: &Table<'_>, writer: &mut SectionWriter<'_>, section: usize) -> io::Result<ShownCounts> {
    let mut keys = Vec::new();
    for number in 0..table.count.min(MAX_NAMED_ENTRIES) {
        let record = table.records.nth_within(number, ReadLimits::NOTHING)?;
        keys.extend(record.and_then(|record| table.label_of(&record)));
    }
    while !keys.is_empty() {
        let more = match table.count - keys.len() as u64 {
            0 => String::new(),
            more => format!(", +{more} more"),
        };
        let path = if table.path.is_empty() { String::new() } else { format!("{}: ", table.path) };
        let title = format!("{path}{} {}", table.count, table.nouns());
        if writer.push(section, format!("{title}: {}{more}", keys.join(", "))) {
            break;
        }
        keys.truncate(keys.len() / 2);
    }
    Ok(ShownCounts::default())
}

/// Estimates the cost of the rows and their header.
fn rows_cost(
    layout: &RowLayout,
    series: &RowSeries,
    rows: u64,
    sample: &[Record],
    writer: &SectionWriter<'_>,
) -> u64 {
    let row = |record: &Record| layout.row(record).0 + &series.cells(record);
    let cost: u64 = sample.iter().map(|record| writer.cost(&row(record))).sum();
    let header = layout.header() + &series.header();
    (cost / sample.len().max(1) as u64 + 1) * rows + writer.cost(&header) + 24
}

/// Returns the field by which records are ordered: timestamps that only rise or only fall.
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

/// How many rows of how many fields are tried if not all rows fit: a few rows with some fields rather than many with only a
/// name.
const PARTIAL_ROWS: [(u64, usize); 4] = [(8, 5), (5, 4), (3, 3), (5, 1)];
/// A table of all rows with fewer fields than this says less than some rows with more fields.
const MIN_FIELDS_OF_ALL_ROWS: usize = 4;
/// The minimum and the maximum number of rows where the budget is not filled and not all rows fit.
const DENSE_ROWS: (usize, usize) = (4, 7);

fn write_rows(
    table: &Table<'_>,
    arguments: &[String],
    (widest, series): (&RowLayout, RowSeries),
    sample: &[Record],
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<ShownCounts> {
    if table.count == 0 || writer.left() < 24 || !writer.fills() && widest.shows_objects_only(sample) {
        return Ok(ShownCounts::default());
    }
    let choose = |series: RowSeries| {
        let (layout, all) = choose_layout(table, widest, &series, sample, writer);
        (series, layout, all)
    };
    // Showing all rows matters more than showing the whole series.
    let all_rows = series.choices().map(&choose).find(|(_, _, all)| *all);
    let (series, layout, all) = all_rows.unwrap_or_else(|| choose(series));
    if all {
        // The rows have the names.
        writer.pop(section - 2);
    } else {
        write_example(table, layout.width(), sample.first(), writer, section - 1);
    }
    let as_written = lines_cost_little(table, &layout, sample, writer)?;
    let header = layout.header() + &series.header();
    if !writer.push(section, "rows:") || !as_written && !writer.push(section, header) {
        return Ok(ShownCounts::default());
    }
    // Names alone say nothing about the records between the first and the last.
    let names_only = layout.width() == 1 && table.fields.len() > 1 && !writer.fills();
    let order = match all {
        true => (0..table.count).collect(),
        false if names_only => Vec::new(),
        false => row_order(table, arguments, writer)?,
    };
    let mut rows: BTreeMap<u64, String> = BTreeMap::new();
    let mut cut = 0;
    // The first and the last record come first, so that they always have a place.
    for number in [0, table.count - 1].into_iter().chain(order) {
        if rows.contains_key(&number) {
            continue;
        }
        let Some(record) = series.record(table, number)? else { continue };
        let (mut row, mut cut_cells) = layout.row(&record);
        row.push_str(&series.cells(&record));
        if as_written && let Some(line) = table.line_of(number, MAX_LINE_CHARACTERS)? {
            cut_cells = u64::from(line.contains('…'));
            row = format!("{} {line}", number + 1);
        }
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
    let width = if as_written { table.fields.len() } else { layout.width() };
    let values = records * width as u64;
    let how = match as_written {
        true => "# and line as written".to_owned(),
        false => format!("{width} of {} fields", table.fields.len().max(width)),
    };
    writer.replace_first(section, format!("{what}, {how}:"));
    Ok(ShownCounts { records, fields: width, whole: values - cut, values })
}

/// The maximum number of characters of a line that is shown as it was written.
const MAX_LINE_CHARACTERS: usize = 160;

/// Returns whether records are lines which, as they were written, cost about as much as their cells do.
fn lines_cost_little(
    table: &Table<'_>,
    layout: &RowLayout,
    sample: &[Record],
    writer: &SectionWriter<'_>,
) -> io::Result<bool> {
    let (mut lines, mut cells) = (0, 0);
    for record in sample {
        let Some(line) = table.line_of(record.number, MAX_LINE_CHARACTERS)? else { return Ok(false) };
        lines += writer.cost(&line);
        cells += writer.cost(&layout.row(record).0);
    }
    Ok(lines * 4 <= cells * 5)
}

/// Returns the numbers of the rows to show, best first: those that stand out, and examples if the budget is to be filled.
fn row_order(table: &Table<'_>, arguments: &[String], writer: &SectionWriter<'_>) -> io::Result<Vec<u64>> {
    let picked = pick_rows(table, arguments)?;
    let (min, max) = if writer.fills() { (usize::MAX, usize::MAX) } else { DENSE_ROWS };
    let mut seen = BTreeSet::new();
    let telling = picked.telling.into_iter().filter(|number| seen.insert(*number)).take(max);
    let mut order: Vec<u64> = telling.collect();
    let examples = picked.examples.into_iter().filter(|number| seen.insert(*number));
    order.extend(examples.take(min.saturating_sub(order.len())));
    Ok(order)
}

/// Writes the names of all records in one line, if they fit into a third of the budget.
fn write_labels(
    table: &Table<'_>,
    sample: &[Record],
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<()> {
    let names: u64 =
        sample.iter().filter_map(|record| table.label_of(record)).map(|name| writer.cost(&name)).sum();
    let mean = names / sample.len().max(1) as u64;
    let share = writer.left() / 3;
    let distinct = table.label.map(|label| &table.data.profile.node(table.fields[label].node).counts);
    let named = table.keyed() || distinct.is_some_and(ValueCounts::is_nearly_unique);
    if mean == 0 || mean * table.count > share || !named {
        return Ok(());
    }
    let mut labels = Vec::new();
    for number in 0..table.count {
        let record = table.records.nth(number)?;
        labels.push(record.and_then(|record| table.label_of(&record)).unwrap_or_default());
    }
    let name = match table.label {
        Some(label) if !table.keyed() => shown_path(&table.fields[label].path).into_owned(),
        _ => "key".to_owned(),
    };
    writer.within(share, |writer| writer.push(section, format!("{name} of all: {}", labels.join(", "))));
    Ok(())
}

/// Chooses the widest layout in which all records are expected to fit, or else one in which some do; returns whether
/// all are expected to fit.
fn choose_layout(
    table: &Table<'_>,
    widest: &RowLayout,
    series: &RowSeries,
    sample: &[Record],
    writer: &SectionWriter<'_>,
) -> (RowLayout, bool) {
    let fits =
        |layout: &RowLayout, rows: u64| rows_cost(layout, series, rows, sample, writer) <= writer.left();
    let widths = |least: usize| (least.min(widest.width())..=widest.width()).rev();
    for name_cell in NAME_CELL_WIDTHS {
        let layouts = widths(MIN_FIELDS_OF_ALL_ROWS).map(|width| widest.narrowed(width, name_cell));
        if let Some(layout) = layouts.into_iter().find(|layout| fits(layout, table.count)) {
            return (layout, true);
        }
    }
    for (rows, least) in PARTIAL_ROWS {
        let mut some = widths(least).map(|width| widest.narrowed(width, NAME_CELL_WIDTHS[0]));
        if let Some(layout) = some.find(|layout| fits(layout, rows.min(table.count))) {
            return (layout, false);
        }
    }
    (widest.narrowed(1, NAME_CELL_WIDTHS[2]), false)
}

/// Returns a few records spread over the table, to see how long their rows are.
fn sample(table: &Table<'_>, series: &RowSeries) -> io::Result<Vec<Record>> {
    let last = table.count.saturating_sub(1);
    let mut numbers = vec![0, last / 4, last / 2, last * 3 / 4, last];
    numbers.dedup();
    let mut records = Vec::new();
    for number in numbers {
        records.extend(series.record(table, number)?);
    }
    Ok(records)
}
