//! The head of a JSON-RPC message: its kind, its id, its method, and the byte ranges of its other parts.
//!
//! A message is parsed once, when it arrives, and its head travels with its bytes from then on. An edit of the bytes adjusts the
//! head ([`ParsedLine::edit`]), so they are never parsed again. A head owns its data; ids and methods of the usual length are
//! stored inline, so parsing one message allocates nothing.

use std::borrow::Cow;

use smallvec::SmallVec;
use tidegate_gate::raw::{self, ByteRange, Edits, skim};

/// The UTF-8 byte order mark, which some programs write before a text.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// How many places of a line with text before its message are tried as the start of that message.
pub(crate) const MAX_STARTS_TRIED: usize = 8;

/// The heads of the messages of one line or body: one, or those of a batch.
pub(crate) type Heads = SmallVec<[MessageHead; 1]>;

/// The head of one message.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageHead {
    /// The message itself.
    pub(crate) whole: ByteRange,
    /// The id, as written. In a spooled message the bytes at this range may differ from [`Self::id_bytes`].
    pub(crate) id: Option<ByteRange>,
    id_bytes: SmallVec<[u8; 24]>,
    method: Option<SmallVec<[u8; 40]>>,
    pub(crate) params: Option<ByteRange>,
    pub(crate) result: Option<ByteRange>,
    pub(crate) error: Option<ByteRange>,
    /// The member `error` with its name; unknown for a spooled message.
    pub(crate) error_member: Option<ByteRange>,
    is_object: bool,
    /// Whether it has the member `jsonrpc`, which no log line has.
    is_rpc: bool,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Request,
    Notification,
    Response,
    /// A JSON object with neither a method nor a result or error.
    Other,
    /// Not a JSON object.
    Unreadable,
}

impl MessageHead {
    /// Reads the head of the message at a range.
    fn read(json: &[u8], whole: ByteRange) -> Self {
        let mut head = Self::default();
        let read = raw::each_member(json, &whole, |member| match member.key.as_ref() {
            "id" => {
                head.id_bytes = SmallVec::from_slice(&json[member.value.clone()]);
                head.id = Some(member.value);
            }
            "method" => {
                let name = raw::text(json, &member.value);
                head.method = name.map(|name| SmallVec::from_slice(name.as_bytes()));
            }
            "params" => head.params = Some(member.value),
            "result" => head.result = Some(member.value),
            "error" => (head.error, head.error_member) = (Some(member.value), Some(member.whole)),
            "jsonrpc" => head.is_rpc = true,
            _ => {}
        });
        match read {
            Some(()) => {
                let is_null = |range: &ByteRange| &json[range.clone()] == b"null";
                Self { whole, is_object: true, ..head }.without_null_outcome(is_null)
            }
            None => Self { whole, ..Self::default() },
        }
    }

    /// Forgets an error that is null, and a result that is null beside an error: that is how JSON-RPC 1.0 says that there is
    /// none.
    fn without_null_outcome(mut self, is_null: impl Fn(&ByteRange) -> bool) -> Self {
        if self.error.as_ref().is_some_and(&is_null) {
            (self.error, self.error_member) = (None, None);
        }
        if self.error.is_some() && self.result.as_ref().is_some_and(is_null) {
            self.result = None;
        }
        self
    }

    /// Returns the head of a message whose members were found while it was spooled.
    pub(crate) fn of_spooled(message: &skim::Message) -> Self {
        let value = |key: &str| message.member(key).map(|member| member.value.clone());
        let method = message.member("method").and_then(|member| match member.head.len() {
            // A name this long is a method, but not one that tidegate knows.
            skim::MAX_HEAD_BYTES.. if member.head[0] == b'"' => Some(SmallVec::new()),
            length => raw::text(&member.head, &(0..length)).map(|name| SmallVec::from_slice(name.as_bytes())),
        });
        let id = message.member("id");
        let is_null = |range: &ByteRange| {
            let found = message.members.iter().find(|member| member.value == *range);
            found.is_some_and(|member| member.head == b"null")
        };
        let head = Self {
            whole: message.place.clone(),
            id: id.map(|id| id.value.clone()),
            id_bytes: id.map_or_else(SmallVec::new, |id| SmallVec::from_slice(&id.head)),
            method,
            params: value("params"),
            result: value("result"),
            error: value("error"),
            error_member: None,
            is_object: true,
            is_rpc: message.member("jsonrpc").is_some(),
        };
        head.without_null_outcome(is_null)
    }

    pub(crate) fn kind(&self) -> MessageKind {
        match (&self.method, &self.id) {
            _ if !self.is_object => MessageKind::Unreadable,
            (Some(_), Some(_)) => MessageKind::Request,
            (Some(_), None) => MessageKind::Notification,
            (None, _) if self.result.is_some() || self.error.is_some() => MessageKind::Response,
            (None, _) => MessageKind::Other,
        }
    }

    /// Returns whether it claims to answer a request: it is a response, or a JSON-RPC message with nothing but an id.
    pub(crate) fn is_answer(&self) -> bool {
        match self.kind() {
            MessageKind::Response => true,
            MessageKind::Other => self.is_rpc && self.id.is_some(),
            _ => false,
        }
    }

    /// Returns what is wrong with an answer that has not exactly one of result and error.
    pub(crate) fn wrong_outcome(&self) -> Option<&'static str> {
        match (&self.result, &self.error) {
            (None, None) => Some("has neither a result nor an error"),
            (Some(_), Some(_)) => Some("has both a result and an error"),
            _ => None,
        }
    }

    /// Returns whether it is a JSON-RPC message.
    pub(crate) fn is_message(&self) -> bool {
        !matches!(self.kind(), MessageKind::Other | MessageKind::Unreadable)
    }

    /// Returns the id as written; `null` where there is none.
    pub(crate) fn id_bytes(&self) -> &[u8] {
        if self.id.is_some() { &self.id_bytes } else { b"null" }
    }

    /// Returns the method; empty where there is none.
    pub(crate) fn method(&self) -> &str {
        self.method.as_deref().and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default()
    }

    /// Returns the result or, without one, the error.
    pub(crate) fn outcome(&self) -> Option<&ByteRange> {
        self.result.as_ref().or(self.error.as_ref())
    }

    /// Returns the range of an id that is longer than what is known of it.
    pub(crate) fn long_id(&self) -> Option<ByteRange> {
        self.id.clone().filter(|range| range.len() > self.id_bytes.len())
    }

    /// Sets the id as it is written.
    pub(crate) fn set_id(&mut self, id: &[u8]) {
        self.id_bytes = SmallVec::from_slice(id);
    }

    /// Takes over the new id if it is what a change replaces; the ranges are moved separately.
    pub(crate) fn set_id_if_changed(&mut self, change: Option<&(ByteRange, Vec<u8>)>) {
        if let Some((_, id)) = change.filter(|(range, _)| self.id.as_ref() == Some(range)) {
            self.id_bytes = SmallVec::from_slice(id);
        }
    }

    /// Moves every range by what a function makes of each of its ends.
    fn move_ranges(&mut self, moved: impl Fn(usize) -> usize) {
        let ranges =
            [&mut self.id, &mut self.params, &mut self.result, &mut self.error, &mut self.error_member];
        let ranges = ranges.into_iter().flatten().chain([&mut self.whole]);
        ranges.for_each(|range| *range = moved(range.start)..moved(range.end));
    }
}

/// Parses the heads of a line: one, or those of a batch. Returns `None` if the line is neither a JSON object nor an array.
///
/// This is the only place where the head of a message in memory is parsed.
pub(crate) fn parse_heads(line: &[u8]) -> Option<Heads> {
    #[cfg(test)]
    count::add();
    let rest = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii_start();
    let start = line.len() - rest.len();
    match rest.first()? {
        b'{' => Some(Heads::from_iter([MessageHead::read(line, start..line.trim_ascii_end().len())])),
        b'[' => {
            let elements = raw::elements(line, &(start..line.len()))?;
            Some(elements.into_iter().map(|element| MessageHead::read(line, element)).collect())
        }
        _ => None,
    }
}

/// Returns where a message starts that has other text before it on its line, such as a progress bar.
pub(crate) fn message_after_text(line: &[u8]) -> Option<usize> {
    let end = line.trim_ascii_end().len();
    let is_message = |start: &usize| MessageHead::read(line, *start..end).is_message();
    memchr::memmem::find_iter(line, b"{\"").take(MAX_STARTS_TRIED).find(is_message)
}

/// A line or body in memory, with the heads of its messages.
#[derive(Debug)]
pub(crate) struct ParsedLine {
    pub(crate) bytes: Vec<u8>,
    /// `None` if the line is not JSON.
    pub(crate) heads: Option<Heads>,
}

impl ParsedLine {
    /// Parses a line.
    pub(crate) fn parse(bytes: Vec<u8>) -> Self {
        Self { heads: parse_heads(&bytes), bytes }
    }

    /// Returns one message of a line, alone, with one range of it replaced if `change` says so.
    pub(crate) fn extract(line: &[u8], head: &MessageHead, change: Option<(ByteRange, Vec<u8>)>) -> Self {
        let whole = head.whole.clone();
        let mut extracted = head.clone();
        extracted.set_id_if_changed(change.as_ref());
        extracted.move_ranges(|position| moved(position, change.as_slice()) - whole.start);
        let bytes = match change {
            Some((range, bytes)) => {
                [&line[whole.start..range.start], &bytes, &line[range.end..whole.end]].concat()
            }
            None => line[whole].to_vec(),
        };
        Self { bytes, heads: Some(Heads::from_iter([extracted])) }
    }

    /// Returns the heads; none if the line is not JSON.
    pub(crate) fn heads(&self) -> &[MessageHead] {
        self.heads.as_deref().unwrap_or_default()
    }

    /// Returns the first head.
    pub(crate) fn first(&self) -> Option<&MessageHead> {
        self.heads().first()
    }

    /// Returns whether the line is a batch.
    pub(crate) fn is_batch(&self) -> bool {
        let text = self.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.bytes);
        text.trim_ascii_start().first() == Some(&b'[')
    }

    /// Edits the bytes and moves the heads along.
    pub(crate) fn edit(self, edits: Edits) -> Self {
        if edits.is_empty() {
            return self;
        }
        let Self { bytes, mut heads } = self;
        let changes = edits.in_order();
        for head in heads.iter_mut().flatten() {
            head.move_ranges(|position| moved(position, &changes));
        }
        let mut edits = Edits::new();
        changes.into_iter().for_each(|(range, bytes)| edits.replace(range, bytes));
        Self { bytes: edits.apply(&bytes), heads }
    }
}

/// Returns where a position is after changes to what is before it.
fn moved(position: usize, changes: &[(ByteRange, Vec<u8>)]) -> usize {
    let before = changes.iter().take_while(|(range, _)| range.end <= position);
    let (added, removed) =
        before.fold((0, 0), |(added, removed), (range, bytes)| (added + bytes.len(), removed + range.len()));
    (position + added).saturating_sub(removed)
}

/// Returns whether two ids are the same although one may be written differently: `1` and `1.0`.
pub(crate) fn same_id(one: &[u8], two: &[u8]) -> bool {
    // Integers are compared as written: beyond 2^53 a float would confuse neighbours.
    let is_integer = |id: &[u8]| id.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
    let number = |id: &[u8]| std::str::from_utf8(id).ok()?.parse::<f64>().ok();
    match (one.first(), two.first()) {
        (Some(b'"'), Some(b'"')) => {
            let text = |id: &[u8]| raw::text(id, &(0..id.len())).map(Cow::into_owned);
            text(one).is_some_and(|one| text(two).is_some_and(|two| one == two))
        }
        (Some(b'0'..=b'9' | b'-'), Some(b'0'..=b'9' | b'-')) if !(is_integer(one) && is_integer(two)) => {
            number(one).is_some() && number(one) == number(two)
        }
        _ => false,
    }
}

/// Counts how often heads are parsed on this thread.
#[cfg(test)]
pub(crate) mod count {
    use std::cell::Cell;

    thread_local!(static PARSED: Cell<usize> = const { Cell::new(0) });

    pub(super) fn add() {
        PARSED.set(PARSED.get() + 1);
    }

    /// Returns the count since the last call.
    pub(crate) fn take() -> usize {
        PARSED.replace(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_kinds() {
        let line = br#" {"result":{"x":1},"jsonrpc":"2.0","id":7} "#;
        let head = &parse_heads(line).unwrap()[0];
        assert_eq!(head.kind(), MessageKind::Response);
        assert_eq!((head.id_bytes(), &line[head.id.clone().unwrap()]), (&b"7"[..], &b"7"[..]));
        assert_eq!(parse_heads(br#"[{"a":1},{"b":2}]"#).unwrap().len(), 2);
        for marked in [&b"\xef\xbb\xbf {\"a\":1}\r\n"[..], b"\xef\xbb\xbf[{\"a\":1}]"] {
            assert_eq!(parse_heads(marked).unwrap()[0].whole, 4..11);
        }
        assert!(parse_heads(b"Server listening").is_none());
        assert!(parse_heads(b"[INFO] x").is_none());
        assert_eq!(message_after_text(br#"50% {"a":1} {"id":1,"result":{}}"#), Some(12));
        assert_eq!(message_after_text(br#"50% {"id":1,"result":{}} and more"#), None);
        let kind = |line: &[u8]| parse_heads(line).unwrap()[0].kind();
        assert_eq!(kind(b"{ starting }"), MessageKind::Unreadable);
        assert_eq!(kind(br#"{"level":"info"}"#), MessageKind::Other);
        assert_eq!(kind(br#"{"id":1,"method":7,"result":{}}"#), MessageKind::Response);
    }

    #[test]
    fn heads_follow_edits() {
        let line = br#"[ {"id":"a","method":"x","params":{"k":[1, 2],"z":3}}, {"id":2,"result":{}} ]"#;
        let parsed = ParsedLine::parse(line.to_vec());
        let mut edits = Edits::new();
        edits.replace(parsed.heads()[0].id.clone().unwrap(), b"12345".to_vec());
        let inside = raw::member(line, parsed.heads()[0].params.as_ref().unwrap(), "k").unwrap();
        edits.replace(inside, b"0".to_vec());
        edits.replace(parsed.heads()[1].id.clone().unwrap(), b"".to_vec());
        let edited = parsed.edit(edits);
        let again = parse_heads(&edited.bytes);
        assert!(again.is_none() || again.unwrap()[1].kind() == MessageKind::Unreadable, "an id is gone");
        let (heads, bytes) = (edited.heads(), &edited.bytes);
        assert_eq!(&bytes[heads[0].id.clone().unwrap()], b"12345");
        assert_eq!(&bytes[heads[0].params.clone().unwrap()], br#"{"k":0,"z":3}"#);
        assert_eq!(&bytes[heads[1].id.clone().unwrap()], b"");
        assert_eq!(&bytes[heads[1].result.clone().unwrap()], b"{}");
        let id = (heads[0].id.clone().unwrap(), b"7".to_vec());
        let alone = ParsedLine::extract(bytes, &heads[0], Some(id));
        assert_eq!(alone.bytes, br#"{"id":7,"method":"x","params":{"k":0,"z":3}}"#);
        assert_eq!(alone.heads()[0].id_bytes(), b"7");
        assert_eq!(&alone.bytes[alone.heads()[0].params.clone().unwrap()], br#"{"k":0,"z":3}"#);
    }

    #[test]
    fn ids_are_the_same_however_written() {
        assert!(same_id(b"1", b"1.0"));
        assert!(same_id(br#""a""#, br#""\u0061""#));
        assert!(!same_id(b"1", br#""1""#));
        assert!(!same_id(b"1", b"2"));
        assert!(!same_id(b"9007199254740993", b"9007199254740992"));
    }
}
