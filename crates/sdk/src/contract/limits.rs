//! What a response may hold at the most.

/// The hard limits of a response.
///
/// A limit of zero is allowed and leaves nothing of its kind but the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseLimits {
    /// Bytes of the whole, as the result of a tool.
    pub max_bytes: usize,
    /// Elements of an array.
    pub max_array_items: usize,
    /// Characters of a string.
    pub max_string_length: usize,
    /// Levels of nesting below the outermost value.
    pub max_json_depth: usize,
    /// Lines of a string.
    pub max_log_lines: usize,
}

impl ResponseLimits {
    /// Returns the limits with another number of bytes.
    pub fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }
}

impl Default for ResponseLimits {
    fn default() -> Self {
        Self {
            max_bytes: 10_240,
            max_array_items: 10,
            max_string_length: 500,
            max_json_depth: 4,
            max_log_lines: 20,
        }
    }
}
