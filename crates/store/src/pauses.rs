//! Pauses between attempts at something that failed: each is twice as long as the one before it.

use std::time::{Duration, Instant};

/// The longest pause.
pub(crate) const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The pauses of one operation, and when it gives up.
pub(crate) struct Pauses {
    began: Instant,
    next: Duration,
    timeout: Duration,
}

impl Pauses {
    /// Returns the pauses of an operation that begins now and may take as long as `timeout`.
    pub(crate) fn new(first: Duration, timeout: Duration) -> Self {
        Self { began: Instant::now(), next: first, timeout }
    }

    /// Waits until the next attempt. Returns false, at once, if that would be too late.
    pub(crate) async fn wait(&mut self) -> bool {
        if self.began.elapsed() + self.next > self.timeout {
            return false;
        }
        tokio::time::sleep(self.next).await;
        self.next = (2 * self.next).min(MAX_PAUSE);
        true
    }
}
