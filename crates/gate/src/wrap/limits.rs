//! The limits of the response contract, their defaults, and the bytes that count.

use serde::{Deserialize, Serialize};

use crate::style::category::Category;

/// Bytes of a tool result around the text of its only block.
const RESULT_FRAME_BYTES: usize = r#"{"content":[{"type":"text","text":}],"isError":false}"#.len();

/// The hard limits of a response.
///
/// The marks of what was truncated count towards the limits. A limit below the length of its mark is allowed: only the
/// mark remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
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

impl From<Category> for ResponseLimits {
    /// Returns the default limits with the bytes of the category.
    fn from(category: Category) -> Self {
        Self::default().with_max_bytes(category.bytes())
    }
}

/// Returns the bytes of an answer as a tool result: pretty JSON, escaped as the text of a block.
pub fn result_bytes(answer: &impl Serialize) -> usize {
    let pretty = serde_json::to_string_pretty(answer).unwrap_or_default();
    let text = serde_json::to_string(&pretty).unwrap_or_default();
    text.len() + RESULT_FRAME_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the SDK had a table of categories of its own, which differed. Now there is one, which
    /// policies use too.
    #[test]
    fn a_category_limits_the_bytes_alone() {
        let limits = ResponseLimits::from(Category::List);
        assert_eq!(limits, ResponseLimits::default().with_max_bytes(2048));
    }

    #[test]
    fn limits_are_read_over_their_defaults() {
        let read = serde_json::from_str::<ResponseLimits>;
        assert_eq!(read(r#"{"max_bytes":2048}"#).unwrap(), ResponseLimits::from(Category::List));
        let error = read(r#"{"max_byte":1}"#).unwrap_err().to_string();
        assert!(error.contains("unknown field `max_byte`") && error.contains("`max_log_lines`"), "{error}");
    }
}
