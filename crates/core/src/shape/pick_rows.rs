//! Picks the rows to show of a table that does not fit as a whole: the first and the last, those the call asked for,
//! severe values, extremes, rare values, and then rows spread evenly over the rest.
//!
//! The picks come from offsets that the profile recorded in its one pass, so that only a few rows are read again.

use std::io;

use super::field::{Field, FieldKind};
use super::rows::axis;
use super::table::Table;

/// Words in a severity or a status that make its rows worth showing.
const SEVERE_WORDS: &[&str] = &[
    "error",
    "fail",
    "critical",
    "fatal",
    "panic",
    "severe",
    "exception",
    "denied",
    "unhealthy",
    "crash",
    "alert",
    "emerg",
    "high",
    "blocker",
    "down",
];

/// Returns whether a value says that something is wrong: a severe word in a field that is a severity or a status. A
/// name that contains such a word says nothing.
fn is_severe(field: &Field, value: &str) -> bool {
    let value = value.to_lowercase();
    let words = || value.split(|c: char| !c.is_ascii_alphabetic());
    field.is_severity() && words().any(|word| SEVERE_WORDS.iter().any(|severe| word.starts_with(severe)))
}

/// The maximum number of distinct values of a field whose rare values are picked.
const MAX_GROUPS_FOR_RARE_VALUES: usize = 24;

/// The number of evenly spaced rows along an axis, including the first and the last.
const AXIS_SAMPLES: u64 = 11;

/// Returns the offsets of values that the tool was called with, if they are rare enough to identify rows.
fn asked_for(table: &Table<'_>, arguments: &[String]) -> Vec<u64> {
    let mut offsets = Vec::new();
    for field in table.fields.iter().filter(|field| field.single) {
        for entry in table.data.profile.node(field.node).counts.entries() {
            if entry.count * 4 <= table.count && arguments.iter().any(|argument| *argument == entry.text()) {
                offsets.extend(entry.offsets().unwrap_or_else(|| vec![entry.first]));
            }
        }
    }
    offsets.truncate(6);
    offsets
}

/// The maximum number of rows spread over the table.
const MAX_SPREAD_ROWS: u64 = 400;

/// Returns the number of a row for each index, spread over `count` rows. Steps of the golden ratio never fall into
/// step with a period of the data, as steps of equal length do.
fn spread(count: u64) -> impl Iterator<Item = u64> {
    const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;
    (1..MAX_SPREAD_ROWS).map(move |index| ((index as f64 * GOLDEN_RATIO).fract() * count as f64) as u64)
}

/// The numbers of the rows to show.
pub(crate) struct PickedRows {
    /// Rows that tell something of their own, best first; a number may occur more than once.
    pub(crate) telling: Vec<u64>,
    /// Further examples.
    pub(crate) examples: Vec<u64>,
}

/// Picks the rows to show.
pub(crate) fn pick_rows(table: &Table<'_>, arguments: &[String]) -> io::Result<PickedRows> {
    let mut fields: Vec<&Field> = table.fields.iter().collect();
    fields.sort_by(|one, two| two.score.total_cmp(&one.score));
    let (mut severe, mut rare, mut largest, mut smallest) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let asked = asked_for(table, arguments);
    for field in fields.into_iter().take(16) {
        let node = table.data.profile.node(field.node);
        match field.kind {
            FieldKind::Number => {
                if let Some(numbers) =
                    field.numbers(node).filter(|numbers| !numbers.is_sorted() && numbers.varies())
                {
                    largest.push(numbers.max.at);
                    smallest.push(numbers.min.at);
                }
            }
            FieldKind::Category => {
                // Among many distinct values a rare one is not remarkable.
                let few = node.counts.entries().len() <= MAX_GROUPS_FOR_RARE_VALUES;
                for entry in node.counts.ranked().iter().rev() {
                    let offsets = entry.offsets().unwrap_or_else(|| vec![entry.first]);
                    if few && is_severe(field, &entry.text()) {
                        severe.extend(offsets);
                    } else if few && entry.offsets().is_some() && rare.len() < 24 {
                        rare.extend(offsets);
                    }
                }
            }
            FieldKind::List => largest.extend(node.members.as_ref().map(|members| members.max_at)),
            _ => {}
        }
    }
    let last = table.count - 1;
    let mut telling = vec![0, last];
    severe.truncate(12);
    for offset in asked.into_iter().chain(severe).chain(largest).chain(rare).chain(smallest) {
        if let Some(record) = table.records.holding(offset)? {
            telling.push(record.number);
        }
    }
    let along_axis = (1..AXIS_SAMPLES).map(|index| index * last / AXIS_SAMPLES);
    let mut examples: Vec<u64> = along_axis.filter(|_| axis(table).is_some()).collect();
    examples.extend((1..5).filter(|number| *number < last));
    examples.extend(spread(table.count));
    examples.extend(0..table.count.min(MAX_SPREAD_ROWS));
    Ok(PickedRows { telling, examples })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn spread_rows_do_not_fall_into_step_with_a_period() {
        for period in [2, 3, 4, 5, 7, 12, 24, 30, 60] {
            let seen: BTreeSet<u64> = spread(3600).take(40).map(|number| number % period).collect();
            assert!(seen.len() as u64 * 2 >= period.min(40), "{period}: {seen:?}");
        }
        assert!(spread(7).all(|number| number < 7));
    }
}
