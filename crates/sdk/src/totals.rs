//! The running totals of a session, and the log line for each call.
//!
//! Both come from the entries of the ledger, so that log, totals and `tidegate stats` agree. Log lines go to stderr: stdout
//! belongs to the protocol.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_gate::{ARTIFACT, LIST, MORE_OF_LIST, REFUSED};
use tidegate_store::Call;

/// The running totals of a session.
#[derive(Debug, Default)]
pub struct Totals {
    calls: AtomicU64,
    bytes: AtomicU64,
    tokens: AtomicU64,
    sent: AtomicU64,
    sent_tokens: AtomicU64,
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

    /// Returns the tokens sent to the client.
    pub fn sent_tokens(&self) -> u64 {
        self.sent_tokens.load(Ordering::Relaxed)
    }

    /// Returns the number of stored results, with the artifacts that tools stored themselves.
    pub fn artifacts(&self) -> u64 {
        self.artifacts.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the stored results.
    pub fn stored_bytes(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    /// Adds an entry of the ledger. A list of tools is not a call.
    pub(crate) fn count(&self, call: &Call) {
        let add = |total: &AtomicU64, number: u64| {
            total.fetch_add(number, Ordering::Relaxed);
        };
        let is_result = match call.step.as_str() {
            LIST | MORE_OF_LIST => return,
            "view" | "fetch" | REFUSED => false,
            _ => true,
        };
        if is_result && call.artifact.is_some() {
            add(&self.artifacts, 1);
            add(&self.stored, call.raw_bytes);
        }
        if call.step == ARTIFACT {
            return;
        }
        add(&self.calls, 1);
        add(&self.sent, call.sent_bytes);
        add(&self.sent_tokens, call.sent_tokens);
        if is_result {
            add(&self.bytes, call.raw_bytes);
            add(&self.tokens, call.raw_tokens);
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} calls, {} bytes and {} tokens of results, {} bytes and {} tokens sent, {} results kept ({:.1} MB)",
            self.calls(),
            self.bytes(),
            self.tokens(),
            self.sent_bytes(),
            self.sent_tokens(),
            self.artifacts(),
            self.stored_bytes() as f64 / 1e6
        )
    }
}

/// Returns the log line of an entry; `None` for a list of tools.
pub(crate) fn log_line(call: &Call) -> Option<String> {
    let Call { tool, step, raw_bytes, raw_tokens, sent_bytes, sent_tokens, .. } = call;
    match step.as_str() {
        LIST | MORE_OF_LIST => None,
        ARTIFACT => Some(format!("{tool}: {raw_bytes} bytes, {raw_tokens} tokens, stored as an artifact")),
        step => {
            let view = call.view.as_ref().map_or_else(String::new, |view| format!(" {view}"));
            Some(format!(
                "{tool}: {raw_bytes} bytes, {raw_tokens} tokens, {step}{view}, {sent_bytes} bytes and {sent_tokens} tokens sent"
            ))
        }
    }
}

/// Writes a log line to stderr.
pub(crate) fn say(line: &dyn fmt::Display) {
    // A closed stderr must not fail a call.
    let _ = writeln!(std::io::stderr(), "tidegate: {line}");
}
