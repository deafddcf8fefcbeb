//! Shortening text without splitting a character; it is the gate's.

pub(crate) use tidegate_gate::text::{excerpt, first_chars};
