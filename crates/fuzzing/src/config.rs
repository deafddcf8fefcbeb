//! Any text as a `tidegate.toml`.
//!
//! Invariants: every mistake has a place in the text, and a file without mistakes keeps its settings when written again.

use tidegate_config::fuzzing::check_config;

/// Runs one input: the text of a file.
pub fn target(data: &[u8]) {
    // The reader only gets valid UTF-8.
    if let Ok(text) = std::str::from_utf8(data) {
        check_config(text);
    }
}
