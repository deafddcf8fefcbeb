//! The stderr of tidegate: what the server writes to its stderr, and tidegate's own log lines.
//!
//! The server's stderr is always read, because a server that writes to a full pipe would block. If tidegate's own stderr is not
//! read, bytes are dropped, and a line says how many once there is room again.

use std::io::{self, Read, Write};
use std::process::ChildStderr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// How many pieces may wait for a slow reader of stderr.
const MAX_WAITING_PIECES: usize = 256;

/// Writes to stderr without ever waiting.
#[derive(Clone)]
pub(super) struct Log {
    pieces: SyncSender<Piece>,
    dropped_bytes: Arc<AtomicU64>,
}

enum Piece {
    Bytes(Vec<u8>),
    Finish(SyncSender<()>),
}

impl Log {
    /// Starts to forward the stderr of a server.
    pub(super) fn start(mut stderr: ChildStderr) -> Self {
        let (pieces, waiting) = sync_channel(MAX_WAITING_PIECES);
        let log = Self { pieces, dropped_bytes: Arc::new(AtomicU64::new(0)) };
        let dropped_bytes = Arc::clone(&log.dropped_bytes);
        thread::spawn(move || write_all(&waiting, &dropped_bytes));
        let reader = log.clone();
        thread::spawn(move || {
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                reader.push(buffer[..count].to_vec());
            }
        });
        log
    }

    /// Writes a log line of tidegate's.
    pub(super) fn say(&self, line: &str) {
        self.push(format!("tidegate: {line}\n").into_bytes());
    }

    fn push(&self, bytes: Vec<u8>) {
        let length = bytes.len() as u64;
        if self.pieces.try_send(Piece::Bytes(bytes)).is_err() {
            self.dropped_bytes.fetch_add(length, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written, but no longer than half a second.
    pub(super) fn finish(&self) {
        let (done, wait) = sync_channel(1);
        if self.pieces.try_send(Piece::Finish(done)).is_ok() {
            let _ = wait.recv_timeout(Duration::from_millis(500));
        }
    }
}

fn write_all(waiting: &Receiver<Piece>, dropped_bytes: &AtomicU64) {
    loop {
        // The sender lives as long as the process.
        match waiting.recv_timeout(Duration::from_secs(3600)) {
            Ok(Piece::Bytes(bytes)) => {
                // If stderr is gone, there is no place left to report it.
                let _ = io::stderr().write_all(&bytes);
            }
            Ok(Piece::Finish(done)) => {
                let _ = done.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let lost = dropped_bytes.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let line = format!(
                "\ntidegate: dropped {lost} bytes of the server's stderr, because nobody read them\n"
            );
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }
}
