//! Reads the lines of the records of a text, one record after another.

use std::io;

use super::Pattern;
use crate::json::value::Value;
use crate::lines::{Lines, OwnedLine};

/// The lines of one record.
#[derive(Debug)]
pub(crate) struct RecordLines {
    pub(crate) lines: Vec<String>,
    /// The bytes of all its lines, including those over [`MAX_RECORD_BYTES`], which are not kept.
    pub(crate) bytes: u64,
    /// Whether all its lines are kept, each of them whole.
    pub(crate) whole: bool,
}

impl RecordLines {
    /// Returns the first line.
    pub(super) fn first(&self) -> &str {
        self.lines.first().map_or("", String::as_str)
    }

    fn push(&mut self, line: OwnedLine) {
        self.bytes += line.length + 1;
        self.whole &= line.whole && self.bytes <= MAX_RECORD_BYTES + 1;
        if self.bytes <= MAX_RECORD_BYTES + 1 || self.lines.is_empty() {
            self.lines.push(line.text);
        }
    }
}

impl Default for RecordLines {
    fn default() -> Self {
        Self { lines: Vec::new(), bytes: 0, whole: true }
    }
}

/// The maximum number of bytes kept of one record.
const MAX_RECORD_BYTES: u64 = 4 * 1024 * 1024;

/// Lines that do not have the form of the records, such as headings and totals.
#[derive(Debug, Clone, Default)]
pub(crate) struct OtherLines {
    /// Their numbers from 1 and their texts, at most [`MAX_OTHER_LINES`] of them.
    pub(crate) lines: Vec<(u64, String)>,
    pub(crate) count: u64,
    /// How many blank lines there are, which are not records where each line is one.
    pub(crate) blank: u64,
}

/// The maximum number of lines kept that do not have the form of the records.
const MAX_OTHER_LINES: usize = 60;

impl OtherLines {
    pub(crate) fn push(&mut self, line: u64, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.count += 1;
        // A listing often ends with its totals, so the middle is dropped rather than the end.
        if self.lines.len() == MAX_OTHER_LINES {
            self.lines.remove(MAX_OTHER_LINES / 2);
        }
        self.lines.push((line, crate::visible::cut(text, 200)));
    }
}

/// Reads the records of a text one after another.
pub(crate) struct PatternReader<'a> {
    pattern: &'a Pattern,
    lines: Lines<'a>,
    /// Lines that were read but belong to the next record, the last of them first.
    unread: Vec<OwnedLine>,
    /// The number of the last line read, from 1.
    line: u64,
    pub(super) others: OtherLines,
}

impl<'a> PatternReader<'a> {
    pub(super) fn new(pattern: &'a Pattern, lines: Lines<'a>) -> Self {
        Self { pattern, lines, unread: Vec::new(), line: 0, others: OtherLines::default() }
    }

    /// Returns the offset after the last record.
    pub(crate) fn position(&self) -> u64 {
        self.unread.last().map_or_else(|| self.lines.position(), |line| line.at)
    }

    /// Returns the offset of the next record, the record as JSON, and whether that is the whole record.
    pub(crate) fn next_json(&mut self) -> io::Result<Option<(u64, String, bool)>> {
        let Some((at, record)) = self.next()? else { return Ok(None) };
        Ok(Some((at, self.pattern.json(&record), record.whole)))
    }

    /// Returns the next record as a value.
    pub(crate) fn next_value(&mut self) -> io::Result<Option<Value>> {
        Ok(self.next()?.map(|(_, record)| self.pattern.object(&record)))
    }

    /// Returns the next record with its offset.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, RecordLines)>> {
        let pattern = self.pattern;
        pattern.notation().next(self)
    }

    /// Counts a record, which is the line read last, as a line of another form.
    pub(super) fn note_other(&mut self, record: &RecordLines) {
        self.others.push(self.line, record.first());
    }

    fn read_line(&mut self) -> io::Result<Option<OwnedLine>> {
        let line = match self.unread.pop() {
            Some(line) => Some(line),
            None => self.lines.next_whole(MAX_RECORD_BYTES)?,
        };
        self.line += u64::from(line.is_some());
        Ok(line)
    }

    /// Leaves a line for the next record.
    fn unread(&mut self, line: OwnedLine) {
        self.unread.push(line);
        self.line -= 1;
    }

    /// Reads one line, the blank ones and those to skip aside.
    pub(super) fn next_line(
        &mut self,
        skip: impl Fn(&str) -> bool,
    ) -> io::Result<Option<(u64, RecordLines)>> {
        while let Some(line) = self.read_line()? {
            let blank = line.text.trim().is_empty();
            self.others.blank += u64::from(blank);
            if blank || skip(&line.text) {
                continue;
            }
            let at = line.at;
            let mut record = RecordLines::default();
            record.push(line);
            return Ok(Some((at, record)));
        }
        Ok(None)
    }

    /// Reads the lines of a block, up to the line that begins the next one; lines before the first block are not a record.
    pub(super) fn next_block(
        &mut self,
        begins: impl Fn(&str) -> bool,
    ) -> io::Result<Option<(u64, RecordLines)>> {
        self.collect(|_, line, is_inside| {
            Ok(match (begins(line), is_inside) {
                (true, true) => Taken::Next,
                (false, false) => Taken::Other,
                _ => Taken::Line,
            })
        })
    }

    /// Reads the lines of a block, up to a separator; lines that do not begin one are not a record.
    pub(super) fn next_stanza(
        &mut self,
        separates: impl Fn(&str) -> bool,
        begins: impl Fn(&str) -> bool,
    ) -> io::Result<Option<(u64, RecordLines)>> {
        self.collect(|_, line, is_inside| {
            Ok(match (separates(line), is_inside) {
                (true, _) => Taken::Separator,
                (false, false) if !begins(line) => Taken::Other,
                _ => Taken::Line,
            })
        })
    }

    /// Reads the lines of an entry, up to the line that begins the next one; a line outside it belongs to no entry. A line
    /// begins one only if the next line continues it.
    pub(super) fn next_entry(
        &mut self,
        begins: impl Fn(&str) -> bool,
        continues: impl Fn(&str) -> bool,
        is_outside: impl Fn(&str) -> bool,
    ) -> io::Result<Option<(u64, RecordLines)>> {
        self.collect(|reader, line, is_inside| {
            let begins = begins(line) && reader.is_next(&continues)?;
            Ok(match (begins, is_inside) {
                (true, true) => Taken::Next,
                (false, false) => Taken::Other,
                (false, true) if is_outside(line) => Taken::Other,
                _ => Taken::Line,
            })
        })
    }

    /// Reads the lines of an entry, up to a separator after which a line that may begin one is followed by one that
    /// continues it. Lines before the first entry are not a record.
    pub(super) fn next_entry_after(
        &mut self,
        separates: impl Fn(&str) -> bool,
        begins: impl Fn(&str) -> bool,
        continues: impl Fn(&str) -> bool,
    ) -> io::Result<Option<(u64, RecordLines)>> {
        self.collect(|reader, line, is_inside| {
            if separates(line) {
                let Some(next) = reader.read_line()? else { return Ok(Taken::Line) };
                let ends = begins(&next.text) && reader.is_next(&continues)?;
                reader.unread(next);
                return Ok(if ends || !is_inside { Taken::Separator } else { Taken::Line });
            }
            Ok(match is_inside || begins(line) && reader.is_next(&continues)? {
                true => Taken::Line,
                false => Taken::Other,
            })
        })
    }

    /// Returns whether the next line, empty at the end, is of a kind, without reading it.
    fn is_next(&mut self, is: impl Fn(&str) -> bool) -> io::Result<bool> {
        let Some(next) = self.read_line()? else { return Ok(is("")) };
        let holds = is(&next.text);
        self.unread(next);
        Ok(holds)
    }

    /// Reads lines up to a separator that is followed by a line which begins a record; other separators are content.
    pub(super) fn next_between(
        &mut self,
        separates: impl Fn(&str) -> bool,
        begins: impl Fn(&str) -> bool,
    ) -> io::Result<Option<(u64, RecordLines)>> {
        self.collect(|reader, line, is_inside| {
            if separates(line)
                && let Some(next) = reader.read_line()?
            {
                let ends = begins(&next.text);
                reader.unread(next);
                if ends && is_inside {
                    return Ok(Taken::Separator);
                }
            }
            Ok(Taken::Line)
        })
    }

    /// Reads the lines of one record; `take` decides on each, knowing whether the record has begun.
    fn collect(
        &mut self,
        take: impl Fn(&mut Self, &str, bool) -> io::Result<Taken>,
    ) -> io::Result<Option<(u64, RecordLines)>> {
        let mut record = RecordLines::default();
        let mut start = None;
        while let Some(line) = self.read_line()? {
            match take(self, &line.text, start.is_some())? {
                Taken::Line => {
                    start.get_or_insert(line.at);
                    record.push(line);
                }
                Taken::Other => self.others.push(self.line, &line.text),
                Taken::Separator if start.is_none() => {}
                Taken::Separator => break,
                Taken::Next => {
                    self.unread(line);
                    break;
                }
            }
        }
        Ok(start.map(|at| (at, record)))
    }
}

/// What a line is to the record that is being read.
enum Taken {
    /// A line of it.
    Line,
    /// A line of no record.
    Other,
    /// The end of it, and of no other.
    Separator,
    /// The first line of the next one.
    Next,
}
