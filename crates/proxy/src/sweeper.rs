//! The schedule for removing expired results from the store.

use std::time::{Duration, Instant};

use tidegate_gate::Gate;

/// How often expired results are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);
/// When they are removed first: a client that only asks what the server can do is gone by then.
const FIRST_SWEEP_AFTER: Duration = Duration::from_secs(10);

/// Removes expired results, and the files that were saved from them, now and then.
pub(crate) struct Sweeper {
    next: Instant,
}

impl Sweeper {
    /// Returns a sweeper whose first sweep is a few seconds away.
    pub(crate) fn new() -> Self {
        Self { next: Instant::now() + FIRST_SWEEP_AFTER }
    }

    /// Returns when the next sweep is due.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Removes expired results if it is time to.
    pub(crate) fn sweep_if_due(&mut self, gate: &Gate) {
        if Instant::now() >= self.next {
            gate.sweep();
            self.next = Instant::now() + SWEEP_INTERVAL;
        }
    }
}
