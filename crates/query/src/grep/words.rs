//! The words of an expression that matches nothing, and how often each of them occurs.
//!
//! `locale/zh-TW` matches nothing where the two are names in a tree, and `Render Delay` nothing where the text has
//! `Render delay`; the next expression is easier to write with that known.

use regex::bytes::RegexBuilder;

/// The lengths of a word that is looked for alone.
const WORD_BYTES: std::ops::RangeInclusive<usize> = 3..=31;
/// The maximum number of words that are looked for.
const MAX_WORDS: usize = 4;
/// The maximum number of occurrences that are counted.
const MAX_COUNT: usize = 1000;

/// Says how often the words of an expression occur in a text in any case; `None` if none does.
pub(super) fn note(pattern: &str, text: &[u8]) -> Option<String> {
    let counted = words(pattern).into_iter().filter_map(|word| {
        let regex = RegexBuilder::new(&regex::escape(&word)).case_insensitive(true).build().ok()?;
        match regex.find_iter(text).take(MAX_COUNT).count() {
            0 => None,
            1 => Some(format!("\"{word}\" once")),
            MAX_COUNT => Some(format!("\"{word}\" at least {MAX_COUNT} times")),
            count => Some(format!("\"{word}\" {count} times")),
        }
    });
    let counted: Vec<String> = counted.collect();
    (!counted.is_empty()).then(|| format!("Its words alone, ignoring case: {}.", counted.join(", ")))
}

/// Returns the words of an expression, in order. What follows a backslash is not part of a word.
fn words(pattern: &str) -> Vec<String> {
    let mut all: Vec<String> = vec![String::new()];
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => {
                all.last_mut().expect("there is always a last word").push(character);
            }
            '\\' => {
                characters.next();
                all.push(String::new());
            }
            _ => all.push(String::new()),
        }
    }
    all.retain(|word| WORD_BYTES.contains(&word.len()));
    all.dedup();
    all.truncate(MAX_WORDS);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_an_expression() {
        assert_eq!(words(r"locale/zh-TW\b"), ["locale", "zh-TW"]);
        assert_eq!(words(r"^CHAPTER 42\."), ["CHAPTER"]);
        assert_eq!(words(r"(?i)render\s+delay|[a-z]+"), ["render", "delay", "a-z"]);
        assert!(words("日本|\\d+").is_empty());
    }

    #[test]
    fn words_are_counted_in_any_case() {
        let note = |pattern: &str| note(pattern, b"locale\nZH-tw zh-TW Render delay");
        let expected = "Its words alone, ignoring case: \"locale\" once, \"zh-TW\" 2 times.";
        assert_eq!(note("locale/zh-TW").as_deref(), Some(expected));
        assert_eq!(note("DELAY").as_deref(), Some("Its words alone, ignoring case: \"DELAY\" once."));
        assert_eq!(note("nowhere"), None);
    }
}
