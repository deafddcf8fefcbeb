//! Access to the event splitter for the fuzzers.

use std::sync::Arc;

use super::body::Piece;
use super::sse::{Event, EventSplitter};
use crate::fuzzing::Found;
use crate::spool::{Limits, Message, Received};

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundEvent {
    /// Its bytes, without its data if the event is large.
    pub raw: Vec<u8>,
    /// Its data.
    pub data: Option<Found>,
    /// Its id.
    pub id: Option<String>,
    /// How long to wait before connecting again.
    pub retry: Option<u64>,
    /// The event as it is forwarded when nothing is changed.
    pub unchanged: Vec<u8>,
    /// The event as it is written when its data is replaced by the same data.
    pub with_data: Option<Vec<u8>>,
}

/// What was found in a stream.
#[derive(Debug)]
pub struct Stream {
    /// The events.
    pub events: Vec<FoundEvent>,
    /// What came after the last of them.
    pub rest: Vec<u8>,
    /// The largest number of bytes that were in memory.
    pub memory_bytes: usize,
}

/// Splits the pieces of a stream into events.
pub fn events<'p>(pieces: impl Iterator<Item = &'p [u8]>, limits: Limits) -> Stream {
    let mut splitter = EventSplitter::new(Arc::new(limits));
    let (mut events, mut memory_bytes) = (Vec::new(), 0);
    for piece in pieces {
        splitter.push(piece);
        while let Some(event) = splitter.next() {
            events.push(found(event));
        }
        memory_bytes = memory_bytes.max(splitter.memory_bytes());
    }
    Stream { events, rest: splitter.rest(), memory_bytes }
}

fn found(mut event: Event) -> FoundEvent {
    let (raw, id, retry) = (event.raw.clone(), event.id.take(), event.retry);
    let found = FoundEvent { unchanged: raw.clone(), raw, data: None, id, retry, with_data: None };
    match event.data.take() {
        None => found,
        Some(Received::Message(message)) => {
            let copy = || match &message {
                Message::Memory(bytes) => Message::Memory(bytes.clone()),
                Message::Disk(spooled) => Message::Disk(spooled.clone()),
            };
            let with_data = Some(bytes(event.with_data(copy())));
            let unchanged = bytes(event.unchanged(copy()));
            FoundEvent { data: Some(Received::Message(message).into()), unchanged, with_data, ..found }
        }
        Some(too_large) => FoundEvent { data: Some(too_large.into()), ..found },
    }
}

fn bytes(piece: Piece) -> Vec<u8> {
    match piece {
        Piece::Bytes(bytes) => bytes.to_vec(),
        Piece::Disk(spooled) => Message::Disk(spooled).into_bytes().expect("a spool can be read"),
    }
}
