//! How much an answer may cost.

use crate::quantity::{Bytes, Tokens};

/// The most tokens and bytes of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Tokens of what the model reads.
    pub tokens: Tokens,
    /// Bytes of the serialized result, less the base64 data of pictures.
    pub bytes: Bytes,
}

impl Budget {
    /// Tokens of an answer unless something else was asked for.
    pub const DEFAULT_TOKENS: Tokens = Tokens(2000);
    /// Bytes of an answer unless something else was asked for; below the smallest cut of any client.
    pub const DEFAULT_BYTES: Bytes = Bytes(10_240);
    /// The smallest budget in which a frame, a handle and the next step can stand.
    pub const LEAST_TOKENS: Tokens = Tokens(250);
    /// The smallest byte limit in which a frame, a handle and the next step can stand.
    pub const LEAST_BYTES: Bytes = Bytes(1_536);

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
