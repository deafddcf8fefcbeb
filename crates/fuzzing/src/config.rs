//! Any text as a `tidegate.toml`.
//!
//! Holds: every mistake is told with its line, and what is read, written again, says the same.

use tidegate_cli::fuzzing::check_config;

/// Runs one input: the text of a file.
pub fn target(data: &[u8]) {
    // A file that is no text is refused before it is read.
    if let Ok(text) = std::str::from_utf8(data) {
        check_config(text);
    }
}
