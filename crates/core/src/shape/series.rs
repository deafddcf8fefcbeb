//! A list of scalars: extremes with their positions, the course of the values, and samples: the first, the last
//! and evenly spaced ones.

use std::io;

use super::grid::Grid;
use super::outline::spread;
use super::room::Room;
use super::rows::Shown;
use super::statistic::of_values;
use super::table::{Table, scalar_text};
use crate::profile::number::NumberStats;
use crate::{visible, write};

/// Whether a table is a list of scalars.
pub(crate) fn is_series(table: &Table<'_>) -> bool {
    table.data.profile.node(table.record).types.containers() == 0
}

/// Evenly spaced samples shown by default.
const SAMPLES: u64 = 12;
/// Characters shown of one scalar.
const SCALAR: usize = 60;

/// Fills the room with a list of scalars.
pub(crate) fn compose(table: &Table<'_>, room: &mut Room<'_>, section: usize) -> io::Result<Shown> {
    let node = table.data.profile.node(table.record);
    let path = if table.path.is_empty() { String::new() } else { format!("{}: ", table.path) };
    room.push(section, format!("{path}{} items:", table.count));
    let share = room.left() / 2;
    room.within(share, |room| match &node.numbers {
        Some(numbers) if numbers.count * 2 > node.seen() => write_numbers(table, numbers, room, section),
        _ => write_strings(table, room, section),
    })?;
    let records = write_samples(table, room, section + 1)?;
    Ok(Shown { records, fields: table.fields.len(), ..Shown::default() })
}

fn write_strings(table: &Table<'_>, room: &mut Room<'_>, section: usize) -> io::Result<()> {
    let node = table.data.profile.node(table.record);
    let cap = room.left() / 2;
    room.push(section, of_values(node, room, cap));
    if let Some(lengths) = &node.lengths {
        let longest = table.records.holding(lengths.max_at)?;
        let longest = longest
            .map(|record| format!(", longest at [{}]: {}", record.number, scalar_text(&record.value, 120)));
        room.push(
            section,
            format!(
                "strings of {} to {} characters{}",
                lengths.min,
                lengths.max,
                longest.unwrap_or_default()
            ),
        );
    }
    Ok(())
}

fn write_numbers(
    table: &Table<'_>,
    numbers: &NumberStats,
    room: &mut Room<'_>,
    section: usize,
) -> io::Result<()> {
    let at = |offset: u64| -> io::Result<String> {
        let record = table.records.holding(offset)?;
        Ok(record
            .map(|record| format!("{} at [{}]", scalar_text(&record.value, 40), record.number))
            .unwrap_or_default())
    };
    let (sum, exact) = numbers.sum();
    let (median, exact_median) = numbers.median();
    let about = |exact: bool| if exact { "" } else { "~" };
    let measures = format!(
        "min {}, max {}, mean {}, median {}{}, sum {}{sum}",
        at(numbers.min_at)?,
        at(numbers.max_at)?,
        write::float(numbers.mean()),
        about(exact_median),
        write::float(median),
        about(exact)
    );
    room.push(section, measures);
    match Grid::of(table) {
        Some(grid) => grid.write(table, room, section),
        None => {
            room.push(section, course("", numbers));
            Ok(())
        }
    }
}

/// The course of values as digits, which cost a third of a token each.
pub(crate) fn course(name: &str, numbers: &NumberStats) -> String {
    let span = (numbers.max - numbers.min).max(f64::MIN_POSITIVE);
    let digits: String = spread(numbers.sample(), 36)
        .iter()
        .map(|value| char::from(b'0' + (((value - numbers.min) / span * 9.0).round() as u8).min(9)))
        .collect();
    let name = if name.is_empty() { String::new() } else { format!(" of {name}") };
    format!("course{name}, 0 lowest to 9 highest: {digits}")
}

/// First, evenly spaced and last elements with their positions; returns how many.
fn write_samples(table: &Table<'_>, room: &mut Room<'_>, section: usize) -> io::Result<u64> {
    let value = |number: u64| -> io::Result<String> {
        let Some(record) = table.records.nth(number)? else { return Ok(String::new()) };
        let text = scalar_text(&record.value, SCALAR);
        Ok(record.key.map_or(text.clone(), |key| format!("{}={text}", visible::cut(&key, SCALAR))))
    };
    let from = table.count.saturating_sub(3);
    let last: Vec<String> = (from..table.count).map(value).collect::<io::Result<_>>()?;
    let mut shown = 0;
    if room.push(section + 2, format!("last: {}", last.join(", "))) {
        shown += last.len() as u64;
    }
    let mut first: Vec<String> = Vec::new();
    let mut spent = 8;
    for number in 0..from {
        let text = value(number)?;
        spent += room.cost(&text) + 1;
        if spent > room.left() / 2 {
            break;
        }
        first.push(text);
    }
    if !first.is_empty() && room.push(section, format!("first {}: {}", first.len(), first.join(", "))) {
        shown += first.len() as u64;
    }
    let between = (first.len() as u64, from);
    let mut count = SAMPLES.max(room.left() / 14).min(between.1.saturating_sub(between.0));
    while count > 1 {
        let number = |index: u64| between.0 + index * (between.1 - 1 - between.0) / (count - 1);
        let sample = |index: u64| match table.keyed() {
            true => value(number(index)),
            false => Ok(format!("[{}]={}", number(index), value(number(index))?)),
        };
        let samples = (0..count).map(sample);
        let samples: Vec<String> = samples.collect::<io::Result<_>>()?;
        if room.push(section + 1, format!("evenly spaced: {}", samples.join(" "))) {
            return Ok(shown + count);
        }
        count = count * 3 / 4;
    }
    Ok(shown)
}
