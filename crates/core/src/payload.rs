//! One whole tool result, read once: its blocks and the spans of their contents in the source.
//!
//! Only names and media types are copied; a text is a [`Span`] that is decoded when it is needed. Blocks of unknown
//! kind are kept as they are, since a later protocol version may send them.
//!
//! The input may be a `CallToolResult`, a JSON-RPC response with one, or any other text or JSON, which counts as a
//! result with one text block.

mod block;
mod read;

pub use block::{Block, BlockKind, MediaKind};
pub use read::PayloadError;

use std::cell::OnceCell;
use std::io;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::json::fingerprint::{self, ContainerHash, Fingerprint};
use crate::json::{Dialect, MAX_WHOLE_STRING_BYTES, ScanError, Scanner};
use crate::source::{Source, Span};
use crate::text::Text;

/// Base64 with or without padding at its end.
const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

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
    /// The numbers of the text blocks that repeat an earlier one, once they were compared.
    repeated: OnceCell<Vec<usize>>,
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

    /// Returns the content of a block, counted from 0: the decoded data of a picture, audio or binary resource, the text
    /// of a text, or the JSON of any other block. `None` if there is no such block.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read, or if the data is not base64.
    pub fn block_content(&self, number: usize) -> io::Result<Option<Vec<u8>>> {
        let Some(block) = self.blocks.get(number) else { return Ok(None) };
        if let Some(data) = block.data_span() {
            let base64 = Text::escaped(self.source, vec![data]).read_all()?;
            let base64: Vec<u8> = base64.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
            let decoded = LENIENT_BASE64.decode(base64).map_err(io::Error::other)?;
            return Ok(Some(decoded));
        }
        match self.text_of(block) {
            Some(text) => text.read_all().map(Some),
            None => block.span.read(self.source).map(Some),
        }
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

    /// Returns the numbers of the text blocks that say what an earlier one says: the same text, or the same JSON in
    /// other words. A block that cannot be read counts as another.
    pub(crate) fn repeated_blocks(&self) -> &[usize] {
        self.repeated.get_or_init(|| {
            let is_long = |span: Span| span.len() >= MIN_REPEATED_BYTES;
            let texts = self.blocks.iter().enumerate();
            let texts: Vec<(usize, &Block)> =
                texts.filter(|(_, block)| block.text_span().is_some_and(is_long)).collect();
            if !(2..=MAX_COMPARED_BLOCKS).contains(&texts.len()) {
                return Vec::new();
            }
            let (mut seen, mut repeated) = (Vec::new(), Vec::new());
            for (number, block) in texts {
                let Some(text) = self.text_of(block) else { continue };
                let json = fingerprint::of_whole(&text).ok().flatten().map(|fingerprint| fingerprint.whole);
                let says = json.or_else(|| text.hash().ok());
                match says {
                    Some(says) if seen.contains(&says) => repeated.push(number),
                    says => seen.extend(says),
                }
            }
            repeated
        })
    }

    /// Returns the main part of the result as one text: all its texts in order, or `structuredContent` if that is the
    /// main part.
    pub fn joined_text(&self) -> Option<Text<'a>> {
        if self.is_structured() {
            return self.structured_text();
        }
        let repeated = self.repeated_blocks();
        let blocks = self.blocks.iter().enumerate().filter(|(number, _)| !repeated.contains(number));
        let spans: Vec<Span> = blocks.filter_map(|(_, block)| block.text_span()).collect();
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
        let texts = || self.blocks.iter().filter_map(|block| self.text_of(block));
        for text in texts().take(MAX_COMPARED_BLOCKS) {
            if theirs.only_member.is_some() && self.same_string(&text)? {
                return Ok(true);
            }
            if equal(fingerprint(&text)?) {
                return Ok(true);
            }
            for start in json_starts(&text)? {
                if equal(readable(fingerprint::of_value_at(&text, start))?) {
                    return Ok(true);
                }
            }
        }
        if texts().next().is_some() && self.lists_texts(&theirs)? {
            return Ok(true);
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
            let value = whole_fingerprint(&text)?.map(|fingerprint| fingerprint.whole);
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

/// The maximum number of text blocks that are compared with `structuredContent` and with each other.
const MAX_COMPARED_BLOCKS: usize = 8;
/// The minimum number of bytes of a text block that may repeat another.
const MIN_REPEATED_BYTES: u64 = 256;
/// How many bytes at the beginning of a text may come before its JSON.
const MAX_FRAME_BYTES: u64 = 4096;
/// The maximum number of places at which JSON is looked for in a text.
const MAX_JSON_STARTS: usize = 3;

/// Returns where JSON may begin in a text after a heading or a sentence: at the beginning of a line, or after a colon.
fn json_starts(text: &Text<'_>) -> io::Result<Vec<u64>> {
    let head = text.read(0..MAX_FRAME_BYTES)?;
    let is_start = |at: &usize| {
        let before = head[..*at].trim_ascii_end();
        let line_start = head[..*at].iter().rposition(|byte| *byte == b'\n').map_or(0, |feed| feed + 1);
        !before.is_empty() && (before.ends_with(b":") || before.len() <= line_start)
    };
    let brackets = memchr::memchr2_iter(b'{', b'[', &head);
    // Inside JSON, brackets follow colons, too.
    let mut starts: Vec<u64> = brackets.filter(is_start).map(|at| at as u64).collect();
    starts.truncate(MAX_JSON_STARTS);
    Ok(starts)
}

/// Returns the fingerprint of a text, if it is JSON. Other text may follow an object or a list; `true` and `1` are also words
/// of sentences, so nothing may follow them.
fn fingerprint(text: &Text<'_>) -> Result<Option<Fingerprint>, PayloadError> {
    let first = text.first_visible(0..text.max_len())?;
    let byte = first.map(|at| text.read(at..at + 1)).transpose()?;
    match byte.as_deref() {
        Some(b"{" | b"[") => readable(fingerprint::of(text)),
        _ => whole_fingerprint(text),
    }
}

/// Returns the fingerprint of a text, if it is JSON and nothing else.
fn whole_fingerprint(text: &Text<'_>) -> Result<Option<Fingerprint>, PayloadError> {
    Ok(readable(fingerprint::of_whole(text))?.flatten())
}

/// Returns what was read, or `None` if the text is not JSON.
fn readable<T>(read: Result<T, ScanError>) -> Result<Option<T>, PayloadError> {
    match read {
        Ok(value) => Ok(Some(value)),
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
