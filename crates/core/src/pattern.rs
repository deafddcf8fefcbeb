//! Records formed by a pattern of lines: several files joined, blocks of `Key: value` lines, or lines with the same
//! fields.
//!
//! A pattern says where a record begins and how to read one; the records then get the same statistics and the same
//! rows as those of any other notation.

mod files;
mod keyed_blocks;
mod line_fields;

use std::io;

use serde::{Deserialize, Serialize};

use crate::json::value::Value;
use crate::lines::Lines;
use crate::profile::ProfileBuilder;
use crate::text::Text;

pub(crate) use keyed_blocks::KeyedBlocks;
pub(crate) use line_fields::LineFields;

/// A pattern of lines that forms records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Pattern {
    /// Several files, each under a line with its path.
    Files,
    /// Blocks of `Key: value` lines.
    Blocks(KeyedBlocks),
    /// Lines with the same fields.
    Fields(LineFields),
}

impl Pattern {
    /// Feeds all records to a profile as elements of one list; returns the offset of their end and the lines that
    /// belong to no record.
    pub(crate) fn profile(
        &self,
        text: &Text<'_>,
        builder: &mut ProfileBuilder,
    ) -> io::Result<(u64, OtherLines)> {
        let mut reader = self.reader(Lines::new(text));
        builder.open(false, 0);
        while let Some((at, raw)) = reader.next()? {
            self.feed(&raw, at, builder);
        }
        let end = reader.position();
        builder.close(end);
        Ok((end, reader.others))
    }

    fn feed(&self, raw: &RecordLines, at: u64, builder: &mut ProfileBuilder) {
        match self {
            Self::Files => files::feed(raw, at, builder),
            Self::Blocks(blocks) => blocks.feed(raw, at, builder),
            Self::Fields(fields) => fields.feed(raw, at, builder),
        }
    }

    fn json(&self, raw: &RecordLines) -> String {
        match self {
            Self::Files => files::json(raw),
            Self::Blocks(blocks) => blocks.json(raw),
            Self::Fields(fields) => fields.json(raw),
        }
    }

    fn object(&self, raw: &RecordLines) -> Value {
        match self {
            Self::Files => files::object(raw),
            Self::Blocks(blocks) => blocks.object(raw),
            Self::Fields(fields) => fields.object(raw),
        }
    }

    /// Returns a reader of the records.
    pub(crate) fn reader<'a>(&'a self, lines: Lines<'a>) -> PatternReader<'a> {
        PatternReader { pattern: self, lines, line: 0, others: OtherLines::default() }
    }

    /// Returns what a record is called.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Self::Files => "file",
            Self::Blocks(_) => "record",
            Self::Fields(_) => "line",
        }
    }
}

/// The lines of one record.
#[derive(Debug, Default)]
pub(crate) struct RecordLines {
    pub(crate) lines: Vec<String>,
    /// The bytes of all its lines, including those over [`MAX_RECORD_BYTES`], which are not kept.
    pub(crate) bytes: u64,
    pub(crate) line_count: u64,
}

/// The maximum number of bytes kept of one record.
const MAX_RECORD_BYTES: u64 = 4 * 1024 * 1024;

/// Reads the records of a pattern one after another.
pub(crate) struct PatternReader<'a> {
    pattern: &'a Pattern,
    lines: Lines<'a>,
    /// The number of the last line read, from 1.
    line: u64,
    others: OtherLines,
}

/// Lines that belong to no record, such as headings and totals.
#[derive(Debug, Clone, Default)]
pub(crate) struct OtherLines {
    /// Their numbers from 1 and their texts, at most [`MAX_OTHER_LINES`] of them.
    pub(crate) lines: Vec<(u64, String)>,
    pub(crate) count: u64,
}

/// The maximum number of lines kept that belong to no record.
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
        self.lines.position()
    }

    /// Returns the offset of the next record, the record as JSON, and whether that is the whole record.
    pub(crate) fn next_json(&mut self) -> io::Result<Option<(u64, String, bool)>> {
        let Some((at, raw)) = self.next()? else { return Ok(None) };
        Ok(Some((at, self.pattern.json(&raw), raw.bytes <= MAX_RECORD_BYTES)))
    }

    /// Returns the next record as a value.
    pub(crate) fn next_value(&mut self) -> io::Result<Option<Value>> {
        Ok(self.next()?.map(|(_, raw)| self.pattern.object(&raw)))
    }

    /// Returns the next record with its offset; skips and collects lines that belong to no record.
    fn next(&mut self) -> io::Result<Option<(u64, RecordLines)>> {
        match self.pattern {
            Pattern::Fields(fields) => loop {
                let Some(line) = self.lines.next()? else { return Ok(None) };
                self.line += 1;
                let text = line.text();
                if fields.matches(&text) {
                    let raw =
                        RecordLines { bytes: line.length, line_count: 1, lines: vec![text.into_owned()] };
                    return Ok(Some((line.at, raw)));
                }
                self.others.push(self.line, &text);
            },
            Pattern::Files => self.next_group(files::is_separator, true),
            Pattern::Blocks(blocks) => {
                let blocks = blocks.clone();
                self.next_group(move |line| blocks.begins(line), false)
            }
        }
    }

    /// Reads a group of lines, up to the next line that begins or, if `separated`, separates groups.
    fn next_group(
        &mut self,
        begins: impl Fn(&str) -> bool,
        separated: bool,
    ) -> io::Result<Option<(u64, RecordLines)>> {
        let mut raw = RecordLines::default();
        let mut start = None;
        loop {
            let before = self.lines.position();
            let Some(line) = self.lines.next()? else { break };
            self.line += 1;
            let text = line.text();
            if begins(&text) {
                if separated {
                    if start.is_some() {
                        break;
                    }
                    continue;
                }
                if start.is_some() {
                    self.lines.back_to(before);
                    self.line -= 1;
                    break;
                }
            } else if start.is_none() && !separated {
                self.others.push(self.line, &text);
                continue;
            }
            start.get_or_insert(line.at);
            raw.line_count += 1;
            raw.bytes += line.length + 1;
            if raw.bytes <= MAX_RECORD_BYTES {
                let text = text.into_owned();
                raw.lines.push(text);
            }
        }
        Ok(start.map(|at| (at, raw)))
    }
}
