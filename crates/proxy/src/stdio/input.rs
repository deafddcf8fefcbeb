//! The input of the server.
//!
//! It is written directly while the server reads; otherwise a thread writes it, so a server that does not read does not block
//! the thread that forwards messages.

use std::collections::VecDeque;
use std::io;
use std::process::ChildStdin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::system::ServerPipe;

/// The maximum number of bytes that wait for a server that does not read; above it, forwarding blocks.
const MAX_WAITING_BYTES: usize = 8 << 20;

#[derive(Default)]
struct InputQueue {
    pipe: Option<ServerPipe>,
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Whether the input ends after the bytes that wait.
    closing: bool,
}

/// The input of the server.
#[derive(Clone)]
pub(super) struct ServerInput {
    queue: Arc<(Mutex<InputQueue>, Condvar)>,
}

impl ServerInput {
    /// Takes over the pipe, and starts the thread that writes bytes that wait.
    pub(super) fn start(pipe: ChildStdin) -> Self {
        let queue = InputQueue { pipe: Some(ServerPipe::new(pipe)), ..InputQueue::default() };
        let input = Self { queue: Arc::new((Mutex::new(queue), Condvar::new())) };
        let writer = input.clone();
        thread::spawn(move || writer.write_waiting());
        input
    }

    fn lock(&self) -> MutexGuard<'_, InputQueue> {
        self.queue.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes lines, or queues them behind others. If too much is queued, it waits for room, at most for `patience`.
    pub(super) fn send(&self, line: &[u8], patience: Option<Duration>) -> io::Result<()> {
        let mut queue = self.lock();
        let is_full = |queue: &mut InputQueue| queue.bytes > MAX_WAITING_BYTES && queue.pipe.is_some();
        queue = match patience {
            None => self.queue.1.wait_while(queue, is_full).unwrap_or_else(PoisonError::into_inner),
            Some(patience) => {
                let waited = self.queue.1.wait_timeout_while(queue, patience, is_full);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        if is_full(&mut queue) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if queue.closing || queue.pipe.is_none() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let written = if queue.waiting.is_empty() { queue.write(line)? } else { 0 };
        if written < line.len() {
            queue.bytes += line.len() - written;
            queue.waiting.push_back(line[written..].to_vec());
            self.queue.1.notify_all();
        }
        Ok(())
    }

    /// Writes a line that the server can do without, unless too much waits already.
    pub(super) fn send_if_room(&self, line: &[u8]) {
        let _ = self.send(line, Some(Duration::ZERO));
    }

    /// Ends the input after the bytes that wait.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        queue.closing = true;
        if queue.waiting.is_empty() {
            queue.pipe = None;
        }
        self.queue.1.notify_all();
    }

    fn write_waiting(&self) {
        loop {
            let mut queue = self.lock();
            while queue.waiting.is_empty() && queue.pipe.is_some() {
                queue = self.queue.1.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            // A handle of its own lets the thread wait without the lock. It is closed at once, because the input ends when
            // the last handle is closed.
            let Some(room) = queue.pipe.as_ref().and_then(ServerPipe::room) else { return };
            drop(queue);
            room.wait();
            drop(room);
            self.write_one();
        }
    }

    fn write_one(&self) {
        let mut queue = self.lock();
        let Some(first) = queue.waiting.pop_front() else { return };
        match queue.write(&first) {
            Ok(written) if written < first.len() => queue.waiting.push_front(first[written..].to_vec()),
            Ok(_) => {}
            // The server reads no more.
            Err(_) => {
                queue.waiting.clear();
                queue.pipe = None;
            }
        }
        queue.bytes = queue.waiting.iter().map(Vec::len).sum();
        if queue.closing && queue.waiting.is_empty() {
            queue.pipe = None;
        }
        self.queue.1.notify_all();
    }
}

impl InputQueue {
    /// Writes as much as the pipe takes; returns how much.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.pipe {
            Some(pipe) => pipe.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}
