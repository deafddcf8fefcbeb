//! One whole tool result, read once: its blocks and the spans of their contents in the source.
//!
//! Only names and media types are copied; a text is a [`Span`] that is decoded when it is needed. Blocks of unknown
//! kind are kept as they are, since a later protocol revision may send them.
//!
//! The input may be a `CallToolResult`, a JSON-RPC response with one, or any other text or JSON, which counts as a
//! result with one text block.

mod block;
mod read;

pub use block::{Block, BlockKind, MediaKind};
pub use read::PayloadError;

use std::io;

use crate::json::fingerprint::{self, ContainerHash, Fingerprint};
use crate::json::{Dialect, MAX_WHOLE_STRING_BYTES, ScanError, Scanner};
use crate::source::{Source, Span};
use crate::text::Text;

/// What the bytes of a payload are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A `CallToolResult`.
    Result,
    /// A JSON-RPC response whose `result` is a `CallToolResult`.
    Response,
    /// Anything else, read as one text.
    Plain,
}

/// A member of the result other than its content, kept as it is.
#[derive(Debug, Clone)]
pub struct Member {
    /// The member's name.
    pub key: String,
    /// The span of its value.
    pub value: Span,
}

/// One whole tool result.
pub struct Payload<'a> {
    source: &'a dyn Source,
    /// What the bytes are.
    pub form: Form,
    /// The span of the result in the source.
    pub span: Span,
    /// The content blocks, at most [`Payload::MAX_BLOCKS`] of them.
    pub blocks: Vec<Block>,
    /// How many content blocks there are.
    pub block_count: u64,
    /// The span of the list of blocks.
    content: Option<Span>,
    /// The span of `structuredContent`, if there is one.
    pub structured: Option<Span>,
    /// Whether `structuredContent` carries the same data as the first text block or the list of blocks.
    pub structured_repeats_text: bool,
    /// `isError`, if the result has it.
    pub is_error: Option<bool>,
    /// The other members, such as `_meta` and `resultType`.
    pub others: Vec<Member>,
}

impl<'a> Payload<'a> {
    /// The maximum number of blocks that are described; more are only counted.
    pub const MAX_BLOCKS: usize = 10_000;

    /// Reads the blocks and members of a result.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read, or if the bytes are a protocol message without a result.
    pub fn read(source: &'a dyn Source) -> Result<Self, PayloadError> {
        let mut payload = read::read(source)?;
        payload.structured_repeats_text = payload.compare_channels()?;
        Ok(payload)
    }

    /// Reads bytes that are known to be the result of a call: if they do not look like one, they count as one text.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read.
    pub fn read_result(source: &'a dyn Source) -> Result<Self, PayloadError> {
        let mut payload = read::read_as_result(source)?;
        payload.structured_repeats_text = payload.compare_channels()?;
        Ok(payload)
    }

    /// Returns bytes as one text, whatever they look like.
    pub(crate) fn plain(source: &'a dyn Source) -> Self {
        read::plain(source)
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

    /// Returns whether `structuredContent` is the main part of the result, at least twice as long as all texts.
    pub fn is_structured(&self) -> bool {
        let texts: u64 = self.blocks.iter().filter_map(Block::text_span).map(Span::len).sum();
        let distinct = self.structured.filter(|_| !self.structured_repeats_text);
        distinct.is_some_and(|span| span.len() >= texts * 2)
    }

    /// Returns whether the result is its texts and nothing else: every block is a text without other members, and
    /// `structuredContent`, if there is one, repeats them.
    pub(crate) fn is_only_text(&self) -> bool {
        let texts = self.blocks.iter().all(|block| matches!(block.kind, BlockKind::Text { .. }));
        let described = self.block_count == self.blocks.len() as u64;
        let repeated = self.structured.is_none() || self.structured_repeats_text;
        texts && described && repeated && !self.blocks.is_empty() && self.beside_texts() == 0
    }

    /// Returns how many bytes of members the blocks with a text have beside it, such as annotations or an address.
    pub(crate) fn beside_texts(&self) -> u64 {
        let texts = self.blocks.iter().filter(|block| block.text_span().is_some());
        texts.map(|block| block.beside_text).sum()
    }

    /// Returns what the result has beside its main text, and where: each part in our own words, with its span.
    pub(crate) fn parts_beside_text(&self) -> Vec<(String, Span)> {
        let mut parts = Vec::new();
        let is_structured =
            self.is_structured() || self.blocks.iter().all(|block| block.text_span().is_none());
        if let Some(span) = self.structured.filter(|_| !is_structured && !self.structured_repeats_text) {
            parts.push(("structuredContent".to_owned(), span));
        }
        for block in &self.blocks {
            let what = match &block.kind {
                BlockKind::Text { .. } if is_structured => "a text",
                BlockKind::Text { .. } => continue,
                BlockKind::Media { kind: MediaKind::Image, .. } => "an image",
                BlockKind::Media { kind: MediaKind::Audio, .. } => "audio",
                BlockKind::Resource { text: Some(_), .. } if !is_structured => continue,
                BlockKind::Resource { .. } => "a resource",
                BlockKind::Link { .. } => "a link",
                BlockKind::Unknown { .. } => "a block",
            };
            parts.push((what.to_owned(), block.span));
        }
        if let (Some(content), Some(last)) = (self.content, self.blocks.last())
            && self.block_count > self.blocks.len() as u64
        {
            let further = self.block_count - self.blocks.len() as u64;
            parts
                .push((format!("{further} further blocks"), Span { start: last.span.end, end: content.end }));
        }
        parts
    }

    /// Returns the main part of the result as one text: all its texts in order, or `structuredContent` if that is the
    /// main part.
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

    /// Returns whether `structuredContent` repeats the first text, all texts, or the list of blocks.
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
            if self.lists_texts(&theirs)? {
                return Ok(true);
            }
        }
        match self.content {
            Some(span) => Ok(equal(fingerprint(&Text::plain(self.source, span))?)),
            None => Ok(false),
        }
    }

    /// Returns whether `structuredContent` is the list of what the texts carry, alone or as the only member: some SDKs send
    /// each item of a list as a block of its own.
    fn lists_texts(&self, theirs: &Fingerprint) -> Result<bool, PayloadError> {
        if self.block_count > self.blocks.len() as u64 {
            return Ok(false);
        }
        let (mut values, mut strings) = (ContainerHash::list(), ContainerHash::list());
        for text in self.blocks.iter().filter_map(|block| self.text_of(block)) {
            let value = fingerprint(&text)?.map(|fingerprint| fingerprint.whole);
            // A longer string is not hashed as a whole, so it can only be known as JSON.
            let string = match text.max_len() <= MAX_WHOLE_STRING_BYTES as u64 {
                true => Some(fingerprint::of_text(&text.read_all()?)),
                false => None,
            };
            match (value.or(string), string.or(value)) {
                (Some(value), Some(string)) => {
                    values.add(value);
                    strings.add(string);
                }
                _ => return Ok(false),
            }
        }
        let is_theirs = |list: u64| theirs.whole == list || theirs.only_member == Some(list);
        Ok(is_theirs(values.whole()) || is_theirs(strings.whole()))
    }

    /// Returns whether the only member of `structuredContent` is a string equal to the text.
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

/// Returns the fingerprint of a text, if it is JSON.
fn fingerprint(text: &Text<'_>) -> Result<Option<Fingerprint>, PayloadError> {
    match fingerprint::of(text) {
        Ok(fingerprint) => Ok(Some(fingerprint)),
        Err(ScanError::Syntax { .. }) => Ok(None),
        Err(ScanError::Source(error)) => Err(error.into()),
    }
}

/// Returns the inside of the string that is the only member of the object at `span`.
fn only_string(source: &dyn Source, span: Span) -> Result<Option<Span>, io::Error> {
    let text = Text::plain(source, span);
    let mut scanner = Scanner::new(&text, Dialect::Json);
    match read::only_string(&mut scanner) {
        Ok(found) => {
            Ok(found.map(|inside| Span { start: span.start + inside.start, end: span.start + inside.end }))
        }
        Err(ScanError::Source(error)) => Err(error),
        Err(ScanError::Syntax { .. }) => Ok(None),
    }
}
