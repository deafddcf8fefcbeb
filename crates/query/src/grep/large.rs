//! Large records and objects: among many matches, only their matching parts are shown; among a few, they are shown whole,
//! since readers mostly look for what is beside the match.

use std::ops::ControlFlow;

use tidegate_core::view::{Place, RecordText, record_values, shown_pointer, value_from};

use super::expression::Expression;
use super::shown::{MAX_WHOLE_RECORD_BYTES, shown_record};

/// The maximum number of matches among which large records are shown whole.
const MAX_FEW: usize = 3;
/// The maximum number of bytes of all large records that are shown whole.
const MAX_FEW_BYTES: usize = 4000;

/// A large record or an object, as it is shown among many, and whole.
struct LargeRecord {
    is_exact: bool,
    short: String,
    whole: String,
}

/// The first large records and objects with a match.
#[derive(Default)]
pub(super) struct LargeRecords(Vec<LargeRecord>);

impl LargeRecords {
    /// Keeps a large record that matches, if it is among the first; exact ones and others are counted apart.
    pub(super) fn keep(
        &mut self,
        expression: &Expression,
        place: &Place<'_>,
        record: &RecordText<'_>,
        values: u64,
        is_exact: bool,
    ) {
        let is_large = (MAX_WHOLE_RECORD_BYTES + 1..=MAX_FEW_BYTES).contains(&record.json.len());
        let alike = self.0.iter().filter(|large| large.is_exact == is_exact).count();
        if is_large && record.whole && alike < MAX_FEW {
            let short = shown_record(expression, place, record, values);
            let whole = format!("{} {}", shown_pointer(&place.pointer()), record.json);
            self.0.push(LargeRecord { is_exact, short, whole });
        }
    }

    /// Keeps the object in the text that a matching value is a member of, if the match is among the first.
    pub(super) fn keep_object(&mut self, text: &[u8], place: &Place<'_>, short: impl Fn() -> String) {
        let start = place.parent_start().filter(|_| place.is_exact());
        let others = self.0.iter().filter(|large| !large.is_exact).count();
        let Some(start) = start.and_then(|start| usize::try_from(start).ok()).filter(|_| others < MAX_FEW)
        else {
            return;
        };
        // White space between members does not count.
        let end = text.len().min(start + 4 * MAX_FEW_BYTES);
        let near = String::from_utf8_lossy(&text[start.min(end)..end]);
        let object =
            value_from(&near, 0, MAX_FEW_BYTES).filter(|json| json.starts_with('{') && has_members(json));
        if let Some(object) = object {
            let whole = format!("{} {object}", shown_pointer(&place.parent()));
            self.0.push(LargeRecord { is_exact: false, short: short(), whole });
        }
    }

    /// Shows the records whole where only a few match, or only in a few a value is just what was looked for.
    pub(super) fn show_whole(&mut self, hits: u64, exact: &mut [String], others: &mut [String]) {
        let only_exact = !exact.is_empty();
        let few = if only_exact { exact.len() as u64 } else { hits };
        if few > MAX_FEW as u64 {
            return;
        }
        let mut left = MAX_FEW_BYTES;
        for LargeRecord { is_exact, short, whole } in self.0.drain(..) {
            let is_shown = others.iter().any(|result| result.contains(&whole));
            if is_exact != only_exact || whole.len() > left || is_shown {
                continue;
            }
            left -= whole.len();
            let mut shown = exact.iter_mut().chain(others.iter_mut());
            if let Some(result) = shown.find(|result| result.contains(&short)) {
                *result = result.replacen(&short, &whole, 1);
            }
        }
    }
}

/// Returns whether a JSON object has more than one value.
fn has_members(json: &str) -> bool {
    let mut count = 0;
    record_values(json, &mut |_| {
        count += 1;
        if count > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    count > 1
}
