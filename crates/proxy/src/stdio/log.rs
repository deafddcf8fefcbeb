//! Our stderr: what the server writes to its own, and what we have to say.
//!
//! The server's stderr is always read, or a server that writes much would stop; what nobody takes from ours is let go,
//! and how much that was is said once there is room again.

use std::io::{self, Read, Write};
use std::process::ChildStderr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Pieces that wait for a slow reader of our stderr.
const WAITING: usize = 256;

/// Writes to our stderr without ever waiting.
#[derive(Clone)]
pub(super) struct Log {
    pieces: SyncSender<Piece>,
    let_go: Arc<AtomicU64>,
}

enum Piece {
    Bytes(Vec<u8>),
    Finish(SyncSender<()>),
}

impl Log {
    /// Begins to pass on what a server writes.
    pub(super) fn start(mut stderr: ChildStderr) -> Self {
        let (pieces, waiting) = sync_channel(WAITING);
        let log = Self { pieces, let_go: Arc::new(AtomicU64::new(0)) };
        let let_go = Arc::clone(&log.let_go);
        thread::spawn(move || write_all(&waiting, &let_go));
        let reader = log.clone();
        thread::spawn(move || {
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                reader.push(buffer[..count].to_vec());
            }
        });
        log
    }

    /// Says something in our own name.
    pub(super) fn say(&self, words: &str) {
        self.push(format!("tidegate: {words}\n").into_bytes());
    }

    fn push(&self, bytes: Vec<u8>) {
        let length = bytes.len() as u64;
        if self.pieces.try_send(Piece::Bytes(bytes)).is_err() {
            self.let_go.fetch_add(length, Ordering::Relaxed);
        }
    }

    /// Waits a moment until everything is written.
    pub(super) fn finish(&self) {
        let (done, wait) = sync_channel(1);
        if self.pieces.try_send(Piece::Finish(done)).is_ok() {
            let _ = wait.recv_timeout(Duration::from_millis(500));
        }
    }
}

fn write_all(waiting: &Receiver<Piece>, let_go: &AtomicU64) {
    loop {
        // The other end is never dropped as long as the process lives.
        match waiting.recv_timeout(Duration::from_secs(3600)) {
            Ok(Piece::Bytes(bytes)) => {
                // Nothing can be done about a stderr that is gone.
                let _ = io::stderr().write_all(&bytes);
            }
            Ok(Piece::Finish(done)) => {
                let _ = done.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let lost = let_go.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let words =
                format!("\ntidegate: {lost} bytes of the server's stderr were let go, as nobody read them\n");
            let _ = io::stderr().write_all(words.as_bytes());
        }
    }
}
