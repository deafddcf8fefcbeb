//! A hash of what a JSON value means: key order, white space, escapes and the spelling of numbers make no difference.
//!
//! The payload reader compares fingerprints to notice that a text repeats `structuredContent`, so that the same data
//! is counted and shown once.

use super::{Event, ScanError, Scanner, StringToken, string};
use crate::hash;
use crate::profile::number::Number;

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

    /// Returns the fingerprint of the container with what was added to it.
    pub(crate) fn whole(&self) -> u64 {
        hash::mix(self.state ^ self.members)
    }
}

/// Computes the fingerprint of the next value of a scanner.
pub(crate) fn of(scanner: &mut Scanner<'_>) -> Result<Fingerprint, ScanError> {
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
                if let Some(container) = stack.last_mut() {
                    container.key = of_string(&token);
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
            Event::String(token) => of_string(&token),
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

/// Returns the fingerprint of a string.
pub(crate) fn of_text(decoded: &[u8]) -> u64 {
    hash::mix(hash::bytes(decoded) ^ 17)
}

fn of_string(token: &StringToken<'_>) -> u64 {
    if token.is_cut() {
        return hash::mix(of_text(&string::decode(token.raw)) ^ token.length);
    }
    if token.escapes { of_text(&string::decode(token.raw)) } else { of_text(token.raw) }
}

/// The longest number that a double always tells from every other number of that length.
const MAX_DOUBLE_BYTES: usize = 15;

fn of_number(raw: &[u8]) -> u64 {
    match Number::parse(raw) {
        Some(number) if raw.len() <= MAX_DOUBLE_BYTES && number.value.is_finite() => {
            hash::mix(number.value.to_bits() ^ 19)
        }
        // Two long numbers may differ and round to the same double. Those of one notation are equal if their spelling is.
        _ => hash::mix(hash::bytes(raw) ^ 19),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Dialect;
    use super::*;
    use crate::source::Span;
    use crate::text::Text;

    fn fingerprint(json: &str) -> Fingerprint {
        let source = json.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        of(&mut Scanner::new(&text, Dialect::Json)).unwrap()
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
    fn numbers_that_differ_are_told_apart() {
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
}
