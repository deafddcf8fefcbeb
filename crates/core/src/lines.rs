//! Reads a text line by line, in bounded memory: of a long line only the beginning and the length are returned.
//!
//! Every notation and strategy that works on lines uses it, so a line has the same number and offset everywhere.

use std::io;

use crate::text::{Feed, Text};

/// The maximum number of bytes returned of one line.
pub(crate) const MAX_LINE_BYTES: usize = 64 * 1024;

/// One line, without its line feed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'b> {
    /// Its offset in the decoded text.
    pub(crate) at: u64,
    /// Its bytes; only the beginning if shorter than `length`.
    pub(crate) bytes: &'b [u8],
    /// Its length in bytes.
    pub(crate) length: u64,
    /// Its length in characters.
    pub(crate) characters: u64,
}

impl Line<'_> {
    /// Returns the line as text.
    pub(crate) fn text(&self) -> std::borrow::Cow<'_, str> {
        // Nearly every line is valid, which is found out faster than where it is not.
        match std::str::from_utf8(self.bytes) {
            Ok(text) => text.into(),
            Err(_) => String::from_utf8_lossy(self.bytes),
        }
    }
}

/// One line with all of its text, without its line feed.
#[derive(Debug)]
pub(crate) struct OwnedLine {
    /// Its offset in the decoded text.
    pub(crate) at: u64,
    pub(crate) text: String,
    /// Its length in bytes.
    pub(crate) length: u64,
    /// Whether `text` is the whole line rather than its beginning.
    pub(crate) whole: bool,
}

/// Reads a text line by line.
pub(crate) struct Lines<'a> {
    text: &'a Text<'a>,
    feed: Feed<'a>,
    buffer: Vec<u8>,
    base: u64,
    at: usize,
    ended: bool,
}

impl<'a> Lines<'a> {
    /// Reads from the beginning.
    pub(crate) fn new(text: &'a Text<'a>) -> Self {
        Self::over(text, text.feed())
    }

    /// Reads from a decoded offset, which should be the beginning of a line.
    pub(crate) fn from(text: &'a Text<'a>, offset: u64) -> io::Result<Self> {
        Ok(Self::over(text, text.feed_from(offset)?))
    }

    fn over(text: &'a Text<'a>, feed: Feed<'a>) -> Self {
        Self { text, base: feed.position(), feed, buffer: Vec::new(), at: 0, ended: false }
    }

    /// Returns the offset of the next line.
    pub(crate) fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Returns the next line; a line feed at the end of the text does not start another line.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = self.at;
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                let (start, end) = (self.at, searched + found);
                self.at = end + 1;
                return Ok(Some(self.line(start, end)));
            }
            searched = self.buffer.len();
            if searched - self.at > 2 * MAX_LINE_BYTES {
                return self.long_line();
            }
            if self.ended {
                let (start, end) = (self.at, self.buffer.len());
                self.at = end;
                return Ok((start < end).then(|| self.line(start, end)));
            }
            searched -= self.at;
            self.refill()?;
        }
    }

    /// Returns the next line with all of its text, or the first `max_bytes` bytes of a longer one.
    pub(crate) fn next_whole(&mut self, max_bytes: u64) -> io::Result<Option<OwnedLine>> {
        let text = self.text;
        let Some(line) = self.next()? else { return Ok(None) };
        let Line { at, length, .. } = line;
        let long = (line.bytes.len() as u64) < length;
        let text = match long {
            false => line.text().into_owned(),
            true => String::from_utf8_lossy(&text.read(at..at + length.min(max_bytes))?).into_owned(),
        };
        Ok(Some(OwnedLine { at, text, length, whole: !long || length <= max_bytes }))
    }

    fn refill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.at);
        self.base += self.at as u64;
        self.at = 0;
        self.ended = !self.feed.fill(&mut self.buffer)?;
        Ok(())
    }

    fn line(&self, start: usize, end: usize) -> Line<'_> {
        let whole = &self.buffer[start..end];
        let whole = whole.strip_suffix(b"\r").unwrap_or(whole);
        let bytes = &whole[..whole.len().min(MAX_LINE_BYTES)];
        Line {
            at: self.base + start as u64,
            bytes,
            length: whole.len() as u64,
            characters: characters(whole),
        }
    }

    /// Reads a line that is too long to hold: keeps its beginning and counts the rest.
    fn long_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let at = self.position();
        let head = self.buffer[self.at..self.at + MAX_LINE_BYTES].to_vec();
        let mut count = characters(&self.buffer[self.at..]);
        let mut last = self.buffer.last().copied();
        self.at = self.buffer.len();
        let end = loop {
            self.refill()?;
            let found = memchr::memchr(b'\n', &self.buffer);
            let here = &self.buffer[..found.unwrap_or(self.buffer.len())];
            count += characters(here);
            last = here.last().copied().or(last);
            match found {
                Some(found) => break found,
                None if self.ended => break self.buffer.len(),
                None => self.at = self.buffer.len(),
            }
        };
        let carriage_return = u64::from(last == Some(b'\r'));
        count -= carriage_return;
        let length = self.base + end as u64 - at - carriage_return;
        // The bytes after the line stay in the buffer, behind its head.
        let rest = self.buffer.split_off(end.min(self.buffer.len()));
        self.base = self.base + end as u64 - head.len() as u64;
        self.buffer = head;
        self.buffer.extend_from_slice(&rest);
        self.at = MAX_LINE_BYTES + usize::from(!rest.is_empty());
        Ok(Some(Line { at, bytes: &self.buffer[..MAX_LINE_BYTES], length, characters: count }))
    }
}

fn characters(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    fn lines(text: &str) -> Vec<(u64, String, u64)> {
        let source = text.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        let mut lines = Lines::new(&text);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.at, line.text().into_owned(), line.length));
        }
        all
    }

    #[test]
    fn lines_with_and_without_an_end() {
        assert_eq!(
            lines("a\r\nbc\n\nd"),
            [(0, "a".into(), 1), (3, "bc".into(), 2), (6, "".into(), 0), (7, "d".into(), 1)]
        );
        assert_eq!(lines("a\n"), [(0, "a".into(), 1)]);
        assert!(lines("").is_empty());
    }

    #[test]
    fn a_long_line_is_counted_and_the_next_one_found() {
        let text = format!("first\n{}\nlast\nend", "x".repeat(500_000));
        let lines = lines(&text);
        assert_eq!(lines.len(), 4);
        assert_eq!((lines[1].0, lines[1].1.len(), lines[1].2), (6, MAX_LINE_BYTES, 500_000));
        assert_eq!(lines[2], (500_007, "last".into(), 4));
        let endless = "y".repeat(400_000);
        assert_eq!(tests::lines(&endless)[0].2, 400_000);
        let windows = format!("{endless}\r\nlast");
        assert_eq!(tests::lines(&windows)[0].2, 400_000);
        let source = windows.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        let line = Lines::new(&text).next_whole(1 << 20).unwrap().unwrap();
        assert!(line.whole && line.text == endless);
        let line = Lines::new(&text).next_whole(1000).unwrap().unwrap();
        assert!(!line.whole && line.text.len() == 1000 && line.length == 400_000);
    }
}
