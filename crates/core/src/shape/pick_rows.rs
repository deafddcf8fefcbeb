//! Picks the rows to show of a table that does not fit as a whole: the first and the last, those the call asked for,
//! severe values, extremes, rare values, and then rows spread evenly over the rest.
//!
//! The picks come from offsets that the profile recorded in its one pass, so that only a few rows are read again.

use std::io;

use super::field::{Field, FieldKind};
use super::rows::axis;
use super::table::Table;

/// Words in a value that make its rows worth showing.
const SEVERE_WORDS: &[&str] =
    &["error", "fail", "critical", "fatal", "panic", "severe", "exception", "denied", "unhealthy", "crash"];

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

/// The maximum number of rows spread evenly over the table.
const MAX_SPREAD_ROWS: u64 = 400;

/// Returns the numbers of the rows to show, best first; a number may occur more than once.
pub(crate) fn pick_rows(table: &Table<'_>, arguments: &[String]) -> io::Result<Vec<u64>> {
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
                    let text = entry.text().to_lowercase();
                    if SEVERE_WORDS.iter().any(|word| text.contains(word)) {
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
    let mut order = vec![0, last];
    severe.truncate(12);
    for offset in asked.into_iter().chain(severe).chain(largest).chain(rare).chain(smallest) {
        if let Some(record) = table.records.holding(offset)? {
            order.push(record.number);
        }
    }
    if axis(table).is_some() {
        order.extend((1..AXIS_SAMPLES).map(|index| index * last / AXIS_SAMPLES));
    }
    order.extend((1..5).filter(|number| *number < last));
    let spread = MAX_SPREAD_ROWS.min(table.count);
    // Coarse steps come first, so that the rows that fit are spread evenly.
    for step in [32, 16, 8, 4, 2, 1] {
        order.extend((0..spread).step_by(step).map(|index| index * last / (spread - 1).max(1)));
    }
    Ok(order)
}
