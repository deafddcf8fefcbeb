//! The end of a JSON string.
//!
//! JSON inside a JSON string has an escape every few bytes, where a search that stops at each costs more than what it
//! searches. So many bytes are looked at together, and passed without a branch as long as every quote among them comes
//! behind a backslash and no backslash behind another: first in chunks, each byte beside the one before it, which the
//! compiler turns into vectors, and where one has something to stop at, in words of sixteen. Where words have neither
//! quotes nor backslashes, a search is quicker.

/// How many bytes are looked at together.
pub(crate) const WORD: usize = 16;
/// How many bytes make a chunk: the compiler makes vectors of 64 but not of 32.
const CHUNK: usize = 64;
const ONES: u128 = u128::from_ne_bytes([1; WORD]);
/// After how many words without quotes and backslashes the next of them is searched for.
const PLAIN: u32 = 2;
/// The high bit of every byte.
const HIGH: u128 = ONES << 7;

/// The inside of a string, as far as it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// The closing quote stands at this index.
    Ends(usize),
    /// All bytes are inside; in what follows them, looking goes on at this index, counted from the same beginning. It is
    /// one further than the end where that cuts an escape.
    GoesOn(usize),
}

/// Finds the quote that closes the string in which the byte at `from` stands; sets `escapes` where there is a backslash.
#[inline]
pub fn closing(bytes: &[u8], from: usize, quote: u8, escapes: &mut bool) -> Inside {
    let mut at = from;
    // Whether the byte at `at` is escaped, as the high bit of the first byte of a word.
    let mut escaped = 0;
    // Words in a row with neither.
    let mut plain = 0;
    loop {
        // What the first byte of a chunk means is told by the one before it, if that means what it looks like.
        if at > from && (escaped != 0) == (bytes[at - 1] == b'\\') {
            let start = at;
            while let Some(chunk) = bytes.get(at - 1..at + CHUNK)
                && passes(chunk, quote)
            {
                at += CHUNK;
            }
            if at > start {
                (*escapes, plain) = (true, 0);
                escaped = if bytes[at - 1] == b'\\' { 0x80 } else { 0 };
            }
        }
        let Some(window) = bytes.get(at..at + WORD) else { break };
        let word = word(window);
        let (quotes, slashes) = (equal(word, quote), equal(word, b'\\'));
        if quotes | slashes == 0 {
            (at, escaped, plain) = (at + WORD, 0, plain + 1);
            if plain == PLAIN {
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
            match one_by_one(&bytes[..at + WORD], at, escaped != 0, quote, escapes) {
                Inside::GoesOn(next) => (at, escaped) = (at + WORD, if next > at + WORD { 0x80 } else { 0 }),
                ends => return ends,
            }
            continue;
        }
        *escapes |= slashes != 0;
        escaped = slashes >> (8 * (WORD - 1));
        at += WORD;
    }
    one_by_one(bytes, at, escaped != 0, quote, escapes)
}

/// Whether a chunk, behind the byte before it, has escapes, but no quote that is not escaped nor an escaped backslash.
#[inline]
fn passes(chunk: &[u8], quote: u8) -> bool {
    let (Some(before), Some(chunk)) = (chunk.first_chunk::<CHUNK>(), chunk.last_chunk::<CHUNK>()) else {
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

/// The first bytes as one word.
#[inline]
pub(crate) fn word(bytes: &[u8]) -> u128 {
    bytes.first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes))
}

/// The high bit of each byte of a word that equals `byte`.
#[inline]
pub(crate) fn equal(word: u128, byte: u8) -> u128 {
    let other = word ^ (ONES * u128::from(byte));
    !(((other & !HIGH) + !HIGH) | other | !HIGH)
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
