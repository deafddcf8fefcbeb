//! The server's input: written at once as long as the server reads, and else by a thread of its own, so that a server
//! that does not read holds up nobody who writes.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ChildStdin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Bytes that wait for a server that does not read; then whoever writes waits too.
const WAITING: usize = 8 << 20;
/// How long a server may not read before it is looked whether it still should.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

#[derive(Default)]
struct State {
    pipe: Option<ChildStdin>,
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Whether nothing more is to be written once what waits is.
    closing: bool,
}

/// The server's input.
#[derive(Clone)]
pub(super) struct Input {
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Input {
    /// Takes over the pipe, and starts the thread that writes what waits.
    pub(super) fn start(pipe: ChildStdin) -> Self {
        // The flag is one of our end of the pipe, which nobody shares. Without it a full pipe is waited for here.
        let _ = rustix::io::ioctl_fionbio(pipe.as_fd(), true);
        let state = State { pipe: Some(pipe), ..State::default() };
        let input = Self { state: Arc::new((Mutex::new(state), Condvar::new())) };
        let writer = input.clone();
        thread::spawn(move || writer.write_waiting());
        input
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a line, or lets it wait behind others.
    pub(super) fn send(&self, line: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        while state.bytes > WAITING && state.pipe.is_some() {
            state = self.state.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closing || state.pipe.is_none() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let written = if state.waiting.is_empty() { state.write(line)? } else { 0 };
        if written < line.len() {
            state.bytes += line.len() - written;
            state.waiting.push_back(line[written..].to_vec());
            self.state.1.notify_all();
        }
        Ok(())
    }

    /// Ends the input once what waits is written.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        if state.waiting.is_empty() {
            state.pipe = None;
        }
        self.state.1.notify_all();
    }

    fn write_waiting(&self) {
        loop {
            let mut state = self.lock();
            while state.waiting.is_empty() && state.pipe.is_some() {
                state = self.state.1.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            // A handle of its own, so that it can be waited for without the lock; given back at once, since the input
            // ends when the last one is closed.
            let Some(handle) = state.pipe.as_ref().and_then(|pipe| pipe.as_fd().try_clone_to_owned().ok())
            else {
                return;
            };
            drop(state);
            wait_for_room(&handle);
            drop(handle);
            self.write_one();
        }
    }

    fn write_one(&self) {
        let mut state = self.lock();
        let Some(first) = state.waiting.pop_front() else { return };
        match state.write(&first) {
            Ok(written) if written < first.len() => state.waiting.push_front(first[written..].to_vec()),
            Ok(_) => {}
            // The server reads no more.
            Err(_) => {
                state.waiting.clear();
                state.pipe = None;
            }
        }
        state.bytes = state.waiting.iter().map(Vec::len).sum();
        if state.closing && state.waiting.is_empty() {
            state.pipe = None;
        }
        self.state.1.notify_all();
    }
}

impl State {
    /// Writes as much as there is room for.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(pipe) = &self.pipe else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let mut written = 0;
        while written < bytes.len() {
            match rustix::io::write(pipe, &bytes[written..]) {
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(written)
    }
}

fn wait_for_room(handle: &OwnedFd) {
    let mut handles = [PollFd::new(handle, PollFlags::OUT)];
    if poll(&mut handles, Some(&LOOK)).is_err() {
        thread::sleep(Duration::from_millis(10));
    }
}
