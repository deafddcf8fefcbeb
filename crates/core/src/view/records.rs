//! Pages of records: fixed boundaries, every record as it was written, or only some of its fields.
//!
//! Records that are flat and alike are written as separated values, from which the same values can be read back;
//! all others as JSON, one a line. A record that alone is more than the budget is shown by its own overview, with
//! the path that leads into it.

use std::ops::ControlFlow;

use super::answer::{Part, PartWriter};
use super::dataset::Dataset;
use super::error::ViewError;
use super::nearest::nearest;
use super::{Query, View, segment};
use crate::json::value::{ReadLimits, Value};
use crate::json::{Dialect, Scanner, strict, string};
use crate::outline::RecordsOutline;
use crate::records::{JsonRecord, Notation};
use crate::shape::{SectionWriter, exact_cell, field_value, overview_of, quoted_cell};
use crate::source::Span;
use crate::text::Text;
use crate::{plain_name, visible, write};

/// The bytes of a page that holds records of average size.
const TARGET_PAGE_BYTES: u64 = 5000;
/// The page sizes to choose from if the caller names none.
const PAGE_SIZES: [u64; 9] = [1, 2, 5, 10, 20, 25, 50, 100, 200];
/// How much is read of one record.
const RECORD_LIMITS: ReadLimits =
    ReadLimits { depth: 128, elements: 100_000, string_bytes: usize::MAX, values: 1_000_000 };

/// Returns the default page size: as many records of average size as a page should hold.
pub(crate) fn default_size(records: &RecordsOutline) -> u64 {
    let mean = (records.bytes / records.count().max(1)).max(1);
    PAGE_SIZES.iter().copied().rfind(|size| size * mean <= TARGET_PAGE_BYTES).unwrap_or(1)
}

/// Writes a page, or the rest of it from a record on.
pub(crate) fn page(part: PartWriter<'_, '_>, number: u64, size: Option<u64>) -> Result<Part, ViewError> {
    let Some(main) = part.dataset.main() else { return super::texts::page(part, number, size) };
    let PartWriter { dataset, query, writer } = part;
    let count = main.count();
    let fields = expand(dataset, &query.fields);
    let length = match size {
        Some(size) => size,
        None if fields.is_empty() => default_size(main),
        None => projected_size(dataset, &fields)?,
    };
    let start = if query.position > 0 { query.position } else { (number - 1).saturating_mul(length) };
    let noun = write::plural(2, &main.noun).replace("2 ", "");
    if start >= count {
        let pages = count.div_ceil(length);
        return Err(ViewError::bad(format!(
            "page {number} is beyond the end: {} {noun} make {pages} pages of {length}",
            write::grouped(count)
        )));
    }
    let records = collect(dataset, start, length.min(count - start), &fields, 2 * writer.bytes() as usize)?;
    let lines = if fields.is_empty() { whole(&records) } else { projected(dataset, &records, &fields)? };
    let shown = lines.push(writer);
    if shown == 0 {
        return oversized(dataset, query, &records, start, count, writer);
    }
    let end = start + shown;
    let next = next_page(query, number, size, length, start, end, count);
    let what =
        format!("{noun} {}-{} of {}", write::grouped(start + 1), write::grouped(end), write::grouped(count));
    let mut notes = lines.notes;
    notes.extend(dataset.beside_records());
    notes.extend(dataset.around_data()?);
    Ok(Part { what, shown, of: Some(count), next, notes })
}

/// Returns the query for the next page, or for the first record that was not shown.
fn next_page(
    query: &Query,
    number: u64,
    size: Option<u64>,
    length: u64,
    start: u64,
    end: u64,
    count: u64,
) -> Option<Query> {
    if end >= count {
        return None;
    }
    let aligned = query.position == 0 && end == start + length;
    Some(match aligned {
        true => Query { view: View::Page { number: number + 1, size }, position: 0, ..query.clone() },
        false => query.at(end),
    })
}

/// The maximum number of bytes read of a record of which some fields are shown.
const MAX_PROJECTED_BYTES: usize = 8 << 20;

/// Reads records from number `start` on, at most `most` bytes of what is shown of them.
fn collect(
    dataset: &Dataset<'_>,
    start: u64,
    length: u64,
    fields: &[String],
    most: usize,
) -> Result<Vec<JsonRecord>, ViewError> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    let most_of_one = if fields.is_empty() { most } else { most.max(MAX_PROJECTED_BYTES) };
    dataset.json_records(start, most_of_one, |record| {
        let record = if fields.is_empty() { record } else { narrowed(record, fields) };
        bytes += record.json.len();
        records.push(record);
        if records.len() as u64 >= length || bytes > most {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(records)
}

/// Returns a record with some fields only, each under its path, so that a page is sized by what is shown of it.
fn narrowed(record: JsonRecord, fields: &[String]) -> JsonRecord {
    let Some(value) = parse(&record.json).filter(|_| record.whole) else { return record };
    let members = fields.iter().filter_map(|field| {
        Some(format!("{}:{}", json_string(field), field_value(&value, field)?.to_json()))
    });
    JsonRecord { json: format!("{{{}}}", members.collect::<Vec<_>>().join(",")), ..record }
}

/// The number of records that show how long the chosen fields are.
const SIZE_SAMPLE: u64 = 20;

/// Returns the page size for some fields of the records: as many as a page should hold.
fn projected_size(dataset: &Dataset<'_>, fields: &[String]) -> Result<u64, ViewError> {
    let sample = collect(dataset, 0, SIZE_SAMPLE, fields, usize::MAX)?;
    // In a table the names are written once.
    let names: usize = fields.iter().map(|field| field.len() + 3).sum();
    let bytes: usize = sample.iter().map(|record| record.json.len().saturating_sub(names).max(1)).sum();
    let mean = (bytes / sample.len().max(1)).max(1) as u64;
    Ok(PAGE_SIZES.iter().copied().rfind(|size| size * mean <= TARGET_PAGE_BYTES).unwrap_or(1))
}

/// Records written as lines.
struct RecordLines {
    header: Option<String>,
    lines: Vec<String>,
    notes: Vec<String>,
}

impl RecordLines {
    fn push(&self, writer: &mut SectionWriter<'_>) -> u64 {
        if self.header.as_ref().is_some_and(|header| !writer.push(0, header.clone())) {
            return 0;
        }
        let shown = self.lines.iter().take_while(|line| writer.push(0, (*line).clone())).count() as u64;
        if shown == 0 && self.header.is_some() {
            writer.pop(0);
        }
        shown
    }
}

fn json_note() -> String {
    "One JSON value a line.".into()
}

fn cells_note() -> String {
    "CSV: a quoted cell is a string, an empty one null.".into()
}

/// Writes whole records: as separated values if they are flat and alike, else as JSON.
fn whole(records: &[JsonRecord]) -> RecordLines {
    if let Some(lines) = separated(records) {
        return lines;
    }
    let complete = records.iter().take_while(|record| record.whole);
    let lines = complete.map(|record| match &record.key {
        Some(key) => format!("{}:{}", json_string(key), record.json),
        None => record.json.clone(),
    });
    RecordLines { header: None, lines: lines.collect(), notes: vec![json_note()] }
}

fn separated(records: &[JsonRecord]) -> Option<RecordLines> {
    if records.len() < 2 {
        return None;
    }
    let mut header = None;
    let mut lines = Vec::new();
    for record in records.iter().take_while(|record| record.whole) {
        // What no standard allows, such as a lone surrogate, cannot be read back from a cell.
        if !strict::is_value(&record.json) {
            return None;
        }
        let Value::Object(members) = parse(&record.json)? else { return None };
        let keys: Vec<&str> = members.read.iter().map(|(key, _)| &**key).collect();
        let repeated = keys.iter().enumerate().any(|(at, key)| keys[..at].contains(key));
        if keys.is_empty() || repeated || keys.iter().any(|key| key.chars().any(visible::is_hidden)) {
            return None;
        }
        let mut names: Vec<String> = keys.iter().map(|key| quoted_cell(key)).collect();
        let mut cells: Vec<String> =
            members.read.iter().map(|(_, value)| exact_cell(value)).collect::<Option<_>>()?;
        if let Some(key) = &record.key {
            if keys.contains(&"key") {
                return None;
            }
            names.insert(0, "key".into());
            cells.insert(0, quoted_cell(key));
        }
        if header.get_or_insert_with(|| names.clone()) != &names
            || cells.iter().any(|cell| cell.contains(['\n', '\r']))
        {
            return None;
        }
        lines.push(cells.join(","));
    }
    let header = header?.join(",");
    let notes = vec![cells_note()];
    (!lines.iter().any(|line| line.chars().any(visible::is_hidden))).then_some(RecordLines {
        header: Some(header),
        lines,
        notes,
    })
}

/// Writes some fields of the records: as separated values if all of them are scalars, else as objects.
fn projected(
    dataset: &Dataset<'_>,
    records: &[JsonRecord],
    fields: &[String],
) -> Result<RecordLines, ViewError> {
    let mut rows: Vec<Vec<Option<Value>>> = Vec::new();
    for record in records {
        let value = parse(&record.json).unwrap_or(Value::Null);
        rows.push(fields.iter().map(|field| field_value(&value, field).cloned()).collect());
    }
    for (at, field) in fields.iter().enumerate() {
        let known = dataset.fields().iter().any(|name| {
            name == field || name.starts_with(&format!("{field}.")) || name.starts_with(&format!("{field}["))
        });
        if !known && rows.iter().all(|row| row[at].is_none()) {
            return Err(unknown_field(dataset, field));
        }
    }
    let cells = |row: &Vec<Option<Value>>| -> Option<String> {
        let cells: Option<Vec<String>> =
            row.iter().map(|value| value.as_ref().map_or(Some(String::new()), exact_cell)).collect();
        cells
            .map(|cells| cells.join(","))
            .filter(|line| !line.contains(['\n', '\r']) && !line.chars().any(visible::is_hidden))
    };
    let keyed = |record: &JsonRecord, line: String| match &record.key {
        Some(key) => format!("{},{line}", quoted_cell(key)),
        None => line,
    };
    let lines: Option<Vec<String>> =
        rows.iter().zip(records).map(|(row, record)| Some(keyed(record, cells(row)?))).collect();
    let is_keyed = records.iter().any(|record| record.key.is_some());
    let key_is_clear = !is_keyed || !fields.iter().any(|field| field == "key");
    if let Some(lines) = lines.filter(|_| key_is_clear) {
        let mut names: Vec<String> = fields.iter().map(|field| quoted_cell(field)).collect();
        if is_keyed {
            names.insert(0, "key".into());
        }
        return Ok(RecordLines { header: Some(names.join(",")), lines, notes: vec![cells_note()] });
    }
    let object = |row: &Vec<Option<Value>>, record: &JsonRecord| {
        let members = fields.iter().zip(row).filter_map(|(field, value)| {
            Some(format!("{}:{}", json_string(field), value.as_ref()?.to_json()))
        });
        let object = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        record.key.as_ref().map_or(object.clone(), |key| format!("{}:{object}", json_string(key)))
    };
    let lines = rows.iter().zip(records).map(|(row, record)| object(row, record)).collect();
    Ok(RecordLines { header: None, lines, notes: vec![json_note()] })
}

/// Replaces `*` with all fields at its level.
pub(super) fn expand(dataset: &Dataset<'_>, fields: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for field in fields.iter().map(|field| field.trim()) {
        let field = field.strip_prefix("$.").or(field.strip_prefix('.')).unwrap_or(field);
        let Some(parent) = field.strip_suffix('*') else {
            out.push(field.to_owned());
            continue;
        };
        for below in dataset.fields().iter().filter_map(|name| name.strip_prefix(parent)) {
            let rest = segment::read_key(below).map_or("", |(_, rest)| rest);
            let name = &below[..below.len() - rest.len()];
            let path = format!("{parent}{name}");
            if !name.is_empty() && !out.contains(&path) {
                out.push(path);
            }
        }
    }
    out
}

/// The maximum number of field names in an error.
const MAX_NAMED_FIELDS: usize = 30;

pub(super) fn unknown_field(dataset: &Dataset<'_>, field: &str) -> ViewError {
    let names: Vec<&str> = dataset.fields().iter().map(String::as_str).collect();
    let meant = nearest(field, names.iter().copied());
    let known = names.iter().copied().filter(|name| !name.contains(['.', '[']));
    ViewError::NotThere(format!(
        "no record has {}.{} Fields: {}",
        plain_name::asked_name("a field", field),
        plain_name::meant(meant),
        plain_name::list(known, MAX_NAMED_FIELDS)
    ))
}

/// Writes a record that is larger than the room: its own overview, and the path into it.
fn oversized(
    dataset: &Dataset<'_>,
    query: &Query,
    records: &[JsonRecord],
    start: u64,
    count: u64,
    writer: &mut SectionWriter<'_>,
) -> Result<Part, ViewError> {
    let Some(record) = records.first() else {
        return Err(ViewError::bad("the result breaks off here; use range to read the rest of its bytes"));
    };
    let pointer = dataset.record_pointer(record.number, record.key.as_deref());
    let deeper = if plain_name::is_plain_path(&pointer) {
        format!("go deeper with \"path\":\"{pointer}\"")
    } else if writer.push(0, format!("path: {}", json_string(&pointer))) {
        "go deeper with the path on the first line below".into()
    } else {
        "its path is too long to be shown; go deeper with fields or range".into()
    };
    match (record.at, dataset.outline.data.as_ref().map(|data| &data.notation)) {
        (Some(at), Some(Notation::Json(dialect) | Notation::JsonLines(dialect))) => {
            overview_of(&*dataset.data_text()?, at, *dialect, writer)?;
        }
        _ => {
            super::texts::push_cut(writer, &record.json);
        }
    }
    let what = format!(
        "record {} of {}, which is larger than the budget; {deeper}",
        start + 1,
        write::grouped(count),
    );
    let next = (start + 1 < count).then(|| query.at(start + 1));
    let notes = dataset.beside_records().into_iter().chain(dataset.around_data()?).collect();
    Ok(Part { what, shown: 1, of: Some(count), next, notes })
}

pub(super) fn parse(json: &str) -> Option<Value> {
    let source = json.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let mut scanner = Scanner::new(&text, Dialect::Json);
    scanner.keep_strings(usize::MAX);
    Value::read(&mut scanner, RECORD_LIMITS).ok()
}

fn json_string(text: &str) -> String {
    let mut out = String::new();
    string::write_visible(text, &mut out);
    out
}
