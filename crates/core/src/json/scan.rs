//! A pull scanner: the text in, one event at a time out, in bounded memory.
//!
//! It keeps what a strict parser would normalise or refuse: numbers are raw text, duplicate keys are reported
//! one by one, nesting has no limit but the input's length, strings are raw with a flag for escapes. A string
//! longer than [`LONG_STRING`] is reported by its beginning and its length, so memory stays flat whatever the
//! upstream sends.
//!
//! Two dialects: JSON (with `NaN` and `Infinity`, which several producers write) and the literals that Python
//! servers print when they format rows with `str()`: single quotes, `None`, tuples, `Decimal('1.5')`.

use std::io;

use serde::{Deserialize, Serialize};

use crate::quote::{self, Inside};
use crate::text::{Feed, Text};

/// Strings up to this many raw bytes are handed out whole.
pub(crate) const LONG_STRING: usize = 64 * 1024;
/// How much of a longer string is handed out.
const LONG_STRING_HEAD: usize = 8 * 1024;
/// Nesting beyond this is no data format any more; each level costs one byte.
const MAX_DEPTH: usize = 1 << 20;

/// Which notation the text is in.
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

/// One string or key as it stands in the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StringToken<'b> {
    /// The inside of the quotes, still escaped; only the beginning where `length` says so.
    pub(crate) raw: &'b [u8],
    /// The number of raw bytes between the quotes.
    pub(crate) length: u64,
    /// Whether any escape occurs.
    pub(crate) escapes: bool,
}

impl StringToken<'_> {
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
    /// The value is complete; see [`Scanner::begin_next`].
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
    token: u64,
    /// Strings up to this many raw bytes are handed out whole.
    long_string: usize,
}

impl<'a> Scanner<'a> {
    /// Scans a text from its beginning.
    pub(crate) fn new(text: &'a Text<'a>, dialect: Dialect) -> Self {
        Self::over(text.feed(), dialect)
    }

    /// Scans one value that begins at (or after white space from) a decoded offset.
    pub(crate) fn at(text: &'a Text<'a>, offset: u64, dialect: Dialect) -> io::Result<Self> {
        Ok(Self::over(text.feed_from(offset)?, dialect))
    }

    /// Scans on from an element of a container that was entered before: `offset` is where an element (in an
    /// object: its key) begins.
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
            long_string: LONG_STRING,
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

    /// Hands out strings up to `most` raw bytes whole, whatever memory that takes.
    pub(crate) fn keep_strings(&mut self, most: usize) {
        self.long_string = self.long_string.max(most);
    }

    /// Returns the decoded offset of the value that comes next; the scanner must stand before one.
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
        // The event borrows the buffer, so the offset cannot be asked for once it is there.
        self.peek()?;
        let at = self.position();
        let after_comma = self.expect == Expect::AfterValue && self.buffer.get(self.at) == Some(&b',');
        if after_comma {
            self.at += 1;
            self.expect = if self.stack.last() == Some(&true) { Expect::Key } else { Expect::FirstItem };
            self.peek()?;
            let at = self.position();
            return self.next().map(|event| (at, event));
        }
        self.next().map(|event| (at, event))
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
                    Some(&object) if byte == b',' => {
                        self.at += 1;
                        // After a comma a closer is let through: trailing commas lose nothing.
                        self.expect = if object { Expect::Key } else { Expect::FirstItem };
                    }
                    Some(_) => return self.error("a comma or a closing bracket is missing"),
                },
            }
        }
    }

    /// Inside an array: whether another element follows. `None` where the text ended or is broken here; the next
    /// call of [`next`](Self::next) then says how.
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

    /// After [`Event::End`]: whether more text follows, and if so makes ready for one more value.
    pub(crate) fn begin_next(&mut self) -> Result<bool, ScanError> {
        self.expect = Expect::Value;
        Ok(self.peek()?.is_some())
    }

    /// Reads past the rest of the container that is open at `depth` (that is, until the depth is `depth - 1`).
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

    /// The next byte that is not white space.
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

    /// Drops everything before index `keep` and appends a block; indices shrink by `keep`. At the end of the text
    /// nothing changes and the answer is false.
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

    #[inline]
    fn key(&mut self, byte: u8) -> Result<Event<'_>, ScanError> {
        let token = if byte == b'"' || (byte == b'\'' && self.dialect == Dialect::Python) {
            self.scan_string(byte)?
        } else if self.dialect == Dialect::Python && (byte.is_ascii_digit() || byte == b'-') {
            let end = self.scan_while(is_number_byte)?;
            Scanned { start: self.at, end, after: end, length: (end - self.at) as u64, escapes: false }
        } else {
            return self.error("a key is missing");
        };
        // The key's bytes must survive the search for the colon, so they are what a refill keeps.
        let (mut start, mut at) = (token.start, token.after);
        let kept = token.end - start;
        loop {
            match self.buffer.get(at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => at += 1,
                Some(b':') => break,
                Some(_) => return self.error("a colon is missing"),
                None => {
                    self.at = start;
                    if !self.refill(start)? {
                        return self.error("the text ends inside an object");
                    }
                    at -= start;
                    start = 0;
                }
            }
        }
        self.at = at + 1;
        self.expect = Expect::Value;
        Ok(Event::Key(StringToken {
            raw: &self.buffer[start..start + kept],
            length: token.length,
            escapes: token.escapes,
        }))
    }

    #[inline]
    fn string(&mut self, quote: u8) -> Result<Event<'_>, ScanError> {
        let token = self.scan_string(quote)?;
        self.at = token.after;
        self.expect = Expect::AfterValue;
        Ok(Event::String(StringToken {
            raw: &self.buffer[token.start..token.end],
            length: token.length,
            escapes: token.escapes,
        }))
    }

    /// Finds the end of the string that begins at `at`; the result's indices are valid until the next refill.
    #[inline]
    fn scan_string(&mut self, quote: u8) -> Result<Scanned, ScanError> {
        let mut index = self.at + 1;
        let mut escapes = false;
        loop {
            match quote::closing(&self.buffer, index, quote, &mut escapes) {
                Inside::Ends(end) => {
                    let start = self.at + 1;
                    return Ok(Scanned { start, end, after: end + 1, length: (end - start) as u64, escapes });
                }
                Inside::GoesOn(next) => {
                    index = next;
                    if index - self.at > self.long_string {
                        return self.scan_long_string(quote, index, escapes);
                    }
                    let keep = self.at;
                    if !self.refill(keep)? {
                        return self.error("the text ends inside a string");
                    }
                    index -= keep;
                }
            }
        }
    }

    /// Goes on with a string that is too long to keep: the buffer then holds its head, then what follows it.
    fn scan_long_string(&mut self, quote: u8, index: usize, escapes: bool) -> Result<Scanned, ScanError> {
        let start = self.at + 1;
        let mut head = self.buffer[start..start + LONG_STRING_HEAD].to_vec();
        head.truncate(whole_escapes(&head));
        let from = self.base + start as u64;
        self.at = self.buffer.len();
        let (mut index, mut escapes) = (index - self.buffer.len(), escapes);
        loop {
            if !self.refill(self.at)? {
                return self.error("the text ends inside a string");
            }
            self.at = self.buffer.len();
            match quote::closing(&self.buffer, index, quote, &mut escapes) {
                Inside::Ends(found) => {
                    let length = self.base + found as u64 - from;
                    let end = head.len();
                    // Lay the head before the rest of the block; offsets stay true by moving the base.
                    self.base = (self.base + found as u64).wrapping_sub(end as u64);
                    head.extend_from_slice(&self.buffer[found..]);
                    self.buffer = head;
                    self.at = 0;
                    return Ok(Scanned { start: 0, end, after: end + 1, length, escapes });
                }
                Inside::GoesOn(next) => index = next - self.buffer.len(),
            }
        }
    }

    #[inline]
    fn number(&mut self) -> Result<Event<'_>, ScanError> {
        let end = self.scan_while(is_number_byte)?;
        let start = self.at;
        if self.buffer[start..end] == *b"-" {
            // `-Infinity`, or a dash that begins no value.
            return self.word();
        }
        self.at = end;
        self.expect = Expect::AfterValue;
        Ok(Event::Number(&self.buffer[start..end]))
    }

    /// `true`, `null` and the like; in Python also a call such as `Decimal('1.5')`, which counts as text.
    fn word(&mut self) -> Result<Event<'_>, ScanError> {
        let end =
            self.scan_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))?;
        let start = self.at;
        self.expect = Expect::AfterValue;
        let python = self.dialect == Dialect::Python;
        if python && self.buffer.get(end) == Some(&b'(') {
            return self.call(end);
        }
        self.at = end;
        match &self.buffer[start..end] {
            b"true" => Ok(Event::Bool(true)),
            b"false" => Ok(Event::Bool(false)),
            b"null" => Ok(Event::Null),
            b"True" if python => Ok(Event::Bool(true)),
            b"False" if python => Ok(Event::Bool(false)),
            b"None" if python => Ok(Event::Null),
            b"NaN" | b"Infinity" | b"-Infinity" | b"nan" | b"inf" | b"-inf" => {
                Ok(Event::Number(&self.buffer[start..end]))
            }
            _ => self.error("a value is missing"),
        }
    }

    fn call(&mut self, open: usize) -> Result<Event<'_>, ScanError> {
        let mut depth = 0;
        let mut index = open;
        loop {
            if index >= self.buffer.len() {
                let keep = self.at;
                if index - keep > LONG_STRING || !self.refill(keep)? {
                    return self.error("the text ends inside a call");
                }
                index -= keep;
                continue;
            }
            match self.buffer[index] {
                b'(' => depth += 1,
                b')' if depth == 1 => break,
                b')' => depth -= 1,
                _ => {}
            }
            index += 1;
        }
        let start = self.at;
        self.at = index + 1;
        let raw = &self.buffer[start..=index];
        Ok(Event::String(StringToken { raw, length: raw.len() as u64, escapes: false }))
    }

    /// Returns the index after the run of bytes that begins at `at`.
    #[inline]
    fn scan_while(&mut self, belongs: impl Fn(u8) -> bool) -> Result<usize, ScanError> {
        let mut index = self.at;
        loop {
            while let Some(&byte) = self.buffer.get(index) {
                if !belongs(byte) {
                    return Ok(index);
                }
                index += 1;
            }
            let keep = self.at;
            if index - keep > LONG_STRING {
                return self.error("a number or word is too long");
            }
            if !self.refill(keep)? {
                return Ok(index);
            }
            index -= keep;
        }
    }
}

/// A string found in the buffer, by indices.
struct Scanned {
    start: usize,
    end: usize,
    after: usize,
    length: u64,
    escapes: bool,
}

#[inline]
fn is_closer(byte: u8) -> bool {
    matches!(byte, b']' | b'}' | b')')
}

#[inline]
fn is_number_byte(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

/// The length of the longest beginning that ends neither inside an escape nor inside a character.
fn whole_escapes(head: &[u8]) -> usize {
    let mut end = head.len();
    let window = end.saturating_sub(crate::json::string::LONGEST_ESCAPE);
    if let Some(slash) = memchr::memrchr(b'\\', &head[window..]) {
        end = window + slash;
        while end > 0 && head[end - 1] == b'\\' {
            end -= 1;
        }
    }
    while end > 0 && end < head.len() && head[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    match std::str::from_utf8(&head[..end]) {
        Ok(_) => end,
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => end,
    }
}
