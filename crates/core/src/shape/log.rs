//! The strategy for logs, test reports and listings: lines that repeat a few patterns.
//!
//! An overview shows the words in capitals that occur, the severe lines with their numbers, each repeated line once
//! with its count, and the beginning and the end. Where most lines have the same fields, it shows their statistics, too.

use std::io;

use super::draft::Draft;
use super::line_facts::{LineFacts, shown};
use super::section_writer::SectionWriter;
use super::severity::{SEVERITY_LEVELS, severity};
use super::strategy::{Content, STRATEGY_SECTION, Strategy, TextKind};
use super::word_counts::WordCounts;
use super::{main_table, rows};
use crate::data::Data;
use crate::hash;
use crate::pattern::{LineFields, Pattern};
use crate::sample::Sample;
use crate::text::Text;
use crate::{visible, write};

/// Lines of a log, a test run or a compiler.
pub(crate) const KIND: TextKind =
    TextKind { name: "log", recognise: |sample| sample.share(is_log_line) > 0.3, read };

/// Lines with the same fields, or with the same number of words, as in a listing.
pub(crate) const LISTING: TextKind =
    TextKind { name: "log", recognise: |sample| is_even(sample) || LineFields::of(sample).is_some(), read };

/// Reads a log; where nearly all of its lines have the same fields and none reports a failure, it is read as data.
fn read<'t>(text: &'t Text<'t>, sample: &Sample<'_>) -> io::Result<Option<Content<'t>>> {
    let fields = LineFields::of(sample).map(Pattern::Fields);
    let columns = fields.map(|pattern| Data::pattern(text, pattern)).transpose()?;
    let log = LogText::read(text)?;
    Ok(match columns {
        Some(data) if data.regular_records() * 100 >= log.facts.lines * 97 && log.severe_lines == 0 => {
            Content::data(data)
        }
        columns => Content::text(LogText { columns, ..log }),
    })
}

/// Words that occur in lines of a log.
const LOG_WORDS: &[&str] = &[
    "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "FATAL", "error:", "error[", "warning:", "PASSED", "FAILED",
    "SKIPPED", "note: ", "[error]", "[warn]", "[info]",
];

fn is_log_line(line: &str) -> bool {
    let line = visible::strip_colours(line);
    let line = line.trim_start();
    // The left margin of compiler messages.
    let margin = line.starts_with("--> ")
        || line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with("| ")
        || line == "|"
        || line.starts_with("= note");
    margin
        || starts_with_time(line)
        || LOG_WORDS.iter().any(|level| line.contains(level))
        || line.contains("] \"GET ")
        || line.contains("] \"HEAD ")
        || line.contains("] \"POST ")
}

/// Returns whether a line begins with a date or a time of day, perhaps in brackets.
fn starts_with_time(line: &str) -> bool {
    let line = line.trim_start_matches(['[', '(', '<']).as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        line.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let is = |at: usize, byte: u8| line.get(at) == Some(&byte);
    (digits(0..4) && is(4, b'-') && digits(5..7))
        || (digits(0..2) && is(2, b':') && digits(3..5) && is(5, b':'))
        || (digits(0..4) && is(4, b'/') && digits(5..7))
        || (line.len() > 15 && MONTHS.iter().any(|month| line.starts_with(month.as_bytes())) && digits(7..9))
}

/// The names of months that begin a time as syslog writes it.
const MONTHS: &[&str] =
    &["Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ", "Jul ", "Aug ", "Sep ", "Oct ", "Nov ", "Dec "];

/// Returns whether most lines have the same number of words, as in a listing.
fn is_even(sample: &Sample<'_>) -> bool {
    if sample.lines.len() < 8 {
        return false;
    }
    let fields = |line: &str| line.split_whitespace().count();
    let lines_with = |count: usize| sample.lines.iter().filter(|line| fields(line) == count).count();
    let usual = (1..=12).max_by_key(|&count| lines_with(count)).unwrap_or(1);
    sample.share(|line| fields(line) == usual) > 0.7
}

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
    /// How many patterns of each severity there are.
    held: [usize; SEVERITY_LEVELS],
    /// How many lines report a failure, also those without a pattern.
    severe_lines: u64,
    /// Whether some line that reports no failure has no pattern, because there are too many.
    plain_capped: bool,
    /// An open-addressing hash table: index + 1 into the templates, 0 where a slot is empty.
    slots: Vec<u32>,
    /// The lines that share one form, as records.
    columns: Option<Data<'t>>,
}

/// The section of the statistics of columns, before those of the log itself.
const COLUMNS_SECTION: usize = 5;
/// The maximum number of patterns of lines that report no failure.
const MAX_PLAIN_PATTERNS: usize = 4096;
/// The maximum number of patterns of each severity: severe lines are found however many others there are.
const MAX_SEVERE_PATTERNS: usize = 512;
/// The slots of the hash table, at least twice the maximum number of patterns.
const PATTERN_SLOTS: usize =
    2 * (MAX_PLAIN_PATTERNS + SEVERITY_LEVELS * MAX_SEVERE_PATTERNS).next_power_of_two();

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
        let below = self.write(text, draft)?;
        self.facts.describe(draft, "log", below);
        Ok(())
    }
}

impl LogText<'_> {
    fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut log = Self { slots: vec![0; PATTERN_SLOTS], ..Self::default() };
        let mut words = WordCounts::default();
        let facts = LineFacts::gather(text, |number, line| {
            let text = line.text();
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
        let severity = severity(trimmed);
        self.severe_lines += u64::from(severity > 0);
        // Lines of one pattern may differ in severity: what is masked may be the word that tells it.
        let hash = hash::mix(pattern_hash(trimmed) ^ u64::from(severity));
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
        let max_patterns = if severity > 0 { MAX_SEVERE_PATTERNS } else { MAX_PLAIN_PATTERNS };
        let held = &mut self.held[usize::from(severity)];
        if *held == max_patterns {
            self.plain_capped |= severity == 0;
            return;
        }
        *held += 1;
        let variants = vec![(digitless_hash(trimmed), line, String::new())];
        self.templates.push(LineTemplate { hash, count: 1, line, severity, example: example(), variants });
        self.slots[slot] = self.templates.len() as u32;
    }

    /// Writes what the log tells; returns what that is.
    fn write(&self, text: &Text<'_>, draft: &mut Draft<'_>) -> io::Result<&'static str> {
        let section = STRATEGY_SECTION;
        let all = draft.writer.left();
        draft.writer.within(all / 8, |writer| {
            WordCounts::write(&self.words.capitals, 1, 16, "lines with", writer, section)
        });
        draft.within(all / 5, |draft| self.facts.writer(text).write_tail(draft, section + 4, 12))?;
        let severe = draft.writer.within(all / 2, |writer| self.write_severe(writer, section + 1));
        let repeated = draft.writer.within(all / 6, |writer| self.write_repeated(writer, section + 2));
        let below = match (severe.is_empty(), repeated.is_empty()) {
            (false, false) => "errors, repeated lines",
            (false, true) => "errors",
            (true, false) => "repeated lines",
            (true, true) => "beginning, end",
        };
        draft.lines.extend(severe.into_iter().chain(repeated));
        self.facts.writer(text).write_head(draft, section + 3, self.facts.lines)?;
        Ok(below)
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
        let total = self.severe_lines;
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
            let patterns = write::plural(count as u64, "pattern");
            format!(" (the {patterns} below cover {covered} of them)")
        } else {
            String::new()
        };
        let total = write::plural(total, "line");
        writer.replace_first(section, format!("errors and warnings, {total}{more}:"));
        lines
    }

    /// Writes each repeated line once with its count; returns the numbers of the lines.
    fn write_repeated(&self, writer: &mut SectionWriter<'_>, section: usize) -> Vec<u64> {
        let mut repeated: Vec<&LineTemplate> =
            self.templates.iter().filter(|template| template.count >= 3 && template.severity == 0).collect();
        let title = match self.plain_capped {
            true => format!("repeated lines (of the first {MAX_PLAIN_PATTERNS} patterns)"),
            false => "repeated lines".to_owned(),
        };
        if repeated.is_empty() || !writer.push(section, format!("{title}:")) {
            return Vec::new();
        }
        repeated.sort_by_key(|template| (std::cmp::Reverse(template.count), template.line));
        let shown = repeated.iter().take(20).filter(|template| writer.push(section, numbered(template)));
        let lines: Vec<u64> = shown.map(|template| template.line).collect();
        match repeated.len() - lines.len() {
            _ if lines.is_empty() => writer.pop(section),
            0 => {}
            more => {
                writer.replace_first(section, format!("{title}, {} of {}:", lines.len(), lines.len() + more));
            }
        }
        lines
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
    let bytes = line.as_bytes();
    let mut masked = MaskedBytes::default();
    let mut at = 0;
    while at < bytes.len() {
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
                    masked.push(byte);
                    masked.push(byte);
                    at += length + 2;
                    continue;
                }
                masked.push(byte);
            }
            _ => masked.push(byte),
        }
        at += 1;
    }
    masked.finish()
}

/// Hashes bytes that come one by one.
#[derive(Default)]
struct MaskedBytes {
    word: u64,
    length: u64,
    state: u64,
}

impl MaskedBytes {
    #[inline]
    fn push(&mut self, byte: u8) {
        self.word = self.word << 8 | u64::from(byte);
        self.length += 1;
        if self.length.is_multiple_of(8) {
            self.state = hash::mix(self.state ^ self.word);
        }
    }

    fn finish(self) -> u64 {
        hash::mix(hash::mix(self.state ^ self.word) ^ self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    fn log(text: &str) -> LogText<'static> {
        let source = text.as_bytes();
        LogText::read(&Text::plain(&source, Span::whole(&source))).unwrap()
    }

    /// Returns a word of letters that no other number gives.
    fn word(number: usize) -> String {
        number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
    }

    #[test]
    fn errors_after_many_patterns_are_found() {
        let plain = |from: usize| (from..from + 6000).map(|number| format!("INFO {} done", word(number)));
        let errors = (0..300).map(|number| format!("2024-01-01 error: database corrupted at block {number}"));
        let lines: Vec<String> = plain(0).chain(errors).chain(plain(6000)).collect();
        let log = log(&lines.join("\n"));
        let severe: Vec<&LineTemplate> =
            log.templates.iter().filter(|template| template.severity > 0).collect();
        assert_eq!((log.severe_lines, severe.len(), severe[0].count, severe[0].line), (300, 1, 300, 6001));
        assert!(log.plain_capped);
    }

    #[test]
    fn the_most_severe_lines_are_found_after_many_others() {
        let warnings = (0..2000).map(|number| format!("{} warning", word(number)));
        let lines: Vec<String> = warnings.chain(["at last a panic".into()]).collect();
        let log = log(&lines.join("\n"));
        assert_eq!(log.severe_lines, 2001);
        assert!(log.templates.iter().any(|template| template.severity == 6 && template.line == 2001));
    }

    #[test]
    fn a_masked_word_may_tell_the_severity() {
        let log = log("level=\"info\" a\nlevel=\"error\" a\nlevel=\"info\" a\n");
        assert_eq!((log.severe_lines, log.templates.len()), (1, 2));
        assert_eq!(log.templates[0].count, 2);
    }

    #[test]
    fn lines_that_differ_at_their_end_are_two_patterns() {
        let long = "x ".repeat(400);
        assert_ne!(pattern_hash(&format!("{long}one")), pattern_hash(&format!("{long}two")));
        assert_eq!(pattern_hash("took 12 ms for 'a b'"), pattern_hash("took 7 ms for 'c'"));
        assert_ne!(pattern_hash("\0"), pattern_hash(""));
    }
}
