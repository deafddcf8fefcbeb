//! Logs, test reports, listings: lines that repeat a few patterns.
//!
//! Shown: how many lines, the states and levels that occur, the severe lines with their numbers, repeated lines
//! once with how often, and the beginning and the end. Where most lines have the same fields, those are
//! columns with statistics of their own.

use std::io;

use super::draft::Draft;
use super::lined::{LineFacts, shown};
use super::room::Room;
use super::words::Words;
use crate::hash;
use crate::text::Text;
use crate::visible;

/// Lines that differ only in numbers, quoted parts and identifiers.
#[derive(Debug)]
struct Template {
    hash: u64,
    count: u64,
    line: u64,
    severity: u8,
    example: String,
    /// Lines of the same pattern that say something else in it.
    variants: Vec<(u64, u64, String)>,
}

/// Variants kept of one pattern.
const VARIANTS: usize = 3;

/// What is known of a log.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) facts: LineFacts,
    words: Words,
    templates: Vec<Template>,
    /// Index + 1 into the templates, by hash.
    slots: Vec<u32>,
}

/// The most templates told apart.
const TEMPLATES: usize = 4096;

impl Template {
    fn again(&mut self, line: u64, text: &str, example: impl FnOnce() -> String) {
        self.count += 1;
        if self.severity > 0 && self.variants.len() <= VARIANTS {
            let exact = words_hash(text);
            if !self.variants.iter().any(|(known, _, _)| *known == exact) {
                self.variants.push((exact, line, example()));
            }
        }
    }
}

/// A hash of a line in which only digits make no difference.
fn words_hash(line: &str) -> u64 {
    let letters: Vec<u8> = line.bytes().filter(|byte| !byte.is_ascii_digit()).take(400).collect();
    hash::bytes(&letters)
}

impl Log {
    pub(crate) fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut log = Self { slots: vec![0; TEMPLATES * 4], ..Self::default() };
        let mut words = Words::default();
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
        let hash = mask(trimmed);
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
        if self.templates.len() < TEMPLATES {
            let exact = words_hash(trimmed);
            let variants = vec![(exact, line, String::new())];
            self.templates.push(Template {
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

    pub(crate) fn compose(&self, text: &Text<'_>, draft: &mut Draft<'_>, section: usize) -> io::Result<()> {
        let all = draft.room.left();
        let states = Words::standing_out(&self.words.capitals, 1, 16);
        draft.room.within(all / 8, |room| push_list(room, section, "words", &states));
        draft.within(all / 5, |draft| self.facts.write_tail(text, draft, section + 4, 12))?;
        let severe = draft.room.within(all / 2, |room| self.write_severe(room, section + 1));
        let repeated = draft.room.within(all / 6, |room| self.write_repeated(room, section + 2));
        draft.lines.extend(severe.into_iter().chain(repeated));
        self.facts.write_head(text, draft, section + 3, self.facts.lines)
    }

    /// Returns whether some line reports a failure.
    pub(crate) fn is_severe(&self) -> bool {
        self.templates.iter().any(|template| template.severity > 0)
    }

    /// Severe lines, worst first, then those that occur least.
    fn write_severe(&self, room: &mut Room<'_>, section: usize) -> Vec<u64> {
        let mut severe: Vec<&Template> =
            self.templates.iter().filter(|template| template.severity > 0).collect();
        if severe.is_empty() || !room.push(section, "errors and warnings:") {
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
            if room.reserve(&line) {
                covered += template.count;
                kept.push((template.line, line));
            }
        }
        let count = kept.len();
        for (_, number, text) in severe.iter().flat_map(|template| template.variants.iter().skip(1)) {
            let line = format!("L{number} {}", text.trim());
            if room.reserve(&line) {
                kept.push((*number, line));
            }
        }
        kept.sort();
        let lines = kept.iter().map(|(number, _)| *number).collect();
        for (_, line) in kept {
            room.place(section, line);
        }
        let more = if covered < total {
            format!(" (these {count} patterns cover {covered} of {total} lines)")
        } else {
            String::new()
        };
        room.replace_first(section, format!("errors and warnings, {total} lines{more}:"));
        lines
    }

    /// Lines that come back, once each with how often.
    fn write_repeated(&self, room: &mut Room<'_>, section: usize) -> Vec<u64> {
        let mut repeated: Vec<&Template> =
            self.templates.iter().filter(|template| template.count >= 3 && template.severity == 0).collect();
        if repeated.is_empty() || !room.push(section, "repeated lines:") {
            return Vec::new();
        }
        repeated.sort_by_key(|template| (std::cmp::Reverse(template.count), template.line));
        let shown = repeated.iter().take(20).filter(|template| room.push(section, numbered(template)));
        shown.map(|template| template.line).collect()
    }
}

fn numbered(template: &Template) -> String {
    let times = if template.count > 1 { format!(" x{}", template.count) } else { String::new() };
    format!("L{}{times} {}", template.line, template.example.trim())
}

/// Pushes `title: a b c`, as many as fit.
pub(crate) fn push_list(room: &mut Room<'_>, section: usize, title: &str, items: &[String]) -> bool {
    if items.is_empty() {
        return false;
    }
    let mut count = items.len();
    while count > 0 {
        let more =
            if count < items.len() { format!(" +{} more", items.len() - count) } else { String::new() };
        if room.push(section, format!("{title}: {}{more}", items[..count].join(" "))) {
            return true;
        }
        count = count * 3 / 4;
    }
    false
}

/// Words that make a line severe, with how much.
const SEVERE: &[(&str, u8)] = &[
    ("panic", 6),
    ("fatal", 6),
    ("critical", 6),
    ("emerg", 6),
    ("segfault", 6),
    ("segmentation fault", 6),
    ("error", 5),
    ("exception", 5),
    ("traceback", 5),
    ("failed", 5),
    ("failure", 5),
    ("failures", 5),
    ("fail", 5),
    ("fails", 5),
    ("errors", 5),
    ("assert", 4),
    ("denied", 4),
    ("refused", 4),
    ("timeout", 4),
    ("timed out", 4),
    ("unreachable", 4),
    ("aborted", 4),
    ("not found", 3),
    ("invalid", 3),
    ("skipped", 3),
    ("warning", 3),
    ("warn", 3),
    ("warnings", 3),
    ("deprecated", 3),
];

/// Words that say that all is well, whatever else the line names.
const WELL: &[&str] = &["PASSED", " ok", "... ok", "0 failed", "0 errors", "no errors"];

fn severity(line: &str) -> u8 {
    // Margins of compiler messages quote source text.
    let margin = line.starts_with("--> ")
        || line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with('|');
    if margin
        || WELL.iter().any(|word| line.contains(word)) && !line.contains("FAILED") && !line.contains("ERROR")
    {
        return 0;
    }
    let lower = line.to_ascii_lowercase();
    let severe = SEVERE.iter().filter(|(word, _)| contains_word(line, &lower, word));
    // A line that begins with its level is a message; one that only mentions it may be anything.
    let leading = |word: &str| lower.trim_start_matches(['[', '(', '<', ' ']).starts_with(word);
    severe.map(|(word, severity)| severity + if leading(word) { 4 } else { 0 }).max().unwrap_or(0)
}

/// Whether a word stands by itself, or ends a name like `KeyError`.
fn contains_word(line: &str, lower: &str, word: &str) -> bool {
    let bytes = line.as_bytes();
    let letter = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    // A mark between letters joins them into one name: `error.py`, `libgpg-error`.
    let joined = |mark: usize, beyond: usize| {
        bytes.get(mark).is_some_and(|byte| matches!(byte, b'.' | b'-' | b'/')) && letter(beyond)
    };
    lower.match_indices(word).any(|(at, _)| {
        let end = at + word.len();
        let camel = bytes[at].is_ascii_uppercase() && at > 0 && bytes[at - 1].is_ascii_lowercase();
        let before = at > 0 && (letter(at - 1) && !camel || at > 1 && joined(at - 1, at - 2));
        !before && !letter(end) && !joined(end, end + 1)
    })
}

/// A long line without its middle: how it ends often matters more.
fn elided(line: &str) -> String {
    const HEAD: usize = 70;
    const TAIL: usize = 110;
    let line = line.trim();
    let count = line.chars().count();
    if count <= HEAD + TAIL + 10 {
        return line.to_owned();
    }
    let head: String = line.chars().take(HEAD).collect();
    let tail: String = line.chars().skip(count - TAIL).collect();
    format!("{head}…{tail}")
}

/// A hash of a line in which digits and quoted parts make no difference.
fn mask(line: &str) -> u64 {
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
