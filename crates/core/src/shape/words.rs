//! Words that stand out in a text: those in capitals, which logs and reports use for states, and the most frequent.

use crate::profile::tally::Tally;

/// Counts of words.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// Words of capitals, by lines they stand on.
    pub(crate) capitals: Tally,
    /// All words of four letters or more, in lower case.
    pub(crate) all: Tally,
    /// Codes such as `CVE-2022-35737`, `E0282`, `RFC-2119`.
    pub(crate) codes: Tally,
}

/// The most distinct words held of each.
const ROOM: usize = 20_000;

impl Words {
    /// Counts the words of a line; `prose` counts all of them, not only those that stand out.
    pub(crate) fn add(&mut self, line: &str, at: u64, prose: bool) {
        let mut on_line: Vec<&str> = Vec::new();
        let mut room = ROOM;
        for word in line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '\'')) {
            let word = word.trim_matches(['-', '\'', '_']);
            if word.len() < 3 {
                continue;
            }
            if is_code(word) {
                self.codes.add(word.as_bytes(), false, at, &mut room);
            } else if is_capitals(word) && !on_line.contains(&word) {
                on_line.push(word);
                self.capitals.add(word.as_bytes(), false, at, &mut room);
            }
            if prose && word.len() >= 4 {
                let lower = word.to_lowercase();
                let stem = lower.strip_suffix("'s").unwrap_or(&lower);
                if !COMMON.contains(&stem) {
                    self.all.add(stem.as_bytes(), false, at, &mut room);
                }
            }
        }
    }

    /// Returns the words that stand out, most frequent first.
    pub(crate) fn standing_out(tally: &Tally, least: u64, most: usize) -> Vec<String> {
        let ranked = tally.ranked();
        let often = ranked.into_iter().filter(|entry| entry.count >= least).take(most);
        often.map(|entry| format!("{}={}", entry.text(), entry.count)).collect()
    }
}

fn is_capitals(word: &str) -> bool {
    word.len() >= 3
        && word.len() <= 24
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte == b'-')
}

/// Capitals, then digits, perhaps with dashes: an identifier of something outside.
fn is_code(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let rest = &word[letters..];
    (2..=8).contains(&letters)
        && rest.starts_with('-')
        && rest.len() >= 4
        && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        && rest.bytes().any(|byte| byte.is_ascii_digit())
}

/// Words too common to tell anything.
const COMMON: &[&str] = &[
    "that", "this", "with", "from", "have", "were", "been", "their", "there", "which", "when", "what",
    "will", "would", "they", "them", "then", "than", "some", "such", "into", "upon", "your", "more", "most",
    "other", "only", "also", "over", "very", "like", "these", "those", "could", "should", "about", "after",
    "before", "where", "while", "because", "here", "each", "said", "must", "being", "does", "made", "much",
    "many", "though", "through", "same", "still", "every", "never", "ever", "even", "well",
];
