//! A pull scanner for JSON: it reads a text and returns one event at a time, in bounded memory.
//!
//! It keeps what a strict parser would normalise or refuse: numbers are raw text, duplicate keys are reported
//! one by one, strings are raw with a flag for escapes, and nesting may be very deep. A string longer than
//! [`MAX_WHOLE_STRING_BYTES`] is reported by its beginning and its length, so memory stays flat whatever the upstream
//! sends.
//!
//! Two dialects: JSON (with `NaN` and `Infinity`, which several producers write) and the literals that Python
//! servers print when they format rows with `str()`: single quotes, `None`, tuples, `Decimal('1.5')`.

mod tokens;

use std::io;

use serde::{Deserialize, Serialize};

use crate::text::{Feed, Text};

/// Strings up to this many raw bytes are returned whole.
pub(crate) const MAX_WHOLE_STRING_BYTES: usize = 64 * 1024;
/// The deepest nesting that is read; each level costs one byte.
const MAX_DEPTH: usize = 1 << 20;

/// How the reason begins where a text ends inside a value.
pub(crate) const CUT_OFF: &str = "the text ends";

/// The syntax of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum Dialect {
    #[default]
    Json,
    Python,
}

/// Why scanning stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScanError {
    #[error("{reason} at byte {offset}")]
    Syntax { offset: u64, reason: &'static str },
    #[error("the result could not be read")]
    Source(#[from] io::Error),
}

/// A string or key as written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StringToken<'b> {
    /// The inside of the quotes, still escaped; only its beginning if it is shorter than `length`.
    pub(crate) raw: &'b [u8],
    /// The number of raw bytes between the quotes.
    pub(crate) length: u64,
    /// Whether it contains escapes.
    pub(crate) escapes: bool,
}

impl<'b> StringToken<'b> {
    /// Returns the token of a text that has no escapes.
    pub(crate) fn unescaped(text: &'b str) -> Self {
        Self { raw: text.as_bytes(), length: text.len() as u64, escapes: false }
    }

    /// Returns whether `raw` is only the beginning.
    pub(crate) fn is_cut(&self) -> bool {
        self.raw.len() as u64 != self.length
    }
}

/// What the scanner found next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event<'b> {
    StartObject,
    EndObject,
    StartArray,
    EndArray,
    Key(StringToken<'b>),
    String(StringToken<'b>),
    /// The number as written.
    Number(&'b [u8]),
    Bool(bool),
    Null,
    /// The top-level value is complete; see [`Scanner::begin_next`].
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    FirstItem,
    FirstKey,
    Key,
    AfterValue,
}

/// A pull scanner over the decoded bytes of a text.
pub(crate) struct Scanner<'a> {
    feed: Feed<'a>,
    dialect: Dialect,
    /// Decoded bytes; `buffer[0]` is at decoded offset `base`, the next unread byte at index `at`.
    buffer: Vec<u8>,
    base: u64,
    at: usize,
    /// The open containers: true for an object.
    stack: Vec<bool>,
    expect: Expect,
    /// The decoded offset at which the last event began.
    token: u64,
    /// Strings up to this many raw bytes are returned whole.
    max_whole_string: usize,
    /// The last string decoded, where tokens are to be decoded; `None` if they are to be as written.
    decoded: Option<Vec<u8>>,
}

impl<'a> Scanner<'a> {
    /// Scans a text from its beginning.
    pub(crate) fn new(text: &'a Text<'a>, dialect: Dialect) -> Self {
        Self::over(text.feed(), dialect)
    }

    /// Scans one value that begins at a decoded offset, or after white space from there.
    pub(crate) fn at(text: &'a Text<'a>, offset: u64, dialect: Dialect) -> io::Result<Self> {
        Ok(Self::over(text.feed_from(offset)?, dialect))
    }

    /// Continues inside a container: `offset` is that of one of its elements, or in an object of a key.
    pub(crate) fn inside(
        text: &'a Text<'a>,
        offset: u64,
        object: bool,
        dialect: Dialect,
    ) -> io::Result<Self> {
        let mut scanner = Self::at(text, offset, dialect)?;
        scanner.stack.push(object);
        scanner.expect = if object { Expect::Key } else { Expect::Value };
        Ok(scanner)
    }

    fn over(feed: Feed<'a>, dialect: Dialect) -> Self {
        Self {
            base: feed.position(),
            feed,
            dialect,
            buffer: Vec::new(),
            at: 0,
            stack: Vec::new(),
            expect: Expect::Value,
            token: 0,
            max_whole_string: MAX_WHOLE_STRING_BYTES,
            decoded: None,
        }
    }

    /// Returns the decoded offset at which the last event began.
    pub(crate) fn token_start(&self) -> u64 {
        self.token
    }

    /// Returns the decoded offset after the last event.
    pub(crate) fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Returns keys and strings without escapes from now on, so that equal ones have equal bytes however they are
    /// written.
    pub(crate) fn decode_strings(&mut self) {
        self.decoded = Some(Vec::new());
    }

    /// Returns strings up to `max_bytes` raw bytes whole from now on, whatever memory that takes.
    pub(crate) fn keep_strings(&mut self, max_bytes: usize) {
        self.max_whole_string = self.max_whole_string.max(max_bytes);
    }

    /// Returns the decoded offset of the next value; a value must come next.
    pub(crate) fn value_start(&mut self) -> Result<u64, ScanError> {
        self.peek()?;
        Ok(self.position())
    }

    /// Returns the number of open containers.
    pub(crate) fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Returns the next event with the decoded offset at which it begins.
    #[inline]
    pub(crate) fn next_at(&mut self) -> Result<(u64, Event<'_>), ScanError> {
        // The event borrows the buffer, so the offset must be known before it.
        self.peek()?;
        if self.expect == Expect::AfterValue && self.buffer.get(self.at) == Some(&b',') {
            self.take_comma();
            self.peek()?;
        }
        let at = self.position();
        self.next().map(|event| (at, event))
    }

    /// Returns whether a key or the end of an object comes next, after a comma or white space.
    #[inline]
    pub(crate) fn expects_key(&self) -> bool {
        match self.expect {
            Expect::FirstKey | Expect::Key => true,
            Expect::AfterValue => self.stack.last() == Some(&true),
            Expect::Value | Expect::FirstItem => false,
        }
    }

    /// Takes a key and its colon if they come next and the key is written like this, and returns its offset. Otherwise it takes
    /// at most the comma before it.
    ///
    /// Records repeat the order of their keys, so that most keys are compared here rather than scanned. The key must have no bytes
    /// that need an escape.
    #[inline]
    pub(crate) fn take_key(&mut self, key: &[u8]) -> Option<u64> {
        if self.expect == Expect::AfterValue && self.buffer.get(self.at) == Some(&b',') {
            self.take_comma();
        }
        if self.expect == Expect::AfterValue {
            return None;
        }
        let mut start = self.at;
        while matches!(self.buffer.get(start), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            start += 1;
        }
        let (&quote, rest) = self.buffer.get(start..)?.split_first()?;
        let is_quote = quote == b'"' || quote == b'\'' && self.dialect == Dialect::Python;
        if !is_quote || !rest.strip_prefix(key)?.starts_with(&[quote, b':']) {
            return None;
        }
        self.token = self.base + start as u64;
        self.at = start + key.len() + 3;
        self.expect = Expect::Value;
        Some(self.token)
    }

    /// Takes the comma that is next. A closing bracket may follow: trailing commas are accepted.
    #[inline]
    fn take_comma(&mut self) {
        self.at += 1;
        self.expect = if self.stack.last() == Some(&true) { Expect::Key } else { Expect::FirstItem };
    }

    /// Returns the next event.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Event<'_>, ScanError> {
        loop {
            let Some(byte) = self.peek()? else {
                return self.end_of_text();
            };
            self.token = self.base + self.at as u64;
            match self.expect {
                Expect::Value => return self.value(byte),
                Expect::FirstItem if is_closer(byte) => return self.close(byte),
                Expect::FirstItem => return self.value(byte),
                Expect::FirstKey | Expect::Key if byte == b'}' => return self.close(byte),
                Expect::FirstKey | Expect::Key => return self.key(byte),
                Expect::AfterValue => match self.stack.last() {
                    None => return Ok(Event::End),
                    Some(_) if is_closer(byte) => return self.close(byte),
                    Some(_) if byte == b',' => self.take_comma(),
                    Some(_) => return self.error("a comma or a closing bracket is missing"),
                },
            }
        }
    }

    /// Returns whether another element of an array follows; `None` if the text ends or is invalid here, in which case
    /// [`next`](Self::next) returns the error.
    pub(crate) fn has_element(&mut self) -> Result<Option<bool>, ScanError> {
        loop {
            let Some(byte) = self.peek()? else { return Ok(None) };
            match self.expect {
                Expect::AfterValue if byte == b',' => {
                    self.at += 1;
                    self.expect = Expect::FirstItem;
                }
                Expect::AfterValue | Expect::FirstItem if is_closer(byte) => return Ok(Some(false)),
                Expect::AfterValue => return Ok(None),
                _ => return Ok(Some(true)),
            }
        }
    }

    /// Returns whether the next value is a list; a value must come next.
    pub(crate) fn begins_list(&mut self) -> Result<bool, ScanError> {
        Ok(match self.peek()? {
            Some(b'[') => true,
            Some(b'(') => self.dialect == Dialect::Python,
            _ => false,
        })
    }

    /// After [`Event::End`], prepares for one more value and returns whether more text follows.
    pub(crate) fn begin_next(&mut self) -> Result<bool, ScanError> {
        self.expect = Expect::Value;
        Ok(self.peek()?.is_some())
    }

    /// Skips events until no more than `depth` containers are open.
    pub(crate) fn skip_to_depth(&mut self, depth: usize) -> Result<(), ScanError> {
        while self.stack.len() > depth {
            self.next()?;
        }
        Ok(())
    }

    fn end_of_text(&mut self) -> Result<Event<'static>, ScanError> {
        self.token = self.base + self.at as u64;
        match (self.stack.is_empty(), self.expect) {
            (true, Expect::AfterValue) => Ok(Event::End),
            _ => self.error("the text ends inside a value"),
        }
    }

    fn error<T>(&self, reason: &'static str) -> Result<T, ScanError> {
        Err(ScanError::Syntax { offset: self.token, reason })
    }

    /// Returns the next byte that is not white space, without reading past it.
    #[inline]
    fn peek(&mut self) -> Result<Option<u8>, ScanError> {
        loop {
            while let Some(&byte) = self.buffer.get(self.at) {
                if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                    return Ok(Some(byte));
                }
                self.at += 1;
            }
            if !self.refill(self.at)? {
                return Ok(None);
            }
        }
    }

    /// Drops everything before index `keep` and appends a block; indices shrink by `keep`. Changes nothing and
    /// returns false at the end of the text.
    fn refill(&mut self, keep: usize) -> Result<bool, ScanError> {
        if self.feed.is_done() {
            return Ok(false);
        }
        self.buffer.drain(..keep);
        self.base += keep as u64;
        self.at -= keep;
        Ok(self.feed.fill(&mut self.buffer)?)
    }

    #[inline]
    fn value(&mut self, byte: u8) -> Result<Event<'_>, ScanError> {
        match byte {
            b'"' => self.string(byte),
            b'{' => self.open(true),
            b'[' => self.open(false),
            b'0'..=b'9' | b'-' => self.number(),
            b'\'' | b'(' if self.dialect == Dialect::Python => {
                if byte == b'(' {
                    self.open(false)
                } else {
                    self.string(byte)
                }
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            _ => self.error("a value is missing"),
        }
    }

    fn open(&mut self, object: bool) -> Result<Event<'static>, ScanError> {
        if self.stack.len() >= MAX_DEPTH {
            return self.error("the nesting is too deep");
        }
        self.at += 1;
        self.stack.push(object);
        self.expect = if object { Expect::FirstKey } else { Expect::FirstItem };
        Ok(if object { Event::StartObject } else { Event::StartArray })
    }

    fn close(&mut self, byte: u8) -> Result<Event<'static>, ScanError> {
        let object = byte == b'}';
        if self.stack.last() != Some(&object) {
            return self.error("a closing bracket does not match");
        }
        self.at += 1;
        self.stack.pop();
        self.expect = Expect::AfterValue;
        Ok(if object { Event::EndObject } else { Event::EndArray })
    }
}

#[inline]
fn is_closer(byte: u8) -> bool {
    matches!(byte, b']' | b'}' | b')')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::Span;

    /// Returns the events of a text as texts with their offsets, up to the first error. Before each event, the keys are tried
    /// one after the other.
    fn events(text: &str, dialect: Dialect, keys: &[&str]) -> Vec<(u64, String)> {
        let bytes = text.as_bytes();
        let text = Text::plain(&bytes, Span::whole(&bytes));
        let mut scanner = Scanner::new(&text, dialect);
        let mut events = Vec::new();
        loop {
            let taken = keys.iter().find_map(|key| {
                let at = if scanner.expects_key() { scanner.take_key(key.as_bytes()) } else { None };
                at.map(|at| (at, (*key).to_owned()))
            });
            match taken.map_or_else(|| scanner.next_at().map(|(at, event)| (at, name(&event))), Ok) {
                Ok((_, event)) if event == "End" => return events,
                Ok(event) => events.push(event),
                Err(error) => {
                    events.push((0, error.to_string()));
                    return events;
                }
            }
        }
    }

    fn name(event: &Event<'_>) -> String {
        match event {
            Event::Key(key) => String::from_utf8_lossy(key.raw).into_owned(),
            Event::String(text) => format!("{:?}", String::from_utf8_lossy(text.raw)),
            Event::Number(raw) => String::from_utf8_lossy(raw).into_owned(),
            other => format!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn keys_that_are_compared_are_those_that_are_scanned(
            parts in proptest::collection::vec(
                prop_oneof![
                    4 => Just("{"), 4 => Just("}"), 1 => Just("["), 1 => Just("]"), 4 => Just(","),
                    8 => Just("\"a\":1"), 8 => Just("\"name\":\"x\""), 2 => Just("\"name\" : null"), 2 => Just(" \n\"a\":\t"),
                    2 => Just("\"a\\\"\":1"), 1 => Just("\"a"), 1 => Just("\"a\""), 1 => Just("\"a\"x"), 2 => Just("'a':2"),
                ],
                0..12,
            ),
            python in any::<bool>(),
        ) {
            let dialect = if python { Dialect::Python } else { Dialect::Json };
            let text = format!("{{{}", parts.concat());
            prop_assert_eq!(events(&text, dialect, &["a", "name"]), events(&text, dialect, &[]), "{}", text);
        }
    }
}
