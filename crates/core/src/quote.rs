//! Finds the end of a JSON string.
//!
//! JSON inside a JSON string has an escape every few bytes, where one search per escape costs more than it saves. So
//! many bytes are examined together, and skipped without a branch as long as every quote among them follows a
//! backslash and no backslash follows another. This is done first in chunks, comparing each byte with the one before
//! it, which the compiler vectorizes; a chunk that has something to stop at is examined in words of sixteen bytes.
//! After words without quotes and backslashes, a plain search is faster.

/// How many bytes are examined together as one word.
pub(crate) const WORD_BYTES: usize = 16;
/// The number of bytes of a chunk: the compiler vectorizes 64 but not 32.
const CHUNK_BYTES: usize = 64;
const ONES: u128 = u128::from_ne_bytes([1; WORD_BYTES]);
/// After this many words without quotes and backslashes, the next of them is searched for.
const PLAIN_WORDS_BEFORE_SEARCH: u32 = 2;
/// The high bit of every byte.
const HIGH_BITS: u128 = ONES << 7;

/// How far the inside of a string reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// The closing quote is at this index.
    Ends(usize),
    /// All bytes are inside; continue at this index once more bytes follow. It is one past the end if the end cuts an
    /// escape.
    GoesOn(usize),
}

/// Finds the quote that closes the string that contains the byte at `from`; sets `escapes` if there is a backslash.
#[inline]
pub fn closing(bytes: &[u8], from: usize, quote: u8, escapes: &mut bool) -> Inside {
    let mut at = from;
    // Whether the byte at `at` is escaped, as the high bit of the first byte of a word.
    let mut escaped = 0;
    // The number of words in a row with neither quotes nor backslashes.
    let mut plain = 0;
    loop {
        // A chunk can be tested only if the byte before it shows correctly whether its first byte is escaped.
        if at > from && (escaped != 0) == (bytes[at - 1] == b'\\') {
            let start = at;
            while let Some(chunk) = bytes.get(at - 1..at + CHUNK_BYTES)
                && passes(chunk, quote)
            {
                at += CHUNK_BYTES;
            }
            if at > start {
                (*escapes, plain) = (true, 0);
                escaped = if bytes[at - 1] == b'\\' { 0x80 } else { 0 };
            }
        }
        let Some(window) = bytes.get(at..at + WORD_BYTES) else { break };
        let word = word(window);
        let (quotes, slashes) = (equal(word, quote), equal(word, b'\\'));
        if quotes | slashes == 0 {
            (at, escaped, plain) = (at + WORD_BYTES, 0, plain + 1);
            if plain == PLAIN_WORDS_BEFORE_SEARCH {
                plain = 0;
                match memchr::memchr2(quote, b'\\', &bytes[at..]) {
                    Some(next) => at += next,
                    None => return Inside::GoesOn(bytes.len()),
                }
            }
            continue;
        }
        plain = 0;
        let behind = slashes << 8 | escaped;
        let (ends, doubled) = (quotes & !behind, slashes & behind);
        if ends.trailing_zeros() < doubled.trailing_zeros() {
            let end = ends.trailing_zeros();
            *escapes |= slashes.trailing_zeros() < end;
            return Inside::Ends(at + end as usize / 8);
        }
        if doubled != 0 {
            match one_by_one(&bytes[..at + WORD_BYTES], at, escaped != 0, quote, escapes) {
                Inside::GoesOn(next) => {
                    (at, escaped) = (at + WORD_BYTES, if next > at + WORD_BYTES { 0x80 } else { 0 });
                }
                ends => return ends,
            }
            continue;
        }
        *escapes |= slashes != 0;
        escaped = slashes >> (8 * (WORD_BYTES - 1));
        at += WORD_BYTES;
    }
    one_by_one(bytes, at, escaped != 0, quote, escapes)
}

/// Returns whether a chunk, preceded by one byte, has escapes but neither an unescaped quote nor an escaped backslash.
#[inline]
fn passes(chunk: &[u8], quote: u8) -> bool {
    let (Some(before), Some(chunk)) = (chunk.first_chunk::<CHUNK_BYTES>(), chunk.last_chunk::<CHUNK_BYTES>())
    else {
        return false;
    };
    let (mut stops, mut slashes) = (false, false);
    for (byte, before) in chunk.iter().zip(before) {
        let (slash, behind) = (*byte == b'\\', *before == b'\\');
        stops |= (slash & behind) | ((*byte == quote) & !behind);
        slashes |= slash;
    }
    slashes & !stops
}

fn one_by_one(bytes: &[u8], from: usize, escaped: bool, quote: u8, escapes: &mut bool) -> Inside {
    let mut at = from + usize::from(escaped);
    while let Some(&byte) = bytes.get(at) {
        if byte == quote {
            return Inside::Ends(at);
        }
        *escapes |= byte == b'\\';
        at += if byte == b'\\' { 2 } else { 1 };
    }
    Inside::GoesOn(at)
}

/// Returns the first bytes as one word.
#[inline]
pub(crate) fn word(bytes: &[u8]) -> u128 {
    bytes.first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes))
}

/// Returns a word with the high bit set in each byte that equals `byte`.
#[inline]
pub(crate) fn equal(word: u128, byte: u8) -> u128 {
    let other = word ^ (ONES * u128::from(byte));
    !(((other & !HIGH_BITS) + !HIGH_BITS) | other | !HIGH_BITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_end_is_the_first_quote_that_is_not_escaped(
            text in "([a-z]{0,70}|\\\\.|\\\\\\\\|\\\\\"[a-z]{0,5}|\"|#|\u{e9}|\u{1}){0,20}",
            from in 0_usize..4,
        ) {
            let bytes = text.as_bytes();
            let from = from.min(bytes.len());
            let (mut at, mut seen) = (from, false);
            while at < bytes.len() && bytes[at] != b'"' {
                seen |= bytes[at] == b'\\';
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            let expected = if at < bytes.len() { Inside::Ends(at) } else { Inside::GoesOn(at) };
            let mut escapes = false;
            prop_assert_eq!(closing(bytes, from, b'"', &mut escapes), expected);
            prop_assert_eq!(escapes, seen);
        }
    }
}
