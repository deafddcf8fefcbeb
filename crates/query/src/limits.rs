//! What one query may use.

use std::time::Duration;

/// What one query may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run, loading not counted.
    pub time: Duration,
    /// How long loading may take.
    pub load_time: Duration,
    /// Memory of the process that runs jq.
    pub memory_bytes: u64,
    /// The largest text that is loaded for jq or SQL.
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
    /// Says that the time is over.
    pub(crate) fn out_of_time(&self, what: &str) -> String {
        format!("{what} was stopped after {} s; make it look at less, or read pages", self.time.as_secs_f64())
    }
}
