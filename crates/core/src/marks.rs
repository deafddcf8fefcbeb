//! Finds bytes that occur every few bytes, such as the bars between cells.
//!
//! A search for each of them would cost more than it saves, so many bytes are examined together, and those that match are
//! told from one word to the next.

use crate::quote::{WORD_BYTES, equal, word};

/// The offsets of the bytes that equal one of two.
pub(crate) struct Marks<'b> {
    bytes: &'b [u8],
    marks: [u8; 2],
    /// The offset of the word that is examined, and its matches that were not returned yet, as high bits.
    at: usize,
    found: u128,
}

/// Returns the offsets of the bytes that equal one of two.
#[inline]
pub(crate) fn marks(bytes: &[u8], marks: [u8; 2]) -> Marks<'_> {
    let mut all = Marks { bytes, marks, at: 0, found: 0 };
    all.examine();
    all
}

/// Returns the first offset at which two bytes stand side by side.
#[inline]
pub(crate) fn find_pair(bytes: &[u8], [first, second]: [u8; 2]) -> Option<usize> {
    marks(bytes, [first; 2]).find(|at| bytes.get(at + 1) == Some(&second))
}

impl Marks<'_> {
    /// Examines the word at `at`.
    #[inline]
    fn examine(&mut self) {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let [one, two] = self.marks;
        self.found = match rest.first_chunk::<WORD_BYTES>() {
            Some(whole) => equal(word(whole), one) | equal(word(whole), two),
            None => {
                let mut last = [0; WORD_BYTES];
                last[..rest.len()].copy_from_slice(rest);
                let found = equal(word(&last), one) | equal(word(&last), two);
                found & ((1 << (8 * rest.len())) - 1)
            }
        };
    }
}

impl Iterator for Marks<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            self.at += WORD_BYTES;
            if self.at >= self.bytes.len() {
                return None;
            }
            self.examine();
        }
        let at = self.at + self.found.trailing_zeros() as usize / 8;
        self.found &= self.found - 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_are_found(bytes in prop::collection::vec(prop::sample::select(vec![0, b'|', b'\\', b'}', 0x80, 0xfc]), 0..70)) {
            for pair in [[b'|', b'\\'], [0, 0xfc]] {
                let expected: Vec<usize> = (0..bytes.len()).filter(|at| pair.contains(&bytes[*at])).collect();
                prop_assert_eq!(marks(&bytes, pair).collect::<Vec<_>>(), expected);
                let expected = bytes.windows(2).position(|window| window == pair);
                prop_assert_eq!(find_pair(&bytes, pair), expected);
            }
        }
    }
}
