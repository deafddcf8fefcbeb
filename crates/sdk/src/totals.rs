//! What a session has cost so far, and the line that is written for each call. stdout belongs to the protocol.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Answers above this many bytes are worth a warning.
const LARGE: u64 = 10 * 1024;

/// One call, as it is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'t> {
    pub(crate) tool: &'t str,
    /// Bytes and tokens of the result.
    pub(crate) bytes: u64,
    pub(crate) tokens: u64,
    /// Bytes that were sent.
    pub(crate) sent: u64,
    pub(crate) style: &'static str,
}

/// What a session has cost so far.
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
    /// Returns how many calls were answered.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns the bytes of all results before they were shaped.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the tokens of all results before they were shaped.
    pub fn tokens(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed)
    }

    /// Returns the bytes that were sent.
    pub fn sent_bytes(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns how many results were kept.
    pub fn artifacts(&self) -> u64 {
        self.artifacts.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the results that were kept.
    pub fn stored_bytes(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, told: &Told<'_>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(told.bytes, Ordering::Relaxed);
        self.tokens.fetch_add(told.tokens, Ordering::Relaxed);
        self.sent.fetch_add(told.sent, Ordering::Relaxed);
        if !matches!(told.style, "pass" | "fetch" | "view" | "refused") {
            self.artifacts.fetch_add(1, Ordering::Relaxed);
            self.stored.fetch_add(told.bytes, Ordering::Relaxed);
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
        if *bytes > LARGE && *style == "pass" {
            write!(formatter, " (warning: above 10 KB)")?;
        }
        Ok(())
    }
}

/// Writes a line for whoever runs the server.
pub(crate) fn say(line: &dyn fmt::Display) {
    // A log that nobody reads must not fail a call.
    let _ = writeln!(std::io::stderr(), "tidegate: {line}");
}
