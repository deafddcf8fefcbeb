//! The cutter of events, for the fuzzers.

use std::sync::Arc;

use super::body::Piece;
use super::sse::{Event, Events};
use crate::fuzzing::Found;
use crate::held::{Framed, Limits, Message};

/// An event that was cut out of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Its bytes, without its data where that is large.
    pub raw: Vec<u8>,
    /// Its data.
    pub data: Option<Found>,
    /// Its id.
    pub id: Option<String>,
    /// How long to wait before connecting again.
    pub retry: Option<u64>,
    /// What crosses where nothing is changed.
    pub as_it_came: Vec<u8>,
    /// What crosses where its data is put into it as if it were new.
    pub with_data: Option<Vec<u8>>,
}

/// What was cut out of a stream.
#[derive(Debug)]
pub struct Stream {
    /// The events.
    pub cuts: Vec<Cut>,
    /// What came after the last of them.
    pub rest: Vec<u8>,
    /// How many bytes were held in memory at most.
    pub held: usize,
}

/// Cuts events out of the pieces of a stream.
pub fn events<'p>(pieces: impl Iterator<Item = &'p [u8]>, limits: Limits) -> Stream {
    let mut events = Events::new(Arc::new(limits));
    let (mut cuts, mut held) = (Vec::new(), 0);
    for piece in pieces {
        events.push(piece);
        while let Some(event) = events.next() {
            cuts.push(cut(event));
        }
        held = held.max(events.held());
    }
    Stream { cuts, rest: events.rest(), held }
}

fn cut(mut event: Event) -> Cut {
    let (raw, id, retry) = (event.raw.clone(), event.id.take(), event.retry);
    let cut = Cut { as_it_came: raw.clone(), raw, data: None, id, retry, with_data: None };
    match event.data.take() {
        None => cut,
        Some(Framed::Message(message)) => {
            let copy = || match &message {
                Message::Memory(bytes) => Message::Memory(bytes.clone()),
                Message::Disk(spooled) => Message::Disk(spooled.clone()),
            };
            let with_data = Some(bytes(event.with_data(copy())));
            let as_it_came = bytes(event.unchanged(copy()));
            Cut { data: Some(Framed::Message(message).into()), as_it_came, with_data, ..cut }
        }
        Some(too_long) => Cut { data: Some(too_long.into()), ..cut },
    }
}

fn bytes(piece: Piece) -> Vec<u8> {
    match piece {
        Piece::Bytes(bytes) => bytes.to_vec(),
        Piece::Disk(spooled) => Message::Disk(spooled).into_bytes().expect("a spool can be read"),
    }
}
