//! Records: the statistics of every field over all of them, then the records that tell most.

use std::collections::BTreeMap;
use std::io;

use super::field::{Field, FieldKind};
use super::grid::Grid;
use super::layout::{Layout, NAME_CELLS};
use super::room::Room;
use super::series::course;
use super::statistic::Statistic;
use super::table::Table;
use super::telling::telling;
use crate::records::Record;

/// What an overview of a table shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    /// How many records.
    pub(crate) records: u64,
    /// How many fields of them.
    pub(crate) fields: usize,
    /// How many of their values are shown whole, and how many at all.
    pub(crate) whole: u64,
    pub(crate) values: u64,
}

/// The share of the room that statistics may take before the records.
const STATISTICS: f64 = 0.62;

/// Fills the room with a table; `section` and the next are its own.
pub(crate) fn compose(
    table: &Table<'_>,
    arguments: &[String],
    room: &mut Room<'_>,
    section: usize,
) -> io::Result<Shown> {
    let share = (room.left() as f64 * STATISTICS) as u64;
    room.within(share, |room| write_fields(table, room, section))?;
    let grid = Grid::of(table);
    match (&grid, axis(table)) {
        (Some(grid), _) => {
            let share = room.left() / 2;
            room.within(share, |room| grid.write(table, room, section + 1))?;
        }
        (None, Some(axis)) => write_courses(table, axis, room, section + 1),
        (None, None) => {}
    }
    write_rows(table, arguments, room, section + 2)
}

/// The field along which records go on: a point in time or a number that only rises or only falls.
pub(crate) fn axis<'t>(table: &'t Table<'_>) -> Option<&'t Field> {
    let sorted = |field: &&Field| {
        let node = table.data.profile.node(field.node);
        let sorted = match field.kind {
            FieldKind::Time => node.times.as_ref().is_some_and(|times| times.is_sorted()),
            _ => false,
        };
        sorted && field.single && field.depth == 0 && node.tally.is_unique()
    };
    let measured = table.fields.iter().any(|field| field.kind == FieldKind::Number);
    table.fields.iter().find(sorted).filter(|_| measured && table.count >= 16)
}

/// The courses of the numbers that tell most, along an axis.
fn write_courses(table: &Table<'_>, axis: &Field, room: &mut Room<'_>, section: usize) {
    let mut fields: Vec<&Field> = table
        .fields
        .iter()
        .filter(|field| field.kind == FieldKind::Number && field.path != axis.path)
        .collect();
    fields.sort_by(|one, two| two.score.total_cmp(&one.score));
    let share = room.left() / 5;
    room.within(share, |room| {
        for field in fields.into_iter().take(3) {
            let numbers = field.numbers(table.data.profile.node(field.node));
            if let Some(numbers) = numbers.filter(|numbers| numbers.min < numbers.max) {
                room.push(section, course(&field.path, numbers));
            }
        }
    });
}

/// Writes the statistics of the fields, those that tell most first, and the names of the rest.
pub(crate) fn write_fields(table: &Table<'_>, room: &mut Room<'_>, section: usize) -> io::Result<()> {
    let path = if table.path.is_empty() { String::new() } else { format!("{}: ", table.path) };
    let nouns = table.nouns();
    room.push(section, format!("{path}{} fields, over all {} {nouns}:", table.fields.len(), table.count));
    let mut order: Vec<&Field> = table.fields.iter().collect();
    order.sort_by(|one, two| two.score.total_cmp(&one.score));
    // The names of fields without statistics must find their place too.
    let mut names: u64 = order.iter().map(|field| name_cost(room, field)).sum();
    let most_for_names = room.left() * 3 / 10;
    let mut told: Vec<&Field> = Vec::new();
    for field in order {
        let available = room.left().saturating_sub(names.min(most_for_names));
        if available < 8 {
            break;
        }
        // The first few tell most: their values are listed further.
        let part = if told.len() < 3 { 3 } else { 4 };
        for cap in [(available / part).max(24), 12] {
            let text = Statistic { table, room, cap }.of(field)?;
            let line = if field.path.is_empty() { text } else { format!("{}: {text}", field.path) };
            if room.cost(&line) <= available && room.push(section, line) {
                names -= name_cost(room, field).min(names);
                told.push(field);
                break;
            }
        }
    }
    let untold = |field: &&Field| !told.iter().any(|known| known.path == field.path);
    let rest: Vec<&Field> = table.fields.iter().filter(untold).collect();
    write_names(&rest, room, section);
    Ok(())
}

fn name_cost(room: &Room<'_>, field: &Field) -> u64 {
    let name = field.path.rsplit('.').next().unwrap_or(&field.path);
    room.cost(name)
}

/// Lists the names of fields whose statistics found no place: those near the top first, all of them if they fit.
fn write_names(fields: &[&Field], room: &mut Room<'_>, section: usize) {
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
        if room.push(section, format!("also: {}{mark}", grouped_names(&shown))) {
            return;
        }
    }
    let top: Vec<&Field> = fields.iter().copied().filter(|field| depth(field) == 0).collect();
    let mut count = top.len();
    while count > 0 {
        if room.push(
            section,
            format!("also: {} +{} more fields", grouped_names(&top[..count]), fields.len() - count),
        ) {
            return;
        }
        count = count * 3 / 4;
    }
    room.push(section, format!("+{} more fields", fields.len()));
}

/// Names with what they have in common written once: `actor{login,id}`.
fn grouped_names(fields: &[&Field]) -> String {
    let mut out = String::new();
    let mut open: Vec<&str> = Vec::new();
    for field in fields {
        let (parents, name) = match field.path.rfind('.') {
            Some(at) if !field.path.contains('"') => {
                (field.path[..at].split('.').collect(), &field.path[at + 1..])
            }
            _ => (Vec::new(), field.path.as_str()),
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
        out.push_str(name);
    }
    out.extend(open.iter().map(|_| '}'));
    out
}

/// Fewer rows than this are widened only after narrower ones were tried.
const FEW_ROWS: u64 = 8;

fn write_rows(
    table: &Table<'_>,
    arguments: &[String],
    room: &mut Room<'_>,
    section: usize,
) -> io::Result<Shown> {
    if table.count == 0 || room.left() < 24 {
        return Ok(Shown::default());
    }
    let sample = sample(table)?;
    let (layout, all) = choose_layout(table, &sample, room);
    if !room.push(section, "rows:") || !room.push(section, layout.header()) {
        return Ok(Shown::default());
    }
    let order = if all { (0..table.count).collect() } else { telling(table, arguments)? };
    let mut rows: BTreeMap<u64, String> = BTreeMap::new();
    let mut cut = 0;
    // The last record is never the one that finds no place.
    for number in [0, table.count - 1].into_iter().chain(order) {
        if rows.contains_key(&number) {
            continue;
        }
        let Some(record) = table.records.nth(number)? else { continue };
        let (row, cut_cells) = layout.row(&record);
        if !room.reserve(&row) {
            break;
        }
        cut += cut_cells;
        rows.insert(number, row);
    }
    let records = rows.len() as u64;
    rows.into_values().for_each(|row| room.place(section, row));
    let what = match records {
        every if every == table.count => format!("all {records} {}", table.nouns()),
        some => format!("{some} of {} {}", table.count, table.nouns()),
    };
    let (width, values) = (layout.width(), records * layout.width() as u64);
    room.replace_first(section, format!("{what}, {width} of {} fields:", table.fields.len().max(width)));
    Ok(Shown { records, fields: width, whole: values - cut, values })
}

/// Every record thinner rather than a few fat, as long as all fit with a name and one thing more; else some.
///
/// The answer says whether all are expected to fit.
fn choose_layout(table: &Table<'_>, sample: &[Record], room: &Room<'_>) -> (Layout, bool) {
    let widest = Layout::widest(table, sample);
    let left = room.left().saturating_sub(24);
    let fits = |layout: &Layout, rows: u64| {
        let cost: u64 = sample.iter().map(|record| room.cost(&layout.row(record).0)).sum();
        (cost / sample.len().max(1) as u64 + 1) * rows <= left
    };
    let widths = |least: usize| (least.min(widest.width())..=widest.width()).rev();
    for least in [2, 1] {
        for name_cell in NAME_CELLS {
            let layouts = widths(least).map(|width| widest.narrowed(width, name_cell));
            if let Some(layout) = layouts.into_iter().find(|layout| fits(layout, table.count)) {
                return (layout, true);
            }
        }
    }
    let mut some = widths(1).map(|width| widest.narrowed(width, NAME_CELLS[0]));
    let layout = some.find(|layout| fits(layout, FEW_ROWS));
    (layout.unwrap_or_else(|| widest.narrowed(1, NAME_CELLS[2])), false)
}

/// A few records spread over the table, to see how long rows get.
fn sample(table: &Table<'_>) -> io::Result<Vec<Record>> {
    let last = table.count - 1;
    let mut numbers = vec![0, last / 4, last / 2, last * 3 / 4, last];
    numbers.dedup();
    let mut records = Vec::new();
    for number in numbers {
        records.extend(table.records.nth(number)?);
    }
    Ok(records)
}
