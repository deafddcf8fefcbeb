//! Which records tell most: the first and the last, those the call asked for, severe values, extremes, rare values,
//! and then records evenly spread over the rest.

use std::io;

use super::field::{Field, FieldKind};
use super::rows::axis;
use super::table::Table;

/// Words in a value that make its records worth seeing.
const SEVERE: &[&str] =
    &["error", "fail", "critical", "fatal", "panic", "severe", "exception", "denied", "unhealthy", "crash"];

/// A field of no more values than this has groups, of which the small ones stand out.
const FEW_GROUPS: usize = 24;

/// Evenly spaced records along an axis, the first and the last included.
const AXIS_SAMPLES: u64 = 11;

/// Where values stand that the tool was called with, if they are rare enough to mean these records.
fn asked_for(table: &Table<'_>, arguments: &[String]) -> Vec<u64> {
    let mut places = Vec::new();
    for field in table.fields.iter().filter(|field| field.single) {
        for entry in table.data.profile.node(field.node).tally.entries() {
            if entry.count * 4 <= table.count && arguments.iter().any(|argument| *argument == entry.text()) {
                places.extend(entry.places().unwrap_or_else(|| vec![entry.first]));
            }
        }
    }
    places.truncate(6);
    places
}

/// The most records that are read again for a place in the overview.
const CANDIDATES: u64 = 400;

/// The numbers of the records that tell most, best first: first and last, severe values, extremes, rare values,
/// the next few from the beginning, and then records evenly spread over the rest.
pub(crate) fn telling(table: &Table<'_>, arguments: &[String]) -> io::Result<Vec<u64>> {
    let mut fields: Vec<&Field> = table.fields.iter().collect();
    fields.sort_by(|one, two| two.score.total_cmp(&one.score));
    let (mut severe, mut rare, mut largest, mut smallest) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let asked = asked_for(table, arguments);
    for field in fields.into_iter().take(16) {
        let node = table.data.profile.node(field.node);
        match field.kind {
            FieldKind::Number => {
                if let Some(numbers) =
                    field.numbers(node).filter(|numbers| !numbers.is_sorted() && numbers.min < numbers.max)
                {
                    largest.push(numbers.max_at);
                    smallest.push(numbers.min_at);
                }
            }
            FieldKind::Category => {
                // Among many values a rare one is nothing special.
                let few = node.tally.entries().len() <= FEW_GROUPS;
                for entry in node.tally.ranked().iter().rev() {
                    let places = entry.places().unwrap_or_else(|| vec![entry.first]);
                    let text = entry.text().to_lowercase();
                    if SEVERE.iter().any(|word| text.contains(word)) {
                        severe.extend(places);
                    } else if few && entry.places().is_some() && rare.len() < 24 {
                        rare.extend(places);
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
    let spread = CANDIDATES.min(table.count);
    // A stride that visits coarse positions first, so that whatever fits is evenly spread.
    for step in [32, 16, 8, 4, 2, 1] {
        order.extend((0..spread).step_by(step).map(|index| index * last / (spread - 1).max(1)));
    }
    Ok(order)
}
