//! A clock that tests move by hand, so that expiry needs no waiting.
//!
//! It starts at a fixed time, so that tests that print times give the same output on every run.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tidegate_store::{Clock, Millis};

/// A clock that stands still until it is advanced or set.
#[derive(Debug)]
pub struct ManualClock {
    shown: AtomicI64,
    /// What it would show if it had never been set.
    passed: AtomicI64,
}

impl Default for ManualClock {
    fn default() -> Self {
        let start = 1_794_700_000_000;
        Self { shown: AtomicI64::new(start), passed: AtomicI64::new(start) }
    }
}

impl ManualClock {
    /// Lets time pass.
    pub fn advance(&self, duration: Duration) {
        self.set_ahead(duration);
        self.passed.fetch_add(millis(duration), Ordering::SeqCst);
    }

    /// Sets the clock ahead, though no time passes.
    pub fn set_ahead(&self, duration: Duration) {
        self.shown.fetch_add(millis(duration), Ordering::SeqCst);
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).expect("the duration fits 63 bits")
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        Millis(self.shown.load(Ordering::SeqCst))
    }

    fn certain_now(&self) -> Millis {
        self.now().min(Millis(self.passed.load(Ordering::SeqCst)))
    }
}
