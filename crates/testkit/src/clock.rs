//! A clock that tests move by hand, so that expiry needs no waiting.
//!
//! It starts at a fixed time, so that tests that print times give the same output on every run.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tidegate_store::{Clock, Millis};

/// A clock that stands still until it is advanced.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl Default for ManualClock {
    fn default() -> Self {
        Self(AtomicI64::new(1_794_700_000_000))
    }
}

impl ManualClock {
    /// Moves the clock forward.
    pub fn advance(&self, duration: Duration) {
        let millis = i64::try_from(duration.as_millis()).expect("the duration fits 63 bits");
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::SeqCst))
    }
}
