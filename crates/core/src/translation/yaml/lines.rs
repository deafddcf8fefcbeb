//! The lines of a YAML document that are at hand, as offsets.

use std::cell::Cell;

use super::is_skipped;
use crate::trim::trim_end;

/// How long a line is, as a guess.
const AVERAGE_LINE_BYTES: usize = 16;
/// How many lines are usually enough to read an entry.
const LINES_AHEAD: usize = 6;

/// Where a line is.
#[derive(Debug, Clone, Copy)]
struct LinePlace {
    start: u32,
    indentation: u32,
    /// The number of bytes without the indentation and the spaces after it, and of all.
    text_bytes: u32,
    raw_bytes: u32,
}

/// One line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'y> {
    pub(super) indentation: usize,
    /// The line without its indentation and the spaces after it.
    pub(super) text: &'y str,
    /// The line as it is written.
    pub(super) raw: &'y str,
}

/// Whether a line is a part of a document or begins one.
pub(super) enum DocumentLine<'y> {
    Content,
    /// A document begins, with this in its first line.
    Begins(&'y str),
}

impl<'y> DocumentLine<'y> {
    /// Tells what a line is that has no white space at its end.
    pub(super) fn of(line: &'y str) -> Self {
        if !line.starts_with(['-', '.', '%']) {
            return Self::Content;
        }
        match line.strip_prefix("---").filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
            Some(rest) => Self::Begins(rest.trim_start()),
            None if line == "..." || line.starts_with("%YAML") => Self::Begins(""),
            None => Self::Content,
        }
    }
}

/// The lines of one document that are at hand.
pub(super) struct Lines<'y> {
    text: &'y str,
    places: Vec<LinePlace>,
    /// The offset after the last line.
    end: usize,
    /// The offset of the next document, if it begins after the last line.
    next_document: Option<usize>,
    /// Whether the text ends after the last line.
    is_end: bool,
    /// Whether a line was asked for that is not at hand.
    are_too_few: Cell<bool>,
    /// The line that is read as another one: after a `-`, the rest of the line is a line of its own.
    replaced: Option<(usize, Line<'y>)>,
}

impl<'y> Lines<'y> {
    /// Returns the lines of a document from an offset on; `None` if the text is too long.
    pub(super) fn of_document(text: &'y str, start: usize, is_end: bool) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        let mut lines = Self {
            text,
            places: Vec::with_capacity((text.len() - start) / AVERAGE_LINE_BYTES),
            end: text.len(),
            next_document: None,
            is_end,
            are_too_few: Cell::new(false),
            replaced: None,
        };
        let mut at = start;
        while at < text.len() {
            let rest = &text[at..];
            let end = memchr::memchr(b'\n', rest.as_bytes());
            let raw = &rest[..end.unwrap_or(rest.len())];
            let next = at + end.map_or(rest.len(), |end| end + 1);
            let raw = raw.strip_suffix('\r').unwrap_or(raw);
            let line = trim_end(raw);
            if let DocumentLine::Begins(rest) = DocumentLine::of(line) {
                lines.end = at;
                lines.next_document =
                    Some(if is_skipped(rest) { next } else { at + line.len() - rest.len() });
                break;
            }
            let text_bytes = line.trim_start_matches(' ').len();
            lines.places.push(LinePlace {
                start: at as u32,
                indentation: (line.len() - text_bytes) as u32,
                text_bytes: text_bytes as u32,
                raw_bytes: raw.len() as u32,
            });
            at = next;
        }
        Some(lines)
    }

    /// Returns how many lines are at hand.
    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    /// Returns whether a line was asked for that is not at hand.
    pub(super) fn are_too_few(&self) -> bool {
        self.are_too_few.get()
    }

    fn are_complete(&self) -> bool {
        self.is_end || self.next_document.is_some()
    }

    /// Returns whether some lines after a line are at hand, or the line is only the rest of one.
    pub(super) fn are_enough(&self, at: usize) -> bool {
        self.are_complete()
            || at + LINES_AHEAD <= self.places.len()
            || self.replaced.is_some_and(|(replaced, _)| replaced == at)
    }

    /// Returns the offset of a line.
    pub(super) fn offset(&self, at: usize) -> usize {
        self.places.get(at).map_or(self.end, |place| place.start as usize)
    }

    /// Returns where the next document begins, if all lines of this one have been read.
    pub(super) fn next_document(&self, at: usize) -> Option<usize> {
        self.next_document.filter(|_| at >= self.places.len())
    }

    /// Returns the line with a number, from 0.
    pub(super) fn get(&self, at: usize) -> Option<Line<'y>> {
        if let Some((_, line)) = self.replaced.filter(|(replaced, _)| *replaced == at) {
            return Some(line);
        }
        let Some(place) = self.places.get(at) else {
            self.are_too_few.set(self.are_too_few.get() || !self.are_complete());
            return None;
        };
        let raw = &self.text[place.start as usize..][..place.raw_bytes as usize];
        let indentation = place.indentation as usize;
        Some(Line { indentation, text: &raw[indentation..][..place.text_bytes as usize], raw })
    }

    /// Returns the lines from a number on.
    pub(super) fn from(&self, at: usize) -> impl Iterator<Item = Line<'y>> {
        (at..).map_while(|at| self.get(at))
    }

    /// Reads a line as another one from now on; lines before it have been read.
    pub(super) fn replace(&mut self, at: usize, line: Line<'y>) {
        self.replaced = Some((at, line));
    }
}
