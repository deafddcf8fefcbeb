//! The scanner's tokens: keys, strings, numbers and words.
//!
//! A token may span blocks. A refill of the buffer then keeps the bytes from the start of the token on, so that the
//! event can borrow them; only a string over the limit is replaced by its head.

use std::ops::Range;

use super::{Dialect, Event, Expect, MAX_WHOLE_STRING_BYTES, ScanError, Scanner, StringToken};
use crate::json::string;
use crate::quote::{self, Inside};

/// The number of bytes returned of a string over the limit.
const LONG_STRING_HEAD_BYTES: usize = 8 * 1024;

impl Scanner<'_> {
    #[inline]
    pub(super) fn key(&mut self, byte: u8) -> Result<Event<'_>, ScanError> {
        let token = if byte == b'"' || (byte == b'\'' && self.dialect == Dialect::Python) {
            self.scan_string(byte)?
        } else if self.dialect == Dialect::Python && (byte.is_ascii_digit() || byte == b'-') {
            let end = self.scan_while(is_number_byte)?;
            StringBounds { start: self.at, end, after: end, length: (end - self.at) as u64, escapes: false }
        } else {
            return self.error("a key is missing");
        };
        // The event borrows the key, so a refill during the search for the colon keeps its bytes.
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
        Ok(Event::Key(self.token(start..start + kept, &token)))
    }

    /// Returns the token of a string whose bytes in the buffer are known, decoded if that is asked for.
    #[inline]
    fn token(&mut self, bytes: Range<usize>, bounds: &StringBounds) -> StringToken<'_> {
        let raw = &self.buffer[bytes];
        let StringBounds { length, escapes, .. } = *bounds;
        match &mut self.decoded {
            Some(decoded) if escapes => {
                let cut = raw.len() as u64 != length;
                decoded.clear();
                string::decode_into(raw, true, decoded);
                // A string that is cut keeps its raw length, which is longer than its beginning.
                let length = if cut { length } else { decoded.len() as u64 };
                StringToken { raw: decoded, length, escapes: false }
            }
            _ => StringToken { raw, length, escapes },
        }
    }

    #[inline]
    pub(super) fn string(&mut self, quote: u8) -> Result<Event<'_>, ScanError> {
        let token = self.scan_string(quote)?;
        self.at = token.after;
        self.expect = Expect::AfterValue;
        Ok(Event::String(self.token(token.start..token.end, &token)))
    }

    /// Finds the end of the string that begins at `at`; the indices returned are valid until the next refill.
    #[inline]
    fn scan_string(&mut self, quote: u8) -> Result<StringBounds, ScanError> {
        let mut index = self.at + 1;
        let mut escapes = false;
        loop {
            match quote::closing(&self.buffer, index, quote, &mut escapes) {
                Inside::Ends(end) => {
                    let start = self.at + 1;
                    return Ok(StringBounds {
                        start,
                        end,
                        after: end + 1,
                        length: (end - start) as u64,
                        escapes,
                    });
                }
                Inside::GoesOn(next) => {
                    index = next;
                    if index - self.at > self.max_whole_string {
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

    /// Continues with a string that is too long to keep: afterwards the buffer holds its head and then what follows.
    fn scan_long_string(
        &mut self,
        quote: u8,
        index: usize,
        escapes: bool,
    ) -> Result<StringBounds, ScanError> {
        let start = self.at + 1;
        let mut head = self.buffer[start..start + LONG_STRING_HEAD_BYTES].to_vec();
        head.truncate(whole_escapes(&head));
        let from = self.base + start as u64;
        self.at = self.buffer.len();
        let (mut index, mut escapes) = (index - self.buffer.len(), escapes);
        if quote == b'"' && self.feed.jump_to_string_end(from) {
            self.buffer.clear();
            (self.base, self.at, index, escapes) = (self.feed.position(), 0, 0, true);
        }
        loop {
            if !self.refill(self.at)? {
                return self.error("the text ends inside a string");
            }
            self.at = self.buffer.len();
            match quote::closing(&self.buffer, index, quote, &mut escapes) {
                Inside::Ends(found) => {
                    let length = self.base + found as u64 - from;
                    let end = head.len();
                    // Puts the head before the rest of the block; moving the base keeps later offsets right.
                    self.base = (self.base + found as u64).wrapping_sub(end as u64);
                    head.extend_from_slice(&self.buffer[found..]);
                    self.buffer = head;
                    self.at = 0;
                    return Ok(StringBounds { start: 0, end, after: end + 1, length, escapes });
                }
                Inside::GoesOn(next) => index = next - self.buffer.len(),
            }
        }
    }

    #[inline]
    pub(super) fn number(&mut self) -> Result<Event<'_>, ScanError> {
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

    /// Reads `true`, `null` and the like; in Python also a call such as `Decimal('1.5')`, which counts as a string.
    pub(super) fn word(&mut self) -> Result<Event<'_>, ScanError> {
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
                if index - keep > MAX_WHOLE_STRING_BYTES || !self.refill(keep)? {
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

    /// Returns the index after the run of bytes from `at` on for which `belongs` holds.
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
            if index - keep > MAX_WHOLE_STRING_BYTES {
                return self.error("a number or word is too long");
            }
            if !self.refill(keep)? {
                return Ok(index);
            }
            index -= keep;
        }
    }
}

/// The indices of a string in the buffer.
struct StringBounds {
    start: usize,
    end: usize,
    after: usize,
    length: u64,
    escapes: bool,
}

#[inline]
fn is_number_byte(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Returns the length of the longest prefix that ends neither inside an escape nor inside a character.
fn whole_escapes(head: &[u8]) -> usize {
    let mut end = head.len();
    let window = end.saturating_sub(string::MAX_ESCAPE_BYTES);
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
