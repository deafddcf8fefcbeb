//! Slots for programs: only a few run at once, the others wait.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// How many programs run at once; each may take much memory.
const MAX_AT_ONCE: usize = 2;

/// The slots of all engines that were cloned from one another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slots(Arc<(Mutex<usize>, Condvar)>);

/// A slot that is taken until it is dropped.
pub(crate) struct Slot<'s>(&'s Slots);

impl Slots {
    /// Waits for a free slot and takes it.
    pub(crate) fn take(&self) -> Slot<'_> {
        let (taken, freed) = &*self.0;
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken >= MAX_AT_ONCE {
            taken = freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += 1;
        Slot(self)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let (taken, freed) = &*self.0.0;
        *taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn only_a_few_run_at_once() {
        let (slots, now, most) = (Slots::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _slot = slots.take();
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(now.load(Ordering::SeqCst), 0);
        assert!((1..=MAX_AT_ONCE).contains(&most.load(Ordering::SeqCst)));
    }
}
