//! A text that has been recognised and read once: what an overview is composed from.
//!
//! This is where a text meets its strategy: the kind of the text says which one reads it. Text that is data in any
//! notation becomes [`Data`]; text that turns out not to be what it looked like is read as a document.

use std::io;

use super::blob::Base64Text;
use super::diff::DiffText;
use super::document::DocumentText;
use super::draft::Draft;
use super::html::HtmlText;
use super::log::LogText;
use super::snapshot::SnapshotText;
use super::strategy::Strategy;
use crate::data::Data;
use crate::hints::Hints;
use crate::json::Dialect;
use crate::kind::{self, TextKind};
use crate::pattern::{KeyedBlocks, LineFields, Pattern, is_mostly_json};
use crate::text::Text;

/// A text that has been recognised and read.
pub(crate) struct RecognisedText<'t> {
    text: &'t Text<'t>,
    kind: &'static str,
    content: Content<'t>,
}

/// What a text was read as.
enum Content<'t> {
    Data(Data<'t>),
    Log(LogText<'t>),
    Diff(DiffText),
    Html(HtmlText),
    Snapshot(SnapshotText),
    Document(DocumentText),
    Base64(Base64Text),
}

impl<'t> RecognisedText<'t> {
    /// Recognises a text and reads it.
    pub(crate) fn read(text: &'t Text<'t>, hints: &Hints) -> io::Result<Self> {
        let bytes = text.read(0..kind::SAMPLE_BYTES)?;
        let whole = (bytes.len() as u64) < kind::SAMPLE_BYTES;
        let head = String::from_utf8_lossy(&bytes);
        let hinted = hints.kind.as_deref().and_then(|kind| kind::named(kind, &head, whole));
        let kind = hinted.unwrap_or_else(|| kind::recognise(&head, whole));
        let (kind, mut content) = read(text, &bytes, &head, whole, kind)?;
        if let Content::Data(data) = &mut content {
            data.hints = hints.clone();
        }
        Ok(Self { text, kind, content })
    }

    /// Returns what the text was recognised as.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns an upper bound of the bytes of the text.
    pub(crate) fn bytes(&self) -> u64 {
        self.text.max_len()
    }

    /// Returns the data, if the text is data.
    pub(crate) fn data(&self) -> Option<&Data<'t>> {
        match &self.content {
            Content::Data(data) => Some(data),
            _ => None,
        }
    }

    /// Returns the name of the strategy that composes the overview.
    pub(crate) fn strategy(&self) -> &'static str {
        self.content.strategy().name()
    }

    /// Fills a draft with an overview of the text.
    pub(crate) fn compose(&self, arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        self.content.strategy().compose(self.text, arguments, draft)
    }
}

impl Content<'_> {
    fn strategy(&self) -> &dyn Strategy {
        match self {
            Self::Data(data) => data,
            Self::Log(log) => log,
            Self::Diff(diff) => diff,
            Self::Html(page) => page,
            Self::Snapshot(snapshot) => snapshot,
            Self::Document(document) => document,
            Self::Base64(encoded) => encoded,
        }
    }
}

/// Reads a text of a kind; returns what it was recognised as and its content.
///
/// Offsets are taken from `bytes`, because invalid UTF-8 takes more bytes in `head`.
fn read<'t>(
    text: &'t Text<'t>,
    bytes: &[u8],
    head: &str,
    whole: bool,
    kind: TextKind,
) -> io::Result<(&'static str, Content<'t>)> {
    if kind == TextKind::Json {
        for (dialect, name) in [(Dialect::Json, "json"), (Dialect::Python, "python literal")] {
            if let Some(data) = Data::json(text, first_bracket(bytes), dialect)? {
                return Ok((data.kind().unwrap_or(name), Content::Data(data)));
            }
        }
        if is_mostly_json(head, whole) {
            let data = Data::pattern(text, Pattern::JsonValues)?;
            return Ok(("json lines", Content::Data(data)));
        }
        // It only begins like JSON.
        let kind = kind::recognise_text(head, whole);
        return read(text, bytes, head, whole, if kind == TextKind::Code { TextKind::Prose } else { kind });
    }
    let name = kind.name();
    if matches!(kind, TextKind::Prose | TextKind::Markdown | TextKind::Code | TextKind::Log)
        && let Some(data) = embedded(text, bytes)?
    {
        return Ok(("json in text", Content::Data(data)));
    }
    if matches!(kind, TextKind::Prose | TextKind::Markdown | TextKind::Log)
        && let Some(blocks) = KeyedBlocks::recognise(head)
    {
        return Ok(("records", Content::Data(Data::pattern(text, Pattern::Blocks(blocks))?)));
    }
    let content = match kind {
        TextKind::Csv(format) => Content::Data(Data::csv(text, format)?),
        TextKind::Files => Content::Data(Data::pattern(text, Pattern::Files)?),
        TextKind::Diff => Content::Diff(DiffText::read(text)?),
        TextKind::Html => Content::Html(HtmlText::read(text)?),
        TextKind::Snapshot => Content::Snapshot(SnapshotText::read(text)?),
        TextKind::Log => {
            let fields = LineFields::recognise(head, whole).map(Pattern::Fields);
            let columns = fields.map(|pattern| Data::pattern(text, pattern)).transpose()?;
            let log = LogText::read(text)?;
            match columns {
                Some(data) if is_nearly_all(&data, &log) && !log.is_severe() => Content::Data(data),
                columns => Content::Log(log.with_columns(columns)),
            }
        }
        TextKind::Base64 => Content::Base64(Base64Text::read(text, head)),
        TextKind::Json | TextKind::Markdown | TextKind::Code | TextKind::Prose | TextKind::Empty => {
            Content::Document(DocumentText::read(text, &kind, name)?)
        }
    };
    Ok((name, content))
}

/// Returns whether nearly all lines have the form, so that the others are not worth the log strategy.
fn is_nearly_all(data: &Data<'_>, log: &LogText<'_>) -> bool {
    data.regular_records() * 100 >= log.facts.lines * 97
}

fn first_bracket(head: &[u8]) -> u64 {
    memchr::memchr3(b'{', b'[', b'(', head).unwrap_or(0) as u64
}

/// Reads JSON inside a text, after a heading or a sentence or in a code fence; it must be most of the text.
fn embedded<'t>(text: &'t Text<'t>, head: &[u8]) -> io::Result<Option<Data<'t>>> {
    let mut offset = 0;
    for line in head.split_inclusive(|byte| *byte == b'\n').take(24) {
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
