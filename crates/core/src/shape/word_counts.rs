//! Counts the words of a text that stand out: words in capitals, which logs and reports use for states, codes such as
//! `CVE-2022-35737`, and the most frequent words.
//!
//! The strategies for texts count while they read lines, in bounded memory.

use crate::profile::value_counts::ValueCounts;

/// Counts of words.
#[derive(Debug, Default)]
pub(crate) struct WordCounts {
    /// Words in capitals, counted once per line.
    pub(crate) capitals: ValueCounts,
    /// All words of four letters or more, in lower case.
    pub(crate) all: ValueCounts,
    /// Codes such as `CVE-2022-35737`, `E0282`, `RFC-2119`.
    pub(crate) codes: ValueCounts,
}

/// The maximum number of distinct words that one line adds; the counts bound their own total.
const MAX_DISTINCT_WORDS: usize = 20_000;

impl WordCounts {
    /// Counts the words of a line; `prose` counts all of them, not only those that stand out.
    pub(crate) fn add(&mut self, line: &str, at: u64, prose: bool) {
        let mut on_line: Vec<&str> = Vec::new();
        let mut capacity = MAX_DISTINCT_WORDS;
        for word in line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '\'')) {
            let word = word.trim_matches(['-', '\'', '_']);
            if word.len() < 3 {
                continue;
            }
            if is_code(word) {
                self.codes.add(word.as_bytes(), false, at, &mut capacity);
            } else if is_capitals(word) && !on_line.contains(&word) {
                on_line.push(word);
                self.capitals.add(word.as_bytes(), false, at, &mut capacity);
            }
            if prose && word.len() >= 4 {
                let lower = word.to_lowercase();
                let stem = lower.strip_suffix("'s").unwrap_or(&lower);
                if !STOP_WORDS.contains(&stem) {
                    self.all.add(stem.as_bytes(), false, at, &mut capacity);
                }
            }
        }
    }

    /// Returns `word=count` for the most frequent words with at least `min_count`.
    pub(crate) fn most_frequent(counts: &ValueCounts, min_count: u64, max_words: usize) -> Vec<String> {
        let ranked = counts.ranked();
        let often = ranked.into_iter().filter(|entry| entry.count >= min_count).take(max_words);
        often.map(|entry| format!("{}={}", entry.text(), entry.count)).collect()
    }
}

fn is_capitals(word: &str) -> bool {
    word.len() >= 3
        && word.len() <= 24
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte == b'-')
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
