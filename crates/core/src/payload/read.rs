//! Reads a payload: one scan over the protocol's JSON that records the spans of its members.
//!
//! Malformed JSON counts as plain text, unless a `jsonrpc` member or a content block was read before the mistake: then the
//! bytes are a broken protocol message, which is an error.

use std::cell::OnceCell;
use std::io;

use super::{Block, BlockKind, Form, MediaKind, Member, Payload};
use crate::json::value::read_text;
use crate::json::{Dialect, Event, ScanError, Scanner};
use crate::source::{Source, Span};
use crate::text::Text;

/// Why the bytes are not a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// Reading the source failed.
    #[error("the result could not be read")]
    Source(#[from] io::Error),
    /// The bytes begin like a protocol message, but are truncated or malformed.
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

/// The members of the top-level object.
#[derive(Default)]
struct TopLevelMembers {
    jsonrpc: bool,
    method: bool,
    error: bool,
    result: Option<(Span, ResultMembers)>,
    /// The members of a bare `CallToolResult`, without a JSON-RPC response around it.
    bare: ResultMembers,
}

/// The members of a `CallToolResult`.
#[derive(Default)]
struct ResultMembers {
    blocks: Vec<Block>,
    block_count: u64,
    content: Option<Span>,
    /// Whether `content` is a list that contains an object.
    has_content_object: bool,
    structured: Option<Span>,
    is_error: Option<bool>,
    others: Vec<Member>,
}

impl ResultMembers {
    fn is_result(&self) -> bool {
        self.content.is_some() || self.structured.is_some()
    }
}

pub(super) fn read(source: &dyn Source) -> Result<Payload<'_>, PayloadError> {
    let whole = Span::whole(source);
    let text = Text::plain(source, whole);
    let mut scanner = Scanner::new(&text, Dialect::Json);
    let mut top = TopLevelMembers::default();
    match top.read(&mut scanner) {
        Ok(()) => {}
        Err(ScanError::Source(error)) => return Err(error.into()),
        Err(error) if top.jsonrpc || top.bare.has_content_object => return Err(error.into()),
        Err(_) => return Ok(plain(source)),
    }
    if top.jsonrpc {
        return match top.result {
            Some((span, members)) if members.is_result() => {
                Ok(payload(source, Form::Response, span, members))
            }
            Some(_) => Err(PayloadError::NoResult { kind: "response to another method" }),
            None if top.error => Err(PayloadError::NoResult { kind: "error response" }),
            None if top.method => Err(PayloadError::NoResult { kind: "request or notification" }),
            None => Err(PayloadError::NoResult { kind: "message without a result" }),
        };
    }
    if top.bare.is_result() {
        return Ok(payload(source, Form::Result, whole, top.bare));
    }
    Ok(plain(source))
}

/// Reads bytes that are known to be a result.
pub(super) fn read_as_result(source: &dyn Source) -> Result<Payload<'_>, PayloadError> {
    let whole = Span::whole(source);
    let text = Text::plain(source, whole);
    let mut top = TopLevelMembers::default();
    match top.read(&mut Scanner::new(&text, Dialect::Json)) {
        Err(ScanError::Source(error)) => Err(error.into()),
        Ok(()) if top.bare.is_result() => Ok(payload(source, Form::Result, whole, top.bare)),
        _ => Ok(plain(source)),
    }
}

fn payload(source: &dyn Source, form: Form, span: Span, members: ResultMembers) -> Payload<'_> {
    Payload {
        source,
        form,
        span,
        blocks: members.blocks,
        block_count: members.block_count,
        content: members.content,
        structured: members.structured,
        structured_repeats_text: false,
        is_error: members.is_error,
        others: members.others,
        repeated: OnceCell::new(),
    }
}

pub(super) fn plain(source: &dyn Source) -> Payload<'_> {
    let span = Span::whole(source);
    let block = Block { span, kind: BlockKind::Text { text: span }, beside_text: 0 };
    let members = ResultMembers { blocks: vec![block], block_count: 1, ..ResultMembers::default() };
    payload(source, Form::Plain, span, members)
}

impl TopLevelMembers {
    fn read(&mut self, scanner: &mut Scanner<'_>) -> Result<(), ScanError> {
        let Event::StartObject = scanner.next()? else {
            return Err(ScanError::Syntax { offset: 0, reason: "expected an object" });
        };
        while let Some(key) = next_key(scanner)? {
            match key.as_str() {
                "jsonrpc" => {
                    self.jsonrpc = true;
                    skip(scanner)?;
                }
                "result" => {
                    let (start, members) = read_result(scanner)?;
                    self.result = Some((Span { start, end: scanner.position() }, members));
                }
                "error" => {
                    self.error = true;
                    skip(scanner)?;
                }
                "method" => {
                    self.method = true;
                    skip(scanner)?;
                }
                _ => self.bare.read_member(key, scanner)?,
            }
        }
        scanner.next()?;
        if scanner.begin_next()? {
            return Err(ScanError::Syntax { offset: scanner.position(), reason: "more than one value" });
        }
        Ok(())
    }
}

/// Reads a `result` member; returns its offset, and its members if it is an object.
fn read_result(scanner: &mut Scanner<'_>) -> Result<(u64, ResultMembers), ScanError> {
    let outside = scanner.depth();
    let (start, event) = scanner.next_at()?;
    let mut members = ResultMembers::default();
    match event {
        Event::StartObject => {
            while let Some(key) = next_key(scanner)? {
                members.read_member(key, scanner)?;
            }
        }
        _ => scanner.skip_to_depth(outside)?,
    }
    Ok((start, members))
}

impl ResultMembers {
    fn read_member(&mut self, key: String, scanner: &mut Scanner<'_>) -> Result<(), ScanError> {
        match key.as_str() {
            "content" => self.read_content(key, scanner),
            "structuredContent" => {
                let (span, is_null) = skip_value(scanner)?;
                self.structured = (!is_null).then_some(span);
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

    /// Reads a list of blocks; leaves `content` unset for any other value, which is then a member like any other: an
    /// answer beside `structuredContent` must say that it leaves it out.
    fn read_content(&mut self, key: String, scanner: &mut Scanner<'_>) -> Result<(), ScanError> {
        let outside = scanner.depth();
        let (start, event) = scanner.next_at()?;
        match event {
            Event::StartArray => {}
            Event::Null => return Ok(()),
            Event::String(token) => {
                let value = Span { start, end: start + token.length + 2 };
                self.others.push(Member { key, value });
                return Ok(());
            }
            _ => {
                scanner.skip_to_depth(outside)?;
                self.others.push(Member { key, value: Span { start, end: scanner.position() } });
                return Ok(());
            }
        }
        let mut all_blocks = true;
        while scanner.has_element()? == Some(true) {
            match read_block(scanner, &mut self.has_content_object)? {
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
        let value = Span { start, end: scanner.position() };
        match all_blocks {
            true => self.content = Some(value),
            false => self.others.push(Member { key, value }),
        }
        Ok(())
    }
}

/// The members of a block that the payload needs.
#[derive(Default)]
struct BlockMembers {
    kind: String,
    mime: String,
    uri: String,
    name: String,
    text: Option<Span>,
    data: Option<Span>,
    blob: Option<Span>,
    resource: Option<Box<BlockMembers>>,
    /// The bytes of the members other than the type and the text.
    beside_text: u64,
}

fn read_block(scanner: &mut Scanner<'_>, has_content_object: &mut bool) -> Result<Option<Block>, ScanError> {
    let outside = scanner.depth();
    let (start, event) = scanner.next_at()?;
    let Event::StartObject = event else {
        scanner.skip_to_depth(outside)?;
        return Ok(None);
    };
    *has_content_object = true;
    let fields = read_block_members(scanner, true)?;
    let span = Span { start, end: scanner.position() };
    if fields.kind.is_empty() {
        return Ok(None);
    }
    let beside_text = fields.beside_text + fields.resource.as_ref().map_or(0, |inner| inner.beside_text);
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
    Ok(Some(Block { span, kind, beside_text }))
}

fn read_block_members(scanner: &mut Scanner<'_>, outer: bool) -> Result<BlockMembers, ScanError> {
    let mut fields = BlockMembers::default();
    while let Some(key) = next_key(scanner)? {
        let outside = scanner.depth();
        let (at, event) = scanner.next_at()?;
        let mut beside = true;
        match event {
            Event::String(token) => {
                let inside = Span { start: at + 1, end: at + 1 + token.length };
                match key.as_str() {
                    "text" => {
                        // Of two texts the last one counts; the first is beside it.
                        let before = fields.text.replace(inside);
                        fields.beside_text += before.map_or(0, Span::len);
                        beside = false;
                    }
                    "data" => fields.data = Some(inside),
                    "blob" => fields.blob = Some(inside),
                    "type" => {
                        fields.kind = read_text(&token, 256).text.into();
                        beside = !outer;
                    }
                    "mimeType" => fields.mime = read_text(&token, 256).text.into(),
                    "uri" => fields.uri = read_text(&token, 2048).text.into(),
                    "name" => fields.name = read_text(&token, 512).text.into(),
                    _ => {}
                }
            }
            Event::StartObject if outer && key == "resource" => {
                fields.resource = Some(Box::new(read_block_members(scanner, false)?));
                beside = false;
            }
            _ => scanner.skip_to_depth(outside)?,
        }
        if beside {
            fields.beside_text += key.len() as u64 + scanner.position() - at;
        }
    }
    Ok(fields)
}

/// Returns the next key of the open object, or `None` after its closing brace.
fn next_key(scanner: &mut Scanner<'_>) -> Result<Option<String>, ScanError> {
    Ok(match scanner.next()? {
        Event::Key(token) => Some(read_text(&token, 1024).text.into()),
        _ => None,
    })
}

/// Skips a value and returns its span.
fn skip(scanner: &mut Scanner<'_>) -> Result<Span, ScanError> {
    Ok(skip_value(scanner)?.0)
}

/// Skips a value; returns its span and whether it is `null`.
fn skip_value(scanner: &mut Scanner<'_>) -> Result<(Span, bool), ScanError> {
    let outside = scanner.depth();
    let (start, event) = scanner.next_at()?;
    let is_null = matches!(event, Event::Null);
    if let Event::String(token) = event {
        return Ok((Span { start, end: start + token.length + 2 }, false));
    }
    scanner.skip_to_depth(outside)?;
    Ok((Span { start, end: scanner.position() }, is_null))
}

/// Returns the inside of the string that is the first member of an object; the caller knows that it is the only one.
pub(super) fn only_string(scanner: &mut Scanner<'_>) -> Result<Option<Span>, ScanError> {
    let Event::StartObject = scanner.next()? else { return Ok(None) };
    let Some(_) = next_key(scanner)? else { return Ok(None) };
    let (at, event) = scanner.next_at()?;
    Ok(match event {
        Event::String(token) => Some(Span { start: at + 1, end: at + 1 + token.length }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structured(value: &str) -> Option<Span> {
        let result = format!("{{\"content\":[],\"structuredContent\":{value}}}");
        read(&result.as_bytes()).unwrap().structured
    }

    #[test]
    fn only_null_means_no_structured_content() {
        for value in ["true", "1234", "[{}]", "\"ab\"", "{}", "0"] {
            assert_eq!(structured(value).map(Span::len), Some(value.len() as u64), "{value}");
        }
        assert_eq!(structured("null"), None);
    }

    /// Beside `structuredContent` the result is one all the same, so what `content` holds must not vanish.
    #[test]
    fn content_that_is_not_a_list_of_blocks_is_a_member() {
        for content in ["\"ab\\n\"", "{\"a\":[1]}", "17", "[\"ab\"]", "[{\"text\":\"a\"}]"] {
            let result = format!("{{\"content\":{content},\"structuredContent\":{{}}}}");
            let source = result.as_bytes();
            let payload = read(&source).unwrap();
            let [member] = payload.others.as_slice() else { panic!("{content}: {:?}", payload.others) };
            assert_eq!(member.key, "content");
            assert_eq!(member.value.read(&source).unwrap(), content.as_bytes());
        }
        let result = br#"{"content":null,"structuredContent":{}}"#.as_slice();
        assert!(read(&result).unwrap().others.is_empty());
    }

    #[test]
    fn members_beside_a_text_are_counted() {
        let beside = |block: &str| {
            let result = format!("{{\"content\":[{block}]}}");
            let source = result.as_bytes();
            let payload = read(&source).unwrap();
            (payload.beside_texts(), payload.is_only_text())
        };
        assert_eq!(beside(r#"{"type": "text", "text": "x"}"#), (0, true));
        assert_eq!(beside(r#"{"type":"text","text":"x","priority":0.9}"#), (11, false));
        assert_eq!(beside(r#"{"type":"text","text":"abc","text":"x"}"#), (3, false));
        assert_eq!(beside(r#"{"type":"resource","resource":{"uri":"x","text":"y"}}"#), (6, false));
        assert_eq!(beside(r#"{"type":"text","text":"x"},{"type":"odd"}"#), (0, false));
    }
}
