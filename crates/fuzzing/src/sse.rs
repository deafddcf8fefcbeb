//! Reads an event stream that arrives in any pieces, with any limits.
//!
//! Checks that the events found are those of the stream, with the same data, id and retry time; that an event whose data
//! is one line is forwarded byte for byte; that data put into an event is the data of that event; that an event above the
//! limit is reported once; and that no more than the limit is in memory.

use tidegate_proxy::Limits;
use tidegate_proxy::fuzzing::{Found, FoundEvent, events};

use crate::{input, lines};

/// How many bytes replace each byte 0xff of an input, for lines that are longer than any buffer.
const FILLER_BYTES: usize = 20_000;
/// The maximum size of a stream with fillers.
const MAX_STREAM_BYTES: usize = 200_000;
/// How many bytes of an event may be in memory besides its data: its other lines, the start of one, and a line end.
const MAX_OTHER_BYTES: usize = 2 * 64 * 1024 + 64;

/// Runs one input: two bytes of limits, the lengths of the pieces (after their number), then the stream.
pub fn target(mut data: &[u8]) {
    let limits = input::limits(&mut data, 8);
    let lengths = input::piece(&mut data);
    let stream = filled(data);
    let expected = reference(&stream);
    let ends = expected.iter().map(|event| event.raw.len()).sum();
    for lengths in [lengths, &[]] {
        let found = events(input::pieces(&stream, lengths), limits.clone());
        let longest = if lengths.is_empty() { stream.len() } else { 256 };
        let room = 2 * limits.spool_above + MAX_OTHER_BYTES + longest;
        assert!(found.memory_bytes <= room, "{} bytes are in memory", found.memory_bytes);
        let mut events = found.events.as_slice();
        for event in &expected {
            events = event.check(events, &limits);
        }
        match events {
            // The event after the last one is incomplete, but may already be known to be too large.
            [] | [FoundEvent { data: Some(Found::TooLarge(Some(_))), .. }] => {}
            more => panic!("these events are not in the stream: {more:?}"),
        }
        assert!(stream[ends..].ends_with(&found.rest), "the rest is the end of the stream");
    }
}

/// Returns the stream with its fillers.
fn filled(data: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    for byte in data {
        match byte {
            0xff if stream.len() < MAX_STREAM_BYTES => stream.extend([b'x'; FILLER_BYTES]),
            byte => stream.push(*byte),
        }
    }
    stream
}

/// An event as the standard defines it.
#[derive(Default)]
struct Expected {
    raw: Vec<u8>,
    data: Vec<Vec<u8>>,
    id: Option<String>,
    retry: Option<u64>,
    /// Whether a line is so long that it is dropped from a large event.
    has_long_lines: bool,
}

/// Splits a whole stream into events, line by line.
fn reference(stream: &[u8]) -> Vec<Expected> {
    // A CR at the end may be half of a line end.
    let mut rest = stream.strip_suffix(b"\r").unwrap_or(stream);
    let mut events = Vec::new();
    let mut event = Expected::default();
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        let after = end + if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        let ends = end == 0 && !event.raw.is_empty();
        event.raw.extend_from_slice(&rest[..after]);
        event.line(&rest[..end]);
        rest = &rest[after..];
        if ends {
            events.push(std::mem::take(&mut event));
        }
    }
    events
}

impl Expected {
    fn line(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => return self.data.push(value.to_vec()),
            b"id" => self.id = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" => self.retry = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()),
            _ => {}
        }
        self.has_long_lines |= line.len() > FILLER_BYTES / 2;
    }

    /// Checks that the first of some events is this one; returns the others.
    fn check<'e>(&self, events: &'e [FoundEvent], limits: &Limits) -> &'e [FoundEvent] {
        let data = self.data.join(&b'\n');
        let is_large =
            self.raw.len() > limits.spool_above || self.raw.len() as u64 > limits.max_message_bytes;
        let (mut found, mut rest) = events.split_first().expect("every event is found");
        let mut reported = None;
        if let Some(data @ Found::TooLarge(Some(_))) = &found.data {
            // It was reported before it ended; what follows is the event without its data.
            reported = Some(data);
            (found, rest) = rest.split_first().expect("an event that is reported early ends too");
            assert_eq!(found.data, None, "it is reported once");
        }
        match reported.or(found.data.as_ref()) {
            Some(found) => lines::check(found, &data, limits.max_message_bytes),
            None => assert!(data.trim_ascii().is_empty(), "data is found"),
        }
        if !(is_large && self.has_long_lines) {
            assert_eq!((&found.id, found.retry), (&self.id, self.retry));
            self.check_bytes(found, &data, is_large);
        }
        rest
    }

    /// Checks the bytes that are forwarded.
    fn check_bytes(&self, found: &FoundEvent, data: &[u8], is_large: bool) {
        if !is_large {
            assert_eq!(found.raw, self.raw, "a small event is complete");
            assert_eq!(found.unchanged, self.raw);
        } else if self.data.len() == 1 && found.with_data.is_some() && data == data.trim_ascii_end() {
            assert_eq!(found.unchanged, self.raw, "a large one is put together again");
        }
        let Some(with_data) = &found.with_data else { return };
        // Something has to follow, or a CR at the end could be half of a CR LF.
        let again = reference(&[with_data, &b":"[..]].concat());
        assert_eq!(again.len(), 1, "one event stays one: {}", with_data.escape_ascii());
        // White space around JSON is insignificant.
        let line =
            |data: &[u8]| data.trim_ascii().iter().copied().filter(|byte| *byte != b'\n').collect::<Vec<_>>();
        assert_eq!(line(&again[0].data.join(&b'\n')), line(data), "the new data is in the event");
        assert_eq!((&again[0].id, again[0].retry), (&self.id, self.retry), "other lines stay");
    }
}
