//! Gives the fuzzers access to private items. It is behind a feature, and not part of the public interface.

use std::sync::Arc;

pub use crate::http::fuzzing::{FoundEvent, Stream, events};
use crate::spool::{Limits, LineSplitter, Received};

/// A message that was found in a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Its bytes, from memory or disk.
    Whole(Vec<u8>),
    /// It was too large to hold; its id, if that was read.
    TooLarge(Option<Vec<u8>>),
}

impl From<Received> for Found {
    fn from(received: Received) -> Self {
        match received {
            Received::Message(message) => Self::Whole(message.into_bytes().expect("a spool can be read")),
            Received::TooLarge(too_large) => Self::TooLarge(too_large.id),
        }
    }
}

/// Splits the pieces of a stream into lines; returns them, and the largest number of bytes that were in memory.
pub fn lines<'p>(pieces: impl Iterator<Item = &'p [u8]>, limits: Limits) -> (Vec<Found>, usize) {
    let mut lines = LineSplitter::new(Arc::new(limits));
    let (mut found, mut memory_bytes) = (Vec::new(), 0);
    for piece in pieces {
        lines.push(piece, |line| found.push(Received::from(line).into()));
        memory_bytes = memory_bytes.max(lines.memory_bytes());
    }
    found.extend(lines.finish().map(Found::from));
    (found, memory_bytes)
}
