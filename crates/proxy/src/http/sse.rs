//! Server-sent events: cut out of a stream of bytes without changing them, and written.

use std::borrow::Cow;
use std::sync::Arc;

use super::body::Piece;
use crate::held::{Framed, Intake, Limits, Message, TooLong};

/// One event, with the bytes it came as.
#[derive(Debug)]
pub(super) struct Event {
    /// All of it, to the end of the empty line; without its data where that is large.
    pub(super) raw: Vec<u8>,
    /// Where the data stood, if it is not in `raw`.
    hole: Option<usize>,
    /// The joined data; `None` where it has no data line, as a comment, or an empty one.
    pub(super) data: Option<Framed>,
    /// Its id.
    pub(super) id: Option<String>,
    /// How long to wait before connecting again, in milliseconds.
    pub(super) retry: Option<u64>,
}

impl Event {
    fn read(raw: Vec<u8>) -> Self {
        let mut event = Self { raw: Vec::new(), hole: None, data: None, id: None, retry: None };
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
        event.data = joined.map(|data| Framed::Message(data.into()));
        event
    }

    /// Returns an event that stands for one that cannot be taken, before that has ended.
    fn too_long(too_long: TooLong) -> Self {
        Self { data: Some(Framed::TooLong(too_long)), ..Self::read(event(None, b"-")) }
    }

    /// Returns the event with the data it came with.
    pub(super) fn unchanged(self, data: Message) -> Piece {
        if self.hole.is_some() { self.with_data(data) } else { self.raw.into() }
    }

    /// Returns the event with other data; its other lines stay as they are.
    pub(super) fn with_data(&self, data: Message) -> Piece {
        match (self.hole, data) {
            (None, Message::Memory(data)) => self.with_line(&data).into(),
            (Some(hole), Message::Memory(data)) => {
                [&self.raw[..hole], &one_line(&data), &self.raw[hole..]].concat().into()
            }
            (hole, Message::Disk(data)) => {
                let (before, after) = self.raw.split_at(hole.unwrap_or(0));
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
        // The line that ends the event is empty, so `lines` has handed it on already.
        out
    }
}

/// The data as one line: line ends are left out, which in JSON mean nothing and here would end the data.
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
    // One without data only tells an id to come back with, and when.
    out.extend_from_slice(if data.is_empty() { b"retry: 1000\n" } else { b"event: message\n" });
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(&one_line(data));
    out.extend_from_slice(b"\n\n");
    out
}

/// Writes an event of a message.
pub(super) fn event_of(id: Option<&str>, message: Message) -> Piece {
    match message {
        Message::Memory(data) => event(id, &data).into(),
        Message::Disk(data) => {
            let around = event(id, b"-");
            // What stands for the data is followed by the two line ends.
            let (before, after) = around.split_at(around.len() - 3);
            Piece::Disk(Box::new(data.on_one_line().between(before, &after[1..])))
        }
    }
}

/// Cuts events out of a stream of bytes.
pub(super) struct Events {
    limits: Arc<Limits>,
    buffer: Vec<u8>,
    /// No event ends before here.
    searched: usize,
    /// The event that has become too large for the buffer.
    large: Option<Large>,
}

impl Events {
    /// Returns a stream of which nothing has come.
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
            if let Some(too_long) = large.data.overflow() {
                return Some(Event::too_long(too_long));
            }
            let event = large.ended()?;
            self.large = None;
            return Some(event);
        }
        let end = self.end();
        // What is large is so however it came: all at once too.
        if end.unwrap_or(self.buffer.len()) as u64 > self.limits.in_memory() {
            self.searched = 0;
            self.large = Some(Large::new(Arc::clone(&self.limits)));
            return self.next();
        }
        let end = end?;
        let rest = self.buffer.split_off(end);
        let raw = std::mem::replace(&mut self.buffer, rest);
        self.searched = 0;
        Some(Event::read(raw))
    }

    /// Returns what came after the last whole event, unless it is large.
    pub(super) fn rest(self) -> Vec<u8> {
        self.buffer
    }

    /// Returns how many bytes are held in memory.
    #[cfg(feature = "fuzzing")]
    pub(super) fn held(&self) -> usize {
        let large = self.large.as_ref();
        self.buffer.len() + large.map_or(0, |large| large.raw.len() + large.begun.len() + large.data.held())
    }

    /// Where the first event ends: after a line end that is followed by another.
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
                    // A lone CR at the end of what came may be half of a CR LF.
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

/// An event that is too large for a buffer: its data goes to where large messages are held, line by line.
struct Large {
    /// Everything but the data.
    raw: Vec<u8>,
    hole: Option<usize>,
    data: Intake,
    /// Whether the line that is being read is one of data.
    in_data: bool,
    /// What is known of a line that has just begun.
    begun: Vec<u8>,
    /// Whether a line has come: an empty one before all others ends nothing.
    has_lines: bool,
    over: bool,
}

/// Enough of a line to tell whether it is one of data.
const PREFIX: usize = b"data: ".len();
/// The most bytes of a large event besides its data; what is longer means nothing to anybody.
const OTHERS: usize = 64 * 1024;

impl Large {
    fn new(limits: Arc<Limits>) -> Self {
        Self {
            raw: Vec::new(),
            hole: None,
            data: Intake::new(limits),
            in_data: false,
            begun: Vec::new(),
            has_lines: false,
            over: false,
        }
    }

    /// Takes bytes up to the end of the event; returns how many. The last byte of all is left if it is a CR, since it may
    /// be half of a line end.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() && !self.over {
            let rest = &bytes[at..];
            let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            if end > 0 {
                self.inside(&rest[..end]);
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
    fn inside(&mut self, bytes: &[u8]) {
        if self.in_data {
            return self.data.push(bytes);
        }
        if self.begun.len() <= OTHERS {
            self.begun.extend_from_slice(bytes);
        }
        if self.begun.len() >= PREFIX && self.begun.starts_with(b"data:") {
            let begun = std::mem::take(&mut self.begun);
            self.begin_data(&begun);
        }
    }

    fn begin_data(&mut self, line: &[u8]) {
        let value = field(line).1;
        if self.hole.is_none() {
            let name = &line[..line.len() - value.len()];
            // A name alone is a line too, but nothing can be put after it.
            self.raw.extend_from_slice(if name == b"data" { b"data:" } else { name });
            self.hole = Some(self.raw.len());
        } else {
            self.data.push(b"\n");
        }
        self.in_data = true;
        self.data.push(value);
    }

    fn end_line(&mut self, end: &[u8]) {
        let line = std::mem::take(&mut self.begun);
        if !self.in_data && field(&line).0 == b"data" {
            self.begin_data(&line);
        }
        let has_lines = std::mem::replace(&mut self.has_lines, true);
        if !std::mem::take(&mut self.in_data) {
            self.over = line.is_empty() && has_lines;
            // The line that ends it is never left out.
            if self.over || self.raw.len() + line.len() <= OTHERS {
                // Two line ends with data between them must not become one.
                if line.is_empty() && end == b"\n" && self.raw.ends_with(b"\r") {
                    self.raw.push(b'\n');
                }
                self.raw.extend_from_slice(&[&line, end].concat());
            }
        } else if self.hole == Some(self.raw.len()) {
            // The ends of further data lines are in the data.
            self.raw.extend_from_slice(end);
        }
    }

    fn ended(&mut self) -> Option<Event> {
        if !self.over {
            return None;
        }
        let known = Event::read(std::mem::take(&mut self.raw));
        let data = if self.data.is_empty() { None } else { self.data.finish() };
        Some(Event { hole: self.hole, data, ..known })
    }
}

fn line_end(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\r\n") { 2 } else { 1 }
}

/// The lines of an event, the empty last one included.
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
        let limits = Limits { spool_above, most: 1000, folder: None };
        let mut events = Events::new(Arc::new(limits));
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
            Framed::Message(message) => message.into_bytes().ok(),
            Framed::TooLong(_) => panic!("nothing is that long"),
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
    fn events_are_cut_whatever_the_pieces() {
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
    fn a_large_event_crosses_as_it_came() {
        for step in [1, 7, 20] {
            let stream = b"id: 7\ndata:{\"id\":1,\"result\":[1,2,3]}\r\nretry: 5\n\n";
            let mut event = all(stream, step, 10).remove(0);
            let Some(Framed::Message(data)) = event.data.take() else { panic!() };
            assert!(matches!(data, Message::Disk(_)));
            assert_eq!(bytes(event.with_data(data)), stream);
            assert_eq!(bytes(event.with_data(b"{}".to_vec().into())), b"id: 7\ndata:{}\r\nretry: 5\n\n");
        }
    }

    #[test]
    fn one_that_is_too_long_is_told_before_its_end() {
        let stream = [b"data: {\"id\":3,\"result\":\"", &[b'x'; 2000][..]].concat();
        let events = all(&stream, 100, 10);
        assert_eq!(events.len(), 1);
        assert!(matches!(&events[0].data, Some(Framed::TooLong(found)) if found.id.as_deref() == Some(b"3")));
        assert_eq!(bytes(events[0].with_data(b"{}".to_vec().into())), b"event: message\ndata: {}\n\n");
    }

    #[test]
    fn small_data_among_long_lines_is_not_lost() {
        let stream = b": a comment that is longer than the limit\ndata\ndata: {\ndata: }\n\n";
        let mut event = all(stream, 20, 12).remove(0);
        let Some(Framed::Message(data)) = event.data.take() else { panic!() };
        assert_eq!(data.as_bytes(), Some(&b"\n{\n}"[..]));
        let out = bytes(event.unchanged(data));
        assert_eq!(out, b": a comment that is longer than the limit\ndata:{}\n\n");
    }

    #[test]
    fn different_line_ends_stay_apart_without_the_data() {
        let mut event = all(b"data: a\rdata: b\r\n\n", 64, 10).remove(0);
        let Some(Framed::Message(data)) = event.data.take() else { panic!() };
        assert_eq!(bytes(event.unchanged(data)), b"data: ab\r\n\n");
    }

    #[test]
    fn new_data_of_several_lines_is_one_line() {
        let event = &all(b"data: {\ndata: }\n\n", 64, 1000)[0];
        assert_eq!(bytes(event.with_data(b"{\n\r\n}\n".to_vec().into())), b"data: {}\n\n");
    }

    #[test]
    fn what_comes_at_once_is_too_long_too() {
        let stream = [b"data: {\"id\":3,\"result\":\"", &[b'x'; 2000][..], b"\"}\n\ndata: y\n\n"].concat();
        let events = all(&stream, stream.len(), 5000);
        let long: Vec<bool> =
            events.iter().map(|event| matches!(event.data, Some(Framed::TooLong(_)))).collect();
        assert_eq!(long, [true, false, false]);
    }

    #[test]
    fn other_lines_survive_new_data() {
        let event = &all(b"id: 7\nevent: message\ndata: old\nretry: 5\n\n", 64, 1000)[0];
        let with = bytes(event.with_data(b"new\n".to_vec().into()));
        assert_eq!(with, b"id: 7\nevent: message\ndata: new\nretry: 5\n\n");
        assert_eq!(super::event(Some("1"), b"{}\n"), b"id: 1\nevent: message\ndata: {}\n\n");
    }
}
