//! What a server says on stderr, as far as it is worth telling.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Lines that are remembered, and bytes of each.
const LINES: usize = 8;
const LINE: u64 = 300;
/// How long the last words of a server that has ended may take.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Remembers the last lines of a stream.
pub(super) struct Said {
    lines: Arc<Mutex<VecDeque<String>>>,
    ended: Receiver<()>,
}

impl Said {
    /// Returns what remembers, and what to write to.
    pub(super) fn listen() -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, ended) = channel();
        let into = Arc::clone(&lines);
        thread::spawn(move || {
            remember(reader, &into);
            // Nobody may be waiting.
            let _ = sender.send(());
        });
        Ok((Self { lines, ended }, writer))
    }

    /// Returns the last lines. Something that a server left behind may hold the stream open, so this does not wait long.
    pub(super) fn last(self) -> Vec<String> {
        let _ = self.ended.recv_timeout(LAST_WORDS);
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

fn remember(reader: PipeReader, into: &Mutex<VecDeque<String>>) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while (&mut reader).take(LINE).read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if text.is_empty() {
            continue;
        }
        let mut lines = into.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
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
    fn the_last_lines_are_remembered() {
        let (said, mut writer) = Said::listen().unwrap();
        for number in 0..20 {
            writeln!(writer, "line {number}\n").unwrap();
        }
        write!(writer, "{}", "x".repeat(400)).unwrap();
        drop(writer);
        let last = said.last();
        assert_eq!(
            (last.len(), last[0].as_str(), last[6].len(), last[7].len()),
            (LINES, "line 14", 300, 100)
        );
    }
}
