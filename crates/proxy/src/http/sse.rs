//! Server-sent events: splitting a stream of bytes into events without changing them, and writing events.
//!
//! The data of a large event goes to a message buffer, which spools it, and the other lines stay in memory; the event is put
//! together again when it is written.

use std::borrow::Cow;
use std::sync::Arc;

use super::body::Piece;
use crate::spool::{Limits, Message, MessageBuffer, Received, TooLarge};

/// How many bytes of a line tell whether it is a data line.
const DATA_PREFIX_BYTES: usize = b"data: ".len();
/// How many bytes of a large event are kept besides its data; longer lines mean nothing in this protocol.
const MAX_OTHER_BYTES: usize = 64 * 1024;

/// One event, with the bytes that arrived.
#[derive(Debug)]
pub(super) struct Event {
    /// All of it including the empty line at its end, but without its data if the event is large.
    pub(super) raw: Vec<u8>,
    /// The position of the data if it is not in `raw`.
    data_position: Option<usize>,
    /// The joined data; `None` if it is empty or there is no data line, as in a comment.
    pub(super) data: Option<Received>,
    /// The id of the event.
    pub(super) id: Option<String>,
    /// How long to wait before connecting again, in milliseconds.
    pub(super) retry: Option<u64>,
}

impl Event {
    fn read(raw: Vec<u8>) -> Self {
        let mut event = Self { raw: Vec::new(), data_position: None, data: None, id: None, retry: None };
        let mut joined: Option<Vec<u8>> = None;
        for line in lines(&raw) {
            let (name, value) = field(line);
            match name {
                b"data" => match &mut joined {
                    Some(data) => data.extend_from_slice(&[b"\n", value].concat()),
                    None => joined = Some(value.to_vec()),
                },
                b"id" => event.id = Some(String::from_utf8_lossy(value).into_owned()),
                b"retry" => event.retry = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()),
                _ => {}
            }
        }
        event.raw = raw;
        let joined = joined.filter(|data| !data.trim_ascii().is_empty());
        event.data = joined.map(|data| Received::Message(data.into()));
        event
    }

    /// Returns an event in place of one that is too large, before that one has ended.
    fn too_large(too_large: TooLarge) -> Self {
        Self { data: Some(Received::TooLarge(too_large)), ..Self::read(event(None, b"-")) }
    }

    /// Returns the event without the fields that say where to resume: in an event that broke off they may be cut short.
    fn without_position(mut self) -> Self {
        (self.id, self.retry) = (None, None);
        let (raw, position) = (std::mem::take(&mut self.raw), self.data_position);
        let (mut at, mut removed) = (0, 0);
        while at < raw.len() {
            let text_end = memchr::memchr2(b'\n', b'\r', &raw[at..]).map_or(raw.len(), |found| at + found);
            let end = (text_end + line_end(&raw[text_end..])).min(raw.len());
            match field(&raw[at..text_end]).0 {
                b"id" | b"retry" if position.is_some_and(|position| position > at) => removed += end - at,
                b"id" | b"retry" => {}
                _ => self.raw.extend_from_slice(&raw[at..end]),
            }
            at = end;
        }
        self.data_position = position.map(|position| position - removed);
        self
    }

    /// Returns the event with its own data.
    pub(super) fn unchanged(self, data: Message) -> Piece {
        if self.data_position.is_some() { self.with_data(data) } else { self.raw.into() }
    }

    /// Returns the event with other data; its other lines stay unchanged.
    pub(super) fn with_data(&self, data: Message) -> Piece {
        match (self.data_position, data) {
            (None, Message::Memory(data)) => self.with_line(&data).into(),
            (Some(position), Message::Memory(data)) => {
                [&self.raw[..position], &one_line(&data), &self.raw[position..]].concat().into()
            }
            (position, Message::Disk(data)) => {
                let (before, after) = self.raw.split_at(position.unwrap_or(0));
                Piece::Disk(Box::new(data.on_one_line().between(before, after)))
            }
        }
    }

    fn with_line(&self, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(data.len() + 64);
        let mut written = false;
        for line in lines(&self.raw) {
            if field(line).0 != b"data" {
                out.extend_from_slice(line);
                out.push(b'\n');
            } else if !written {
                written = true;
                out.extend_from_slice(b"data: ");
                out.extend_from_slice(&one_line(data));
                out.push(b'\n');
            }
        }
        // `lines` also yields the empty line that ends the event.
        out
    }
}

/// Returns data as one line: line ends are only white space in JSON, but would end the data here.
fn one_line(data: &[u8]) -> Cow<'_, [u8]> {
    let data = data.trim_ascii_end();
    match memchr::memchr2(b'\n', b'\r', data) {
        Some(_) => data.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect(),
        None => data.into(),
    }
}

/// Writes an event.
pub(super) fn event(id: Option<&str>, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 64);
    if let Some(id) = id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    // An event without data only gives the client an id to resume from, and the time to wait.
    out.extend_from_slice(if data.is_empty() { b"retry: 1000\n" } else { b"event: message\n" });
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(&one_line(data));
    out.extend_from_slice(b"\n\n");
    out
}

/// Writes an event with a message as its data.
pub(super) fn event_of(id: Option<&str>, message: Message) -> Piece {
    match message {
        Message::Memory(data) => event(id, &data).into(),
        Message::Disk(data) => {
            let around = event(id, b"-");
            // The placeholder is followed by two line ends.
            let (before, after) = around.split_at(around.len() - 3);
            Piece::Disk(Box::new(data.on_one_line().between(before, &after[1..])))
        }
    }
}

/// Splits a stream of bytes into events.
pub(super) struct EventSplitter {
    limits: Arc<Limits>,
    buffer: Vec<u8>,
    /// No event ends before here.
    searched: usize,
    /// The event that has become too large for the buffer.
    large: Option<LargeEvent>,
}

impl EventSplitter {
    /// Returns a splitter of a stream that has not begun.
    pub(super) fn new(limits: Arc<Limits>) -> Self {
        Self { limits, buffer: Vec::new(), searched: 0, large: None }
    }

    /// Takes bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next whole event.
    pub(super) fn next(&mut self) -> Option<Event> {
        if let Some(large) = &mut self.large {
            let taken = large.push(&self.buffer);
            self.buffer.drain(..taken);
            if let Some(too_large) = large.data.overflow() {
                return Some(Event::too_large(too_large));
            }
            let event = large.finish()?;
            self.large = None;
            return Some(event);
        }
        let end = self.end();
        // The size of an event counts, not whether it arrived in one piece.
        if end.unwrap_or(self.buffer.len()) as u64 > self.limits.max_memory_bytes() {
            self.searched = 0;
            self.large = Some(LargeEvent::new(Arc::clone(&self.limits)));
            return self.next();
        }
        let end = end?;
        let rest = self.buffer.split_off(end);
        let raw = std::mem::replace(&mut self.buffer, rest);
        self.searched = 0;
        Some(Event::read(raw))
    }

    /// Ends the stream; returns the data of the event that only lacks the empty line at its end, or a part of that data.
    pub(super) fn last(&mut self) -> Option<Event> {
        if self.buffer.is_empty() && self.large.is_none() {
            return None;
        }
        self.push(b"\n\n");
        let event = self.next()?;
        event.data.is_some().then(|| event.without_position())
    }

    /// Returns what came after the last event, unless it is large.
    #[cfg(feature = "fuzzing")]
    pub(super) fn rest(self) -> Vec<u8> {
        self.buffer
    }

    /// Returns how many bytes are in memory.
    #[cfg(feature = "fuzzing")]
    pub(super) fn memory_bytes(&self) -> usize {
        let large = self.large.as_ref();
        let bytes = |large: &LargeEvent| large.raw.len() + large.line_start.len() + large.data.memory_bytes();
        self.buffer.len() + large.map_or(0, bytes)
    }

    /// Returns the end of the first event: after a line end that is followed by another.
    fn end(&mut self) -> Option<usize> {
        let mut at = self.searched;
        while let Some(found) = memchr::memchr2(b'\n', b'\r', &self.buffer[at..]).map(|found| at + found) {
            let first = found + line_end(&self.buffer[found..]);
            match self.buffer.get(first) {
                None => {
                    self.searched = found;
                    return None;
                }
                Some(b'\n' | b'\r') => {
                    // A CR at the end of the buffer may be half of a CR LF.
                    if self.buffer[first] == b'\r' && self.buffer.len() == first + 1 {
                        self.searched = found;
                        return None;
                    }
                    return Some(first + line_end(&self.buffer[first..]));
                }
                Some(_) => at = first,
            }
        }
        self.searched = self.buffer.len();
        None
    }
}

/// An event that is too large for the buffer of its stream.
struct LargeEvent {
    /// Everything but the data.
    raw: Vec<u8>,
    data_position: Option<usize>,
    data: MessageBuffer,
    /// Whether the current line is a data line.
    in_data: bool,
    /// The start of the current line, while it is not known to be a data line.
    line_start: Vec<u8>,
    /// Whether a line has ended: an empty line before all others does not end the event.
    has_lines: bool,
    over: bool,
}

impl LargeEvent {
    fn new(limits: Arc<Limits>) -> Self {
        Self {
            raw: Vec::new(),
            data_position: None,
            data: MessageBuffer::new(limits),
            in_data: false,
            line_start: Vec::new(),
            has_lines: false,
            over: false,
        }
    }

    /// Takes bytes up to the end of the event and returns how many. A CR as the very last byte is not taken, because it may
    /// be half of a CR LF.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() && !self.over {
            let rest = &bytes[at..];
            let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            if end > 0 {
                self.push_inside_line(&rest[..end]);
                at += end;
                continue;
            }
            if rest == b"\r" {
                return at;
            }
            let length = line_end(rest);
            self.end_line(&rest[..length]);
            at += length;
        }
        at
    }

    /// Takes a part of a line.
    fn push_inside_line(&mut self, bytes: &[u8]) {
        if self.in_data {
            return self.data.push(bytes);
        }
        if self.line_start.len() <= MAX_OTHER_BYTES {
            self.line_start.extend_from_slice(bytes);
        }
        if self.line_start.len() >= DATA_PREFIX_BYTES && self.line_start.starts_with(b"data:") {
            let line = std::mem::take(&mut self.line_start);
            self.begin_data(&line);
        }
    }

    fn begin_data(&mut self, line: &[u8]) {
        let value = field(line).1;
        if self.data_position.is_none() {
            let name = &line[..line.len() - value.len()];
            // A line may be a name alone, but a value can only follow a colon.
            self.raw.extend_from_slice(if name == b"data" { b"data:" } else { name });
            self.data_position = Some(self.raw.len());
        } else {
            self.data.push(b"\n");
        }
        self.in_data = true;
        self.data.push(value);
    }

    fn end_line(&mut self, end: &[u8]) {
        let line = std::mem::take(&mut self.line_start);
        if !self.in_data && field(&line).0 == b"data" {
            self.begin_data(&line);
        }
        let has_lines = std::mem::replace(&mut self.has_lines, true);
        if !std::mem::take(&mut self.in_data) {
            self.over = line.is_empty() && has_lines;
            // The line that ends the event is always kept.
            if self.over || self.raw.len() + line.len() <= MAX_OTHER_BYTES {
                // A CR and an LF with data between them must not become one line end.
                if line.is_empty() && end == b"\n" && self.raw.ends_with(b"\r") {
                    self.raw.push(b'\n');
                }
                self.raw.extend_from_slice(&[&line, end].concat());
            }
        } else if self.data_position == Some(self.raw.len()) {
            // The line ends between data lines are in the data.
            self.raw.extend_from_slice(end);
        }
    }

    /// Returns the event if it has ended.
    fn finish(&mut self) -> Option<Event> {
        if !self.over {
            return None;
        }
        let event = Event::read(std::mem::take(&mut self.raw));
        let data = if self.data.is_empty() { None } else { self.data.finish() };
        Some(Event { data_position: self.data_position, data, ..event })
    }
}

fn line_end(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\r\n") { 2 } else { 1 }
}

/// Returns the lines of an event, including the empty one at its end.
fn lines(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = &rest[(end + line_end(&rest[end..])).min(rest.len())..];
        Some(line)
    })
}

fn field(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b':', line) {
        Some(colon) => (&line[..colon], line[colon + 1..].strip_prefix(b" ").unwrap_or(&line[colon + 1..])),
        None => (line, b""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], step: usize, spool_above: usize) -> Vec<Event> {
        let limits = Limits { spool_above, max_message_bytes: 1000, folder: None };
        let mut events = EventSplitter::new(Arc::new(limits));
        let mut out = Vec::new();
        for piece in bytes.chunks(step) {
            events.push(piece);
            while let Some(event) = events.next() {
                out.push(event);
            }
        }
        out
    }

    fn data(event: &mut Event) -> Option<Vec<u8>> {
        match event.data.take()? {
            Received::Message(message) => message.into_bytes().ok(),
            Received::TooLarge(_) => panic!("nothing is that large"),
        }
    }

    fn bytes(piece: Piece) -> Vec<u8> {
        match piece {
            Piece::Bytes(bytes) => bytes.to_vec(),
            Piece::Disk(spooled) => Message::Disk(spooled).into_bytes().unwrap(),
        }
    }

    const STREAM: &[u8] = b": hello\n\nid: 7\nevent: message\ndata: {\"a\":1}\n\nretry: 500\r\ndata: x\r\ndata: y\r\n\r\ndata:z\n\n";

    #[test]
    fn events_are_the_same_whatever_the_pieces() {
        for (step, spool_above) in (1..STREAM.len()).flat_map(|step| [(step, 1000), (step, 0), (step, 12)]) {
            let mut events = all(STREAM, step, spool_above);
            assert_eq!(events.len(), 4, "{step} {spool_above}");
            let ids: Vec<_> = events.iter().map(|event| (event.id.as_deref(), event.retry)).collect();
            assert_eq!(ids, [(None, None), (Some("7"), None), (None, Some(500)), (None, None)]);
            if spool_above == 1000 {
                let joined: Vec<u8> = events.iter().flat_map(|event| event.raw.clone()).collect();
                assert_eq!(joined, STREAM, "every byte is in some event");
            }
            let found: Vec<_> = events.iter_mut().map(data).collect();
            let expected = [None, Some(&b"{\"a\":1}"[..]), Some(b"x\ny"), Some(b"z")];
            assert_eq!(found, expected.map(|data| data.map(<[u8]>::to_vec)), "{step} {spool_above}");
        }
    }

    #[test]
    fn a_large_event_is_forwarded_unchanged() {
        for step in [1, 7, 20] {
            let stream = b"id: 7\ndata:{\"id\":1,\"result\":[1,2,3]}\r\nretry: 5\n\n";
            let mut event = all(stream, step, 10).remove(0);
            let Some(Received::Message(data)) = event.data.take() else { panic!() };
            assert!(matches!(data, Message::Disk(_)));
            assert_eq!(bytes(event.with_data(data)), stream);
            assert_eq!(bytes(event.with_data(b"{}".to_vec().into())), b"id: 7\ndata:{}\r\nretry: 5\n\n");
        }
    }

    #[test]
    fn an_event_that_is_too_large_is_reported_before_its_end() {
        let stream = [b"data: {\"id\":3,\"result\":\"", &[b'x'; 2000][..]].concat();
        let events = all(&stream, 100, 10);
        assert_eq!(events.len(), 1);
        assert!(
            matches!(&events[0].data, Some(Received::TooLarge(found)) if found.id.as_deref() == Some(b"3"))
        );
        assert_eq!(bytes(events[0].with_data(b"{}".to_vec().into())), b"event: message\ndata: {}\n\n");
    }

    #[test]
    fn small_data_among_long_lines_is_not_lost() {
        let stream = b": a comment that is longer than the limit\ndata\ndata: {\ndata: }\n\n";
        let mut event = all(stream, 20, 12).remove(0);
        let Some(Received::Message(data)) = event.data.take() else { panic!() };
        assert_eq!(data.as_bytes(), Some(&b"\n{\n}"[..]));
        let out = bytes(event.unchanged(data));
        assert_eq!(out, b": a comment that is longer than the limit\ndata:{}\n\n");
    }

    #[test]
    fn different_line_ends_stay_apart_without_the_data() {
        let mut event = all(b"data: a\rdata: b\r\n\n", 64, 10).remove(0);
        let Some(Received::Message(data)) = event.data.take() else { panic!() };
        assert_eq!(bytes(event.unchanged(data)), b"data: ab\r\n\n");
    }

    #[test]
    fn new_data_of_several_lines_is_one_line() {
        let event = &all(b"data: {\ndata: }\n\n", 64, 1000)[0];
        assert_eq!(bytes(event.with_data(b"{\n\r\n}\n".to_vec().into())), b"data: {}\n\n");
    }

    #[test]
    fn an_event_that_arrives_at_once_is_too_large_too() {
        let stream = [b"data: {\"id\":3,\"result\":\"", &[b'x'; 2000][..], b"\"}\n\ndata: y\n\n"].concat();
        let events = all(&stream, stream.len(), 5000);
        let long: Vec<bool> =
            events.iter().map(|event| matches!(event.data, Some(Received::TooLarge(_)))).collect();
        assert_eq!(long, [true, false, false]);
    }

    #[test]
    fn an_event_that_breaks_off_says_nothing_about_its_position() {
        let last = |stream: &[u8], spool_above| {
            let limits = Limits { spool_above, max_message_bytes: 1000, folder: None };
            let mut events = EventSplitter::new(Arc::new(limits));
            events.push(stream);
            assert!(events.next().is_none());
            let mut event = events.last()?;
            assert_eq!((event.id.as_deref(), event.retry), (None, None));
            let Some(Received::Message(data)) = event.data.take() else { panic!() };
            Some(bytes(event.unchanged(data)))
        };
        for spool_above in [1000, 10] {
            let found = last(b"id: 1\nretry: 5\nevent: message\ndata: {\"a\":1}\nid: 12", spool_above);
            assert_eq!(found.unwrap().trim_ascii_end(), b"event: message\ndata: {\"a\":1}");
            assert_eq!(last(b": hello\nid: 12", spool_above), None);
        }
    }

    #[test]
    fn other_lines_survive_new_data() {
        let event = &all(b"id: 7\nevent: message\ndata: old\nretry: 5\n\n", 64, 1000)[0];
        let with = bytes(event.with_data(b"new\n".to_vec().into()));
        assert_eq!(with, b"id: 7\nevent: message\ndata: new\nretry: 5\n\n");
        assert_eq!(super::event(Some("1"), b"{}\n"), b"id: 1\nevent: message\ndata: {}\n\n");
    }
}
