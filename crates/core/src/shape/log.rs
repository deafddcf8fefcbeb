//! The strategy for logs, test reports and listings: lines that repeat a few patterns.
//!
//! An overview shows the words in capitals that occur, the severe lines with their numbers, each repeated line once
//! with its count, and the beginning and the end. Where most lines have the same fields, it shows their statistics, too.

use std::io;

use super::draft::Draft;
use super::line_facts::{LineFacts, shown};
use super::section_writer::SectionWriter;
use super::severity::severity;
use super::strategy::{STRATEGY_SECTION, Strategy};
use super::word_counts::WordCounts;
use super::{main_table, rows};
use crate::data::Data;
use crate::hash;
use crate::text::Text;
use crate::visible;

/// Lines that differ only in numbers, quoted parts and identifiers.
#[derive(Debug)]
struct LineTemplate {
    hash: u64,
    count: u64,
    line: u64,
    severity: u8,
    example: String,
    /// The first lines of the pattern that differ in more than digits, with their hash and number.
    variants: Vec<(u64, u64, String)>,
}

/// The maximum number of further variants kept of one pattern.
const MAX_VARIANTS: usize = 3;

/// A log that has been read.
#[derive(Default)]
pub(crate) struct LogText<'t> {
    pub(crate) facts: LineFacts,
    words: WordCounts,
    templates: Vec<LineTemplate>,
    /// An open-addressing hash table: index + 1 into the templates, 0 where a slot is empty.
    slots: Vec<u32>,
    /// The lines that share one form, as records.
    columns: Option<Data<'t>>,
}

/// The section of the statistics of columns, before those of the log itself.
const COLUMNS_SECTION: usize = 5;
/// The maximum number of templates.
const MAX_TEMPLATES: usize = 4096;

impl LineTemplate {
    fn again(&mut self, line: u64, text: &str, example: impl FnOnce() -> String) {
        self.count += 1;
        if self.severity > 0 && self.variants.len() <= MAX_VARIANTS {
            let exact = digitless_hash(text);
            if !self.variants.iter().any(|(known, _, _)| *known == exact) {
                self.variants.push((exact, line, example()));
            }
        }
    }
}

/// Hashes a line without its digits.
fn digitless_hash(line: &str) -> u64 {
    let letters: Vec<u8> = line.bytes().filter(|byte| !byte.is_ascii_digit()).take(400).collect();
    hash::bytes(&letters)
}

impl Strategy for LogText<'_> {
    fn name(&self) -> &'static str {
        "log"
    }

    fn compose(&self, text: &Text<'_>, _arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        if let Some(table) = self.columns.as_ref().and_then(main_table) {
            let share = draft.writer.left() / 2;
            draft.writer.within(share, |writer| rows::write_fields(&table, writer, COLUMNS_SECTION))?;
        }
        self.write(text, draft)?;
        self.facts.describe(draft, "log", "errors, repeated lines");
        Ok(())
    }
}

impl<'t> LogText<'t> {
    /// Returns the log with the lines of one form as records, whose statistics the overview shows first.
    pub(crate) fn with_columns(self, columns: Option<Data<'t>>) -> Self {
        Self { columns, ..self }
    }

    pub(crate) fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut log = Self { slots: vec![0; MAX_TEMPLATES * 4], ..Self::default() };
        let mut words = WordCounts::default();
        let facts = LineFacts::gather(text, |number, line| {
            let bytes = &line.bytes[..line.bytes.len().min(2000)];
            let text = String::from_utf8_lossy(bytes);
            let text = visible::strip_colours(&text);
            words.add(&text, number, false);
            log.add(number, &text, || elided(&shown(line, 4000)));
        })?;
        log.facts = facts;
        log.words = words;
        Ok(log)
    }

    fn add(&mut self, line: u64, text: &str, example: impl FnOnce() -> String) {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return;
        }
        let hash = pattern_hash(trimmed);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => break,
                index if self.templates[index as usize - 1].hash == hash => {
                    self.templates[index as usize - 1].again(line, trimmed, example);
                    return;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
        if self.templates.len() < MAX_TEMPLATES {
            let exact = digitless_hash(trimmed);
            let variants = vec![(exact, line, String::new())];
            self.templates.push(LineTemplate {
                hash,
                count: 1,
                line,
                severity: severity(trimmed),
                example: example(),
                variants,
            });
            self.slots[slot] = self.templates.len() as u32;
        }
    }

    fn write(&self, text: &Text<'_>, draft: &mut Draft<'_>) -> io::Result<()> {
        let section = STRATEGY_SECTION;
        let all = draft.writer.left();
        let states = WordCounts::most_frequent(&self.words.capitals, 1, 16);
        draft.writer.within(all / 8, |writer| writer.push_list(section, "words", &states));
        draft.within(all / 5, |draft| self.facts.writer(text).write_tail(draft, section + 4, 12))?;
        let severe = draft.writer.within(all / 2, |writer| self.write_severe(writer, section + 1));
        let repeated = draft.writer.within(all / 6, |writer| self.write_repeated(writer, section + 2));
        draft.lines.extend(severe.into_iter().chain(repeated));
        self.facts.writer(text).write_head(draft, section + 3, self.facts.lines)
    }

    /// Returns whether some line reports a failure.
    pub(crate) fn is_severe(&self) -> bool {
        self.templates.iter().any(|template| template.severity > 0)
    }

    /// Writes severe lines, the most severe patterns first; returns their numbers.
    fn write_severe(&self, writer: &mut SectionWriter<'_>, section: usize) -> Vec<u64> {
        let mut severe: Vec<&LineTemplate> =
            self.templates.iter().filter(|template| template.severity > 0).collect();
        if severe.is_empty() || !writer.push(section, "errors and warnings:") {
            return Vec::new();
        }
        severe.sort_by_key(|template| {
            (std::cmp::Reverse(template.severity), std::cmp::Reverse(template.count.min(2)), template.line)
        });
        let total: u64 = severe.iter().map(|template| template.count).sum();
        let mut kept: Vec<(u64, String)> = Vec::new();
        let mut covered = 0;
        for template in &severe {
            let line = numbered(template);
            if writer.reserve(&line) {
                covered += template.count;
                kept.push((template.line, line));
            }
        }
        let count = kept.len();
        for (_, number, text) in severe.iter().flat_map(|template| template.variants.iter().skip(1)) {
            let line = format!("L{number} {}", text.trim());
            if writer.reserve(&line) {
                kept.push((*number, line));
            }
        }
        kept.sort();
        let lines = kept.iter().map(|(number, _)| *number).collect();
        for (_, line) in kept {
            writer.place(section, line);
        }
        let more = if covered < total {
            format!(" (these {count} patterns cover {covered} of {total} lines)")
        } else {
            String::new()
        };
        writer.replace_first(section, format!("errors and warnings, {total} lines{more}:"));
        lines
    }

    /// Writes each repeated line once with its count; returns the numbers of the lines.
    fn write_repeated(&self, writer: &mut SectionWriter<'_>, section: usize) -> Vec<u64> {
        let mut repeated: Vec<&LineTemplate> =
            self.templates.iter().filter(|template| template.count >= 3 && template.severity == 0).collect();
        if repeated.is_empty() || !writer.push(section, "repeated lines:") {
            return Vec::new();
        }
        repeated.sort_by_key(|template| (std::cmp::Reverse(template.count), template.line));
        let shown = repeated.iter().take(20).filter(|template| writer.push(section, numbered(template)));
        shown.map(|template| template.line).collect()
    }
}

fn numbered(template: &LineTemplate) -> String {
    let times = if template.count > 1 { format!(" x{}", template.count) } else { String::new() };
    format!("L{}{times} {}", template.line, template.example.trim())
}

/// Returns a long line without its middle, since its end often matters more.
fn elided(line: &str) -> String {
    const HEAD_CHARACTERS: usize = 70;
    const TAIL_CHARACTERS: usize = 110;
    let line = line.trim();
    let count = line.chars().count();
    if count <= HEAD_CHARACTERS + TAIL_CHARACTERS + 10 {
        return line.to_owned();
    }
    let head: String = line.chars().take(HEAD_CHARACTERS).collect();
    let tail: String = line.chars().skip(count - TAIL_CHARACTERS).collect();
    format!("{head}…{tail}")
}

/// Hashes a line with its numbers and quoted parts masked, so that lines of one pattern have the same hash.
fn pattern_hash(line: &str) -> u64 {
    let mut masked = Vec::with_capacity(line.len().min(240));
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() && masked.len() < 240 {
        let byte = bytes[at];
        match byte {
            b'0'..=b'9' => {
                while at < bytes.len() && bytes[at].is_ascii_alphanumeric() {
                    at += 1;
                }
                masked.push(b'#');
                continue;
            }
            b'\'' | b'"' | b'`' => {
                let end = bytes[at + 1..].iter().take(120).position(|&other| other == byte);
                if let Some(length) = end {
                    masked.extend_from_slice(&[byte, byte]);
                    at += length + 2;
                    continue;
                }
                masked.push(byte);
            }
            _ => masked.push(byte),
        }
        at += 1;
    }
    hash::bytes(&masked)
}
