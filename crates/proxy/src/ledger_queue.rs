//! The queue of results that were forwarded unchanged. A background thread counts their tokens, notes them in the ledger,
//! and stores them if a policy says so.
//!
//! Counting takes longer than forwarding a message, so it happens in the background ([`crate::background`]). Small results
//! wait in one buffer that is reused: a buffer for each would cost more than parsing the message does. Large results get a
//! buffer of their own, because moving them into the shared one would hold up other messages.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::source::{Part, Source};
use tidegate_gate::raw::ByteRange;
use tidegate_gate::{Caller, Gate, PassedResult, ToolCall};

use crate::spool::Spool;

/// How many results may wait; further ones are not noted, because counting must never hold up a message.
const MAX_QUEUED: usize = 4096;
/// How many bytes of results may wait, unless one result alone has more.
const MAX_QUEUED_BYTES: usize = 16 << 20;
/// The largest result that is copied into the shared buffer.
const MAX_SHARED_RESULT_BYTES: usize = 16 * 1024;
/// How many bytes of the shared buffer are kept for reuse.
const KEPT_BUFFER_BYTES: usize = 2 << 20;
/// How long results are gathered before they are counted: waking a thread for each would cost more than counting it, and
/// while calls come in quick succession there is no core to spare.
const GATHER_TIME: Duration = Duration::from_millis(20);

/// A result that was forwarded.
pub(crate) enum Forwarded<'r> {
    Memory(&'r [u8]),
    Disk(Part<Spool>),
}

enum QueuedResult {
    /// A range of the batch's shared buffer.
    Shared(ByteRange),
    Own(Vec<u8>),
    Disk(Part<Spool>),
}

struct Entry {
    caller: Arc<Caller>,
    /// The tool's name: a range of the batch's shared buffer.
    tool: ByteRange,
    result: QueuedResult,
    step: &'static str,
    added_micros: u64,
    /// The call, if its result is to be stored.
    kept_call: Option<Box<ToolCall>>,
}

/// Results that are counted together.
#[derive(Default)]
pub(crate) struct Batch {
    shared: Vec<u8>,
    /// Bytes of results with a buffer of their own.
    own_bytes: usize,
    entries: Vec<Entry>,
}

#[derive(Default)]
struct Queue {
    waiting: Batch,
    closed: bool,
}

/// The queue of forwarded results.
#[derive(Default)]
pub(crate) struct LedgerQueue {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Batch {
    fn share(&mut self, bytes: &[u8]) -> ByteRange {
        let start = self.shared.len();
        self.shared.extend_from_slice(bytes);
        start..self.shared.len()
    }

    fn is_full(&self, more_bytes: usize) -> bool {
        let bytes = self.shared.len() + self.own_bytes + more_bytes;
        self.entries.len() >= MAX_QUEUED || (!self.entries.is_empty() && bytes > MAX_QUEUED_BYTES)
    }

    /// Counts the results, notes them in the ledger, and empties the batch.
    pub(crate) fn note_all(&mut self, gate: &Gate) {
        for Entry { caller, tool, result, step, added_micros, kept_call } in self.entries.drain(..) {
            let tool = String::from_utf8_lossy(&self.shared[tool]);
            let note = |result: &dyn Source| {
                gate.note_untouched(&PassedResult {
                    caller: &caller,
                    tool: &tool,
                    step,
                    result,
                    added_micros,
                    kept_call: kept_call.as_deref(),
                });
            };
            // A result that the engine cannot handle must not take the others with it.
            let _ = catch_unwind(AssertUnwindSafe(|| match &result {
                QueuedResult::Shared(range) => note(&&self.shared[range.clone()]),
                QueuedResult::Own(bytes) => note(bytes),
                QueuedResult::Disk(part) => note(part),
            }));
        }
        self.own_bytes = 0;
        self.shared.clear();
        self.shared.shrink_to(KEPT_BUFFER_BYTES);
    }
}

impl LedgerQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a result, unless the queue is full; with a call, the result is also stored.
    pub(crate) fn push(
        &self,
        caller: &Arc<Caller>,
        tool: &str,
        step: &'static str,
        result: Forwarded<'_>,
        started: Instant,
        kept_call: Option<Box<ToolCall>>,
    ) {
        let added_micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let bytes = if let Forwarded::Memory(bytes) = result { bytes } else { b"" };
        let size = bytes.len() + tool.len();
        // A large result is copied outside the lock, so nobody waits for the copy.
        let is_large = bytes.len() > MAX_SHARED_RESULT_BYTES && !self.lock().waiting.is_full(size);
        let own = is_large.then(|| bytes.to_vec());
        let mut queue = self.lock();
        let batch = &mut queue.waiting;
        if batch.is_full(size) {
            return;
        }
        let is_first = batch.entries.is_empty();
        let tool = batch.share(tool.as_bytes());
        let result = match (result, own) {
            (Forwarded::Disk(part), _) => QueuedResult::Disk(part),
            (Forwarded::Memory(bytes), Some(own)) => {
                batch.own_bytes += bytes.len();
                QueuedResult::Own(own)
            }
            (Forwarded::Memory(bytes), None) => QueuedResult::Shared(batch.share(bytes)),
        };
        batch.entries.push(Entry { caller: Arc::clone(caller), tool, result, step, added_micros, kept_call });
        drop(queue);
        if is_first {
            self.changed.notify_all();
        }
    }

    /// Waits for results until a time, gathers more for a moment, and swaps them into a batch. Returns whether the queue
    /// is closed.
    pub(crate) fn take(&self, batch: &mut Batch, until: Instant) -> bool {
        let wait = |queue, time, go_on: fn(&mut Queue) -> bool| {
            self.changed.wait_timeout_while(queue, time, go_on).unwrap_or_else(PoisonError::into_inner).0
        };
        let idle = until.saturating_duration_since(Instant::now());
        let mut queue = wait(self.lock(), idle, |queue| queue.waiting.entries.is_empty() && !queue.closed);
        if !queue.waiting.entries.is_empty() {
            queue = wait(queue, GATHER_TIME, |queue| !queue.closed);
        }
        std::mem::swap(&mut queue.waiting, batch);
        queue.closed
    }

    /// Closes the queue, which wakes the thread that waits for results.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Returns the tool and step of each result that waits.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> Vec<(String, &'static str)> {
        let queue = self.lock();
        let tool =
            |entry: &Entry| String::from_utf8_lossy(&queue.waiting.shared[entry.tool.clone()]).into_owned();
        queue.waiting.entries.iter().map(|entry| (tool(entry), entry.step)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(queue: &LedgerQueue, caller: &Arc<Caller>, result: &[u8]) -> usize {
        queue.push(caller, "rows", "pass", Forwarded::Memory(result), Instant::now(), None);
        queue.lock().waiting.entries.len()
    }

    #[test]
    fn the_queue_is_bounded() {
        let (queue, caller) = (LedgerQueue::default(), Arc::new(Caller::unknown(Vec::new())));
        for count in 1..=MAX_QUEUED {
            assert_eq!(add(&queue, &caller, b"{}"), count);
        }
        assert_eq!(add(&queue, &caller, b"{}"), MAX_QUEUED, "no more than that");
        let queue = LedgerQueue::default();
        let half = vec![b' '; MAX_QUEUED_BYTES / 2];
        let counts: Vec<usize> =
            [&half[..], &half, b"{}"].map(|result| add(&queue, &caller, result)).to_vec();
        assert_eq!(counts, [1, 1, 2], "a small result is taken after a large one that was not");
        let (queue, larger) = (LedgerQueue::default(), vec![b' '; MAX_QUEUED_BYTES + 1]);
        assert_eq!(
            (add(&queue, &caller, &larger), add(&queue, &caller, b"{}")),
            (1, 1),
            "one alone may be larger"
        );
    }

    #[test]
    fn a_batch_holds_what_was_queued_and_its_buffer_is_reused() {
        let (queue, caller) = (LedgerQueue::default(), Arc::new(Caller::unknown(Vec::new())));
        let mut batch = Batch::default();
        for round in 0..3_u8 {
            let results: Vec<Vec<u8>> =
                (0..50).map(|index| vec![index + round; usize::from(index) * 500]).collect();
            for result in &results {
                add(&queue, &caller, result);
            }
            assert!(!queue.take(&mut batch, Instant::now()));
            let found: Vec<&[u8]> = batch
                .entries
                .iter()
                .map(|entry| match &entry.result {
                    QueuedResult::Shared(range) => &batch.shared[range.clone()],
                    QueuedResult::Own(bytes) => bytes,
                    QueuedResult::Disk(_) => panic!("nothing is on disk"),
                })
                .collect();
            assert_eq!(found, results);
            assert!(batch.entries.iter().all(|entry| batch.shared[entry.tool.clone()] == *b"rows"));
            batch.entries.clear();
            batch.shared.clear();
        }
    }
}
