//! Threads that take jobs from a queue.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Starts threads that do `work` with each job that is sent.
pub(crate) fn start<J: Send + 'static>(
    threads: usize,
    work: impl Fn(J) + Send + Sync + 'static,
) -> Sender<J> {
    let (sender, waiting) = channel();
    serve(threads, waiting, work);
    sender
}

/// Starts threads that take jobs from a queue, until all its senders are gone.
pub(crate) fn serve<J: Send + 'static>(
    threads: usize,
    waiting: Receiver<J>,
    work: impl Fn(J) + Send + Sync + 'static,
) {
    let shared = Arc::new((Mutex::new(waiting), work));
    for _ in 0..threads {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let (waiting, work) = &*shared;
            loop {
                let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(job) = next else { return };
                work(job);
            }
        });
    }
}
