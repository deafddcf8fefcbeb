//! A text inside a result: spans of the source that are plain bytes or the insides of JSON strings, read as one.
//!
//! MCP delivers most data as JSON inside a JSON string, so the text that matters is escaped once more; and some
//! servers send one block per entry. A [`Text`] hides both: it is read as decoded bytes with a line feed between
//! blocks, front to back through a `Feed`, and every position in the engine is an offset in this decoded text.
//! While a feed runs it leaves checkpoints (decoded offset, raw offset) behind, so that any decoded range can be
//! read again at the cost of one block.
//!
//! Decoding loses nothing that can be shown: a lone surrogate has no UTF-8 form and stays as its escape.

use std::cell::RefCell;
use std::io;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::json::string;
use crate::source::{Source, Span};

/// Raw bytes decoded per step. Also the least distance of checkpoints, hence what a jump costs.
const BLOCK: usize = 8 * 1024;
/// More checkpoints than this are thinned out: what is kept of a text must not grow with it.
const CHECKPOINTS: usize = 8 * 1024;
/// Raw bytes read ahead of a pass over a source that is not in memory.
const AHEAD: u64 = 64 * 1024;

/// A text inside a source.
pub struct Text<'a> {
    source: &'a dyn Source,
    parts: Vec<Span>,
    escaped: bool,
    index: RefCell<TextIndex>,
    /// The block that was last jumped into: records that are looked up one after the other are often in one.
    last: RefCell<Option<Block>>,
}

/// A decoded block, and where it begins and ends.
#[derive(Debug)]
struct Block {
    from: Checkpoint,
    to: Checkpoint,
    bytes: Vec<u8>,
}

/// A place that is known both in the decoded text and in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) decoded: u64,
    part: u32,
    raw: u64,
    /// Line feeds before it.
    pub(crate) lines: u64,
}

/// What a pass over a text leaves behind, to be kept with the result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TextIndex {
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// The least distance of the next checkpoint.
    #[serde(skip)]
    distance: u64,
    /// The decoded length, once the whole text has been read.
    pub(crate) length: Option<u64>,
    /// Line feeds in the whole text.
    pub(crate) lines: u64,
}

impl TextIndex {
    /// Notes a place, unless one close before it is known.
    fn note(&mut self, at: Checkpoint) {
        self.distance = self.distance.max(BLOCK as u64 / 2);
        if self.checkpoints.last().is_some_and(|last| at.decoded < last.decoded + self.distance) {
            return;
        }
        if self.checkpoints.len() == CHECKPOINTS {
            self.checkpoints = self.checkpoints.iter().copied().step_by(2).collect();
            self.distance *= 2;
        }
        self.checkpoints.push(at);
    }
}

impl<'a> Text<'a> {
    /// A text whose bytes stand in the source as they are.
    pub fn plain(source: &'a dyn Source, span: Span) -> Self {
        Self::new(source, vec![span], false, TextIndex::default())
    }

    /// The insides of JSON strings, without their quotes, as one text with a line feed between them.
    pub fn escaped(source: &'a dyn Source, parts: Vec<Span>) -> Self {
        let plain = parts.len() == 1
            && source.as_slice().is_some_and(|bytes| {
                let range = parts[0].start as usize..parts[0].end as usize;
                memchr::memchr(b'\\', &bytes[range]).is_none()
            });
        Self::new(source, parts, !plain, TextIndex::default())
    }

    fn new(source: &'a dyn Source, parts: Vec<Span>, escaped: bool, index: TextIndex) -> Self {
        Self { source, parts, escaped, index: RefCell::new(index), last: RefCell::default() }
    }

    /// Returns the text that was kept with its index.
    pub(crate) fn indexed(source: &'a dyn Source, parts: Vec<Span>, escaped: bool, index: TextIndex) -> Self {
        Self::new(source, parts, escaped, index)
    }

    /// Returns where the text stands, whether it is escaped there, and the index of the whole of it.
    pub(crate) fn index(&self) -> io::Result<(Vec<Span>, bool, TextIndex)> {
        if self.index.borrow().length.is_none() {
            let mut feed = self.feed();
            let mut block = Vec::new();
            while feed.fill(&mut block)? {
                block.clear();
            }
        }
        Ok((self.parts.clone(), self.escaped, self.index.borrow().clone()))
    }

    /// Returns the decoded length; reads the text where it is not known yet.
    pub(crate) fn length(&self) -> io::Result<u64> {
        match self.index.borrow().length {
            Some(length) => return Ok(length),
            None if !self.escaped => return Ok(self.max_len()),
            None => {}
        }
        Ok(self.index()?.2.length.unwrap_or_default())
    }

    /// Returns the last known place at or before the beginning of line `line` (from 0).
    pub(crate) fn before_line(&self, line: u64) -> Option<Checkpoint> {
        let index = self.index.borrow();
        let after = index
            .checkpoints
            .partition_point(|checkpoint| checkpoint.lines < line || checkpoint.decoded == 0);
        after.checked_sub(1).map(|at| index.checkpoints[at])
    }

    /// Returns an upper bound of the decoded length.
    pub fn max_len(&self) -> u64 {
        let between = self.parts.len().saturating_sub(1) as u64;
        self.parts.iter().map(|part| part.len()).sum::<u64>() + between
    }

    fn begin(&self) -> Checkpoint {
        Checkpoint { decoded: 0, part: 0, raw: self.parts.first().map_or(0, |part| part.start), lines: 0 }
    }

    /// Returns a feed of the decoded bytes from the beginning.
    pub(crate) fn feed(&self) -> Feed<'_> {
        Feed::at(self, self.begin())
    }

    /// Returns a feed whose first byte is the decoded offset `start`.
    pub(crate) fn feed_from(&self, start: u64) -> io::Result<Feed<'_>> {
        let begin = self.begin();
        if !self.escaped {
            let raw = self.parts.first().map_or(0, |part| (part.start + start).min(part.end));
            // How many lines come before is not known here, so that no checkpoint may be left from this feed.
            return Ok(Feed { notes: false, ..Feed::at(self, Checkpoint { decoded: start, raw, ..begin }) });
        }
        let nearest = {
            let checkpoints = &self.index.borrow().checkpoints;
            let after = checkpoints.partition_point(|checkpoint| checkpoint.decoded <= start);
            if after == 0 { begin } else { checkpoints[after - 1] }
        };
        let mut feed = Feed::at(self, nearest);
        feed.skip_to(start)?;
        Ok(feed)
    }

    /// Reads a range of the decoded text, cut at its end.
    pub(crate) fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let want = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
        let mut feed = self.feed_from(range.start)?;
        let mut bytes = Vec::with_capacity(want.min(4 * BLOCK));
        while bytes.len() < want && feed.fill(&mut bytes)? {}
        bytes.truncate(want);
        Ok(bytes)
    }

    /// Returns the whole decoded text; for texts known to be small.
    ///
    /// # Errors
    ///
    /// Whatever the source reports.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        self.read_all()
    }

    /// Reads the whole decoded text; for texts known to be small.
    pub(crate) fn read_all(&self) -> io::Result<Vec<u8>> {
        self.read(0..self.max_len())
    }

    /// Reads raw bytes at a distance from the beginning and decodes them by themselves, as a sample.
    pub(crate) fn sample(&self, mut distance: u64, length: u64) -> io::Result<Vec<u8>> {
        for part in &self.parts {
            if distance < part.len() {
                let start = part.start + distance;
                let raw = Span { start, end: part.end.min(start + length) }.read(self.source)?;
                return Ok(if self.escaped { string::decode(&raw) } else { raw });
            }
            distance -= part.len();
        }
        Ok(Vec::new())
    }

    /// Returns whether the text ends with a line feed.
    pub(crate) fn ends_with_line_feed(&self) -> io::Result<bool> {
        let Some(last) = self.parts.last() else { return Ok(false) };
        let tail =
            Span { start: last.end.saturating_sub(2).max(last.start), end: last.end }.read(self.source)?;
        let tail = if self.escaped { string::decode(&tail) } else { tail };
        Ok(tail.last() == Some(&b'\n'))
    }
}

/// Decoded bytes of a text, block by block.
pub(crate) struct Feed<'a> {
    text: &'a Text<'a>,
    at: Checkpoint,
    /// Raw bytes, where the source is not in memory, and where they begin.
    scratch: Vec<u8>,
    scratch_at: u64,
    /// Decoded bytes that come first: the rest of an escape that a jump landed in, or the end of a block.
    pending: Vec<u8>,
    /// Whether checkpoints are left behind.
    notes: bool,
}

impl<'a> Feed<'a> {
    fn at(text: &'a Text<'a>, at: Checkpoint) -> Self {
        Self { text, at, scratch: Vec::new(), scratch_at: 0, pending: Vec::new(), notes: true }
    }

    /// Returns the decoded offset of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.at.decoded
    }

    /// Returns whether all has been handed out.
    pub(crate) fn is_done(&self) -> bool {
        let last_part = self.at.part as usize + 1 >= self.text.parts.len();
        self.pending.is_empty()
            && last_part
            && self.text.parts.last().is_none_or(|part| self.at.raw >= part.end)
    }

    /// Appends the next block to `out`; false when the text has ended.
    pub(crate) fn fill(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        if !self.pending.is_empty() {
            self.at.decoded += self.pending.len() as u64;
            out.append(&mut self.pending);
            return Ok(true);
        }
        if self.is_done() {
            self.note_end();
            return Ok(false);
        }
        let part = self.text.parts[self.at.part as usize];
        if self.at.raw >= part.end {
            out.push(b'\n');
            self.at.decoded += 1;
            self.at.lines += 1;
            self.at.part += 1;
            self.at.raw = self.text.parts[self.at.part as usize].start;
            return Ok(true);
        }
        self.note();
        let before = out.len();
        let used = self.decode_block(part.end, out)?;
        self.at.raw += used as u64;
        self.at.decoded += (out.len() - before) as u64;
        self.at.lines += memchr::memchr_iter(b'\n', &out[before..]).count() as u64;
        if self.is_done() {
            self.note_end();
        }
        Ok(true)
    }

    /// Leaves a checkpoint here, unless there is one already.
    fn note(&self) {
        if self.notes {
            self.text.index.borrow_mut().note(self.at);
        }
    }

    /// Notes how long the text turned out to be.
    fn note_end(&self) {
        if self.notes {
            let mut index = self.text.index.borrow_mut();
            index.length = Some(self.at.decoded);
            index.lines = self.at.lines;
        }
    }

    fn decode_block(&mut self, end: u64, out: &mut Vec<u8>) -> io::Result<usize> {
        let want = (end - self.at.raw).min(BLOCK as u64) as usize;
        let last = self.at.raw + want as u64 == end;
        if let Some(bytes) = self.text.source.as_slice() {
            let start = self.at.raw as usize;
            return Ok(decode(&bytes[start..start + want], self.text.escaped, last, out));
        }
        let known = self.scratch_at..self.scratch_at + self.scratch.len() as u64;
        if !known.contains(&self.at.raw) || known.end < self.at.raw + want as u64 {
            // A jump wants one block; who reads on after it is likely to want more.
            let ahead = if self.scratch.is_empty() { want as u64 } else { AHEAD };
            let span = Span { start: self.at.raw, end: end.min(self.at.raw + ahead) };
            span.read_into(self.text.source, &mut self.scratch)?;
            self.scratch_at = self.at.raw;
        }
        let start = (self.at.raw - self.scratch_at) as usize;
        Ok(decode(&self.scratch[start..start + want], self.text.escaped, last, out))
    }

    fn skip_to(&mut self, start: u64) -> io::Result<()> {
        if self.at.decoded == start {
            return Ok(());
        }
        let mut last = self.text.last.borrow_mut();
        let known = last.take().filter(|last| last.from.decoded <= start && start <= last.to.decoded);
        let mut block = known.unwrap_or_else(|| Block { from: self.at, to: self.at, bytes: Vec::new() });
        self.at = block.to;
        while self.at.decoded < start {
            block.from = self.at;
            block.bytes.clear();
            if !self.fill(&mut block.bytes)? {
                return Ok(());
            }
        }
        block.to = self.at;
        // What was read too far comes first when the feed goes on; its lines are counted already.
        let over = (self.at.decoded - start) as usize;
        self.pending = block.bytes[block.bytes.len() - over..].to_vec();
        self.at.decoded = start;
        self.notes = false;
        *last = Some(block);
        Ok(())
    }
}

/// Decodes a block and returns how many raw bytes were used.
fn decode(raw: &[u8], escaped: bool, last: bool, out: &mut Vec<u8>) -> usize {
    if escaped {
        return string::decode_into(raw, last, out);
    }
    out.extend_from_slice(raw);
    raw.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that is not in memory, to take the other path.
    struct Elsewhere(Vec<u8>);

    impl Source for Elsewhere {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            // Short reads are legal.
            let half = buffer.len().div_ceil(2);
            self.0.as_slice().read_at(offset, &mut buffer[..half])
        }
    }

    #[test]
    fn any_range_of_an_escaped_text_reads_the_same() {
        let decoded: String = (0..20_000).map(|n| format!("{n}: \"q\" \\ é 𝄞\n")).collect();
        let mut raw = String::new();
        string::write_inside(&decoded.replace('𝄞', "\u{1}"), &mut raw);
        let raw = raw.replace("\\u0001", "\\ud834\\udd1e").into_bytes();
        let elsewhere = Elsewhere(raw.clone());
        let slice = raw.as_slice();
        for source in [&slice as &dyn Source, &elsewhere] {
            let text = Text::escaped(source, vec![Span::whole(source)]);
            assert_eq!(text.read_all().unwrap(), decoded.as_bytes());
            for start in (0..decoded.len() as u64).step_by(7919) {
                let end = (start as usize + 50).min(decoded.len());
                assert_eq!(text.read(start..start + 50).unwrap(), &decoded.as_bytes()[start as usize..end]);
            }
        }
    }

    #[test]
    fn a_pass_from_the_beginning_leaves_checkpoints() {
        let raw = r"a line\n".repeat(50_000).into_bytes();
        let source = raw.as_slice();
        let text = Text::escaped(&source, vec![Span::whole(&source)]);
        let mut feed = text.feed_from(0).unwrap();
        let mut block = Vec::new();
        while feed.fill(&mut block).unwrap() {}
        let index = text.index.borrow();
        assert!(index.checkpoints.len() >= raw.len() / BLOCK / 2, "{}", index.checkpoints.len());
        assert_eq!((index.length, index.lines), (Some(50_000 * 7), 50_000));
    }

    #[test]
    fn a_long_text_has_no_more_checkpoints_than_any() {
        let line = r"a line of some length, so that there are fewer of them\n";
        let raw = line.repeat(2 * CHECKPOINTS * BLOCK / line.len()).into_bytes();
        let text = Text::escaped(&raw, vec![Span::whole(&raw)]);
        let (_, _, index) = text.index().unwrap();
        assert!(index.checkpoints.len() <= CHECKPOINTS, "{}", index.checkpoints.len());
        let decoded = line.len() as u64 - 1;
        for row in (0..index.lines).step_by(100_003) {
            let read = text.read(row * decoded..row * decoded + decoded).unwrap();
            assert_eq!(read, line.replace(r"\n", "\n").as_bytes());
        }
    }

    #[test]
    fn blocks_are_joined_by_line_feeds() {
        let source: &[u8] = br#"["one\n","two","","four"]"#;
        let spans = [(2, 7), (10, 13), (16, 16), (19, 23)].map(|(start, end)| Span { start, end });
        let text = Text::escaped(&source, spans.to_vec());
        assert_eq!(text.read_all().unwrap(), b"one\n\ntwo\n\nfour");
        assert_eq!(text.read(5..8).unwrap(), b"two");
        assert_eq!(text.read(9..100).unwrap(), b"\nfour");
    }

    #[test]
    fn a_jump_into_a_lone_surrogate_lands_exactly() {
        let source: &[u8] = br"ab\ud800cd";
        let text = Text::escaped(&source, vec![Span::whole(&source)]);
        assert_eq!(text.read_all().unwrap(), br"ab\ud800cd");
        assert_eq!(text.read(4..8).unwrap(), b"d800");
    }
}
