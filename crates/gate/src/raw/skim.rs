//! The places of the members of a message that is too large for memory.
//!
//! They are found while the bytes pass, in pieces of any size; only the beginnings of the members are held.

use tidegate_core::quote::{self, Inside};
use tidegate_core::source::{Source, Span};

use super::{ByteRange, text};

/// The maximum number of bytes held of a value: enough for every id and method.
pub const MAX_HEAD_BYTES: usize = 1024;
/// The maximum number of members of one message that are held; those of the protocol are few.
pub const MAX_MEMBERS: usize = 64;
/// The maximum number of messages of one batch; a longer batch is refused.
pub const MAX_MESSAGES: usize = 1000;
/// The byte order mark, which some programs write first.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// A string with this many bytes is a long one, whose end is recorded.
const MIN_LONG_STRING_BYTES: usize = 64 * 1024;
/// The maximum number of long strings whose ends are recorded.
const MAX_LONG_STRINGS: usize = 256;
/// Bytes that are read at a time from a source.
const BLOCK_BYTES: usize = 64 * 1024;

/// One member of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skimmed {
    /// Its name.
    pub key: String,
    /// The place of its value.
    pub value: ByteRange,
    /// The beginning of its value.
    pub head: Vec<u8>,
}

/// One message: its place and its members.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// Its place.
    pub place: ByteRange,
    /// Its members, in order.
    pub members: Vec<Skimmed>,
}

impl Message {
    /// Returns a member; of several with one name the last, as parsers do.
    pub fn member(&self, key: &str) -> Option<&Skimmed> {
        self.members.iter().rev().find(|member| member.key == key)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Key,
    Colon,
    Value,
}

/// Finds the members of a message, or of a batch of messages, while their bytes pass.
#[derive(Debug, Default)]
pub struct Skim {
    /// How many bytes have passed.
    at: usize,
    depth: usize,
    /// The depth of the members of a message: 1, or 2 in a batch; 0 before the first byte.
    level: usize,
    in_string: bool,
    escaped: bool,
    /// The start of the string that is being read, after its quote.
    string: usize,
    long_strings: Vec<ByteRange>,
    phase: Phase,
    key: String,
    /// The start of the value that is being read.
    value: Option<usize>,
    /// The position after the last byte that is not white space.
    last: usize,
    /// The beginning of the key or value that is being read.
    head: Vec<u8>,
    keeps: bool,
    message: Message,
    messages: Vec<Message>,
    broken: bool,
}

impl Skim {
    /// Returns a skim before the first byte.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && !self.broken {
            let taken = if self.in_string { self.inside(rest) } else { self.outside(rest[0]) };
            self.at += taken;
            rest = &rest[taken..];
        }
    }

    /// Returns a member, as far as it was read, of the message that is being read or was read last.
    pub fn known(&self, key: &str) -> Option<&Skimmed> {
        self.message.member(key).or_else(|| self.messages.last()?.member(key))
    }

    /// Returns the messages; `None` if the bytes were not a message.
    pub fn finish(self) -> Option<Vec<Message>> {
        let whole = !self.broken && self.depth == 0 && self.level > 0 && !self.in_string;
        whole.then_some(self.messages)
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.keeps {
            let room = MAX_HEAD_BYTES - self.head.len().min(MAX_HEAD_BYTES);
            self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Skips a part of a string, and returns its length.
    fn inside(&mut self, rest: &[u8]) -> usize {
        let from = usize::from(std::mem::take(&mut self.escaped));
        match quote::closing(rest, from, b'"', &mut false) {
            Inside::Ends(end) => {
                let taken = end + 1;
                self.keep(&rest[..taken]);
                self.in_string = false;
                self.note_long_string(self.at + end);
                self.last = self.at + taken;
                if self.depth == self.level && self.phase == Phase::Key {
                    self.end_key();
                }
                taken
            }
            Inside::GoesOn(next) => {
                self.keep(rest);
                self.escaped = next > rest.len();
                rest.len()
            }
        }
    }

    fn note_long_string(&mut self, end: usize) {
        if end - self.string >= MIN_LONG_STRING_BYTES && self.long_strings.len() < MAX_LONG_STRINGS {
            self.long_strings.push(self.string..end);
        }
    }

    /// Takes the insides of the long strings that have passed, in order.
    pub fn take_long_strings(&mut self) -> Vec<ByteRange> {
        std::mem::take(&mut self.long_strings)
    }

    fn end_key(&mut self) {
        self.keeps = false;
        let head = std::mem::take(&mut self.head);
        // Nobody looks for a name that cannot be decoded or is that long.
        self.key = text(&head, &(0..head.len())).map(std::borrow::Cow::into_owned).unwrap_or_default();
        self.phase = Phase::Colon;
    }

    /// Takes one byte that is in no string.
    fn outside(&mut self, byte: u8) -> usize {
        if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            return 1;
        }
        let at_level = self.level > 0 && self.depth == self.level;
        match byte {
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => self.close(byte),
            b':' if at_level && self.phase == Phase::Colon => {
                self.phase = Phase::Value;
                self.value = None;
                // The value begins after this byte.
                self.last = self.at + 1;
                return 1;
            }
            b',' if at_level => self.end_member(),
            // A byte order mark, which some programs write first.
            _ if self.level == 0 && self.last == self.at && BYTE_ORDER_MARK.get(self.at) == Some(&byte) => {}
            _ if self.level == 0 || self.depth == 0 => self.broken = true,
            _ => {
                self.begin();
                self.in_string = byte == b'"';
                self.string = self.at + 1;
                self.keep(&[byte]);
            }
        }
        self.last = self.at + 1;
        1
    }

    /// Records the start of a key or value of a message.
    fn begin(&mut self) {
        if self.depth != self.level {
            return;
        }
        match self.phase {
            Phase::Value if self.value.is_none() => self.value = Some(self.at),
            Phase::Key => {}
            _ => return,
        }
        self.keeps = true;
        if self.phase == Phase::Key {
            self.head.clear();
        }
    }

    fn open(&mut self, byte: u8) {
        if self.level == 0 {
            // An incomplete byte order mark is not part of a message.
            self.broken |= self.last > 0 && self.last < BYTE_ORDER_MARK.len();
            self.level = if byte == b'{' { 1 } else { 2 };
        } else if self.depth == 0 {
            // Something follows a complete message.
            self.broken = true;
        }
        self.begin();
        self.keep(&[byte]);
        self.depth += 1;
        if self.depth == self.level && byte == b'{' {
            self.message = Message { place: self.at..self.at, members: Vec::new() };
            (self.phase, self.value) = (Phase::Key, None);
        }
    }

    fn close(&mut self, byte: u8) {
        let Some(depth) = self.depth.checked_sub(1) else {
            self.broken = true;
            return;
        };
        if self.depth == self.level && byte == b'}' {
            self.end_member();
            self.message.place.end = self.at + 1;
            self.broken |= self.messages.len() >= MAX_MESSAGES;
            self.messages.push(std::mem::take(&mut self.message));
        }
        self.keep(&[byte]);
        self.depth = depth;
    }

    fn end_member(&mut self) {
        let head = std::mem::take(&mut self.head);
        self.keeps = false;
        if let Some(start) = self.value.take()
            && self.phase == Phase::Value
            && self.message.members.len() < MAX_MEMBERS
        {
            let key = std::mem::take(&mut self.key);
            self.message.members.push(Skimmed { key, value: start..self.last, head });
        }
        self.phase = Phase::Key;
    }
}

/// Returns the members of the object at a place of a source that may not be in memory; none if there is no object.
///
/// # Errors
///
/// The source cannot be read.
pub fn members(source: &dyn Source, place: &ByteRange) -> std::io::Result<Vec<Skimmed>> {
    let mut skim = Skim { at: place.start, ..Skim::default() };
    while skim.at < place.end && !skim.broken {
        let end = place.end.min(skim.at + BLOCK_BYTES);
        skim.push(&Span { start: skim.at as u64, end: end as u64 }.read(source)?);
    }
    Ok(skim.finish().and_then(|mut messages| messages.pop()).unwrap_or_default().members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skim(json: &[u8], step: usize) -> Option<Vec<Message>> {
        let mut skim = Skim::new();
        json.chunks(step).for_each(|piece| skim.push(piece));
        skim.finish()
    }

    #[test]
    fn members_are_found_whatever_the_pieces() {
        let json = br#" {"jsonrpc" : "2.0","result":{"x":["}",{"id":1}],"\"":"\\"} , "id" :  7.0 ,"e":"\u0061\"" } "#;
        let all = super::super::members(json, &super::super::whole(json).unwrap()).unwrap();
        for step in 1..json.len() {
            let found = skim(json, step).unwrap();
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].place, super::super::whole(json).unwrap());
            let places: Vec<(&str, &ByteRange)> =
                found[0].members.iter().map(|member| (member.key.as_str(), &member.value)).collect();
            let expected: Vec<(&str, &ByteRange)> =
                all.iter().map(|member| (member.key.as_ref(), &member.value)).collect();
            assert_eq!(places, expected, "{step}");
            for member in &found[0].members {
                assert_eq!(member.head, json[member.value.clone()], "{step}");
            }
        }
    }

    #[test]
    fn long_strings_are_recorded() {
        let long = r#"x\"y\\"#.repeat(MIN_LONG_STRING_BYTES / 5);
        let json =
            format!(r#"{{"id":1,"result":{{"content":[{{"text":"{long}"}},{{"text":"{long}\\"}}]}}}}"#);
        for step in [7, 1000, json.len()] {
            let mut skim = Skim::new();
            json.as_bytes().chunks(step).for_each(|piece| skim.push(piece));
            let found = skim.take_long_strings();
            assert_eq!(found.len(), 2, "{step}");
            assert_eq!(&json[found[0].clone()], long, "{step}");
            assert_eq!(json[found[1].clone()], format!("{long}\\\\"), "{step}");
        }
    }

    #[test]
    fn a_batch_has_its_messages() {
        let json = br#"[{"id":1,"result":[[{}]]}, {"id":2,"result":{"id":3}},{}]"#;
        for step in [1, 3, 100] {
            let found = skim(json, step).unwrap();
            let ids: Vec<_> =
                found.iter().map(|message| message.member("id").map(|id| &id.head[..])).collect();
            assert_eq!(ids, [Some(&b"1"[..]), Some(&b"2"[..]), None]);
            assert_eq!(&json[found[1].place.clone()], br#"{"id":2,"result":{"id":3}}"#);
        }
    }

    #[test]
    fn malformed_input_is_not_a_message() {
        for broken in [
            "",
            " ",
            "\u{fffd}{}",
            "\u{feff} x",
            "log",
            "{",
            "{\"a\":1}x",
            "{}{}",
            "}",
            "[{]",
            "\"a\"",
            "{\"a",
        ] {
            assert_eq!(skim(broken.as_bytes(), 1), None, "{broken}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_passed_if_it_is_one() {
        for (bytes, whole) in [
            (&b"\xef\xbb\xbf{}"[..], true),
            (b"\xef\xbb\xbf {}", true),
            (b"\xbb{}", false),
            (b"\xef\xbb{}", false),
            (b" \xbb\xbf{}", false),
            (b"\xef {}", false),
        ] {
            for step in [1, 9] {
                assert_eq!(skim(bytes, step).is_some(), whole, "{bytes:?}");
            }
        }
    }

    #[test]
    fn an_id_is_known_before_the_end() {
        let mut skim = Skim::new();
        skim.push(br#"{"jsonrpc":"2.0","id":12,"result":{"content":[{"text":""#);
        assert_eq!(skim.known("id").map(|id| &id.head[..]), Some(&b"12"[..]));
        assert_eq!(skim.known("result"), None);
    }
}
