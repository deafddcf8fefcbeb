//! The pre-tokenizer: splits a text into pieces; byte-pair merging happens within a piece only.
//!
//! Both vocabularies define their pieces by a regular expression. Here each is a function that returns the end of the
//! piece that starts at `start`: the patterns need one character of look-ahead and a fixed amount of backtracking, so that
//! hand-written code is exact and several times faster than a regex engine. The tests compare it with the regex
//! implementation of another crate, for every alternative below.

use crate::class::{self, LETTER, LOWER, NEWLINE, NUMBER, SPACE, UPPER};

/// Returns the end of the o200k piece that starts at `start`, which must be inside the text.
///
/// The alternatives in their order, `U` and `L` being the upper and lower parts of a word:
/// `[^\r\n\p{L}\p{N}]?U*L+('s|..)?`, `[^\r\n\p{L}\p{N}]?U+L*('s|..)?`, `\p{N}{1,3}`,
/// ` ?[^\s\p{L}\p{N}]+[\r\n/]*`, `\s*[\r\n]+`, `\s+(?!\S)`, `\s+`.
pub(crate) fn o200k(text: &str, start: usize) -> usize {
    let (first, length) = class::at(text, start).expect("start is inside the text");
    let prefixed = first & (LETTER | NUMBER | NEWLINE) == 0;
    let word = if prefixed { start + length } else { start };
    if let Some(end) = cased_word(text, word, prefixed && first & LOWER != 0) {
        return contraction(text, end).unwrap_or(end);
    }
    if first & NUMBER != 0 {
        return number(text, start);
    }
    symbols(text, start, first, b"\r\n/").unwrap_or_else(|| white_space(text, start))
}

/// Returns the end of the cl100k piece that starts at `start`, which must be inside the text.
///
/// The alternatives in their order: `(?i:'s|'t|'re|'ve|'m|'ll|'d)`, `[^\r\n\p{L}\p{N}]?\p{L}+`, `\p{N}{1,3}`,
/// ` ?[^\s\p{L}\p{N}]+[\r\n]*`, `\s*[\r\n]+`, `\s+(?!\S)`, `\s+`.
pub(crate) fn cl100k(text: &str, start: usize) -> usize {
    if let Some(end) = contraction(text, start) {
        return end;
    }
    let (first, length) = class::at(text, start).expect("start is inside the text");
    let prefixed = first & (LETTER | NUMBER | NEWLINE) == 0;
    let word = if prefixed { start + length } else { start };
    let end = run(text, word, |class| class & LETTER != 0);
    if end > word {
        return end;
    }
    if first & NUMBER != 0 {
        return number(text, start);
    }
    symbols(text, start, first, b"\r\n").unwrap_or_else(|| white_space(text, start))
}

/// `U*L+`, else `U+L*`, from `start`.
///
/// `U*` is greedy and gives characters back only to let `L+` have one, so where no lower-case part follows, the
/// word ends after its last character that counts as both. A combining mark taken as the optional prefix is
/// given back too (`mark`), before the second alternative is tried.
fn cased_word(text: &str, start: usize, mark: bool) -> Option<usize> {
    let mut end = start;
    let mut last_of_both = None;
    while let Some((class, length)) = class::at(text, end) {
        if class & UPPER == 0 {
            break;
        }
        end += length;
        if class & LOWER != 0 {
            last_of_both = Some(end);
        }
    }
    let lower = run(text, end, |class| class & LOWER != 0);
    if lower > end {
        return Some(lower);
    }
    last_of_both.or(mark.then_some(start)).or((end > start).then_some(end))
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)` at `start`; case folding makes `ſ` (U+017F) an `s`.
#[inline]
fn contraction(text: &str, start: usize) -> Option<usize> {
    let rest = text.as_bytes().get(start..)?;
    if rest.first() != Some(&b'\'') {
        return None;
    }
    let lower = |at: usize| rest.get(at).map_or(0, u8::to_ascii_lowercase);
    match (lower(1), lower(2)) {
        (b's' | b't' | b'm' | b'd', _) => Some(start + 2),
        (b'r' | b'v', b'e') | (b'l', b'l') | (0xc5, 0xbf) => Some(start + 3),
        _ => None,
    }
}

/// `\p{N}{1,3}`.
fn number(text: &str, start: usize) -> usize {
    let mut end = start;
    for _ in 0..3 {
        match class::at(text, end) {
            Some((class, length)) if class & NUMBER != 0 => end += length,
            _ => break,
        }
    }
    end
}

/// ` ?[^\s\p{L}\p{N}]+` followed by any of `tail`.
fn symbols(text: &str, start: usize, first: u8, tail: &[u8]) -> Option<usize> {
    let symbol = |class: u8| class & (SPACE | LETTER | NUMBER) == 0;
    let from = match text.as_bytes()[start] {
        b' ' => start + 1,
        _ if symbol(first) => start,
        _ => return None,
    };
    let end = run(text, from, symbol);
    if end == from {
        return None;
    }
    let tail_length = text.as_bytes()[end..].iter().take_while(|&byte| tail.contains(byte)).count();
    Some(end + tail_length)
}

/// `\s*[\r\n]+`, else `\s+(?!\S)`, else `\s+`.
fn white_space(text: &str, start: usize) -> usize {
    let mut end = start;
    let mut last = start;
    let mut after_newline = None;
    while let Some((class, length)) = class::at(text, end) {
        if class & SPACE == 0 {
            break;
        }
        last = end;
        end += length;
        if class & NEWLINE != 0 {
            after_newline = Some(end);
        }
    }
    match after_newline {
        Some(end) => end,
        None if end == text.len() || last == start => end,
        None => last,
    }
}

#[inline]
fn run(text: &str, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let mut end = start;
    while let Some((class, length)) = class::at(text, end) {
        if !belongs(class) {
            break;
        }
        end += length;
    }
    end
}
