//! Judges how severe a line of a log is by the words in it.
//!
//! A line that reports success is not severe, and neither is a file name that happens to contain `error`.

/// Words that make a line severe, with the severity.
const SEVERITIES: &[(&str, u8)] = &[
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

/// The number of values that [`severity`] returns, from 0 on.
pub(crate) const SEVERITY_LEVELS: usize = 11;

/// Words that mark a line as a success, whatever other words it has.
const SUCCESS_WORDS: &[&str] = &["PASSED", " ok", "... ok", "0 failed", "0 errors", "no errors"];

/// Returns how severe a line is; 0 if it reports no failure.
pub(crate) fn severity(line: &str) -> u8 {
    // The margin of a compiler message is followed by source text.
    let margin = line.starts_with("--> ")
        || line.starts_with("= ")
        || line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with('|');
    if margin {
        return 0;
    }
    let severity = severity_of_words(line.as_bytes());
    let success = || SUCCESS_WORDS.iter().any(|word| line.contains(word));
    if severity > 0 && success() && !line.contains("FAILED") && !line.contains("ERROR") {
        return 0;
    }
    severity
}

/// Words that report a failure even in a line whose level says that nothing is wrong.
const LOUD_WORDS: &[&str] = &["FAILED", "FAILURE", "FATAL", "ERROR", "PANIC", "CRITICAL"];

/// Returns whether a line has a word in capitals that reports a failure.
pub(crate) fn is_loud(line: &str) -> bool {
    LOUD_WORDS.iter().any(|word| {
        line.match_indices(word).any(|(at, _)| {
            let begins = at == 0 || !is_letter(line.as_bytes()[at - 1]);
            begins && is_word_at(line.as_bytes(), at, word.as_bytes())
        })
    })
}

/// The first letters of [`SEVERITIES`], as bits.
const FIRST_LETTERS: u32 = {
    let mut letters = 0;
    let mut at = 0;
    while at < SEVERITIES.len() {
        letters |= 1 << (SEVERITIES[at].0.as_bytes()[0] - b'a');
        at += 1;
    }
    letters
};

/// Returns the severity of the most severe word. Every line of every log comes here, so each is read once.
fn severity_of_words(line: &[u8]) -> u8 {
    let text_from = line.iter().position(|byte| !matches!(byte, b'[' | b'(' | b'<' | b' ')).unwrap_or(0);
    let mut most = 0;
    let mut before = b' ';
    for (at, &byte) in line.iter().enumerate() {
        let begins = !is_letter(before) || byte.is_ascii_uppercase() && before.is_ascii_lowercase();
        before = byte;
        let lower = byte | 0x20;
        if !begins || !lower.is_ascii_lowercase() || FIRST_LETTERS >> (lower - b'a') & 1 == 0 {
            continue;
        }
        for (word, severity) in SEVERITIES.iter().filter(|(word, _)| word.as_bytes()[0] == lower) {
            if is_word_at(line, at, word.as_bytes()) {
                // A line that begins with its level is a message; a line that only contains the word may be anything.
                most = most.max(severity + if at == text_from { 4 } else { 0 });
            }
        }
    }
    most
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns whether a word that begins at an index is there by itself, or at the end of a name such as `KeyError`.
fn is_word_at(line: &[u8], at: usize, word: &[u8]) -> bool {
    let letter = |at: usize| line.get(at).is_some_and(|byte| is_letter(*byte));
    // A separator between letters joins them into one name: `error.py`, `libgpg-error`.
    let joined = |mark: usize, beyond: usize| {
        line.get(mark).is_some_and(|byte| matches!(byte, b'.' | b'-' | b'/')) && letter(beyond)
    };
    let end = at + word.len();
    let joined_before = at > 1 && joined(at - 1, at - 2);
    let joined_after = letter(end) || joined(end, end + 1);
    !joined_before && !joined_after && line.get(at..end).is_some_and(|found| found.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_report_failures() {
        for (line, expected) in [
            ("2024-01-01 error: disk full", 5),
            ("[ERROR] disk full", 9),
            ("panic at main.rs", 10),
            ("raised KeyError in a handler", 5),
            ("connection timed out", 4),
            ("level=warn msg=late", 3),
            ("file not found, segmentation fault", 6),
            ("opened error.py and libgpg-error", 0),
            ("errored terror error_count failing", 0),
            ("12 passed, 0 failed", 0),
            ("test a ... ok after an error", 0),
            ("test a ... ok, ERROR", 5),
            ("12 | return Err(error)", 0),
            ("\u{e9}error \u{4e2d}", 5),
            ("", 0),
        ] {
            assert_eq!(severity(line), expected, "{line}");
        }
    }
}
