//! Records formed by a pattern of lines: several files joined, blocks of `Key: value` lines, lines with the same fields,
//! or lines of JSON.
//!
//! A pattern says where a record begins and how to read one; the records then get the same statistics and the same
//! rows as those of any other notation. Where each line is a record, a line of another form is one as well: its text is
//! the value of one member, so that no line is missing from the records.

mod files;
mod json_values;
mod keyed_blocks;
mod line_fields;

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};

use crate::csv::{CellFeed, json_object};
use crate::json::value::Value;
use crate::lines::{Lines, OwnedLine};
use crate::text::Text;

pub(crate) use json_values::is_mostly_json;
pub(crate) use keyed_blocks::KeyedBlocks;
pub(crate) use line_fields::LineFields;

/// The name of a member of a record and its text.
type Member<'p> = (Cow<'p, str>, String);

/// A pattern of lines that forms records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Pattern {
    /// Several files, each under a line with its path.
    Files,
    /// Blocks of `Key: value` lines.
    Blocks(KeyedBlocks),
    /// Lines with the same fields.
    Fields(LineFields),
    /// Lines of JSON among which there are others.
    JsonValues,
}

/// The member that holds the text of a line of another form, unless the lines of the form have one of that name.
const OTHER_LINE_KEY: &str = "line";

impl Pattern {
    /// Feeds all records to a profile as elements of one list; returns the offset of their end and the lines that do not
    /// have the form of the others.
    pub(crate) fn profile(&self, text: &Text<'_>, feed: &mut CellFeed<'_>) -> io::Result<(u64, OtherLines)> {
        let mut reader = self.reader(Lines::new(text));
        feed.builder.open(false, 0);
        while let Some((at, raw)) = reader.next()? {
            if self.has_form(&raw) {
                self.feed(&raw, at, feed);
            } else {
                // The statistics are those of the lines of the form alone.
                feed.builder.element(at);
                reader.others.push(reader.line, raw.first());
            }
        }
        let end = reader.position();
        feed.builder.close(end);
        Ok((end, reader.others))
    }

    /// Returns whether a record has the form of the pattern, rather than being a line of another form.
    fn has_form(&self, raw: &RecordLines) -> bool {
        match self {
            Self::Files | Self::Blocks(_) => true,
            Self::Fields(fields) => fields.matches(raw.first()),
            Self::JsonValues => json_values::is_json(raw),
        }
    }

    fn feed(&self, raw: &RecordLines, at: u64, feed: &mut CellFeed<'_>) {
        match self {
            Self::Files => files::feed(raw, at, feed.builder),
            Self::JsonValues => json_values::feed(raw, at, feed.builder),
            _ => {
                feed.builder.open(true, at);
                for (name, value) in self.members(raw) {
                    feed.cell(&name, &value, at);
                }
                feed.builder.close(at + raw.bytes);
            }
        }
    }

    fn json(&self, raw: &RecordLines) -> String {
        match self {
            Self::Files => files::json(raw),
            Self::JsonValues if self.has_form(raw) => json_values::json(raw),
            _ => json_object(self.members(raw).iter().map(|(name, value)| (&**name, value.as_str()))),
        }
    }

    fn object(&self, raw: &RecordLines) -> Value {
        match self {
            Self::Files => files::object(raw),
            Self::JsonValues if self.has_form(raw) => json_values::object(raw),
            _ => {
                let members = self.members(raw).into_iter();
                Value::object(members.map(|(name, value)| (name.into(), Value::string(&value))).collect())
            }
        }
    }

    /// Returns the members of a record whose values are texts.
    fn members(&self, raw: &RecordLines) -> Vec<Member<'_>> {
        let members = match self {
            Self::Blocks(blocks) => Some(blocks.members(raw)),
            Self::Fields(fields) => fields.members(raw.first()),
            Self::Files | Self::JsonValues => None,
        };
        members.unwrap_or_else(|| vec![(self.other_line_key().into(), raw.first().to_owned())])
    }

    /// Returns the name of the member that holds a line of another form.
    pub(crate) fn other_line_key(&self) -> String {
        let mut key = OTHER_LINE_KEY.to_owned();
        while matches!(self, Self::Fields(fields) if fields.has_name(&key)) {
            key.push('_');
        }
        key
    }

    /// Returns whether lines of another form are records, too.
    pub(crate) fn has_other_lines(&self) -> bool {
        matches!(self, Self::Fields(_) | Self::JsonValues)
    }

    /// Returns a reader of the records.
    pub(crate) fn reader<'a>(&'a self, lines: Lines<'a>) -> PatternReader<'a> {
        PatternReader { pattern: self, lines, unread: None, line: 0, others: OtherLines::default() }
    }

    /// Returns what a record is called.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Self::Files => "file",
            Self::Blocks(_) => "record",
            Self::Fields(_) => "line",
            Self::JsonValues => "row",
        }
    }
}

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
    fn first(&self) -> &str {
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

/// Reads the records of a pattern one after another.
pub(crate) struct PatternReader<'a> {
    pattern: &'a Pattern,
    lines: Lines<'a>,
    /// A line that was read but belongs to the next record.
    unread: Option<OwnedLine>,
    /// The number of the last line read, from 1.
    line: u64,
    others: OtherLines,
}

/// Lines that do not have the form of the records, such as headings and totals.
#[derive(Debug, Clone, Default)]
pub(crate) struct OtherLines {
    /// Their numbers from 1 and their texts, at most [`MAX_OTHER_LINES`] of them.
    pub(crate) lines: Vec<(u64, String)>,
    pub(crate) count: u64,
    /// How many blank lines there are, which are no records where each line is one.
    pub(crate) blank: u64,
}

/// The maximum number of lines kept that do not have the form of the records.
const MAX_OTHER_LINES: usize = 60;

impl OtherLines {
    fn push(&mut self, line: u64, text: &str) {
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

impl PatternReader<'_> {
    /// Returns the offset after the last record.
    pub(crate) fn position(&self) -> u64 {
        self.unread.as_ref().map_or_else(|| self.lines.position(), |line| line.at)
    }

    /// Returns the offset of the next record, the record as JSON, and whether that is the whole record.
    pub(crate) fn next_json(&mut self) -> io::Result<Option<(u64, String, bool)>> {
        let Some((at, raw)) = self.next()? else { return Ok(None) };
        Ok(Some((at, self.pattern.json(&raw), raw.whole)))
    }

    /// Returns the next record as a value.
    pub(crate) fn next_value(&mut self) -> io::Result<Option<Value>> {
        Ok(self.next()?.map(|(_, raw)| self.pattern.object(&raw)))
    }

    /// Returns the next record with its offset.
    fn next(&mut self) -> io::Result<Option<(u64, RecordLines)>> {
        match self.pattern {
            Pattern::Fields(fields) => self.next_line(|line| fields.is_header(line)),
            Pattern::JsonValues => self.next_line(|_| false),
            Pattern::Files => self.next_file(),
            Pattern::Blocks(blocks) => self.next_block(|line| blocks.begins(line)),
        }
    }

    fn read_line(&mut self) -> io::Result<Option<OwnedLine>> {
        let line = match self.unread.take() {
            Some(line) => Some(line),
            None => self.lines.next_whole(MAX_RECORD_BYTES)?,
        };
        self.line += u64::from(line.is_some());
        Ok(line)
    }

    /// Leaves a line for the next record.
    fn unread(&mut self, line: OwnedLine) {
        self.unread = Some(line);
        self.line -= 1;
    }

    /// Reads one line, the blank ones and those to skip aside.
    fn next_line(&mut self, skip: impl Fn(&str) -> bool) -> io::Result<Option<(u64, RecordLines)>> {
        while let Some(line) = self.read_line()? {
            let blank = line.text.trim().is_empty();
            self.others.blank += u64::from(blank);
            if blank || skip(&line.text) {
                continue;
            }
            let at = line.at;
            let mut raw = RecordLines::default();
            raw.push(line);
            return Ok(Some((at, raw)));
        }
        Ok(None)
    }

    /// Reads the lines of a block, up to the line that begins the next one; lines before the first block are no record.
    fn next_block(&mut self, begins: impl Fn(&str) -> bool) -> io::Result<Option<(u64, RecordLines)>> {
        let mut raw = RecordLines::default();
        let mut start = None;
        while let Some(line) = self.read_line()? {
            match (begins(&line.text), start) {
                (true, Some(_)) => {
                    self.unread(line);
                    break;
                }
                (false, None) => {
                    self.others.push(self.line, &line.text);
                    continue;
                }
                _ => {}
            }
            start.get_or_insert(line.at);
            raw.push(line);
        }
        Ok(start.map(|at| (at, raw)))
    }

    /// Reads the lines of a file, up to a separator before the path of the next one; other separators are its content.
    fn next_file(&mut self) -> io::Result<Option<(u64, RecordLines)>> {
        let mut raw = RecordLines::default();
        let mut start = None;
        while let Some(line) = self.read_line()? {
            if files::is_separator(&line.text)
                && let Some(next) = self.read_line()?
            {
                let ends = crate::kind::is_file_header(&next.text);
                self.unread(next);
                if ends && start.is_some() {
                    break;
                }
            }
            start.get_or_insert(line.at);
            raw.push(line);
        }
        Ok(start.map(|at| (at, raw)))
    }
}
