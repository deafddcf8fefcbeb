//! The limits of one query: time, memory, input and rows.

use std::time::Duration;

/// The limits of one query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a query may run, loading not counted.
    pub time: Duration,
    /// How long loading may take.
    pub load_time: Duration,
    /// The memory of the process that runs jq.
    pub memory_bytes: u64,
    /// The most bytes of text that are loaded for jq.
    pub input_bytes: usize,
    /// Results after which counting stops.
    pub rows: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(2),
            load_time: Duration::from_secs(30),
            memory_bytes: 2 << 30,
            input_bytes: 128 << 20,
            rows: 1_000_000,
        }
    }
}

impl Limits {
    /// Returns the message for something that ran out of time.
    pub(crate) fn out_of_time(&self, what: &str) -> String {
        format!("{what} was stopped after {} s; make it look at less, or read pages", self.time.as_secs_f64())
    }
}
