//! Reading the outline: one scan over the protocol's JSON, noting where things stand.

use std::io;

use super::{Block, BlockKind, Form, MediaKind, Member, Payload};
use crate::json::value::read_text;
use crate::json::{Dialect, Event, ScanError, Scanner};
use crate::source::{Source, Span};
use crate::text::Text;

/// Why the bytes are no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The source failed.
    #[error("the result could not be read")]
    Source(#[from] io::Error),
    /// The bytes begin like a protocol message but break off or are malformed.
    #[error("not valid JSON: {reason} at byte {offset}")]
    Broken {
        /// What is wrong.
        reason: &'static str,
        /// Where.
        offset: u64,
    },
    /// A JSON-RPC message that carries no result.
    #[error("this is a JSON-RPC {kind}, not the result of a tool call")]
    NoResult {
        /// What it is instead.
        kind: &'static str,
    },
}

impl From<ScanError> for PayloadError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Source(error) => Self::Source(error),
            ScanError::Syntax { offset, reason } => Self::Broken { reason, offset },
        }
    }
}

/// What the top-level object turned out to hold.
#[derive(Default)]
struct Outline {
    jsonrpc: bool,
    method: bool,
    error: bool,
    result: Option<(Span, Parts)>,
    parts: Parts,
}

/// The members of a `CallToolResult`.
#[derive(Default)]
struct Parts {
    blocks: Vec<Block>,
    block_count: u64,
    content: Option<Span>,
    /// Set as soon as a list of objects begins under `content`.
    claims_content: bool,
    structured: Option<Span>,
    is_error: Option<bool>,
    others: Vec<Member>,
}

impl Parts {
    fn is_result(&self) -> bool {
        self.content.is_some() || self.structured.is_some()
    }
}

pub(super) fn read(source: &dyn Source) -> Result<Payload<'_>, PayloadError> {
    let whole = Span::whole(source);
    let text = Text::plain(source, whole);
    let mut scanner = Scanner::new(&text, Dialect::Json);
    let mut outline = Outline::default();
    match outline.read(&mut scanner) {
        Ok(()) => {}
        Err(ScanError::Source(error)) => return Err(error.into()),
        Err(error) if outline.jsonrpc || outline.parts.claims_content => return Err(error.into()),
        Err(_) => return Ok(plain(source)),
    }
    if outline.jsonrpc {
        return match outline.result {
            Some((span, parts)) if parts.is_result() => Ok(payload(source, Form::Response, span, parts)),
            Some(_) => Err(PayloadError::NoResult { kind: "response to another method" }),
            None if outline.error => Err(PayloadError::NoResult { kind: "error response" }),
            None if outline.method => Err(PayloadError::NoResult { kind: "request or notification" }),
            None => Err(PayloadError::NoResult { kind: "message without a result" }),
        };
    }
    if outline.parts.is_result() {
        return Ok(payload(source, Form::Result, whole, outline.parts));
    }
    Ok(plain(source))
}

/// Reads bytes that are a result whatever they look like.
pub(super) fn read_as_result(source: &dyn Source) -> Result<Payload<'_>, PayloadError> {
    let whole = Span::whole(source);
    let text = Text::plain(source, whole);
    let mut outline = Outline::default();
    match outline.read(&mut Scanner::new(&text, Dialect::Json)) {
        Err(ScanError::Source(error)) => Err(error.into()),
        Ok(()) if outline.parts.is_result() => Ok(payload(source, Form::Result, whole, outline.parts)),
        _ => Ok(plain(source)),
    }
}

fn payload(source: &dyn Source, form: Form, span: Span, parts: Parts) -> Payload<'_> {
    Payload {
        source,
        form,
        span,
        blocks: parts.blocks,
        block_count: parts.block_count,
        content: parts.content,
        structured: parts.structured,
        structured_repeats_text: false,
        is_error: parts.is_error,
        others: parts.others,
    }
}

fn plain(source: &dyn Source) -> Payload<'_> {
    let span = Span::whole(source);
    let block = Block { span, kind: BlockKind::Text { text: span } };
    let parts = Parts { blocks: vec![block], block_count: 1, ..Parts::default() };
    payload(source, Form::Plain, span, parts)
}

impl Outline {
    fn read(&mut self, scanner: &mut Scanner<'_>) -> Result<(), ScanError> {
        let Event::StartObject = scanner.next()? else {
            return Err(ScanError::Syntax { offset: 0, reason: "no object" });
        };
        while let Some(key) = next_key(scanner)? {
            match key.as_str() {
                "jsonrpc" => {
                    self.jsonrpc = true;
                    skip(scanner)?;
                }
                "result" => {
                    let (start, parts) = read_result(scanner)?;
                    self.result = Some((Span { start, end: scanner.position() }, parts));
                }
                "error" => {
                    self.error = true;
                    skip(scanner)?;
                }
                "method" => {
                    self.method = true;
                    skip(scanner)?;
                }
                _ => self.parts.read_member(key, scanner)?,
            }
        }
        scanner.next()?;
        if scanner.begin_next()? {
            return Err(ScanError::Syntax { offset: scanner.position(), reason: "more than one value" });
        }
        Ok(())
    }
}

/// Reads a `result` member, whatever it holds.
fn read_result(scanner: &mut Scanner<'_>) -> Result<(u64, Parts), ScanError> {
    let outside = scanner.depth();
    let (start, event) = scanner.next_at()?;
    let mut parts = Parts::default();
    match event {
        Event::StartObject => {
            while let Some(key) = next_key(scanner)? {
                parts.read_member(key, scanner)?;
            }
        }
        _ => scanner.skip_to_depth(outside)?,
    }
    Ok((start, parts))
}

impl Parts {
    fn read_member(&mut self, key: String, scanner: &mut Scanner<'_>) -> Result<(), ScanError> {
        match key.as_str() {
            "content" => self.read_content(scanner),
            "structuredContent" => {
                let span = skip(scanner)?;
                // `null` means that there is none.
                self.structured = (span.len() != 4).then_some(span);
                Ok(())
            }
            "isError" => {
                let (start, event) = scanner.next_at()?;
                if let Event::Bool(value) = event {
                    self.is_error = Some(value);
                    return Ok(());
                }
                let outside = scanner.depth().saturating_sub(1).max(1);
                scanner.skip_to_depth(outside)?;
                self.others.push(Member { key, value: Span { start, end: scanner.position() } });
                Ok(())
            }
            _ => {
                let value = skip(scanner)?;
                self.others.push(Member { key, value });
                Ok(())
            }
        }
    }

    /// A list of blocks; anything else under `content` means that this is no tool result.
    fn read_content(&mut self, scanner: &mut Scanner<'_>) -> Result<(), ScanError> {
        let outside = scanner.depth();
        let (start, event) = scanner.next_at()?;
        let Event::StartArray = event else {
            return scanner.skip_to_depth(outside);
        };
        let mut all_blocks = true;
        while scanner.has_element()? == Some(true) {
            match read_block(scanner, &mut self.claims_content)? {
                Some(block) => {
                    self.block_count += 1;
                    if self.blocks.len() < Payload::MAX_BLOCKS {
                        self.blocks.push(block);
                    }
                }
                None => all_blocks = false,
            }
        }
        scanner.next()?;
        self.content = all_blocks.then(|| Span { start, end: scanner.position() });
        Ok(())
    }
}

/// The members of a block that matter, as they are met.
#[derive(Default)]
struct Fields {
    kind: String,
    mime: String,
    uri: String,
    name: String,
    text: Option<Span>,
    data: Option<Span>,
    blob: Option<Span>,
    resource: Option<Box<Fields>>,
}

fn read_block(scanner: &mut Scanner<'_>, claims_content: &mut bool) -> Result<Option<Block>, ScanError> {
    let outside = scanner.depth();
    let (start, event) = scanner.next_at()?;
    let Event::StartObject = event else {
        scanner.skip_to_depth(outside)?;
        return Ok(None);
    };
    *claims_content = true;
    let fields = read_fields(scanner, true)?;
    let span = Span { start, end: scanner.position() };
    if fields.kind.is_empty() {
        return Ok(None);
    }
    let kind = match (fields.kind.as_str(), fields.text, fields.data, fields.resource) {
        ("text", Some(text), _, _) => BlockKind::Text { text },
        ("image", _, Some(data), _) => BlockKind::Media { kind: MediaKind::Image, mime: fields.mime, data },
        ("audio", _, Some(data), _) => BlockKind::Media { kind: MediaKind::Audio, mime: fields.mime, data },
        ("resource", _, _, Some(inner)) => {
            BlockKind::Resource { uri: inner.uri, mime: inner.mime, text: inner.text, blob: inner.blob }
        }
        ("resource_link", ..) => BlockKind::Link { uri: fields.uri, name: fields.name },
        _ => BlockKind::Unknown { kind: fields.kind },
    };
    Ok(Some(Block { span, kind }))
}

fn read_fields(scanner: &mut Scanner<'_>, outer: bool) -> Result<Fields, ScanError> {
    let mut fields = Fields::default();
    while let Some(key) = next_key(scanner)? {
        let outside = scanner.depth();
        let (at, event) = scanner.next_at()?;
        match event {
            Event::String(token) => {
                let inside = Span { start: at + 1, end: at + 1 + token.length };
                match key.as_str() {
                    "text" => fields.text = Some(inside),
                    "data" => fields.data = Some(inside),
                    "blob" => fields.blob = Some(inside),
                    "type" => fields.kind = read_text(&token, 256).text.into(),
                    "mimeType" => fields.mime = read_text(&token, 256).text.into(),
                    "uri" => fields.uri = read_text(&token, 2048).text.into(),
                    "name" => fields.name = read_text(&token, 512).text.into(),
                    _ => {}
                }
            }
            Event::StartObject if outer && key == "resource" => {
                fields.resource = Some(Box::new(read_fields(scanner, false)?));
            }
            _ => scanner.skip_to_depth(outside)?,
        }
    }
    Ok(fields)
}

/// The next key of the open object, or `None` after its closing bracket.
fn next_key(scanner: &mut Scanner<'_>) -> Result<Option<String>, ScanError> {
    Ok(match scanner.next()? {
        Event::Key(token) => Some(read_text(&token, 1024).text.into()),
        _ => None,
    })
}

/// Reads past a value and returns where it stands.
fn skip(scanner: &mut Scanner<'_>) -> Result<Span, ScanError> {
    let outside = scanner.depth();
    let (start, event) = scanner.next_at()?;
    if let Event::String(token) = event {
        return Ok(Span { start, end: start + token.length + 2 });
    }
    scanner.skip_to_depth(outside)?;
    Ok(Span { start, end: scanner.position() })
}

/// The inside of the string that is the only member of an object.
pub(super) fn only_string(scanner: &mut Scanner<'_>) -> Result<Option<Span>, ScanError> {
    let Event::StartObject = scanner.next()? else { return Ok(None) };
    let Some(_) = next_key(scanner)? else { return Ok(None) };
    let (at, event) = scanner.next_at()?;
    Ok(match event {
        Event::String(token) => Some(Span { start: at + 1, end: at + 1 + token.length }),
        _ => None,
    })
}
