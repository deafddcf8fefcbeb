//! The budget of an answer: how many tokens and bytes it may cost.
//!
//! No answer that the engine writes ever exceeds its budget; the strategies and views take what they may use from it.

use crate::quantity::{Bytes, Tokens};

/// The maximum number of tokens and bytes of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Tokens of what the model reads.
    pub tokens: Tokens,
    /// Bytes of the serialized result, without the base64 data of images.
    pub bytes: Bytes,
}

impl Budget {
    /// The default number of tokens of a first answer.
    pub const DEFAULT_TOKENS: Tokens = Tokens(1000);
    /// The default number of tokens of an answer that was asked for: a follow-up, a page, a query.
    pub const FOLLOW_UP_TOKENS: Tokens = Tokens(2000);
    /// The default number of tokens up to which a result passes unchanged. A result somewhat above the budget costs less
    /// whole than as an overview and a follow-up.
    pub const LINE_TOKENS: Tokens = Tokens(2500);
    /// The default number of bytes, below the limit at which any known client truncates.
    pub const DEFAULT_BYTES: Bytes = Bytes(10_240);
    /// The smallest token budget that has space for a frame, a handle and the next step.
    pub const MIN_TOKENS: Tokens = Tokens(250);
    /// The smallest byte limit that has space for a frame, a handle and the next step.
    pub const MIN_BYTES: Bytes = Bytes(1_536);

    /// Returns a budget in tokens with the byte limit that goes with it: five bytes a token, at least 10,240.
    pub fn of_tokens(tokens: Tokens) -> Self {
        Self { tokens, bytes: Bytes(Self::DEFAULT_BYTES.0.max(tokens.0.saturating_mul(5))) }
    }

    /// Returns the budget with another byte limit.
    pub fn with_bytes(self, bytes: Bytes) -> Self {
        Self { bytes, ..self }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::of_tokens(Self::DEFAULT_TOKENS)
    }
}
