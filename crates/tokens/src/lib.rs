//! Exact token counts for the o200k and cl100k vocabularies.
//!
//! ```
//! use tidegate_tokens::Encoding;
//!
//! assert_eq!(Encoding::O200k.count("hello world"), 2);
//! assert_eq!(Encoding::O200k.count_up_to("hello wide world", 2), None);
//! ```
//!
//! Why not an existing tokenizer crate: the proxy asks "does this fit?" for every result, and a client starts one proxy
//! for each server, so that it has to start fast and stay small. The crates measured take 50 ms or more to load their
//! vocabulary and 11 to 66 MB to hold it, and all but one cannot stop at a limit. Here the vocabulary is a constant of the
//! binary in the form in which it is used: the first count costs as much as the second, and only the pages in use are
//! resident. Token ids are never needed, so there is no encoder and no decoder.
//!
//! Invariant: the count equals that of `bpe-openai` (and so of tiktoken) for every text; tests/exact.rs compares them on
//! random and fixed texts.

mod class;
mod merge;
mod split;
mod vocabulary;

mod hash {
    include!("hash.rs");
}

use vocabulary::Vocabulary;

/// No token of either vocabulary is longer than this many bytes, so `tokens >= bytes / 128`.
pub const MAX_TOKEN_BYTES: usize = 128;

/// A vocabulary and its rule for splitting text into pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// The vocabulary of GPT-4o and later models.
    #[default]
    O200k,
    /// The vocabulary of GPT-4 and GPT-3.5.
    Cl100k,
}

impl Encoding {
    /// Returns the name of the vocabulary.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k",
            Self::Cl100k => "cl100k",
        }
    }

    /// Returns the number of tokens of a text.
    pub fn count(self, text: &str) -> usize {
        self.count_up_to(text, usize::MAX).unwrap_or(usize::MAX)
    }

    /// Returns the number of tokens of a text if it is at most `limit`, and stops counting once it is more.
    pub fn count_up_to(self, text: &str, limit: usize) -> Option<usize> {
        match self {
            Self::O200k => count_pieces(&vocabulary::O200K, split::o200k, text, limit),
            Self::Cl100k => count_pieces(&vocabulary::CL100K, split::cl100k, text, limit),
        }
    }
}

#[inline]
fn count_pieces(
    vocabulary: &Vocabulary,
    end_of_piece: impl Fn(&str, usize) -> usize,
    text: &str,
    limit: usize,
) -> Option<usize> {
    let mut count = 0usize;
    let mut start = 0;
    while start < text.len() {
        let end = end_of_piece(text, start);
        let piece = &text.as_bytes()[start..end];
        count += match vocabulary.rank(piece) {
            Some(_) => 1,
            // A piece has at least this many tokens, so that one that cannot fit need not be merged.
            None if piece.len() / MAX_TOKEN_BYTES > limit => return None,
            None => merge::count(vocabulary, piece),
        };
        if count > limit {
            return None;
        }
        start = end;
    }
    Some(count)
}

/// The example of the README runs with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
