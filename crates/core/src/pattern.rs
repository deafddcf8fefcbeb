//! Records that a text forms by a pattern of its own: several files joined, blocks of `Key: value` lines, or lines
//! with the same fields.
//!
//! A pattern says where a record begins and how to read one; the records then go through the same statistics and
//! the same rows as any others.

mod blocks;
mod fields;
mod files;

use std::io;

use serde::{Deserialize, Serialize};

use crate::json::value::{Elements, Text as ValueText, Value};
use crate::lines::Lines;
use crate::profile::Builder;
use crate::text::Text;

pub(crate) use blocks::Blocks;
pub(crate) use fields::Fields;

/// A pattern of records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Pattern {
    /// Several files, each under a line with its path.
    Files,
    /// Blocks of `Key: value` lines.
    Blocks(Blocks),
    /// Lines with the same fields.
    Fields(Fields),
}

impl Pattern {
    /// Feeds all records to a profile, as elements of one list, and returns where they end and the lines that
    /// belong to none.
    pub(crate) fn profile(&self, text: &Text<'_>, builder: &mut Builder) -> io::Result<(u64, Others)> {
        let mut reader = self.reader(Lines::new(text));
        builder.open(false, 0);
        while let Some((at, raw)) = reader.next()? {
            self.feed(&raw, at, builder);
        }
        let end = reader.position();
        builder.close(end);
        Ok((end, reader.others))
    }

    fn feed(&self, raw: &Raw, at: u64, builder: &mut Builder) {
        match self {
            Self::Files => files::feed(raw, at, builder),
            Self::Blocks(blocks) => blocks.feed(raw, at, builder),
            Self::Fields(fields) => fields.feed(raw, at, builder),
        }
    }

    fn json(&self, raw: &Raw) -> String {
        match self {
            Self::Files => files::json(raw),
            Self::Blocks(blocks) => blocks.json(raw),
            Self::Fields(fields) => fields.json(raw),
        }
    }

    fn object(&self, raw: &Raw) -> Value {
        match self {
            Self::Files => files::object(raw),
            Self::Blocks(blocks) => blocks.object(raw),
            Self::Fields(fields) => fields.object(raw),
        }
    }

    /// Starts to read records.
    pub(crate) fn reader<'a>(&'a self, lines: Lines<'a>) -> Reader<'a> {
        Reader { pattern: self, lines, line: 0, others: Others::default() }
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
pub(crate) struct Raw {
    pub(crate) lines: Vec<String>,
    /// Bytes of all its lines, also those that were too many to keep.
    pub(crate) bytes: u64,
    pub(crate) line_count: u64,
}

/// Bytes kept of one record.
const RECORD_BYTES: u64 = 4 * 1024 * 1024;

/// Reads record after record.
pub(crate) struct Reader<'a> {
    pattern: &'a Pattern,
    lines: Lines<'a>,
    line: u64,
    others: Others,
}

/// Lines that belong to no record: headings, totals, odd ones out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Others {
    /// Their numbers from 1 and their texts, at most [`OTHERS`] of them.
    pub(crate) lines: Vec<(u64, String)>,
    pub(crate) count: u64,
}

/// Lines without a record that are kept.
const OTHERS: usize = 60;

impl Others {
    fn push(&mut self, line: u64, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.count += 1;
        // The end of a listing holds its totals: the last ones push out the middle.
        if self.lines.len() == OTHERS {
            self.lines.remove(OTHERS / 2);
        }
        self.lines.push((line, crate::visible::cut(text, 200)));
    }
}

impl Reader<'_> {
    /// Returns the offset after the last record.
    pub(crate) fn position(&self) -> u64 {
        self.lines.position()
    }

    /// Returns the next record as JSON, and whether it is all of it.
    pub(crate) fn next_json(&mut self) -> io::Result<Option<(String, bool)>> {
        let Some((_, raw)) = self.next()? else { return Ok(None) };
        Ok(Some((self.pattern.json(&raw), raw.bytes <= RECORD_BYTES)))
    }

    /// Returns the next record as a value.
    pub(crate) fn next_value(&mut self) -> io::Result<Option<Value>> {
        Ok(self.next()?.map(|(_, raw)| self.pattern.object(&raw)))
    }

    /// The next record with its offset. Lines that belong to none are passed over.
    fn next(&mut self) -> io::Result<Option<(u64, Raw)>> {
        match self.pattern {
            Pattern::Fields(fields) => loop {
                let Some(line) = self.lines.next()? else { return Ok(None) };
                self.line += 1;
                let text = line.text();
                if fields.matches(&text) {
                    let raw = Raw { bytes: line.length, line_count: 1, lines: vec![text.into_owned()] };
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

    /// A group of lines: up to the next line that begins (or, for files, separates) one.
    fn next_group(
        &mut self,
        begins: impl Fn(&str) -> bool,
        separated: bool,
    ) -> io::Result<Option<(u64, Raw)>> {
        let mut raw = Raw::default();
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
            if raw.bytes <= RECORD_BYTES {
                let text = text.into_owned();
                raw.lines.push(text);
            }
        }
        Ok(start.map(|at| (at, raw)))
    }
}

/// A string as a value.
pub(crate) fn string_value(text: &str) -> Value {
    Value::String(ValueText { text: text.into(), left_out: 0 })
}

/// An object as a value.
pub(crate) fn object_value(members: Vec<(Box<str>, Value)>) -> Value {
    Value::Object(Elements { total: members.len() as u64, read: members })
}
