//! The background thread: it counts forwarded results for the ledger and removes expired ones from the store.
//!
//! It runs at the lowest priority, because neither may hold up a message.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tidegate_gate::Gate;

use crate::ledger_queue::{Batch, LedgerQueue};
use crate::sweeper::Sweeper;
use crate::system;

/// How long the last ledger entries may take to be written; losing them is allowed.
const MAX_FLUSH_TIME: Duration = Duration::from_secs(1);

/// The background thread of a conversation and of all that were made from it.
pub struct Background {
    queue: Arc<LedgerQueue>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Background {
    /// Starts the thread.
    pub(crate) fn start(gate: Arc<Gate>, queue: Arc<LedgerQueue>) -> Self {
        let results = Arc::clone(&queue);
        let work = move || run(&gate, &results);
        // If the thread cannot be started, nothing is counted and everything else works.
        Self { queue, thread: thread::Builder::new().name("tidegate-background".into()).spawn(work).ok() }
    }

    /// Ends the thread once the queue is written to the ledger, or after a second.
    pub fn finish(self) {
        self.queue.close();
        let until = Instant::now() + MAX_FLUSH_TIME;
        while Instant::now() < until && self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn run(gate: &Gate, queue: &LedgerQueue) {
    system::lower_thread_priority();
    let (mut batch, mut sweeper) = (Batch::default(), Sweeper::new());
    loop {
        let is_closed = queue.take(&mut batch, sweeper.next());
        batch.note_all(gate);
        if is_closed {
            return gate.keep().flush();
        }
        sweeper.sweep_if_due(gate);
    }
}
