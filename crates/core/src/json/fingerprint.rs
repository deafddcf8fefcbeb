//! A hash of what a JSON value means: key order, white space, escapes and the spelling of numbers make no difference.
//!
//! The payload reader compares fingerprints to notice that a text repeats `structuredContent`, so that the same data
//! is counted and shown once.

use super::{Dialect, Event, ScanError, Scanner, StringToken, string};
use crate::hash;
use crate::profile::number::Number;
use crate::text::Text;

/// The fingerprint of a value and, if it is an object with one member, that of the member.
///
/// Several SDKs wrap what a tool returns as `{"result": ...}` or `{"content": ...}`, so either may equal the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) whole: u64,
    pub(crate) only_member: Option<u64>,
}

/// The hash of an open container so far.
pub(crate) struct ContainerHash {
    object: bool,
    state: u64,
    key: u64,
    members: u64,
    last: u64,
}

impl ContainerHash {
    fn object() -> Self {
        Self { object: true, state: 1, key: 0, members: 0, last: 0 }
    }

    /// Returns the hash of a list without elements.
    pub(crate) fn list() -> Self {
        Self { object: false, state: 2, key: 0, members: 0, last: 0 }
    }

    /// Adds the fingerprint of an element, or of the value of the last key.
    pub(crate) fn add(&mut self, value: u64) {
        self.members += 1;
        self.last = value;
        self.state = if self.object {
            // Addition makes the order of members irrelevant.
            self.state.wrapping_add(hash::mix(self.key ^ value.rotate_left(23)))
        } else {
            hash::mix(self.state ^ value)
        };
    }

    /// Returns the fingerprint of the container with everything added so far.
    pub(crate) fn whole(&self) -> u64 {
        hash::mix(self.state ^ self.members)
    }
}

/// Computes the fingerprint of the JSON value at the beginning of a text.
pub(crate) fn of(text: &Text<'_>) -> Result<Fingerprint, ScanError> {
    scan(text, &mut Scanner::new(text, Dialect::Json))
}

/// Computes the fingerprint of the JSON value that begins at an offset.
pub(crate) fn of_value_at(text: &Text<'_>, offset: u64) -> Result<Fingerprint, ScanError> {
    scan(text, &mut Scanner::at(text, offset, Dialect::Json)?)
}

/// Computes the fingerprint of a text that is one JSON value; `None` if anything follows the value.
pub(crate) fn of_whole(text: &Text<'_>) -> Result<Option<Fingerprint>, ScanError> {
    let mut scanner = Scanner::new(text, Dialect::Json);
    let fingerprint = scan(text, &mut scanner)?;
    Ok((!scanner.begin_next()?).then_some(fingerprint))
}

fn scan(text: &Text<'_>, scanner: &mut Scanner<'_>) -> Result<Fingerprint, ScanError> {
    let mut stack: Vec<ContainerHash> = Vec::new();
    loop {
        let value = match scanner.next()? {
            Event::StartObject => {
                stack.push(ContainerHash::object());
                continue;
            }
            Event::StartArray => {
                stack.push(ContainerHash::list());
                continue;
            }
            Event::Key(token) => {
                let key = match of_string(&token) {
                    Ok(hash) => hash,
                    Err(length) => of_long_string(text, scanner.token_start() + 1, length)?,
                };
                if let Some(container) = stack.last_mut() {
                    container.key = key;
                }
                continue;
            }
            Event::EndObject | Event::EndArray => {
                let Some(container) = stack.pop() else {
                    return Ok(Fingerprint { whole: 0, only_member: None });
                };
                let whole = container.whole();
                if stack.is_empty() {
                    let only_member = (container.object && container.members == 1).then_some(container.last);
                    return Ok(Fingerprint { whole, only_member });
                }
                whole
            }
            Event::String(token) => match of_string(&token) {
                Ok(hash) => hash,
                Err(length) => of_long_string(text, scanner.token_start() + 1, length)?,
            },
            Event::Number(raw) => of_number(raw),
            Event::Bool(value) => 11 + u64::from(value),
            Event::Null | Event::End => 13,
        };
        match stack.last_mut() {
            None => return Ok(Fingerprint { whole: value, only_member: None }),
            Some(container) => container.add(value),
        }
    }
}

/// How many bytes of a string are hashed together.
const CHUNK_BYTES: usize = 4096;

/// The hash of a string so far; the bytes may come in pieces of any length.
struct StringHash {
    state: u64,
    pending: Vec<u8>,
}

impl StringHash {
    fn new() -> Self {
        Self { state: 17, pending: Vec::new() }
    }

    fn chunk(&mut self, bytes: &[u8]) {
        self.state = hash::mix(self.state ^ hash::bytes(bytes));
    }

    fn push(&mut self, decoded: &[u8]) {
        self.pending.extend_from_slice(decoded);
        let pending = std::mem::take(&mut self.pending);
        let chunks = pending.chunks_exact(CHUNK_BYTES);
        self.pending = chunks.remainder().to_vec();
        chunks.for_each(|chunk| self.chunk(chunk));
    }

    fn finish(mut self) -> u64 {
        let pending = std::mem::take(&mut self.pending);
        if !pending.is_empty() {
            self.chunk(&pending);
        }
        self.state
    }
}

/// Returns the fingerprint of a string.
pub(crate) fn of_text(decoded: &[u8]) -> u64 {
    decoded.chunks(CHUNK_BYTES).fold(17, |state, chunk| hash::mix(state ^ hash::bytes(chunk)))
}

/// Returns the fingerprint of a string, or its length as the error if the token holds only its beginning.
fn of_string(token: &StringToken<'_>) -> Result<u64, u64> {
    if token.is_cut() {
        return Err(token.length);
    }
    Ok(if token.escapes { of_text(&string::decode(token.raw)) } else { of_text(token.raw) })
}

/// Returns the fingerprint of a string that is too long for a token, from its `length` raw bytes at `start`.
fn of_long_string(text: &Text<'_>, start: u64, length: u64) -> Result<u64, ScanError> {
    let mut feed = text.feed_from(start)?;
    let mut long = StringHash::new();
    let (mut raw, mut decoded, mut left) = (Vec::new(), Vec::new(), length);
    while left > 0 && feed.fill(&mut raw)? {
        let here = (raw.len() as u64).min(left) as usize;
        decoded.clear();
        let used = string::decode_into(&raw[..here], here as u64 == left, &mut decoded);
        long.push(&decoded);
        raw.drain(..used);
        left -= used as u64;
    }
    Ok(long.finish())
}

/// Returns the fingerprint of a number; it is the same for every way to write the same decimal number.
fn of_number(raw: &[u8]) -> u64 {
    let hash = Number::parse(raw).map_or_else(|| hash::bytes(raw), |number| number.hash());
    hash::mix(hash ^ 19)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    fn fingerprint(json: &str) -> Fingerprint {
        let source = json.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        of(&text).unwrap()
    }

    #[test]
    fn notation_makes_no_difference() {
        let one = fingerprint(r#"{"a": [1, 2.50, "é"], "b": null}"#);
        assert_eq!(one, fingerprint("{\"b\":null,\"a\":[1.0,2.5,\"\\u00e9\"]}"));
        assert_ne!(one, fingerprint(r#"{"a":[2.5,1,"é"],"b":null}"#), "order of elements counts");
        assert_ne!(one, fingerprint(r#"{"a":[1,2.5,"é"],"c":null}"#));
        assert_ne!(fingerprint("[[1],[2]]"), fingerprint("[[1,2]]"));
    }

    #[test]
    fn numbers_that_differ_are_distinguished() {
        for (one, other) in [
            ("9007199254740992", "9007199254740993"),
            ("18446744073709551616", "18446744073709551617"),
            ("1e400", "1e401"),
            ("0.10000000000000001", "0.10000000000000002"),
        ] {
            assert_ne!(fingerprint(one), fingerprint(other), "{one} {other}");
            assert_eq!(fingerprint(one), fingerprint(one));
        }
        assert_eq!(fingerprint("1e-07"), fingerprint("1e-7"));
    }

    #[test]
    fn a_wrapper_is_seen_through() {
        assert_eq!(fingerprint(r#"{"result":[1,2]}"#).only_member, Some(fingerprint("[1,2]").whole));
        assert_eq!(fingerprint(r#"{"content":"x\ny"}"#).only_member, Some(of_text(b"x\ny")));
        assert_eq!(fingerprint(r#"{"a":1,"b":2}"#).only_member, None);
    }

    #[test]
    fn numbers_are_equal_as_decimals() {
        let same = [["1", "1.0"], ["100", "1e2"], ["0.05", "5.0E-2"], ["-0", "0.000"], ["1e400", "10e399"]];
        for [one, two] in same {
            assert_eq!(fingerprint(one), fingerprint(two), "{one} {two}");
        }
        let different = [
            ["9007199254740993", "9007199254740992"],
            ["1", "-1"],
            ["1e400", "1e401"],
            ["10", "1"],
            ["101", "11"],
        ];
        for [one, two] in different {
            assert_ne!(fingerprint(one), fingerprint(two), "{one} {two}");
        }
    }

    #[test]
    fn all_of_a_long_string_counts() {
        let long = "word \n é ".repeat(20_000);
        let one = fingerprint(&format!("[\"{long}a\"]"));
        assert_eq!(one, fingerprint(&format!("[\"{}a\"]", long.replace('é', "\\u00e9"))));
        assert_ne!(one, fingerprint(&format!("[\"{long}b\"]")));
    }
}
