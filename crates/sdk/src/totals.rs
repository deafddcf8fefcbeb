//! The running totals of a session, and the log line for each call.
//!
//! Log lines go to stderr: stdout belongs to the protocol.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// A result above this size that passes unchanged gets a warning.
const WARN_ABOVE_BYTES: u64 = 10 * 1024;

/// The sizes of one call, for the totals and the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'t> {
    pub(crate) tool: &'t str,
    /// Bytes of the result before shaping.
    pub(crate) bytes: u64,
    /// Tokens of the result before shaping.
    pub(crate) tokens: u64,
    /// Bytes sent to the client.
    pub(crate) sent: u64,
    pub(crate) style: &'static str,
}

/// The running totals of a session.
#[derive(Debug, Default)]
pub struct Totals {
    calls: AtomicU64,
    bytes: AtomicU64,
    tokens: AtomicU64,
    sent: AtomicU64,
    artifacts: AtomicU64,
    stored: AtomicU64,
}

impl Totals {
    /// Returns the number of answered calls.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns the bytes of all results before shaping.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the tokens of all results before shaping.
    pub fn tokens(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed)
    }

    /// Returns the bytes sent to the client.
    pub fn sent_bytes(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns the number of stored results.
    pub fn artifacts(&self) -> u64 {
        self.artifacts.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the stored results.
    pub fn stored_bytes(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, call: &Told<'_>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(call.bytes, Ordering::Relaxed);
        self.tokens.fetch_add(call.tokens, Ordering::Relaxed);
        self.sent.fetch_add(call.sent, Ordering::Relaxed);
        if !matches!(call.style, "pass" | "fetch" | "view" | "refused") {
            self.artifacts.fetch_add(1, Ordering::Relaxed);
            self.stored.fetch_add(call.bytes, Ordering::Relaxed);
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} calls, {} bytes and {} tokens of results, {} bytes sent, {} results kept ({:.1} MB)",
            self.calls(),
            self.bytes(),
            self.tokens(),
            self.sent_bytes(),
            self.artifacts(),
            self.stored_bytes() as f64 / 1e6
        )
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, bytes, tokens, sent, style } = self;
        write!(formatter, "{tool}: {bytes} bytes, {tokens} tokens, {style}, {sent} bytes sent")?;
        if *bytes > WARN_ABOVE_BYTES && *style == "pass" {
            write!(formatter, " (warning: above 10 KB)")?;
        }
        Ok(())
    }
}

/// Writes a log line to stderr.
pub(crate) fn say(line: &dyn fmt::Display) {
    // A closed stderr must not fail a call.
    let _ = writeln!(std::io::stderr(), "tidegate: {line}");
}
