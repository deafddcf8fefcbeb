//! Counts the words of a text that stand out: words in capitals, which logs and reports use for states, codes such as
//! `CVE-2022-35737`, and the most frequent words.
//!
//! The strategies for texts count while they read lines, in bounded memory.

use std::collections::BTreeSet;

use super::section_writer::SectionWriter;
use crate::profile::value_counts::ValueCounts;
use crate::write;

/// Counts of words.
#[derive(Debug, Default)]
pub(crate) struct WordCounts {
    /// Words in capitals, counted once per line.
    pub(crate) capitals: ValueCounts,
    /// All words of four letters or more, in lower case.
    pub(crate) all: ValueCounts,
    /// Codes such as `CVE-2022-35737`, `E0282`, `RFC-2119`.
    pub(crate) codes: ValueCounts,
    /// The first words of lines, without times and numbers of their own.
    beginnings: ValueCounts,
    /// How many words there are, split at white space.
    pub(crate) total: u64,
    lines: u64,
}

/// The maximum number of different first words of lines that are worth counting.
const MAX_BEGINNINGS: u64 = 40;
/// The maximum number of times and numbers before the first word of a line.
const MAX_WORDS_BEFORE_BEGINNING: usize = 2;
/// The maximum number of distinct words that one line adds; the counts bound their own total.
const MAX_DISTINCT_WORDS: usize = 20_000;

impl WordCounts {
    /// Counts the words of a line; `prose` counts all of them, not only those that stand out.
    pub(crate) fn add(&mut self, line: &str, at: u64, prose: bool) {
        self.add_beginning(line, at);
        self.add_words(line, at, prose);
    }

    /// Counts the words of a part of a line that is too long to be read whole; it has no first word, and words in
    /// capitals are not counted, because a line counts once.
    pub(crate) fn add_part(&mut self, part: &str) {
        self.total += part.split_whitespace().count() as u64;
        self.add_words(part, 0, true);
        self.capitals = ValueCounts::default();
    }

    fn add_words(&mut self, line: &str, at: u64, prose: bool) {
        let mut on_line: BTreeSet<&str> = BTreeSet::new();
        let mut capacity = MAX_DISTINCT_WORDS;
        for word in line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '\'')) {
            let word = word.trim_matches(['-', '\'', '_']);
            if word.len() < 3 {
                continue;
            }
            if is_code(word) {
                self.codes.add(word.as_bytes(), at, &mut capacity);
            }
            // The same words that a search for a whole word finds.
            for part in word.split(['-', '\'']).filter(|part| is_capitals(part)) {
                if on_line.insert(part) {
                    self.capitals.add(part.as_bytes(), at, &mut capacity);
                }
            }
            for part in word.split(['-', '\'']).filter(|part| prose && part.len() >= 4) {
                let lower = part.to_lowercase();
                if !STOP_WORDS.contains(&lower.as_str()) {
                    self.all.add(lower.as_bytes(), at, &mut capacity);
                }
            }
        }
    }

    fn add_beginning(&mut self, line: &str, at: u64) {
        self.total += line.split_whitespace().count() as u64;
        let mut words = line.split_whitespace().take(MAX_WORDS_BEFORE_BEGINNING + 1).peekable();
        if words.peek().is_none() {
            return;
        }
        self.lines += 1;
        // Times and numbers before the first word differ from line to line, as does what a call is called with.
        let is_number = |word: &&str| word.len() > 3 && word.starts_with(|c: char| c.is_ascii_digit());
        let Some(word) = words.find(|word| !is_number(word)) else { return };
        let word = word.split('(').next().filter(|name| !name.is_empty()).unwrap_or(word);
        let is_varied = word.len() > 3 && word.bytes().any(|byte| byte.is_ascii_digit());
        let is_row = word.len() > 2 && !word.bytes().any(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80);
        if word.len() <= 24 && !is_varied && !is_row {
            self.beginnings.add(word.as_bytes(), at, &mut { MAX_DISTINCT_WORDS });
        }
    }

    /// Writes the words that many lines begin with, if they are few.
    pub(crate) fn write_beginnings(&self, writer: &mut SectionWriter<'_>, section: usize) -> bool {
        let (distinct, _) = self.beginnings.distinct();
        distinct <= MAX_BEGINNINGS
            && distinct * 3 < self.lines
            && self.beginnings.total() * 2 > self.lines
            && Self::write(&self.beginnings, 2, 14, "first words of lines", writer, section)
    }

    /// Writes `title: word=count ...` for the most frequent words with at least `min_count`, as many as fit, and how
    /// many more of them there are.
    pub(crate) fn write(
        counts: &ValueCounts,
        min_count: u64,
        max_words: usize,
        title: &str,
        writer: &mut SectionWriter<'_>,
        section: usize,
    ) -> bool {
        let mut often = counts.ranked();
        often.retain(|entry| entry.count >= min_count);
        let (all, exact) = match min_count {
            1 => counts.distinct(),
            _ => (often.len() as u64, true),
        };
        let mut count = often.len().min(max_words);
        while count > 0 {
            // A word that is not held may occur more often than the last one shown, or often enough to be one more.
            let needed = if min_count == 1 { often[count - 1].count } else { min_count };
            let scope = match counts.max_unheld_count() {
                unheld if unheld < needed || min_count == 1 && unheld == needed => String::new(),
                _ => format!(" (of the first {} different ones)", counts.entries().len()),
            };
            let words = often[..count].iter().map(|entry| format!("{}={}", entry.text(), entry.count));
            let words = words.collect::<Vec<_>>().join(" ");
            let more = match all - count as u64 {
                0 => String::new(),
                more => format!(" +{}{more} more", write::estimate_mark(exact)),
            };
            if writer.push(section, format!("{title}{scope}: {words}{more}")) {
                return true;
            }
            count = count * 3 / 4;
        }
        false
    }
}

fn is_capitals(word: &str) -> bool {
    (3..=24).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// Returns whether a word is capitals, a dash and digits: an identifier that is defined elsewhere.
fn is_code(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let rest = &word[letters..];
    (2..=8).contains(&letters)
        && rest.starts_with('-')
        && rest.len() >= 4
        && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        && rest.bytes().any(|byte| byte.is_ascii_digit())
}

/// Words too common to be worth counting.
const STOP_WORDS: &[&str] = &[
    "that", "this", "with", "from", "have", "were", "been", "their", "there", "which", "when", "what",
    "will", "would", "they", "them", "then", "than", "some", "such", "into", "upon", "your", "more", "most",
    "other", "only", "also", "over", "very", "like", "these", "those", "could", "should", "about", "after",
    "before", "where", "while", "because", "here", "each", "said", "must", "being", "does", "made", "much",
    "many", "though", "through", "same", "still", "every", "never", "ever", "even", "well",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_word_in_capitals_are_counted_once() {
        let mut words = WordCounts::default();
        for line in ["ERROR after ERROR", "ERROR-PRONE: ERROR's end", "ERRORS and error", "an ERROR_CODE"] {
            words.add(line, 1, false);
        }
        let counts: Vec<_> = words.capitals.ranked().iter().map(|e| (e.text(), e.count)).collect();
        let expected = [("ERROR", 2), ("PRONE", 1), ("ERRORS", 1), ("ERROR_CODE", 1)];
        assert_eq!(counts, expected.map(|(word, count)| (word.to_owned(), count)));
    }
}
