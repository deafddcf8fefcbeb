//! Lines of the text, and bytes of the original.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::answer::{Part, PartWriter, no_room};
use super::dataset::Dataset;
use super::error::ViewError;
use super::{Query, View};
use crate::json::string;
use crate::shape::SectionWriter;
use crate::source::Span;
use crate::{visible, write};

/// Writes lines. A position is the number of lines of the span already shown, or, inside a line that is longer than the
/// room, the offset with the highest bit set.
///
/// After the span that was asked for, the lines that follow it are next: only the end of the text is the end.
pub(crate) fn lines(part: PartWriter<'_, '_>, from: u64, to: Option<u64>) -> Result<Part, ViewError> {
    let PartWriter { dataset, query, writer } = part;
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
    let start = match query.position & INSIDE_LINE {
        0 => LineStart::Line((from + query.position).min(last)),
        _ => LineStart::Inside(query.position & !INSIDE_LINE),
    };
    let written = write_lines(dataset, start, last, writer)?;
    let next = match written.end {
        LineStart::Inside(offset) => Some(query.at(INSIDE_LINE | offset)),
        LineStart::Line(line) if line <= last => Some(next_lines(query, line, to)),
        LineStart::Line(line) if line <= total => {
            let length = last - from + 1;
            Some(next_lines(query, line, Some((line + length - 1).min(total))))
        }
        LineStart::Line(_) => None,
    };
    Ok(Part { next, ..written.part(total) })
}

/// The bit that marks a position as an offset inside a line.
const INSIDE_LINE: u64 = 1 << 63;

fn next_lines(query: &Query, from: u64, to: Option<u64>) -> Query {
    Query { view: View::Lines { from, to }, position: 0, ..query.clone() }
}

/// Writes a page of lines, for a text without records. A position is the number of lines before the first one to show,
/// or an offset inside a line.
pub(crate) fn page(part: PartWriter<'_, '_>, number: u64, size: Option<u64>) -> Result<Part, ViewError> {
    let PartWriter { dataset, query, writer } = part;
    let query = &Query { fields: Vec::new(), ..query.clone() };
    let length = size.unwrap_or(LINES_PER_PAGE).max(1);
    let total = dataset.line_count()?;
    let (start, before) = match (query.position & INSIDE_LINE, query.position) {
        (0, 0) => {
            let before = (number - 1).saturating_mul(length);
            (LineStart::Line(before + 1), before)
        }
        (0, before) => (LineStart::Line(before + 1), before),
        (_, position) => {
            let offset = position & !INSIDE_LINE;
            (LineStart::Inside(offset), dataset.text.line_at(offset)? - 1)
        }
    };
    if before >= total {
        return Err(ViewError::bad(format!(
            "page {number} is beyond the end: {} make {} of {length}",
            write::plural(total, "line"),
            write::plural(total.div_ceil(length), "page")
        )));
    }
    let last = before.saturating_add(length).min(total);
    let written = write_lines(dataset, start, last, writer)?;
    let next = match written.end {
        LineStart::Inside(offset) => Some(query.at(INSIDE_LINE | offset)),
        LineStart::Line(line) if line > total => None,
        LineStart::Line(line) if query.position == 0 && line > last => {
            Some(Query { view: View::Page { number: number + 1, size }, position: 0, ..query.clone() })
        }
        LineStart::Line(line) => Some(query.at(line - 1)),
    };
    Ok(Part { next, ..written.part(total) })
}

/// Lines on one page of a text without records.
const LINES_PER_PAGE: u64 = 100;

/// Where to begin to write: at a line, from 1, or at an offset inside one.
#[derive(Debug, Clone, Copy)]
enum LineStart {
    Line(u64),
    Inside(u64),
}

/// Lines that were written.
struct WrittenLines {
    what: LinesShown,
    /// The place after them.
    end: LineStart,
    /// Whether there were color codes, which are not shown.
    colours: bool,
}

/// Which lines were written.
enum LinesShown {
    /// Whole lines: the first and the last.
    Whole(u64, u64),
    /// Bytes of one line: its number, their offset in the text and how many.
    Piece(u64, u64, u64),
}

impl WrittenLines {
    /// Returns the part of a text with `total` lines, without the query for what follows.
    fn part(&self, total: u64) -> Part {
        let total_text = write::grouped(total);
        let (what, shown) = match self.what {
            LinesShown::Whole(first, last) => {
                (format!("lines {first}-{last} of {total_text}"), last + 1 - first)
            }
            LinesShown::Piece(line, at, bytes) => (
                format!("a piece of line {line} of {total_text}, {bytes} bytes from byte {at} of the text"),
                1,
            ),
        };
        let notes = self.colours.then(colours_note).into_iter().collect();
        Part { what, shown, of: Some(total), next: None, notes }
    }
}

/// Returns the note for a text whose color codes are not shown.
pub(super) fn colours_note() -> String {
    "Color codes are not shown; range has the bytes as they are.".into()
}

/// Writes lines from a place up to line `last`, as many as fit; of a line that does not fit alone, a piece.
fn write_lines(
    dataset: &Dataset<'_>,
    start: LineStart,
    last: u64,
    writer: &mut SectionWriter<'_>,
) -> Result<WrittenLines, ViewError> {
    let first = match start {
        LineStart::Line(first) => first,
        LineStart::Inside(offset) => return inside_line(dataset, offset, writer),
    };
    let (mut number, mut lines) = dataset.lines_from(first)?;
    let (mut next, mut colours, mut long) = (first, false, None);
    while let Some(line) = lines.next()?.filter(|_| number <= last) {
        if number >= first {
            let whole = line.bytes.len() as u64 == line.length;
            if !whole || !writer.push(0, visible::text(&line.text())) {
                long = (next == first).then_some(line.at);
                break;
            }
            colours |= visible::has_colours(line.bytes);
            next += 1;
        }
        number += 1;
    }
    if let Some(at) = long {
        return inside_line(dataset, at, writer);
    }
    let what = LinesShown::Whole(first, next - 1);
    Ok(WrittenLines { what, end: LineStart::Line(next), colours })
}

/// Writes a piece of a line that is longer than the room.
fn inside_line(
    dataset: &Dataset<'_>,
    at: u64,
    writer: &mut SectionWriter<'_>,
) -> Result<WrittenLines, ViewError> {
    let bytes = dataset.text.read(at..at + 2 * writer.bytes())?;
    let line_end = memchr::memchr(b'\n', &bytes);
    let here = &bytes[..line_end.unwrap_or(bytes.len())];
    let text = String::from_utf8_lossy(here);
    let taken = push_cut(writer, &text);
    if taken == 0 && !text.is_empty() {
        return Err(no_room());
    }
    let consumed = consumed(here, taken) as u64;
    let number = dataset.text.line_at(at)?;
    let finished = taken == text.len() && (line_end.is_some() || at + consumed >= dataset.text.length()?);
    let end = if finished { LineStart::Line(number + 1) } else { LineStart::Inside(at + consumed) };
    let colours = visible::has_colours(here);
    Ok(WrittenLines { what: LinesShown::Piece(number, at, consumed), end, colours })
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

/// Writes bytes of the original, and after those that were asked for names the ones that follow: as text where that shows them exactly, else as a JSON string or base64.
pub(crate) fn range(part: PartWriter<'_, '_>, from: u64, to: Option<u64>) -> Result<Part, ViewError> {
    let PartWriter { dataset, query, writer } = part;
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
    let next = match start + shown {
        at if shown == 0 || at >= total => None,
        at if at < end => Some(query.at(at - from)),
        at => {
            let to = Some((at + (end - from) - 1).min(total - 1));
            Some(Query { view: View::Range { from: at, to }, position: 0, ..query.clone() })
        }
    };
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
