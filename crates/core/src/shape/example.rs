//! One record as an example, for records with many or nested fields: rows show a few of their fields, and statistics do not
//! show how a record is built.

use super::section_writer::SectionWriter;
use super::table::{Table, compact};
use crate::json::string;
use crate::json::value::Value;
use crate::records::Record;
use crate::visible;

/// The minimum number of fields of records of which one is shown as an example.
const MIN_FIELDS_OF_EXAMPLE: usize = 12;
/// The numbers of characters at which the texts of an example are cut; the largest that fits is used.
const EXAMPLE_TEXTS: [usize; 3] = [160, 60, 24];

/// Writes the first record whole, long texts and lists cut, where rows show a small part of the fields.
pub(super) fn write_example(
    table: &Table<'_>,
    width: usize,
    first: Option<&Record>,
    writer: &mut SectionWriter<'_>,
    section: usize,
) {
    let wide = table.fields.len() >= MIN_FIELDS_OF_EXAMPLE.max(2 * width);
    let Some(first) = first.filter(|_| wide) else { return };
    let share = writer.left() / 3;
    for limit in EXAMPLE_TEXTS {
        let name = first.key.as_deref().map_or("1".into(), |key| visible::cut(key, limit));
        let line = format!("example, {} {name}: {}", table.noun(), abridged(&first.value, limit));
        // Counting the tokens of a long line takes longer than seeing that its bytes do not fit.
        let fits = line.len() as u64 <= writer.bytes() && writer.cost(&line) <= share;
        if fits && writer.push(section, line) {
            break;
        }
    }
}

/// The maximum number of elements of a list in an example.
const MAX_EXAMPLE_ELEMENTS: usize = 2;

/// Writes a value as JSON, with texts cut at `limit` characters and lists after their first elements.
fn abridged(value: &Value, limit: usize) -> String {
    match value {
        Value::Array(elements) => {
            let shown =
                elements.read.iter().take(MAX_EXAMPLE_ELEMENTS).map(|element| abridged(element, limit));
            let mut shown: Vec<String> = shown.collect();
            let more = elements.total - shown.len() as u64;
            shown.extend((more > 0).then(|| format!("… {more} more")));
            format!("[{}]", shown.join(","))
        }
        Value::Object(members) => {
            let shown = members.read.iter().map(|(key, member)| {
                let mut out = String::new();
                string::write_visible(key, &mut out);
                format!("{out}:{}", abridged(member, limit))
            });
            let mut shown: Vec<String> = shown.collect();
            let more = members.total - shown.len() as u64;
            shown.extend((more > 0).then(|| format!("… {more} more")));
            format!("{{{}}}", shown.join(","))
        }
        Value::String(text) => {
            let mut out = String::new();
            let mark = if text.left_out > 0 { "…" } else { "" };
            string::write_visible(&format!("{}{mark}", visible::cut(&text.text, limit)), &mut out);
            out
        }
        other => compact(other),
    }
}
