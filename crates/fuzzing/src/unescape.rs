//! The inside of a JSON string, undone.
//!
//! Holds: the text is the one that a parser of the field decodes, where it accepts the string, and the same whatever
//! blocks it is read in.

use tidegate_core::fuzzing::unescape;

use crate::input;

/// Runs one input: a byte for the length of a block, then the inside of a string.
pub fn target(mut data: &[u8]) {
    let block = 12 + usize::from(input::byte(&mut data));
    let whole = unescape(data, data.len().max(12));
    assert_eq!(unescape(data, block), whole, "the same in blocks of {block}");
    assert!(whole.len() <= data.len(), "a text is never longer than its escapes");
    let literal = [b"\"", data, b"\""].concat();
    if let Ok(text) = serde_json::from_slice::<String>(&literal) {
        assert_eq!(whole, text.as_bytes(), "as a parser decodes it");
    }
}
