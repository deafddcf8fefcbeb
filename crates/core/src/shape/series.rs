//! The strategy for lists of scalars.
//!
//! An overview shows the extremes with their positions, the course of the values, and samples: the first, the last and
//! evenly spaced ones.

use std::io;

use super::grid::Grid;
use super::key_lines::evenly_spaced;
use super::rows::ShownCounts;
use super::section_writer::SectionWriter;
use super::table::{Table, scalar_text};
use super::uncovered::{Covered, Uncovered};
use super::value_list::{key_beginnings, number_text, of_values};
use crate::profile::number::{KeptNumber, NumberStats};
use crate::{visible, write};

/// Returns whether a table is a list of scalars.
pub(crate) fn is_series(table: &Table<'_>) -> bool {
    table.data.profile.node(table.record).types.containers() == 0
}

/// The minimum number of evenly spaced samples that are tried.
const MIN_SAMPLES: u64 = 12;
/// The maximum number of characters shown of one scalar.
const MAX_SCALAR_CHARACTERS: usize = 60;

/// Writes an overview of a list of scalars; returns what it shows.
pub(crate) fn compose(
    table: &Table<'_>,
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<ShownCounts> {
    let node = table.data.profile.node(table.record);
    let path = if table.path.is_empty() { String::new() } else { format!("{}: ", table.path) };
    writer.push(section, format!("{path}{} items:", table.count));
    let container = table.data.profile.node(table.container);
    if let Some(line) = key_beginnings(container, writer, writer.left() / 8) {
        writer.push(section, line);
    }
    let share = writer.left() / 2;
    writer.within(share, |writer| match &node.numbers {
        Some(numbers) if numbers.count * 2 > node.seen() => write_numbers(table, numbers, writer, section),
        _ => write_strings(table, writer, section),
    })?;
    let records = write_samples(table, writer, section + 1)?;
    Ok(ShownCounts { records, fields: table.fields.len(), ..ShownCounts::default() })
}

fn write_strings(table: &Table<'_>, writer: &mut SectionWriter<'_>, section: usize) -> io::Result<()> {
    let node = table.data.profile.node(table.record);
    let cap = writer.left() / 2;
    writer.push(section, of_values(node, writer, cap));
    if let Some(lengths) = &node.lengths {
        let longest = table.records.holding(lengths.max_at)?;
        let longest = longest
            .map(|record| format!(", longest at [{}]: {}", record.number, scalar_text(&record.value, 120)));
        let (min, max, about) = (lengths.min, lengths.max, write::estimate_mark(!lengths.rounded));
        let longest = longest.unwrap_or_default();
        writer.push(section, format!("strings of {min} to {about}{max} characters{longest}"));
    }
    Ok(())
}

fn write_numbers(
    table: &Table<'_>,
    numbers: &NumberStats,
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<()> {
    let at = |number: &KeptNumber| -> io::Result<String> {
        let record = table.records.holding(number.at)?;
        let place = record
            .map(|record| format!(" {}at [{}]", if number.count > 1 { "first " } else { "" }, record.number));
        Ok(format!("{}{}", number_text(number), place.unwrap_or_default()))
    };
    let figure =
        |name: &str, (text, exact): (String, bool)| format!(", {name} {}{text}", write::estimate_mark(exact));
    let median = numbers.median().map(|median| figure("median", median)).unwrap_or_default();
    let (mean, sum) = (figure("mean", numbers.mean()), figure("sum", numbers.sum()));
    let (min, max) = (at(&numbers.min)?, at(&numbers.max)?);
    let mut measures = format!("min {min}, max {max}{mean}{median}{sum}");
    let node = table.data.profile.node(table.record);
    let nulls = (node.types.nulls > 0).then(|| format!("{} null", node.types.nulls));
    for part in Uncovered::of(node, Covered::Numbers).text(node).into_iter().chain(nulls) {
        measures.push_str(&format!("; {part}"));
    }
    writer.push(section, measures);
    match Grid::of(table) {
        Some(grid) => grid.write(table, writer, section),
        None => {
            if let Some(course) = course("", numbers) {
                writer.push(section, course);
            }
            Ok(())
        }
    }
}

/// Writes the course of values as digits, which cost a third of a token each; `None` if their order is not known.
pub(crate) fn course(name: &str, numbers: &NumberStats) -> Option<String> {
    let values = numbers.course();
    let (min, max) = (numbers.min.value, numbers.max.value);
    // Halves, since the distance of two floats may be beyond their range.
    let share = |value: f64| (value / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0).max(f64::MIN_POSITIVE);
    let digits: String = evenly_spaced(values, 36)
        .iter()
        .map(|value| char::from(b'0' + ((share(*value) * 9.0).round() as u8).min(9)))
        .collect();
    let name = if name.is_empty() { String::new() } else { format!(" of {name}") };
    (!digits.is_empty()).then(|| format!("course{name}, 0 lowest to 9 highest: {digits}"))
}

/// Writes the first, evenly spaced and last elements with their positions; returns how many.
fn write_samples(table: &Table<'_>, writer: &mut SectionWriter<'_>, section: usize) -> io::Result<u64> {
    let value = |number: u64| -> io::Result<String> {
        let Some(record) = table.records.nth(number)? else { return Ok(String::new()) };
        let text = scalar_text(&record.value, MAX_SCALAR_CHARACTERS);
        Ok(record
            .key
            .map_or(text.clone(), |key| format!("{}={text}", visible::cut(&key, MAX_SCALAR_CHARACTERS))))
    };
    let from = table.count.saturating_sub(3);
    let last: Vec<String> = (from..table.count).map(value).collect::<io::Result<_>>()?;
    let mut shown = 0;
    if writer.push(section + 2, format!("last: {}", last.join(", "))) {
        shown += last.len() as u64;
    }
    let mut first: Vec<String> = Vec::new();
    let mut spent = 8;
    for number in 0..from {
        let text = value(number)?;
        spent += writer.cost(&text) + 1;
        if spent > writer.left() / 2 {
            break;
        }
        first.push(text);
    }
    if !first.is_empty() && writer.push(section, format!("first {}: {}", first.len(), first.join(", "))) {
        shown += first.len() as u64;
    }
    let between = (first.len() as u64, from);
    let mut count = MIN_SAMPLES.max(writer.left() / 14).min(between.1.saturating_sub(between.0));
    while count > 1 {
        let number = |index: u64| between.0 + index * (between.1 - 1 - between.0) / (count - 1);
        let sample = |index: u64| match table.keyed() {
            true => value(number(index)),
            false => Ok(format!("[{}]={}", number(index), value(number(index))?)),
        };
        let samples = (0..count).map(sample);
        let samples: Vec<String> = samples.collect::<io::Result<_>>()?;
        if writer.push(section + 1, format!("evenly spaced: {}", samples.join(" "))) {
            return Ok(shown + count);
        }
        count = count * 3 / 4;
    }
    Ok(shown)
}
