//! The strategy for binary data in base64: says what it is, judged by its first bytes, and how large it is.
//!
//! Also describes base64 data that is a part of something else: media blocks and long strings in JSON.

use std::io;

use super::draft::{Draft, LeftOut};
use super::strategy::{Content, STRATEGY_SECTION, Strategy, TextKind};
use crate::measure::{Picture, decode_head};
use crate::sample::Sample;
use crate::source::{Source, Span};
use crate::text::Text;
use crate::write;

/// Binary data in base64.
pub(crate) const BASE64: TextKind = TextKind {
    name: "base64",
    recognise: |sample| is_base64_text(base64_body(sample)),
    read: |text, sample| Ok(Content::text(Base64Text::read(text, base64_body(sample)))),
};

/// The first bytes of known formats.
const MAGIC_BYTES: &[(&[u8], &str)] = &[
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-elf"),
    (b"SQLite format 3", "application/vnd.sqlite3"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"RIFF", "audio/wav or image/webp"),
];

/// Returns the format of base64 data, if its first bytes show it.
pub(crate) fn format(base64: &[u8]) -> Option<&'static str> {
    let head = decode_head(&base64[..base64.len().min(64)]);
    MAGIC_BYTES.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, name)| *name)
}

/// Returns the beginning of the base64 data of a text, which may be a `data:` address.
fn base64_body<'h>(sample: &Sample<'h>) -> &'h str {
    let trimmed = sample.trimmed();
    let data = trimmed.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    data.map_or(trimmed, |(_, body)| body)
}

/// Returns whether a text begins with a long run of base64 without spaces.
fn is_base64_text(body: &str) -> bool {
    let sample: Vec<u8> = body.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).take(4096).collect();
    sample.len() >= 256
        && sample
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_'))
        && sample.iter().any(u8::is_ascii_uppercase)
        && sample.iter().any(u8::is_ascii_digit)
        && sample.iter().any(u8::is_ascii_lowercase)
}

/// Returns whether a value is long and looks like base64.
pub(crate) fn is_base64(text: &str) -> bool {
    let body = text.as_bytes();
    let sample = &body[..body.len().min(512)];
    sample.len() >= 128
        && sample
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n'))
        && sample.iter().any(u8::is_ascii_uppercase)
        && sample.iter().any(u8::is_ascii_digit)
}

/// Describes base64 data: media type, decoded size, pixels.
pub(crate) fn describe(source: &dyn Source, data: Span, mime: &str) -> io::Result<String> {
    let picture = Picture::read(source, data)?;
    let head = Span { start: data.start, end: data.end.min(data.start + 64) }.read(source)?;
    let known = format(&head);
    let mime = match (mime, known) {
        ("", Some(known)) => known.to_owned(),
        ("", None) => "binary data".to_owned(),
        (given, _) => crate::visible::cut(given, 80),
    };
    let mut out = format!("{mime}, {} bytes", write::grouped(picture.bytes));
    if let Some((width, height)) = picture.pixels {
        out.push_str(&format!(", {width} x {height} px"));
    }
    Ok(out)
}

/// A text that is base64 as a whole.
pub(crate) struct Base64Text {
    format: Option<&'static str>,
    /// The number of characters.
    length: u64,
}

impl Strategy for Base64Text {
    fn name(&self) -> &'static str {
        "blob"
    }

    fn compose(&self, _text: &Text<'_>, _arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        draft.frame.what = self.what();
        draft.frame.below = "what it is".into();
        draft.writer.push(STRATEGY_SECTION, self.what());
        draft.leave_out(LeftOut::new("", "bytes", 0, self.length));
        draft.frame.next = vec!["\"range\":\"0-1000\"".into()];
        Ok(())
    }
}

impl Base64Text {
    fn read(text: &Text<'_>, body: &str) -> Self {
        Self { format: format(body.as_bytes()), length: text.max_len() }
    }

    /// Describes the data in a few words.
    fn what(&self) -> String {
        let format = self.format.unwrap_or("binary data");
        format!("base64 of {format}, {} characters", write::grouped(self.length))
    }
}
