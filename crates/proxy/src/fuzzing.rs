//! What is private here and fuzzed all the same. Behind a feature, and no part of the interface.

use std::sync::Arc;

use crate::held::{Framed, Limits, Lines};
pub use crate::http::fuzzing::{Cut, Stream, events};

/// A message that was cut out of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Its bytes, wherever they were held.
    Whole(Vec<u8>),
    /// It could not be taken; the id that was seen of it.
    TooLong(Option<Vec<u8>>),
}

impl From<Framed> for Found {
    fn from(framed: Framed) -> Self {
        match framed {
            Framed::Message(message) => Self::Whole(message.into_bytes().expect("a spool can be read")),
            Framed::TooLong(too_long) => Self::TooLong(too_long.id),
        }
    }
}

/// Cuts lines out of the pieces of a stream; returns them, and how many bytes were held in memory at most.
pub fn lines<'p>(pieces: impl Iterator<Item = &'p [u8]>, limits: Limits) -> (Vec<Found>, usize) {
    let mut lines = Lines::new(Arc::new(limits));
    let (mut found, mut held) = (Vec::new(), 0);
    for piece in pieces {
        lines.push(piece, |cut| found.push(Framed::from(cut).into()));
        held = held.max(lines.held());
    }
    found.extend(lines.rest().map(Found::from));
    (found, held)
}
