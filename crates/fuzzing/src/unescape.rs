//! Decodes the escapes of a JSON string.
//!
//! Invariants: the text is the one that `serde_json` decodes, if it accepts the string; and the size of the blocks in which
//! it is read makes no difference.

use tidegate_core::fuzzing::unescape;

use crate::input;

/// Runs one input: a byte for the size of a block, then the text between the quotes.
pub fn target(mut data: &[u8]) {
    let block = 12 + usize::from(input::byte(&mut data));
    let whole = unescape(data, data.len().max(12));
    assert_eq!(unescape(data, block), whole, "blocks of {block} give the same");
    assert!(whole.len() <= data.len(), "a text is never longer than its escapes");
    let literal = [b"\"", data, b"\""].concat();
    if let Ok(text) = serde_json::from_slice::<String>(&literal) {
        assert_eq!(whole, text.as_bytes(), "as a parser decodes it");
    }
}
