//! The limits of one query: time, memory, input and rows; and the messages that name them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of one query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How long a query may run, loading not counted.
    pub time: Duration,
    /// How long loading may take.
    pub load_time: Duration,
    /// The memory of the process that runs a query.
    pub memory_bytes: u64,
    /// The maximum number of bytes of text that are loaded for jq.
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

/// What to do about a query that reached a limit.
const LOOK_AT_LESS: &str = "narrow it, or read pages";

impl Limits {
    /// Returns the message for something that ran out of time.
    pub(crate) fn out_of_time(&self, what: &str) -> String {
        format!("{what} was stopped after {} s, the time limit; {LOOK_AT_LESS}", self.time.as_secs_f64())
    }

    /// Returns the message for data that could not be loaded in time.
    pub(crate) fn out_of_load_time(&self) -> String {
        format!(
            "loading the data was stopped after {} s, the time limit for that; use page, path or lines",
            self.load_time.as_secs_f64()
        )
    }

    /// Returns the message for something that found as many results as are counted.
    pub(crate) fn out_of_rows(&self, what: &str) -> String {
        format!("{what} was stopped at {} results, where counting ends", self.rows)
    }
}

/// Returns the message for something that needed more memory than a limit.
pub(crate) fn out_of_memory(what: &str, bytes: u64) -> String {
    format!("{what} needed more than {} MB of memory, the limit; {LOOK_AT_LESS}", bytes >> 20)
}

/// Returns the message for something that made a value longer than a limit.
#[cfg(feature = "sql")]
pub(crate) fn value_too_long(what: &str, bytes: u64) -> String {
    format!("{what} makes a value of more than {bytes} bytes, the limit; {LOOK_AT_LESS}")
}
