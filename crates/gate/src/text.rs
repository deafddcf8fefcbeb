//! Shortening text without splitting a character.
//!
//! Errors quote what a caller sent. [`excerpt`] bounds such a quote, so an error stays small whatever was sent.

/// Characters of a quoted text that an error shows.
const MAX_EXCERPT_CHARS: usize = 60;

/// Returns the beginning of a text for use in an error message.
pub fn excerpt(text: &str) -> &str {
    first_chars(text, MAX_EXCERPT_CHARS)
}

/// Returns the first `count` characters of a text, or all of it if it is shorter.
pub fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}
