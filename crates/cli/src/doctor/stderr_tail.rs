//! The last lines that a server writes to stderr.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The maximum number of lines kept, and the maximum size of each.
const MAX_LINES: usize = 8;
const MAX_LINE_BYTES: u64 = 300;
/// How long to wait for the end of the stream.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// Collects the last lines of a stream.
pub(super) struct StderrTail {
    lines: Arc<Mutex<VecDeque<String>>>,
    ended: Receiver<()>,
}

impl StderrTail {
    /// Returns a collector and the pipe to write to.
    pub(super) fn open() -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, ended) = channel();
        let into = Arc::clone(&lines);
        thread::spawn(move || {
            collect(reader, &into);
            // The receiver may be gone.
            let _ = sender.send(());
        });
        Ok((Self { lines, ended }, writer))
    }

    /// Returns the last lines. A process that the server left behind may hold the stream open, so this waits only
    /// briefly for its end.
    pub(super) fn lines(self) -> Vec<String> {
        let _ = self.ended.recv_timeout(END_TIMEOUT);
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

fn collect(reader: PipeReader, into: &Mutex<VecDeque<String>>) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if text.is_empty() {
            continue;
        }
        let mut lines = into.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_last_lines_are_kept() {
        let (tail, mut writer) = StderrTail::open().unwrap();
        for number in 0..20 {
            writeln!(writer, "line {number}\n").unwrap();
        }
        write!(writer, "{}", "x".repeat(400)).unwrap();
        drop(writer);
        let last = tail.lines();
        assert_eq!(
            (last.len(), last[0].as_str(), last[6].len(), last[7].len()),
            (MAX_LINES, "line 14", 300, 100)
        );
    }
}
