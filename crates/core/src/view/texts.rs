//! Lines of the text, and bytes of the original.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::answer::{Part, no_room};
use super::dataset::Dataset;
use super::error::ViewError;
use super::{Query, View};
use crate::json::string;
use crate::shape::SectionWriter;
use crate::source::Span;
use crate::{visible, write};

/// Writes lines. A position is the number of lines of the span already shown, or, inside a line that is longer than the
/// room, the offset with the highest bit set.
pub(crate) fn lines(
    dataset: &Dataset<'_>,
    query: &Query,
    from: u64,
    to: Option<u64>,
    writer: &mut SectionWriter<'_>,
) -> Result<Part, ViewError> {
    // Lines have no fields, and the next query must not carry them: they would take the room of the lines.
    let query = &Query { fields: Vec::new(), ..query.clone() };
    let total = dataset.line_count()?;
    if from > total {
        return Err(ViewError::bad(format!(
            "line {from} is beyond the end: the text has {}",
            write::plural(total, "line")
        )));
    }
    let last = to.unwrap_or(total).min(total);
    if query.position & INSIDE_LINE != 0 {
        return inside_line(dataset, query, query.position & !INSIDE_LINE, last, total, writer);
    }
    let first = (from + query.position).min(last);
    let (mut number, mut lines) = dataset.lines_from(first)?;
    let mut shown = 0;
    let mut long = None;
    while let Some(line) = lines.next()?.filter(|_| number <= last) {
        if number >= first {
            let whole = line.bytes.len() as u64 == line.length;
            let text = visible::text(&line.text());
            if !whole || !writer.push(0, text) {
                long = (shown == 0).then_some(line.at);
                break;
            }
            shown += 1;
        }
        number += 1;
    }
    if let Some(at) = long {
        return inside_line(dataset, query, at, last, total, writer);
    }
    let end = first + shown - 1;
    let next = (end < last).then(|| next_lines(query, end + 1, to));
    let what = format!("lines {first}-{end} of {}", write::grouped(total));
    Ok(Part { what, shown, of: Some(total), next, notes: Vec::new() })
}

/// The bit that marks a position as an offset inside a line.
const INSIDE_LINE: u64 = 1 << 63;

fn next_lines(query: &Query, from: u64, to: Option<u64>) -> Query {
    Query { view: View::Lines { from, to }, position: 0, ..query.clone() }
}

/// Writes a piece of a line that is longer than the room.
fn inside_line(
    dataset: &Dataset<'_>,
    query: &Query,
    at: u64,
    last: u64,
    total: u64,
    writer: &mut SectionWriter<'_>,
) -> Result<Part, ViewError> {
    let bytes = dataset.text.read(at..at + 2 * writer.bytes())?;
    let end = memchr::memchr(b'\n', &bytes).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let taken = push_cut(writer, &text);
    if taken == 0 && !text.is_empty() {
        return Err(no_room());
    }
    let consumed = consumed(&bytes[..end], taken);
    let here = at + consumed as u64;
    let finished = taken == text.len() && end < bytes.len();
    let length = dataset.text.length()?;
    let View::Lines { from, to } = query.view else { return Err(ViewError::bad("no lines")) };
    // The number of this line, counted from the nearest checkpoint.
    let number = line_number(dataset, at, from)?;
    let next = if here >= length {
        None
    } else if finished {
        (number < last).then(|| next_lines(query, number + 1, to))
    } else {
        Some(Query { position: INSIDE_LINE | here, ..query.clone() })
    };
    let what = format!(
        "a piece of line {number} of {}, {} bytes from byte {at} of the text",
        write::grouped(total),
        consumed
    );
    Ok(Part { what, shown: 1, of: Some(total), next, notes: Vec::new() })
}

/// Returns how many raw bytes make the first `taken` bytes of their text, in which invalid bytes were replaced.
fn consumed(bytes: &[u8], taken: usize) -> usize {
    let (mut of_text, mut of_bytes) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if taken <= of_text + valid {
            return of_bytes + taken - of_text;
        }
        of_text += valid + char::REPLACEMENT_CHARACTER.len_utf8();
        of_bytes += valid + chunk.invalid().len();
    }
    of_bytes
}

fn line_number(dataset: &Dataset<'_>, at: u64, from: u64) -> Result<u64, ViewError> {
    let (mut number, mut lines) = dataset.lines_from(from)?;
    while let Some(line) = lines.next()? {
        if line.at + line.length >= at {
            break;
        }
        number += 1;
    }
    Ok(number)
}

/// Writes the longest beginning of a text that fits, and returns its length in bytes.
pub(crate) fn push_cut(writer: &mut SectionWriter<'_>, text: &str) -> usize {
    push_cut_as(writer, text, visible::text)
}

/// Does the same as [`push_cut`], with the text passed through `write`.
fn push_cut_as(writer: &mut SectionWriter<'_>, text: &str, write: impl Fn(&str) -> String) -> usize {
    let mut end = text.len().min(writer.bytes() as usize);
    while end > 0 {
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if writer.push(0, write(&text[..end])) {
            return end;
        }
        end = end * 9 / 10;
    }
    0
}

/// Writes bytes of the original: as text where that shows them exactly, else as a JSON string or base64.
pub(crate) fn range(
    dataset: &Dataset<'_>,
    query: &Query,
    from: u64,
    to: Option<u64>,
    writer: &mut SectionWriter<'_>,
) -> Result<Part, ViewError> {
    let total = dataset.source.len();
    let start = from + query.position;
    if start >= total {
        return Err(ViewError::bad(format!(
            "byte {start} is beyond the end: the result has {} bytes",
            write::grouped(total)
        )));
    }
    let end = to.map_or(total, |to| to.saturating_add(1)).min(total);
    let want = (end - start).min(writer.bytes());
    let bytes = Span { start, end: start + want }.read(dataset.source)?;
    let (taken, note) = push_bytes(writer, &bytes);
    if taken == 0 && !bytes.is_empty() {
        return Err(no_room());
    }
    let shown = taken as u64;
    let next = (start + shown < end && shown > 0).then(|| query.at(query.position + shown));
    let what = format!("bytes {start}-{} of {}", (start + shown).saturating_sub(1), write::grouped(total));
    Ok(Part { what, shown, of: Some(total), next, notes: note.map(str::to_owned).into_iter().collect() })
}

/// The shortest run of plain text that is worth an answer of its own where more would fit.
const MIN_PLAIN_RUN: usize = 512;

/// Writes as many bytes as fit; returns how they are written where that is not plain text.
///
/// Plain text reads best, but a hidden or broken character may come every few bytes: then the bytes are written in a form
/// that can hold such characters, so that the answer is as full as possible.
fn push_bytes(writer: &mut SectionWriter<'_>, bytes: &[u8]) -> (usize, Option<&'static str>) {
    let error = std::str::from_utf8(bytes).err();
    let valid = error.map_or(bytes.len(), |error| error.valid_up_to());
    // A character that is cut off at the end belongs to the next answer.
    let whole = if error.is_some_and(|error| error.error_len().is_none()) { valid } else { bytes.len() };
    let valid = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
    let enough = whole.clamp(1, MIN_PLAIN_RUN);
    // Only bytes that are shown exactly may be shown as text.
    let plain = valid.find(|c: char| visible::is_hidden(c) || c == '\r').unwrap_or(valid.len());
    if plain >= enough || plain > 0 && !writer.fits(&valid[..plain]) {
        return (push_cut(writer, &valid[..plain]), None);
    }
    if valid.len() >= enough || !valid.is_empty() && !writer.fits(&quoted(valid)) {
        return (push_cut_as(writer, valid, quoted), Some("These bytes are written as a JSON string."));
    }
    let mut end = bytes.len();
    while end > 0 {
        if writer.push(0, STANDARD.encode(&bytes[..end])) {
            return (end, Some("These bytes are written as base64."));
        }
        end = end * 9 / 10;
    }
    (0, None)
}

/// Returns a text as a JSON string, with hidden characters escaped.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    string::write_visible(text, &mut out);
    out
}
