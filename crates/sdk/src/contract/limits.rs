//! The limits of the response contract and their defaults.

/// The hard limits of a response.
///
/// The marks of what was truncated count towards the limits. A limit below the length of its mark is allowed: only the
/// mark remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseLimits {
    /// Bytes of the answer as a tool result.
    pub max_bytes: usize,
    /// Items of an array.
    pub max_array_items: usize,
    /// Characters of a string, its `...` included.
    pub max_string_length: usize,
    /// Levels of nested containers, the outermost included.
    pub max_json_depth: usize,
    /// Lines of a string, the one that counts the omitted lines included.
    pub max_log_lines: usize,
}

impl ResponseLimits {
    /// Returns the limits with another byte limit.
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
