//! Results that crossed as they came, until they are counted and noted in the ledger.
//!
//! Counting takes longer than carrying a message, so it is a chore: done apart, by a thread that lets all others run
//! first. Small results wait for it in one piece of memory that is used again and again: a piece for each would cost more
//! than looking into the message does, most of it for memory that was never touched before. For large ones that is little,
//! and making room for them among the others would be much.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tidegate_core::source::{Part, Source};
use tidegate_gate::raw::Place;
use tidegate_gate::{Caller, Gate, Untouched};

use crate::held::Spool;

/// Notes that wait to be counted; more are not taken, since counting must never hold up a message.
const MOST: usize = 4096;
/// Bytes that wait to be counted, unless one result alone has more.
const MOST_BYTES: usize = 16 << 20;
/// The most bytes of a result that waits among others.
const SMALL: usize = 16 * 1024;
/// Bytes of memory that stay for the next results.
const STAYS: usize = 2 << 20;
/// How long notes are gathered: waking a thread for each would cost more than the notes do, and while calls come in quick
/// succession there is no core to spare for counting.
const GATHERED: Duration = Duration::from_millis(20);
/// How long the last notes may take; losing them is allowed.
const LAST: Duration = Duration::from_secs(1);
/// How often what has expired is taken away.
const SWEEP: Duration = Duration::from_secs(600);
/// When it is taken away first: a client that only asks what the server can do is gone by then.
const FIRST_SWEEP: Duration = Duration::from_secs(10);

/// A result, wherever it is held.
pub(crate) enum Crossed<'r> {
    Memory(&'r [u8]),
    Disk(Part<Spool>),
}

enum Held {
    /// Among the bytes of the batch.
    Here(Place),
    Apart(Vec<u8>),
    Disk(Part<Spool>),
}

struct Note {
    caller: Arc<Caller>,
    /// The tool's name, among the bytes of the batch.
    tool: Place,
    result: Held,
    step: &'static str,
    added_micros: u64,
}

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Bytes of results that are held apart.
    apart: usize,
    notes: Vec<Note>,
}

#[derive(Default)]
struct State {
    waiting: Batch,
    /// Whether somebody waits for the end.
    ending: bool,
}

/// What waits to be counted.
#[derive(Default)]
pub(crate) struct Notes {
    state: Mutex<State>,
    changed: Condvar,
}

impl Batch {
    fn put(&mut self, bytes: &[u8]) -> Place {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    fn is_full(&self, more: usize) -> bool {
        self.notes.len() >= MOST
            || (!self.notes.is_empty() && self.bytes.len() + self.apart + more > MOST_BYTES)
    }

    /// Counts all, and is empty then.
    fn count(&mut self, gate: &Gate) {
        for Note { caller, tool, result, step, added_micros } in self.notes.drain(..) {
            let tool = String::from_utf8_lossy(&self.bytes[tool]);
            let note = |result: &dyn Source| {
                gate.note_untouched(&Untouched { caller: &caller, tool: &tool, step, result, added_micros });
            };
            // One that the engine cannot handle must not take the others with it.
            let _ = catch_unwind(AssertUnwindSafe(|| match &result {
                Held::Here(place) => note(&&self.bytes[place.clone()]),
                Held::Apart(bytes) => note(bytes),
                Held::Disk(part) => note(part),
            }));
        }
        self.apart = 0;
        self.bytes.clear();
        self.bytes.shrink_to(STAYS);
    }
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a result, as long as there is room.
    pub(crate) fn add(
        &self,
        caller: &Arc<Caller>,
        tool: &str,
        step: &'static str,
        result: Crossed<'_>,
        started: Instant,
    ) {
        let added_micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let bytes = if let Crossed::Memory(bytes) = result { bytes } else { b"" };
        let size = bytes.len() + tool.len();
        // Others must not wait for the copy of a large one.
        let apart = bytes.len() > SMALL && !self.lock().waiting.is_full(size);
        let apart = apart.then(|| bytes.to_vec());
        let mut state = self.lock();
        let batch = &mut state.waiting;
        if batch.is_full(size) {
            return;
        }
        let is_first = batch.notes.is_empty();
        let tool = batch.put(tool.as_bytes());
        let result = match (result, apart) {
            (Crossed::Disk(part), _) => Held::Disk(part),
            (Crossed::Memory(bytes), Some(apart)) => {
                batch.apart += bytes.len();
                Held::Apart(apart)
            }
            (Crossed::Memory(bytes), None) => Held::Here(batch.put(bytes)),
        };
        batch.notes.push(Note { caller: Arc::clone(caller), tool, result, step, added_micros });
        drop(state);
        if is_first {
            self.changed.notify_all();
        }
    }

    /// Waits until there is something to do, some time longer for more of it, and takes it; returns whether it is the last.
    fn take(&self, batch: &mut Batch, until: Instant) -> bool {
        let wait = |state, time, so: fn(&mut State) -> bool| {
            self.changed.wait_timeout_while(state, time, so).unwrap_or_else(PoisonError::into_inner).0
        };
        let idle = until.saturating_duration_since(Instant::now());
        let mut state = wait(self.lock(), idle, |state| state.waiting.notes.is_empty() && !state.ending);
        if !state.waiting.notes.is_empty() {
            state = wait(state, GATHERED, |state| !state.ending);
        }
        std::mem::swap(&mut state.waiting, batch);
        state.ending
    }
}

/// The thread that counts and tidies up.
pub struct Chores {
    notes: Arc<Notes>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Chores {
    /// Starts it.
    pub(crate) fn start(gate: Arc<Gate>, notes: Arc<Notes>) -> Self {
        let own = Arc::clone(&notes);
        let work = move || {
            aside();
            let mut batch = Batch::default();
            let mut sweep = Instant::now() + FIRST_SWEEP;
            loop {
                let is_last = own.take(&mut batch, sweep);
                batch.count(&gate);
                if is_last {
                    return gate.keep().flush();
                }
                if Instant::now() >= sweep {
                    gate.keep().sweep();
                    sweep = Instant::now() + SWEEP;
                }
            }
        };
        // Without the thread nothing is counted, and everything else goes on.
        Self { notes, thread: thread::Builder::new().name("tidegate-chores".into()).spawn(work).ok() }
    }

    /// Ends it once every note is written, or after a while.
    pub fn finish(self) {
        self.notes.lock().ending = true;
        self.notes.changed.notify_all();
        let until = Instant::now() + LAST;
        while Instant::now() < until && self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Lets every other thread run first: counting must never hold up a message.
fn aside() {
    // On Linux this is about the calling thread alone. Where it is refused it only takes its turn as others do.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 19);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(notes: &Notes, caller: &Arc<Caller>, result: &[u8]) -> usize {
        notes.add(caller, "rows", "pass", Crossed::Memory(result), Instant::now());
        notes.lock().waiting.notes.len()
    }

    #[test]
    fn what_waits_is_bounded() {
        let (notes, caller) = (Notes::default(), Arc::new(Caller::unknown(Vec::new())));
        for count in 1..=MOST {
            assert_eq!(add(&notes, &caller, b"{}"), count);
        }
        assert_eq!(add(&notes, &caller, b"{}"), MOST, "no more than that");
        let notes = Notes::default();
        let half = vec![b' '; MOST_BYTES / 2];
        let counts: Vec<usize> =
            [&half[..], &half, b"{}"].map(|result| add(&notes, &caller, result)).to_vec();
        assert_eq!(counts, [1, 1, 2], "one that has room is taken behind one that has none");
        let (notes, larger) = (Notes::default(), vec![b' '; MOST_BYTES + 1]);
        assert_eq!(
            (add(&notes, &caller, &larger), add(&notes, &caller, b"{}")),
            (1, 1),
            "one alone may be larger"
        );
    }

    #[test]
    fn what_was_taken_is_what_came_and_its_memory_is_used_again() {
        let (notes, caller) = (Notes::default(), Arc::new(Caller::unknown(Vec::new())));
        let mut batch = Batch::default();
        for round in 0..3_u8 {
            let results: Vec<Vec<u8>> =
                (0..50).map(|index| vec![index + round; usize::from(index) * 500]).collect();
            for result in &results {
                add(&notes, &caller, result);
            }
            assert!(!notes.take(&mut batch, Instant::now()));
            let found: Vec<&[u8]> = batch
                .notes
                .iter()
                .map(|note| match &note.result {
                    Held::Here(place) => &batch.bytes[place.clone()],
                    Held::Apart(bytes) => bytes,
                    Held::Disk(_) => panic!("nothing is on disk"),
                })
                .collect();
            assert_eq!(found, results);
            assert!(batch.notes.iter().all(|note| batch.bytes[note.tool.clone()] == *b"rows"));
            batch.notes.clear();
            batch.bytes.clear();
        }
    }
}
