//! Binary data in base64: what it is, by its first bytes, and how large.

use std::io;

use crate::measure::{Picture, decode_head};
use crate::source::{Source, Span};
use crate::text::Text;
use crate::write;

/// First bytes that tell a format.
const FORMATS: &[(&[u8], &str)] = &[
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

/// Returns what base64 data is, where its first bytes tell.
pub(crate) fn format(base64: &[u8]) -> Option<&'static str> {
    let head = decode_head(&base64[..base64.len().min(64)]);
    FORMATS.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, name)| *name)
}

/// Returns whether a value is long enough and of the alphabet of base64.
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

/// A text that is base64 throughout.
pub(crate) struct Encoded {
    format: Option<&'static str>,
    /// Characters of base64.
    pub(crate) length: u64,
}

impl Encoded {
    pub(crate) fn read(text: &Text<'_>, head: &str) -> Self {
        let trimmed = head.trim_start();
        let body = trimmed
            .strip_prefix("data:")
            .and_then(|rest| rest.split_once(";base64,"))
            .map_or(trimmed, |(_, body)| body);
        Self { format: format(body.as_bytes()), length: text.max_len() }
    }

    /// Returns what it is, in a few words.
    pub(crate) fn what(&self) -> String {
        let format = self.format.unwrap_or("binary data");
        format!("base64 of {format}, {} characters", write::grouped(self.length))
    }
}
