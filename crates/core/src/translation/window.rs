//! The part of a text that is being translated: a few kilobytes that move forward through it.

use std::borrow::Cow;
use std::io;

use crate::text::{Feed, Text};

/// The maximum number of bytes read ahead: about as many as a text decodes at a time.
const MAX_READ_AHEAD: usize = 8 * 1024;
/// Bytes of the text that a pass over all of it is given at a time.
const SCAN_BYTES: usize = 32 * 1024;

/// The beginning of what is left of a text.
pub(super) struct Window<'w> {
    /// Bytes that are not UTF-8 are replaced.
    pub(super) text: Cow<'w, str>,
    /// Whether the text ends here.
    pub(super) is_end: bool,
    bytes: &'w [u8],
}

impl<'w> Window<'w> {
    /// Returns the part of some bytes that can be read as text: without a character at its end that may go on.
    fn new(bytes: &'w [u8], is_end: bool) -> Self {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(error) if error.error_len().is_none() && !is_end => {
                String::from_utf8_lossy(&bytes[..error.valid_up_to()])
            }
            Err(_) => String::from_utf8_lossy(&bytes[..bytes.len() - unfinished_bytes(bytes, is_end)]),
        };
        Self { text, is_end, bytes }
    }

    /// Returns a whole text as a window.
    pub(super) fn whole(text: &'w str) -> Self {
        Self { text: text.into(), is_end: true, bytes: text.as_bytes() }
    }

    /// Returns the lines that are complete.
    pub(super) fn lines(&self) -> &str {
        let end = match self.is_end {
            true => self.text.len(),
            false => memchr::memrchr(b'\n', self.text.as_bytes()).map_or(0, |at| at + 1),
        };
        &self.text[..end]
    }

    /// Returns how many bytes of the source the first bytes of the text are.
    pub(super) fn source_bytes(&self, bytes: usize) -> usize {
        if matches!(self.text, Cow::Borrowed(_)) {
            return bytes;
        }
        let (mut text, mut source) = (0, 0);
        for chunk in self.bytes.utf8_chunks() {
            if text + chunk.valid().len() >= bytes {
                return source + bytes - text;
            }
            text += chunk.valid().len() + char::REPLACEMENT_CHARACTER.len_utf8();
            source += chunk.valid().len() + chunk.invalid().len();
        }
        source
    }
}

/// Returns how many bytes at the end are the beginning of a character, where the text goes on.
fn unfinished_bytes(bytes: &[u8], is_end: bool) -> usize {
    let last = bytes.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
    let is_unfinished = std::str::from_utf8(&bytes[bytes.len() - last..])
        .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none());
    if is_unfinished && !is_end { last } else { 0 }
}

/// Moves forward through a text.
pub(super) struct TextWindow {
    /// The offset in the text of the first byte that is held.
    at: u64,
    bytes: Vec<u8>,
    /// How many of the bytes have been used.
    used: usize,
    is_end: bool,
    /// How many bytes are read ahead: few after a jump, more by a pass.
    ahead: usize,
}

impl TextWindow {
    pub(super) fn from(at: u64) -> Self {
        Self { at, bytes: Vec::new(), used: 0, is_end: false, ahead: 0 }
    }

    /// Returns the offset of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.at + self.used as u64
    }

    /// Passes over bytes.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.used += bytes;
    }

    /// Returns the next `want` bytes, fewer at the end of the text.
    pub(super) fn fill(&mut self, text: &Text<'_>, want: usize) -> io::Result<Window<'_>> {
        if self.bytes.len() - self.used < want && !self.is_end {
            self.drop_used();
            let mut feed = text.feed_from(self.at + self.bytes.len() as u64)?;
            self.read(&mut feed, want.max(self.ahead))?;
            self.ahead = (2 * self.ahead).max(want).min(MAX_READ_AHEAD);
        }
        Ok(self.window(want))
    }

    fn drop_used(&mut self) {
        self.bytes.drain(..self.used);
        self.at += self.used as u64;
        self.used = 0;
    }

    fn read(&mut self, feed: &mut Feed<'_>, want: usize) -> io::Result<()> {
        while self.bytes.len() - self.used < want && !self.is_end {
            self.is_end = !feed.fill(&mut self.bytes)?;
        }
        Ok(())
    }

    fn window(&self, want: usize) -> Window<'_> {
        let bytes = &self.bytes[self.used..];
        let is_whole = bytes.len() <= want;
        Window::new(&bytes[..bytes.len().min(want)], is_whole && self.is_end)
    }
}

/// Passes over a text once, from an offset on: `read` is given a window and returns how many bytes of it were used, none if
/// it needs more. Returns false if `read` did not understand the text.
pub(super) fn scan(
    text: &Text<'_>,
    start: u64,
    mut read: impl FnMut(&Window<'_>) -> Option<usize>,
) -> io::Result<bool> {
    let mut feed = text.feed_from(start)?;
    let mut window = TextWindow::from(start);
    let mut want = SCAN_BYTES;
    loop {
        if window.bytes.len() - window.used < want {
            window.drop_used();
            window.read(&mut feed, want)?;
        }
        let next = window.window(want);
        let Some(used) = read(&next) else { return Ok(false) };
        if next.is_end && (used == 0 || used == next.text.len()) {
            return Ok(true);
        }
        want = if used == 0 { 2 * want } else { SCAN_BYTES };
        let used = next.source_bytes(used);
        window.consume(used);
    }
}
