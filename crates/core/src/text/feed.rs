//! Reads the decoded bytes of a text block by block.
//!
//! A feed that starts at the beginning leaves checkpoints behind; one that jumped into the middle does not, because it
//! does not know how many lines come before it.

use std::io;

use super::index::Checkpoint;
use super::{Text, TextSource};
use crate::json::string;
use crate::source::Span;

/// The number of raw bytes decoded per step.
pub(super) const BLOCK_BYTES: usize = 8 * 1024;
/// The number of raw bytes read ahead by a pass over a source that is not in memory.
const READ_AHEAD_BYTES: u64 = 64 * 1024;

/// A decoded block with the checkpoints of its beginning and its end.
#[derive(Debug)]
pub(super) struct DecodedBlock {
    from: Checkpoint,
    to: Checkpoint,
    bytes: Vec<u8>,
}

/// Reads the decoded bytes of a text block by block.
pub(crate) struct Feed<'a> {
    text: &'a Text<'a>,
    at: Checkpoint,
    /// Raw bytes read ahead, where the source is not in memory, and their offset.
    scratch: Vec<u8>,
    scratch_at: u64,
    /// Decoded bytes to hand out first: the rest of the block that a jump landed in.
    pending: Vec<u8>,
    /// Whether the feed adds checkpoints to the index of the text.
    adds_checkpoints: bool,
}

impl<'a> Feed<'a> {
    pub(super) fn at(text: &'a Text<'a>, at: Checkpoint) -> Self {
        Self { text, at, scratch: Vec::new(), scratch_at: 0, pending: Vec::new(), adds_checkpoints: true }
    }

    /// Returns the feed for a start at which the number of lines before it is not known.
    pub(super) fn without_checkpoints(self) -> Self {
        Self { adds_checkpoints: false, ..self }
    }

    /// Returns the decoded offset of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.at.decoded
    }

    /// Returns whether the whole text has been read.
    pub(crate) fn is_done(&self) -> bool {
        let last_part = self.at.part as usize + 1 >= self.text.parts.len();
        self.pending.is_empty()
            && last_part
            && self.text.parts.last().is_none_or(|part| self.at.raw >= part.end)
    }

    /// Jumps to the end of the JSON string whose inside begins at a decoded offset before the next byte, if it is known
    /// without reading the string and is not before the next byte; returns whether it is.
    pub(crate) fn jump_to_string_end(&mut self, start: u64) -> bool {
        let (TextSource::Borrowed(source), [part]) = (&self.text.source, &*self.text.parts) else {
            return false;
        };
        let is_known = !self.text.escaped && self.pending.is_empty();
        let end = is_known.then(|| source.string_end(part.start + start)).flatten();
        let Some(raw) = end.filter(|end| (self.at.raw..part.end).contains(end)) else { return false };
        // The lines in between are not counted.
        self.adds_checkpoints = false;
        (self.at.decoded, self.at.raw) = (raw - part.start, raw);
        true
    }

    /// Appends the next block to `out`; false when the text has ended.
    pub(crate) fn fill(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        if !self.pending.is_empty() {
            self.at.decoded += self.pending.len() as u64;
            out.append(&mut self.pending);
            return Ok(true);
        }
        if self.is_done() {
            self.record_end();
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
        self.add_checkpoint();
        let before = out.len();
        let used = self.decode_block(part.end, out)?;
        if used == 0 {
            // A translation shows its end only when it is reached.
            self.at.raw = part.end;
            self.record_end();
            return Ok(false);
        }
        self.at.raw += used as u64;
        self.at.decoded += (out.len() - before) as u64;
        self.at.lines += memchr::memchr_iter(b'\n', &out[before..]).count() as u64;
        if self.is_done() {
            self.record_end();
        }
        Ok(true)
    }

    fn add_checkpoint(&self) {
        if self.adds_checkpoints {
            self.text.index.borrow_mut().add(self.at);
        }
    }

    /// Records the length of the text.
    fn record_end(&self) {
        if self.adds_checkpoints {
            let mut index = self.text.index.borrow_mut();
            index.length = Some(self.at.decoded);
            index.lines = self.at.lines;
        }
    }

    fn decode_block(&mut self, end: u64, out: &mut Vec<u8>) -> io::Result<usize> {
        if let TextSource::Translated(source) = &self.text.source {
            return source.read_block(self.at.raw, BLOCK_BYTES, out);
        }
        let want = (end - self.at.raw).min(BLOCK_BYTES as u64) as usize;
        let last = self.at.raw + want as u64 == end;
        if let Some(bytes) = self.text.source.get().as_slice() {
            let start = self.at.raw as usize;
            return Ok(decode(&bytes[start..start + want], self.text.escaped, last, out));
        }
        let known = self.scratch_at..self.scratch_at + self.scratch.len() as u64;
        if !known.contains(&self.at.raw) || known.end < self.at.raw + want as u64 {
            // A jump needs one block; a caller that reads on after it is likely to need more.
            let ahead = if self.scratch.is_empty() { want as u64 } else { READ_AHEAD_BYTES };
            let span = Span { start: self.at.raw, end: end.min(self.at.raw + ahead) };
            span.read_into(self.text.source.get(), &mut self.scratch)?;
            self.scratch_at = self.at.raw;
        }
        let start = (self.at.raw - self.scratch_at) as usize;
        Ok(decode(&self.scratch[start..start + want], self.text.escaped, last, out))
    }

    /// Reads up to the decoded offset `start`, from the block of the last jump where that holds it.
    pub(super) fn skip_to(&mut self, start: u64) -> io::Result<()> {
        if self.at.decoded == start {
            return Ok(());
        }
        let mut last = self.text.last.borrow_mut();
        let known = last.take().filter(|last| last.from.decoded <= start && start <= last.to.decoded);
        let mut block =
            known.unwrap_or_else(|| DecodedBlock { from: self.at, to: self.at, bytes: Vec::new() });
        self.at = block.to;
        while self.at.decoded < start {
            block.from = self.at;
            block.bytes.clear();
            if !self.fill(&mut block.bytes)? {
                return Ok(());
            }
        }
        block.to = self.at;
        // The lines of the bytes read too far are already counted, hence no checkpoints from here on.
        let over = (self.at.decoded - start) as usize;
        self.pending = block.bytes[block.bytes.len() - over..].to_vec();
        self.at.decoded = start;
        self.adds_checkpoints = false;
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
