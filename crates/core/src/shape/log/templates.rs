//! Groups the lines of a log by pattern, to show severe lines and repeated lines.
//!
//! Lines that differ only in numbers, quoted parts and identifiers have the same pattern, which is kept with its count, the
//! number of its first line and an example. The number of patterns is bounded, separately for each severity.

use std::cmp::Reverse;

use crate::hash;
use crate::shape::key_lines::KeyLines;
use crate::shape::section_writer::SectionWriter;
use crate::shape::severity::SEVERITY_LEVELS;
use crate::write;

/// Lines that differ only in numbers, quoted parts and identifiers.
#[derive(Debug)]
struct LineTemplate {
    hash: u64,
    count: u64,
    line: u64,
    severity: u8,
    /// Which part of the overview shows such lines by itself.
    shown_by: ShownBy,
    example: String,
    /// The first lines of the pattern that differ in more than digits, with their hash and number.
    variants: Vec<(u64, u64, String)>,
}

/// Which part of an overview a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownBy {
    /// The severe or the repeated lines.
    Templates,
    Tests,
    Diagnostics,
    StackTraces,
}

/// A line to add.
pub(crate) struct LogLine<'l> {
    pub(crate) number: u64,
    /// The line without colours and without white space around it.
    pub(crate) text: &'l str,
    pub(crate) severity: u8,
    pub(crate) shown_by: ShownBy,
}

/// The maximum number of further variants kept of one pattern.
const MAX_VARIANTS: usize = 3;
/// The maximum number of patterns of lines that report no failure.
const MAX_PLAIN_PATTERNS: usize = 4096;
/// The maximum number of patterns of each severity: severe lines are found however many others there are.
const MAX_SEVERE_PATTERNS: usize = 512;
/// The slots of the hash table, at least twice the maximum number of patterns.
const PATTERN_SLOTS: usize =
    2 * (MAX_PLAIN_PATTERNS + SEVERITY_LEVELS * MAX_SEVERE_PATTERNS).next_power_of_two();

/// The patterns of the lines of a log.
#[derive(Debug)]
pub(crate) struct LineTemplates {
    templates: Vec<LineTemplate>,
    /// How many patterns of each severity there are.
    held: [usize; SEVERITY_LEVELS],
    /// How many lines report a failure, also those without a pattern, by the part that shows them.
    severe_lines: [u64; 4],
    /// Whether some line that reports no failure has no pattern, because there are too many.
    plain_capped: bool,
    /// An open-addressing hash table: index + 1 into the templates, 0 where a slot is empty.
    slots: Vec<u32>,
}

impl Default for LineTemplates {
    fn default() -> Self {
        Self {
            templates: Vec::new(),
            held: [0; SEVERITY_LEVELS],
            severe_lines: [0; 4],
            plain_capped: false,
            slots: vec![0; PATTERN_SLOTS],
        }
    }
}

impl LineTemplate {
    fn count_line(&mut self, line: &LogLine<'_>, example: impl FnOnce() -> String) {
        self.count += 1;
        if self.severity > 0 && self.variants.len() <= MAX_VARIANTS {
            let exact = digitless_hash(line.text);
            if !self.variants.iter().any(|(known, _, _)| *known == exact) {
                self.variants.push((exact, line.number, example()));
            }
        }
    }

    fn numbered(&self) -> String {
        let times = if self.count > 1 { format!(" x{}", self.count) } else { String::new() };
        format!("L{}{times} {}", self.line, self.example.trim())
    }
}

impl LineTemplates {
    /// Adds a line that is not blank; `example` is the line as shown.
    pub(crate) fn add(&mut self, line: &LogLine<'_>, example: impl FnOnce() -> String) {
        let severity = line.severity;
        self.severe_lines[line.shown_by as usize] += u64::from(severity > 0);
        // Lines of one pattern may differ in severity, because a quoted word that is masked may set it.
        let hash = hash::mix(pattern_hash(line.text) ^ u64::from(severity) ^ (line.shown_by as u64) << 8);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => break,
                index if self.templates[index as usize - 1].hash == hash => {
                    self.templates[index as usize - 1].count_line(line, example);
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
        self.templates.push(LineTemplate {
            hash,
            count: 1,
            line: line.number,
            severity,
            shown_by: line.shown_by,
            example: example(),
            variants: vec![(digitless_hash(line.text), line.number, String::new())],
        });
        self.slots[slot] = self.templates.len() as u32;
    }

    /// Returns whether some line reports a failure.
    pub(crate) fn is_severe(&self) -> bool {
        self.severe_lines.iter().any(|count| *count > 0)
    }

    /// Writes severe lines, the most severe patterns first, without those that other parts show and those in `shown`;
    /// returns their numbers.
    pub(crate) fn write_severe(
        &self,
        writer: &mut SectionWriter<'_>,
        section: usize,
        elsewhere: &[ShownBy],
        shown: &[u64],
    ) -> Vec<u64> {
        let is_here =
            |template: &&LineTemplate| template.severity > 0 && !elsewhere.contains(&template.shown_by);
        let mut severe: Vec<&LineTemplate> = self.templates.iter().filter(is_here).collect();
        if severe.is_empty() || !writer.push(section, "errors and warnings:") {
            return Vec::new();
        }
        severe.sort_by_key(|template| {
            (Reverse(template.severity), Reverse(template.count.min(2)), template.line)
        });
        let shown_here = |(at, _): &(usize, &u64)| !elsewhere.iter().any(|part| *part as usize == *at);
        let total: u64 =
            self.severe_lines.iter().enumerate().filter(shown_here).map(|(_, count)| count).sum();
        let mut kept: Vec<(u64, String)> = Vec::new();
        let mut covered = 0;
        let mut repeated = 0;
        for template in &severe {
            if shown.contains(&template.line) {
                covered += template.count;
                repeated += 1;
                continue;
            }
            let line = template.numbered();
            if writer.reserve(&line) {
                covered += template.count;
                kept.push((template.line, line));
            }
        }
        let count = kept.len() + repeated;
        for (_, number, text) in severe.iter().flat_map(|template| template.variants.iter().skip(1)) {
            if shown.contains(number) {
                continue;
            }
            let line = format!("L{number} {}", text.trim());
            if writer.reserve(&line) {
                kept.push((*number, line));
            }
        }
        if kept.is_empty() {
            writer.pop(section);
            return Vec::new();
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

    /// Returns the lines whose pattern no other line has and that are not shown yet; none if there are many such lines,
    /// because then they are not remarkable.
    pub(crate) fn once(&self, lines: u64, is_shown: impl Fn(u64) -> bool) -> KeyLines {
        let is_once = |template: &&LineTemplate| {
            template.count == 1 && template.severity == 0 && template.shown_by == ShownBy::Templates
        };
        let mut once = KeyLines::default();
        let single: Vec<&LineTemplate> = self.templates.iter().filter(is_once).collect();
        if self.plain_capped || single.len() as u64 * 6 > lines {
            return once;
        }
        // Brackets and rules, which are single words, say nothing.
        let has_words = |template: &&&LineTemplate| template.example.split_whitespace().nth(1).is_some();
        for template in single.iter().filter(has_words).filter(|template| !is_shown(template.line)) {
            once.push(template.line, 1, template.example.trim());
        }
        once
    }

    /// Writes each repeated line once with its count; returns the numbers of the lines.
    pub(crate) fn write_repeated(
        &self,
        writer: &mut SectionWriter<'_>,
        section: usize,
        elsewhere: &[ShownBy],
    ) -> Vec<u64> {
        let is_here = |template: &&LineTemplate| {
            template.count >= 3 && template.severity == 0 && !elsewhere.contains(&template.shown_by)
        };
        let mut repeated: Vec<&LineTemplate> = self.templates.iter().filter(is_here).collect();
        let title = match self.plain_capped {
            true => format!("repeated lines (the first of each of {MAX_PLAIN_PATTERNS} patterns)"),
            false => "repeated lines (the first of each pattern)".to_owned(),
        };
        if repeated.is_empty() || !writer.push(section, format!("{title}:")) {
            return Vec::new();
        }
        repeated.sort_by_key(|template| (Reverse(template.count), template.line));
        let shown = repeated.iter().take(20).filter(|template| writer.push(section, template.numbered()));
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

/// Hashes a line without its digits.
fn digitless_hash(line: &str) -> u64 {
    let letters: Vec<u8> = line.bytes().filter(|byte| !byte.is_ascii_digit()).take(400).collect();
    hash::bytes(&letters)
}

/// Hashes a line with its numbers and quoted parts masked, so that lines of one pattern have the same hash.
pub(super) fn pattern_hash(line: &str) -> u64 {
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

/// Hashes bytes one by one.
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
    use crate::shape::severity::severity;

    fn log(text: &str) -> LineTemplates {
        let mut templates = LineTemplates::default();
        for (at, text) in text.lines().enumerate() {
            let line = LogLine {
                number: at as u64 + 1,
                text,
                severity: severity(text),
                shown_by: ShownBy::Templates,
            };
            templates.add(&line, || text.to_owned());
        }
        templates
    }

    /// Returns a word of letters that is different for every number.
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
        assert_eq!((log.severe_lines[0], severe.len(), severe[0].count, severe[0].line), (300, 1, 300, 6001));
        assert!(log.plain_capped);
    }

    #[test]
    fn the_most_severe_lines_are_found_after_many_others() {
        let warnings = (0..2000).map(|number| format!("{} warning", word(number)));
        let lines: Vec<String> = warnings.chain(["at last a panic".into()]).collect();
        let log = log(&lines.join("\n"));
        assert_eq!(log.severe_lines[0], 2001);
        assert!(log.templates.iter().any(|template| template.severity == 6 && template.line == 2001));
    }

    #[test]
    fn lines_of_different_severity_are_different_patterns() {
        let log = log("level=\"info\" a\nlevel=\"error\" a\nlevel=\"info\" a\n");
        assert_eq!((log.severe_lines[0], log.templates.len()), (1, 2));
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
