//! The kinds of text that are data: JSON, separated values, and records in lines of text.

use std::io;

use super::strategy::{Content, TextKind};
use crate::csv;
use crate::data::Data;
use crate::inner_texts;
use crate::json::Dialect;
use crate::pattern::Pattern;
use crate::sample::Sample;
use crate::text::Text;
use crate::translation::Translation;

/// JSON, JSON Lines and Python literals.
pub(crate) const JSON: TextKind = TextKind {
    name: "json",
    recognise: |sample| sample.begins_like_json(),
    read: |text, sample| {
        let start = memchr::memchr3(b'{', b'[', b'(', sample.bytes).unwrap_or(0) as u64;
        for dialect in [Dialect::Json, Dialect::Python] {
            if let Some(data) = Data::json(text, start, dialect)? {
                return Ok(Content::data(data));
            }
        }
        Ok(None)
    },
};

/// A text that is one JSON string, as servers send that encode their text once more.
pub(crate) const JSON_STRING: TextKind = TextKind {
    name: "json",
    recognise: |sample| sample.trimmed().starts_with('"'),
    read: |text, sample| {
        let length = text.length()?;
        let tail = text.read(length.saturating_sub(64)..length)?;
        if !tail.trim_ascii_end().ends_with(b"\"") {
            return Ok(None);
        }
        let start = memchr::memchr(b'"', sample.bytes).unwrap_or(0) as u64;
        let data = Data::json(text, start, Dialect::Json)?;
        let Some(data) = data.filter(|data| data.profile.node(data.profile.root()).types.strings == 1) else {
            return Ok(None);
        };
        Ok(inner_texts::main(&data)?.and_then(|_| Content::data(data)))
    },
};

/// Separated values under a header row.
pub(crate) const CSV: TextKind = TextKind {
    name: "csv",
    recognise: |_| true,
    read: |text, sample| match csv::recognise(sample) {
        Some((format, start)) => Ok(Content::data(Data::csv(text, format, start)?)),
        None => Ok(None),
    },
};

/// Notations that are translated to JSON, as [`Translation`] lists them.
pub(crate) const TRANSLATED: TextKind = TextKind {
    name: "table",
    recognise: |sample| !Pattern::is_files(sample),
    read: |text, sample| {
        for translation in Translation::ALL.into_iter().filter(|translation| translation.recognise(sample)) {
            if let Some(data) = Data::translated(text, translation)? {
                return Ok(Content::data(data));
            }
        }
        Ok(None)
    },
};

/// Records in lines of text, in any of the notations that [`Pattern`] lists.
pub(crate) const RECORDS: TextKind = TextKind {
    name: "records",
    recognise: |sample| Pattern::recognise(sample).is_some(),
    read: |text, sample| match Pattern::recognise(sample) {
        Some(pattern) => Ok(Content::data(Data::pattern(text, pattern)?)),
        None => Ok(None),
    },
};

/// JSON after a heading or a sentence, or in a code fence.
pub(crate) const JSON_IN_TEXT: TextKind = TextKind {
    name: "json in text",
    recognise: |sample| sample.lines.iter().any(|line| line.trim_start().starts_with(['{', '['])),
    read: |text, sample| Ok(embedded(text, sample)?.and_then(Content::data)),
};

/// The maximum number of lines before JSON in a text.
const MAX_LINES_BEFORE_JSON: usize = 24;

/// Reads JSON inside a text; it must be most of the text.
fn embedded<'t>(text: &'t Text<'t>, sample: &Sample<'_>) -> io::Result<Option<Data<'t>>> {
    let mut offset = 0;
    for line in sample.bytes.split_inclusive(|byte| *byte == b'\n').take(MAX_LINES_BEFORE_JSON) {
        if matches!(line.trim_ascii_start().first(), Some(b'{' | b'['))
            && offset > 0
            && let Some(data) = Data::json(text, offset as u64, Dialect::Json)?
        {
            let enough = (data.range.end - data.range.start) * 2 >= text.max_len();
            if enough && data.broken.is_none() {
                return Ok(Some(data));
            }
        }
        offset += line.len();
    }
    Ok(None)
}
