//! Events cut out of a stream, in any pieces, with any limits.
//!
//! Holds: they are those of the stream, with the same data, id and time to wait; what is not changed crosses as it
//! came, byte for byte, where its data is one line; data that is put into an event is the data of that event; one above
//! the cap is told once; and no more is held than may be.

use tidegate_proxy::Limits;
use tidegate_proxy::fuzzing::{Cut, Found, events};

use crate::{input, lines};

/// What a byte that is in no text stands for, up to a size of the whole: lines that are longer than any buffer.
const FILLER: usize = 20_000;
const LARGEST: usize = 200_000;
/// What is held of an event besides its data: other lines, of which one has just begun, and a line end.
const OTHERS: usize = 2 * 64 * 1024 + 64;

/// Runs one input: two bytes of limits, a piece that is the lengths of pieces, then the stream.
pub fn target(mut data: &[u8]) {
    let limits = input::limits(&mut data, 8);
    let lengths = input::piece(&mut data);
    let stream = filled(data);
    let expected = reference(&stream);
    let ends = expected.iter().map(|event| event.raw.len()).sum();
    for lengths in [lengths, &[]] {
        let found = events(input::pieces(&stream, lengths), limits.clone());
        let longest = if lengths.is_empty() { stream.len() } else { 256 };
        let room = 2 * limits.spool_above + OTHERS + longest;
        assert!(found.held <= room, "{} bytes are held", found.held);
        let mut cuts = found.cuts.as_slice();
        for event in &expected {
            cuts = event.check(cuts, &limits);
        }
        match cuts {
            // What follows the last event is no whole one, but may be known to be too long.
            [] | [Cut { data: Some(Found::TooLong(Some(_))), .. }] => {}
            more => panic!("more than the stream has: {more:?}"),
        }
        assert!(stream[ends..].ends_with(&found.rest), "what is left is the end");
    }
}

/// The stream, with its fillers written out.
fn filled(data: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    for byte in data {
        match byte {
            0xff if stream.len() < LARGEST => stream.extend([b'x'; FILLER]),
            byte => stream.push(*byte),
        }
    }
    stream
}

/// An event as the standard has it.
#[derive(Default)]
struct Expected {
    raw: Vec<u8>,
    data: Vec<Vec<u8>>,
    id: Option<String>,
    retry: Option<u64>,
    /// Whether a line is so long that a large event is without it.
    has_long_lines: bool,
}

/// Cuts a stream that is all there, line by line.
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
        self.has_long_lines |= line.len() > FILLER / 2;
    }

    /// Checks the first of some events to be this; returns the others.
    fn check<'c>(&self, cuts: &'c [Cut], limits: &Limits) -> &'c [Cut] {
        let data = self.data.join(&b'\n');
        let is_large = self.raw.len() > limits.spool_above || self.raw.len() as u64 > limits.most;
        let (mut cut, mut rest) = cuts.split_first().expect("every event is found");
        let mut told = None;
        if let Some(found @ Found::TooLong(Some(_))) = &cut.data {
            // Told before it ended; what follows is the event without its data.
            told = Some(found);
            (cut, rest) = rest.split_first().expect("what is told early ends too");
            assert_eq!(cut.data, None, "it is told once");
        }
        match told.or(cut.data.as_ref()) {
            Some(found) => lines::check(found, &data, limits.most),
            None => assert!(data.trim_ascii().is_empty(), "data is found"),
        }
        if !(is_large && self.has_long_lines) {
            assert_eq!((&cut.id, cut.retry), (&self.id, self.retry));
            self.check_bytes(cut, &data, is_large);
        }
        rest
    }

    /// Checks what crosses.
    fn check_bytes(&self, cut: &Cut, data: &[u8], is_large: bool) {
        if !is_large {
            assert_eq!(cut.raw, self.raw, "a small event is all there");
            assert_eq!(cut.as_it_came, self.raw);
        } else if self.data.len() == 1 && cut.with_data.is_some() && data == data.trim_ascii_end() {
            assert_eq!(cut.as_it_came, self.raw, "a large one is put together again");
        }
        let Some(with_data) = &cut.with_data else { return };
        // Something follows, so that a CR at the end is one.
        let again = reference(&[with_data, &b":"[..]].concat());
        assert_eq!(again.len(), 1, "one event stays one: {}", with_data.escape_ascii());
        // White space around it means nothing in JSON.
        let line =
            |data: &[u8]| data.trim_ascii().iter().copied().filter(|byte| *byte != b'\n').collect::<Vec<_>>();
        assert_eq!(line(&again[0].data.join(&b'\n')), line(data), "what is put in is in it");
        assert_eq!((&again[0].id, again[0].retry), (&self.id, self.retry), "other lines stay");
    }
}
