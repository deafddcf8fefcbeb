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

/// Words that mark a line as a success, whatever other words it has.
const SUCCESS_WORDS: &[&str] = &["PASSED", " ok", "... ok", "0 failed", "0 errors", "no errors"];

/// Returns how severe a line is; 0 if it reports no failure.
pub(crate) fn severity(line: &str) -> u8 {
    // The margin of a compiler message is followed by source text.
    let margin = line.starts_with("--> ")
        || line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with('|');
    if margin
        || SUCCESS_WORDS.iter().any(|word| line.contains(word))
            && !line.contains("FAILED")
            && !line.contains("ERROR")
    {
        return 0;
    }
    let lower = line.to_ascii_lowercase();
    let severe = SEVERITIES.iter().filter(|(word, _)| contains_word(line, &lower, word));
    // A line that begins with its level is a message; a line that only contains the word may be anything.
    let leading = |word: &str| lower.trim_start_matches(['[', '(', '<', ' ']).starts_with(word);
    severe.map(|(word, severity)| severity + if leading(word) { 4 } else { 0 }).max().unwrap_or(0)
}

/// Returns whether a line contains a word by itself, or at the end of a name such as `KeyError`.
fn contains_word(line: &str, lower: &str, word: &str) -> bool {
    let bytes = line.as_bytes();
    let letter = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    // A separator between letters joins them into one name: `error.py`, `libgpg-error`.
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
