//! One whole tool result, read once: which blocks it has and where their contents stand in the source.
//!
//! Nothing is copied but names and media types; a text is a [`Span`] that is decoded when it is needed. Blocks
//! of unknown kind are kept as they are, since a later protocol revision may send them.
//!
//! The input may be a `CallToolResult`, a JSON-RPC response around one, or any plain text or JSON, which then
//! counts as a result with one text block.

mod block;
mod read;

pub use block::{Block, BlockKind, MediaKind};
pub use read::PayloadError;

use std::io;

use crate::json::fingerprint::{self, Fingerprint};
use crate::json::{Dialect, ScanError, Scanner};
use crate::source::{Source, Span};
use crate::text::Text;

/// What the bytes were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A `CallToolResult`.
    Result,
    /// A JSON-RPC response whose `result` is a `CallToolResult`.
    Response,
    /// Anything else: one text.
    Plain,
}

/// A member of the result other than its content, kept as it came.
#[derive(Debug, Clone)]
pub struct Member {
    /// The member's name.
    pub key: String,
    /// Where its value stands.
    pub value: Span,
}

/// One whole tool result.
pub struct Payload<'a> {
    source: &'a dyn Source,
    /// What the bytes were.
    pub form: Form,
    /// Where the result stands in the source.
    pub span: Span,
    /// The content blocks, at most [`Payload::MAX_BLOCKS`] of them.
    pub blocks: Vec<Block>,
    /// How many content blocks there are.
    pub block_count: u64,
    /// Where the list of blocks stands.
    content: Option<Span>,
    /// Where `structuredContent` stands, if there is one.
    pub structured: Option<Span>,
    /// Whether `structuredContent` says what the first text block says.
    pub structured_repeats_text: bool,
    /// `isError`, if the result has it.
    pub is_error: Option<bool>,
    /// The other members, such as `_meta` and `resultType`.
    pub others: Vec<Member>,
}

impl<'a> Payload<'a> {
    /// Blocks beyond this many are counted but not described.
    pub const MAX_BLOCKS: usize = 10_000;

    /// Reads the outline of a result.
    ///
    /// # Errors
    ///
    /// Where the source cannot be read, or the bytes claim to be a protocol message but are not a result.
    pub fn read(source: &'a dyn Source) -> Result<Self, PayloadError> {
        let mut payload = read::read(source)?;
        payload.structured_repeats_text = payload.compare_channels()?;
        Ok(payload)
    }

    /// Reads the outline of bytes that are known to be the result of a call: what does not look like one counts as one
    /// text, so that nothing is passed over.
    ///
    /// # Errors
    ///
    /// Where the source cannot be read.
    pub fn read_result(source: &'a dyn Source) -> Result<Self, PayloadError> {
        let mut payload = read::read_as_result(source)?;
        payload.structured_repeats_text = payload.compare_channels()?;
        Ok(payload)
    }

    /// Returns the bytes the payload was read from.
    pub fn source(&self) -> &'a dyn Source {
        self.source
    }

    /// Returns the text of a block that has one.
    pub fn text_of(&self, block: &Block) -> Option<Text<'a>> {
        let span = block.text_span()?;
        Some(match self.form {
            Form::Plain => Text::plain(self.source, span),
            _ => Text::escaped(self.source, vec![span]),
        })
    }

    /// Returns whether `structuredContent` is what the result is about, and the text only a word on it.
    pub fn is_structured(&self) -> bool {
        let texts: u64 = self.blocks.iter().filter_map(Block::text_span).map(Span::len).sum();
        let own = self.structured.filter(|_| !self.structured_repeats_text);
        own.is_some_and(|span| span.len() >= texts * 2)
    }

    /// Returns what the result is about as one text: all its texts, in order, or `structuredContent` where that is
    /// most of it.
    pub fn joined_text(&self) -> Option<Text<'a>> {
        if self.is_structured() {
            return self.structured_text();
        }
        let spans: Vec<Span> = self.blocks.iter().filter_map(Block::text_span).collect();
        match (spans.as_slice(), self.form) {
            ([], _) => self.structured_text(),
            ([span], Form::Plain) => Some(Text::plain(self.source, *span)),
            _ => Some(Text::escaped(self.source, spans)),
        }
    }

    /// Returns `structuredContent` as a text.
    pub fn structured_text(&self) -> Option<Text<'a>> {
        self.structured.map(|span| Text::plain(self.source, span))
    }

    /// Whether `structuredContent` says what the first text says, or is the list of blocks once more.
    fn compare_channels(&self) -> Result<bool, PayloadError> {
        let Some(structured) = self.structured_text() else { return Ok(false) };
        let Some(theirs) = fingerprint(&structured)? else { return Ok(false) };
        let equal = |ours: Option<Fingerprint>| {
            ours.is_some_and(|ours| {
                ours.whole == theirs.whole
                    || theirs.only_member == Some(ours.whole)
                    || ours.only_member == Some(theirs.whole)
            })
        };
        if let Some(text) = self.blocks.iter().find_map(|block| self.text_of(block)) {
            if theirs.only_member.is_some() && self.same_string(&text)? {
                return Ok(true);
            }
            if equal(fingerprint(&text)?) {
                return Ok(true);
            }
        }
        match self.content {
            Some(span) => Ok(equal(fingerprint(&Text::plain(self.source, span))?)),
            None => Ok(false),
        }
    }

    /// Whether the only member of `structuredContent` is a string equal to the text.
    fn same_string(&self, text: &Text<'_>) -> Result<bool, PayloadError> {
        let Some(span) = self.structured.map(|span| only_string(self.source, span)).transpose()?.flatten()
        else {
            return Ok(false);
        };
        let other = Text::escaped(self.source, vec![span]);
        let (mut one, mut two) = (text.feed(), other.feed());
        let (mut left, mut right) = (Vec::new(), Vec::new());
        loop {
            let more_left = left.is_empty() && one.fill(&mut left)?;
            let more_right = right.is_empty() && two.fill(&mut right)?;
            let common = left.len().min(right.len());
            if left[..common] != right[..common] {
                return Ok(false);
            }
            left.drain(..common);
            right.drain(..common);
            if !more_left && !more_right && common == 0 {
                return Ok(left.is_empty() && right.is_empty());
            }
        }
    }
}

/// The fingerprint of a text that is JSON.
fn fingerprint(text: &Text<'_>) -> Result<Option<Fingerprint>, PayloadError> {
    match fingerprint::of(&mut Scanner::new(text, Dialect::Json)) {
        Ok(fingerprint) => Ok(Some(fingerprint)),
        Err(ScanError::Syntax { .. }) => Ok(None),
        Err(ScanError::Source(error)) => Err(error.into()),
    }
}

/// The inside of the string that is the only member of the object at `span`.
fn only_string(source: &dyn Source, span: Span) -> Result<Option<Span>, io::Error> {
    let text = Text::plain(source, span);
    let mut scanner = Scanner::new(&text, Dialect::Json);
    let found = read::only_string(&mut scanner);
    match found {
        Ok(found) => {
            Ok(found.map(|inside| Span { start: span.start + inside.start, end: span.start + inside.end }))
        }
        Err(ScanError::Source(error)) => Err(error),
        Err(ScanError::Syntax { .. }) => Ok(None),
    }
}
