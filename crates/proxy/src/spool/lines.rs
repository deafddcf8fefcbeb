//! Splits a stream of bytes into lines, however the stream is cut into pieces. Long lines are spooled as they arrive.
//!
//! A line that arrives whole in one piece is handed out where it is, without a copy.

use std::sync::Arc;

use super::{Limits, MessageBuffer, Received};

/// One line of a stream, with its line end.
#[derive(Debug)]
pub(crate) enum Line<'b> {
    /// It arrived in one piece, which it borrows from.
    InPlace(&'b [u8]),
    /// It was put together from several pieces.
    Buffered(Received),
}

impl Line<'_> {
    /// Returns the bytes if they are in memory.
    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::InPlace(line) => Some(line),
            Self::Buffered(Received::Message(message)) => message.as_bytes(),
            Self::Buffered(Received::TooLarge(_)) => None,
        }
    }
}

impl From<Line<'_>> for Received {
    fn from(line: Line<'_>) -> Self {
        match line {
            Line::InPlace(line) => Self::Message(line.to_vec().into()),
            Line::Buffered(received) => received,
        }
    }
}

/// Splits a stream into lines.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    limits: Arc<Limits>,
    buffer: MessageBuffer,
}

impl LineSplitter {
    /// Returns a splitter of a stream that has not begun.
    pub(crate) fn new(limits: Arc<Limits>) -> Self {
        Self { buffer: MessageBuffer::new(Arc::clone(&limits)), limits }
    }

    /// Takes bytes and hands out the lines that they complete, with their line ends.
    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest).map(|end| end + 1) {
            let (line, after) = rest.split_at(end);
            rest = after;
            if self.buffer.is_empty() && line.len() as u64 <= self.limits.max_memory_bytes() {
                each(Line::InPlace(line));
                continue;
            }
            self.buffer.push(line);
            self.buffer.finish().map(Line::Buffered).map(&mut each);
        }
        if !rest.is_empty() {
            self.buffer.push(rest);
            self.buffer.overflow().map(Received::TooLarge).map(Line::Buffered).map(&mut each);
        }
    }

    /// Returns how many bytes are in memory.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.buffer.memory_bytes()
    }

    /// Ends the stream and returns what came after the last line end.
    pub(crate) fn finish(&mut self) -> Option<Received> {
        if self.buffer.is_empty() { None } else { self.buffer.finish() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_are_the_same_whatever_the_pieces(
            text in "[a-c{}\":,\n]{0,200}",
            step in 1_usize..50,
            spool_above in 0_usize..60,
        ) {
            let limits = Arc::new(Limits { spool_above, max_message_bytes: 1000, folder: None });
            let mut lines = LineSplitter::new(limits);
            let mut found = Vec::new();
            let mut each = |line: Line<'_>| match line.into() {
                Received::Message(message) => found.push(message.into_bytes().unwrap()),
                Received::TooLarge(_) => panic!("nothing is that large"),
            };
            text.as_bytes().chunks(step).for_each(|piece| lines.push(piece, &mut each));
            lines.finish().map(Line::Buffered).map(each);
            let expected: Vec<Vec<u8>> = text.split_inclusive('\n').map(|line| line.as_bytes().to_vec()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
