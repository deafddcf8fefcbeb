//! Removes expired results now and then, for as long as the server lives, and writes the last entries of the ledger when it
//! ends.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tidegate_gate::UserStore;

/// How often expired results are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);

/// A thread that removes expired results, started when the first result may be kept.
#[derive(Default)]
pub(crate) struct SweepThread {
    /// The thread ends when the sender is dropped.
    thread: OnceLock<(Sender<()>, Arc<UserStore>)>,
}

impl Drop for SweepThread {
    fn drop(&mut self) {
        if let Some((_, keep)) = self.thread.get() {
            keep.flush();
        }
    }
}

impl SweepThread {
    /// Starts the thread, unless it runs already.
    pub(crate) fn start(&self, keep: &Arc<UserStore>) {
        self.start_with(keep, SWEEP_INTERVAL);
    }

    fn start_with(&self, keep: &Arc<UserStore>, interval: Duration) {
        self.thread.get_or_init(|| {
            let (sender, receiver) = channel();
            let swept = Arc::downgrade(keep);
            let work = move || {
                while receiver.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                    swept.upgrade().iter().for_each(|keep| keep.sweep());
                }
            };
            // If the thread cannot be started, the sweep of another process removes expired results.
            let _ = std::thread::Builder::new().name("tidegate-sweeper".into()).spawn(work);
            (sender, Arc::clone(keep))
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tidegate_gate::StoreLocation;
    use tidegate_store::Description;
    use tidegate_testkit::clock::ManualClock;

    use super::*;

    /// Regression: expired results stayed on disk.
    #[test]
    fn expired_results_are_removed() {
        let clock = Arc::new(ManualClock::default());
        let keep = UserStore::of_user(StoreLocation::Memory).with_clock(Arc::<ManualClock>::clone(&clock));
        let keep = Arc::new(keep);
        for ttl in [60, 6000] {
            let new = keep.new_artifact("list", Duration::from_secs(ttl));
            keep.put(&new, &b"{}".as_slice(), &|| Ok(Description::default())).unwrap();
        }
        let sweeper = SweepThread::default();
        sweeper.start_with(&keep, Duration::from_millis(5));
        clock.advance(Duration::from_secs(100));
        let left = || keep.open().unwrap().store.usage().unwrap().artifacts;
        let began = Instant::now();
        while left() > 1 && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(left(), 1);
    }
}
