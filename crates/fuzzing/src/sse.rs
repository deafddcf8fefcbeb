//! Splits a stream that arrives in any pieces into server-sent events, with any limits.
//!
//! Invariants: the events are those of the stream, with the same data, id and retry time; an event whose data is one line is
//! forwarded byte for byte unless it is changed; replacing the data of an event changes nothing else; an event above the
//! limit is reported once; and no more is held in memory than the limit allows.

use tidegate_proxy::Limits;
use tidegate_proxy::fuzzing::{Cut, Found, events};

use crate::{input, lines};

/// Bytes that replace each 0xff of the input, so that a short input has lines longer than any buffer.
const FILLER_BYTES: usize = 20_000;
/// Size of the stream from which on fillers are not written out.
const MAX_FILLED_BYTES: usize = 200_000;
/// Bytes held of an event besides its data: other lines, one of which has just begun, and a line end.
const OTHER_LINES_BYTES: usize = 2 * 64 * 1024 + 64;

/// Runs one input: two bytes for the limits, a piece with the lengths of the pieces, then the stream.
pub fn target(mut data: &[u8]) {
    let limits = input::limits(&mut data, 8);
    let lengths = input::piece(&mut data);
    let stream = filled(data);
    let expected = reference(&stream);
    let ends = expected.iter().map(|event| event.raw.len()).sum();
    for lengths in [lengths, &[]] {
        let found = events(input::pieces(&stream, lengths), limits.clone());
        let longest = if lengths.is_empty() { stream.len() } else { 256 };
        let max_held = 2 * limits.spool_above + OTHER_LINES_BYTES + longest;
        assert!(found.held <= max_held, "{} bytes are held in memory", found.held);
        let mut cuts = found.cuts.as_slice();
        for event in &expected {
            cuts = event.check(cuts, &limits);
        }
        match cuts {
            // An incomplete event may follow, if it is already known to be too long.
            [] | [Cut { data: Some(Found::TooLong(Some(_))), .. }] => {}
            more => panic!("more events than the stream has: {more:?}"),
        }
        assert!(stream[ends..].ends_with(&found.rest), "what is left is the end");
    }
}

/// Returns the stream with its fillers written out.
fn filled(data: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    for byte in data {
        match byte {
            0xff if stream.len() < MAX_FILLED_BYTES => stream.extend([b'x'; FILLER_BYTES]),
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

/// Splits a complete stream into events, line by line.
fn reference(stream: &[u8]) -> Vec<Expected> {
    // A final CR may be the first half of CR LF.
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

    /// Checks that the first of some found events is this one; returns the others.
    fn check<'c>(&self, cuts: &'c [Cut], limits: &Limits) -> &'c [Cut] {
        let data = self.data.join(&b'\n');
        let is_large = self.raw.len() > limits.spool_above || self.raw.len() as u64 > limits.most;
        let (mut cut, mut rest) = cuts.split_first().expect("every event is found");
        let mut reported = None;
        if let Some(found @ Found::TooLong(Some(_))) = &cut.data {
            // Reported before it ended; the event itself follows without its data.
            reported = Some(found);
            (cut, rest) = rest.split_first().expect("an event that is reported early ends, too");
            assert_eq!(cut.data, None, "it is reported once");
        }
        match reported.or(cut.data.as_ref()) {
            Some(found) => lines::check(found, &data, limits.most),
            None => assert!(data.trim_ascii().is_empty(), "data is found"),
        }
        if !(is_large && self.has_long_lines) {
            assert_eq!((&cut.id, cut.retry), (&self.id, self.retry));
            self.check_bytes(cut, &data, is_large);
        }
        rest
    }

    /// Checks the bytes that are forwarded.
    fn check_bytes(&self, cut: &Cut, data: &[u8], is_large: bool) {
        if !is_large {
            assert_eq!(cut.raw, self.raw, "a small event is complete");
            assert_eq!(cut.as_it_came, self.raw);
        } else if self.data.len() == 1 && cut.with_data.is_some() && data == data.trim_ascii_end() {
            assert_eq!(cut.as_it_came, self.raw, "a large event is reassembled");
        }
        let Some(with_data) = &cut.with_data else { return };
        // Something follows, so that a final CR is a line end.
        let again = reference(&[with_data, &b":"[..]].concat());
        assert_eq!(again.len(), 1, "one event stays one: {}", with_data.escape_ascii());
        // White space around JSON has no meaning.
        let line =
            |data: &[u8]| data.trim_ascii().iter().copied().filter(|byte| *byte != b'\n').collect::<Vec<_>>();
        assert_eq!(line(&again[0].data.join(&b'\n')), line(data), "the event has the data");
        assert_eq!((&again[0].id, again[0].retry), (&self.id, self.retry), "other lines are unchanged");
    }
}
