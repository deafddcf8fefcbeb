//! Calls that wait to be written, and the background thread that writes them in batches.
//!
//! Recording a call only adds to a list: waking the writer each time would cost more than the record itself.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Call;

/// How long the writer waits for more calls to write in the same batch.
const BATCH_DELAY: Duration = Duration::from_millis(250);
/// Number of waiting calls at which the writer stops waiting for more.
const BATCH_CALLS: usize = 1000;

enum WriterMessage {
    /// Calls are waiting; write them soon.
    CallsWaiting,
    /// Write all waiting calls now, then answer.
    Flush(Sender<()>),
}

type WaitingCalls = Arc<Mutex<Vec<Call>>>;

fn lock(waiting: &WaitingCalls) -> MutexGuard<'_, Vec<Call>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calls that wait to be written. Dropping it writes them.
pub(crate) struct CallQueue {
    waiting: WaitingCalls,
    sender: Option<Sender<WriterMessage>>,
    writer: Option<JoinHandle<()>>,
}

impl CallQueue {
    /// Starts the thread that calls `write` with each batch. On a full disk a ledger loses records; calls are answered all
    /// the same.
    pub(crate) fn start(write: impl FnMut(&[Call]) + Send + 'static) -> io::Result<Self> {
        let (sender, receiver) = channel();
        let waiting = WaitingCalls::default();
        let to_write = Arc::clone(&waiting);
        let writer = std::thread::Builder::new()
            .name("tidegate-ledger".into())
            .spawn(move || run_writer(write, &receiver, &to_write))?;
        Ok(Self { waiting, sender: Some(sender), writer: Some(writer) })
    }

    /// Adds a call.
    pub(crate) fn push(&self, call: Call) {
        let count = {
            let mut waiting = lock(&self.waiting);
            waiting.push(call);
            waiting.len()
        };
        if let Some(sender) = self.sender.as_ref().filter(|_| count == 1 || count == BATCH_CALLS) {
            // If the writer has ended, the record is lost, not the call.
            let _ = sender.send(WriterMessage::CallsWaiting);
        }
    }

    /// Waits until all calls added so far are written.
    pub(crate) fn flush(&self) {
        let (done, wait) = channel();
        if self.sender.as_ref().is_some_and(|sender| sender.send(WriterMessage::Flush(done)).is_ok()) {
            // An error means that the writer has ended, with nothing left to write.
            let _ = wait.recv();
        }
    }
}

impl Drop for CallQueue {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(writer) = self.writer.take() {
            // If the writer panicked, the calls it had not written are lost, which is allowed.
            let _ = writer.join();
        }
    }
}

/// The background thread: writes batches until the queue is dropped.
fn run_writer(mut write: impl FnMut(&[Call]), receiver: &Receiver<WriterMessage>, waiting: &WaitingCalls) {
    let mut write_waiting = || {
        let calls = std::mem::take(&mut *lock(waiting));
        if !calls.is_empty() {
            write(&calls);
        }
    };
    while let Ok(first) = receiver.recv() {
        // Waits for more calls, unless somebody waits for a flush or the batch is full.
        let flush = match first {
            WriterMessage::Flush(done) => Some(done),
            WriterMessage::CallsWaiting => match receiver.recv_timeout(BATCH_DELAY) {
                Ok(WriterMessage::Flush(done)) => Some(done),
                _ => None,
            },
        };
        write_waiting();
        if let Some(done) = flush {
            let _ = done.send(());
        }
    }
    write_waiting();
}
