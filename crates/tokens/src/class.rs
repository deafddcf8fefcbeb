//! Character classes of the pre-tokenizer patterns: which of `\p{L}`, `\p{N}`, `\s` and so on a character is in.
//!
//! The classes are in a two-stage table that build.rs writes; ASCII has a small table of its own, which stays in the
//! cache. A test keeps the two equal.

static TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.table"));
const BLOCKS: usize = 0x11_0000 / 128;

/// `\p{L}`: a letter.
pub(crate) const LETTER: u8 = 1;
/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`: allowed in the upper-case part of a word.
pub(crate) const UPPER: u8 = 2;
/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`: allowed in the lower-case part of a word.
pub(crate) const LOWER: u8 = 4;
/// `\p{N}`: a number character.
pub(crate) const NUMBER: u8 = 8;
/// `\s`: white space.
pub(crate) const SPACE: u8 = 16;
/// Carriage return or line feed.
pub(crate) const NEWLINE: u8 = 32;

/// Returns the class bits of a character.
#[inline]
pub(crate) fn of(character: char) -> u8 {
    let code = character as usize;
    let at = (code >> 7) * 2;
    let block = usize::from(u16::from_le_bytes([TABLE[at], TABLE[at + 1]]));
    TABLE[BLOCKS * 2 + block * 128 + (code & 127)]
}

const ASCII: [u8; 128] = {
    let mut table = [0u8; 128];
    let mut code = 0;
    while code < 128 {
        table[code] = match code as u8 {
            b'A'..=b'Z' => LETTER | UPPER,
            b'a'..=b'z' => LETTER | LOWER,
            b'0'..=b'9' => NUMBER,
            b'\r' | b'\n' => SPACE | NEWLINE,
            b' ' | b'\t' | 0x0b | 0x0c => SPACE,
            _ => 0,
        };
        code += 1;
    }
    table
};

/// Returns the class bits and the length of the character that starts at byte `at`, or `None` at the end.
#[inline]
pub(crate) fn at(text: &str, at: usize) -> Option<(u8, usize)> {
    let &byte = text.as_bytes().get(at)?;
    if byte < 128 {
        return Some((ASCII[usize::from(byte)], 1));
    }
    let character = text[at..].chars().next()?;
    Some((of(character), character.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ascii_table_agrees_with_the_unicode_table() {
        for code in 0..128u8 {
            assert_eq!(ASCII[usize::from(code)], of(char::from(code)), "U+{code:04X}");
        }
    }

    #[test]
    fn classes_of_known_characters() {
        assert_eq!(of('ß'), LETTER | LOWER);
        assert_eq!(of('Ǆ'), LETTER | UPPER);
        assert_eq!(of('語'), LETTER | UPPER | LOWER);
        assert_eq!(of('\u{301}'), UPPER | LOWER, "a combining mark is not a letter");
        assert_eq!(of('٣'), NUMBER);
        assert_eq!(of('\u{2028}'), SPACE);
        assert_eq!(of('😀'), 0);
    }
}
