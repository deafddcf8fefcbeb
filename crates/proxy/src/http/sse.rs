//! Server-sent events: cut out of a stream of bytes without changing them, and written.

/// One event, with the bytes it came as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// All of it, to the end of the empty line.
    pub(super) raw: Vec<u8>,
    /// The joined data; `None` where it has no data line, as a comment.
    pub(super) data: Option<Vec<u8>>,
    /// Its id.
    pub(super) id: Option<String>,
    /// How long to wait before connecting again, in milliseconds.
    pub(super) retry: Option<u64>,
}

impl Event {
    fn read(raw: Vec<u8>) -> Self {
        let mut event = Self { raw: Vec::new(), data: None, id: None, retry: None };
        for line in lines(&raw) {
            let (name, value) = field(line);
            match name {
                b"data" => {
                    let data = event.data.get_or_insert_default();
                    if !data.is_empty() {
                        data.push(b'\n');
                    }
                    data.extend_from_slice(value);
                }
                b"id" => event.id = Some(String::from_utf8_lossy(value).into_owned()),
                b"retry" => event.retry = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()),
                _ => {}
            }
        }
        event.raw = raw;
        event
    }

    /// Returns the event with other data; its other lines stay as they are.
    pub(super) fn with_data(&self, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(data.len() + 64);
        let mut written = false;
        for line in lines(&self.raw) {
            if field(line).0 != b"data" {
                out.extend_from_slice(line);
                out.push(b'\n');
            } else if !written {
                written = true;
                out.extend_from_slice(b"data: ");
                out.extend_from_slice(data.trim_ascii_end());
                out.push(b'\n');
            }
        }
        // The line that ends the event is empty, so `lines` has handed it on already.
        out
    }
}

/// Writes an event; data must be one line.
pub(super) fn event(id: Option<&str>, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 64);
    if let Some(id) = id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    // One without data only tells an id to come back with, and when.
    out.extend_from_slice(if data.is_empty() { b"retry: 1000\n" } else { b"event: message\n" });
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(data.trim_ascii_end());
    out.extend_from_slice(b"\n\n");
    out
}

/// Cuts events out of a stream of bytes.
#[derive(Debug, Default)]
pub(super) struct Events {
    buffer: Vec<u8>,
    /// No event ends before here.
    searched: usize,
}

impl Events {
    /// Takes bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next whole event.
    pub(super) fn next(&mut self) -> Option<Event> {
        let end = self.end()?;
        let rest = self.buffer.split_off(end);
        let raw = std::mem::replace(&mut self.buffer, rest);
        self.searched = 0;
        Some(Event::read(raw))
    }

    /// Returns what came after the last whole event.
    pub(super) fn rest(self) -> Vec<u8> {
        self.buffer
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

    fn all(bytes: &[u8], step: usize) -> Vec<Event> {
        let mut events = Events::default();
        let mut out = Vec::new();
        for piece in bytes.chunks(step) {
            events.push(piece);
            while let Some(event) = events.next() {
                out.push(event);
            }
        }
        out
    }

    #[test]
    fn events_are_cut_whatever_the_pieces() {
        let stream = b": hello\n\nid: 7\nevent: message\ndata: {\"a\":1}\n\nretry: 500\r\ndata: x\r\ndata: y\r\n\r\ndata:z\n\n";
        for step in 1..stream.len() {
            let events = all(stream, step);
            assert_eq!(events.len(), 4, "{step}");
            assert_eq!(events[0].data, None);
            assert_eq!(
                (events[1].id.as_deref(), events[1].data.as_deref()),
                (Some("7"), Some(&b"{\"a\":1}"[..]))
            );
            assert_eq!((events[2].retry, events[2].data.as_deref()), (Some(500), Some(&b"x\ny"[..])));
            assert_eq!(events[3].data.as_deref(), Some(&b"z"[..]));
            let joined: Vec<u8> = events.iter().flat_map(|event| event.raw.clone()).collect();
            assert_eq!(joined, stream, "every byte is in some event");
        }
    }

    #[test]
    fn other_lines_survive_new_data() {
        let event = &all(b"id: 7\nevent: message\ndata: old\nretry: 5\n\n", 64)[0];
        assert_eq!(event.with_data(b"new\n"), b"id: 7\nevent: message\ndata: new\nretry: 5\n\n");
        assert_eq!(super::event(Some("1"), b"{}\n"), b"id: 1\nevent: message\ndata: {}\n\n");
    }
}
