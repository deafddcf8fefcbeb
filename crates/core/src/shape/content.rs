//! One text, recognised and read once: what the strategies compose from.

use std::io;

use super::diff::Diff;
use super::document::Document;
use super::draft::{Draft, LeftOut};
use super::lined::LineFacts;
use super::log::Log;
use super::markup::Page;
use super::snapshot::Snapshot;
use super::{blob, rows, structured, table};
use crate::data::Data;
use crate::hints::Hints;
use crate::json::Dialect;
use crate::kind::{self, Kind};
use crate::pattern::{Blocks, Fields, Pattern};
use crate::text::Text;

/// A text with what was learnt from it.
pub(crate) struct Reading<'t> {
    text: &'t Text<'t>,
    kind: &'static str,
    content: Content<'t>,
}

enum Content<'t> {
    Data(Data<'t>),
    Log(Log, Option<Data<'t>>),
    Diff(Diff),
    Page(Page, LineFacts),
    Snapshot(Snapshot),
    Document(Document),
    Base64(blob::Encoded),
}

impl<'t> Reading<'t> {
    /// Recognises a text and reads it.
    pub(crate) fn read(text: &'t Text<'t>, hints: &Hints) -> io::Result<Self> {
        let bytes = text.read(0..kind::SAMPLE)?;
        let whole = (bytes.len() as u64) < kind::SAMPLE;
        let head = String::from_utf8_lossy(&bytes);
        let said = hints.kind.as_deref().and_then(|kind| kind::named(kind, &head, whole));
        let kind = said.unwrap_or_else(|| kind::recognise(&head, whole));
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

    /// Returns the data, where the text is data.
    pub(crate) fn data(&self) -> Option<&Data<'t>> {
        match &self.content {
            Content::Data(data) => Some(data),
            _ => None,
        }
    }

    /// Returns the name of the strategy that composes it.
    pub(crate) fn strategy(&self) -> &'static str {
        match &self.content {
            Content::Data(data) => structured::strategy(data),
            Content::Log(..) => "log",
            Content::Diff(_) => "diff",
            Content::Page(..) => "html",
            Content::Snapshot(_) => "snapshot",
            Content::Document(_) => "text",
            Content::Base64(_) => "blob",
        }
    }

    /// Fills a draft with an overview of the text.
    pub(crate) fn compose(&self, arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        match &self.content {
            Content::Data(data) => return structured::compose(data, arguments, draft),
            Content::Log(log, columns) => {
                if let Some(table) = columns.as_ref().and_then(|data| table::tables(data).into_iter().next())
                {
                    let share = draft.room.left() / 2;
                    draft.room.within(share, |room| rows::write_fields(&table, room, 5))?;
                }
                log.compose(self.text, draft, 10)?;
                describe_lines(draft, &log.facts, "log", "errors, repeated lines");
            }
            Content::Diff(diff) => {
                diff.compose(self.text, draft, 10)?;
                describe_lines(draft, &diff.facts, "diff", "files, changed lines");
                draft.frame.what = diff.what();
            }
            Content::Page(page, facts) => {
                page.compose(&mut draft.room, 10);
                describe_lines(draft, facts, "HTML", "headings, elements, beginning and end of the words");
                draft.frame.what = page.what();
            }
            Content::Snapshot(snapshot) => {
                snapshot.compose(self.text, draft, 10)?;
                describe_lines(draft, &snapshot.facts, "accessibility snapshot", "roles, headings, controls");
            }
            Content::Document(document) => {
                let below = match document.facts.write_all(self.text, draft, 10)? {
                    true => "all of the text",
                    false => {
                        document.compose(self.text, draft, 10)?;
                        "outline, beginning, end"
                    }
                };
                describe_lines(draft, &document.facts, self.kind, below);
            }
            Content::Base64(encoded) => {
                draft.frame.what = encoded.what();
                draft.frame.below = "what it is".into();
                draft.room.push(10, encoded.what());
                draft.leave_out(LeftOut::new("", "bytes", 0, encoded.length));
                draft.frame.next = vec!["\"range\":\"0-1000\"".into()];
            }
        }
        Ok(())
    }
}

/// Reads a text of a kind; offsets are those of the bytes, since bytes that are no UTF-8 are longer in `head`.
fn read<'t>(
    text: &'t Text<'t>,
    bytes: &[u8],
    head: &str,
    whole: bool,
    kind: Kind,
) -> io::Result<(&'static str, Content<'t>)> {
    let name = kind.name();
    if kind == Kind::Json {
        for (dialect, name) in [(Dialect::Json, "json"), (Dialect::Python, "python literal")] {
            if let Some(data) = Data::json(text, first_bracket(bytes), dialect)? {
                return Ok((data.kind().unwrap_or(name), Content::Data(data)));
            }
        }
    }
    if matches!(kind, Kind::Prose | Kind::Markdown | Kind::Code | Kind::Log)
        && let Some(data) = embedded(text, bytes)?
    {
        return Ok(("json in text", Content::Data(data)));
    }
    if matches!(kind, Kind::Prose | Kind::Markdown | Kind::Log)
        && let Some(blocks) = Blocks::recognise(head)
    {
        return Ok(("records", Content::Data(Data::pattern(text, Pattern::Blocks(blocks))?)));
    }
    let content = match kind {
        Kind::Table(format) => Content::Data(Data::table(text, format)?),
        Kind::Files => Content::Data(Data::pattern(text, Pattern::Files)?),
        Kind::Diff => Content::Diff(Diff::read(text)?),
        Kind::Html => Content::Page(Page::read(text)?, LineFacts::gather(text, |_, _| {})?),
        Kind::Snapshot => Content::Snapshot(Snapshot::read(text)?),
        Kind::Log => {
            let fields = Fields::recognise(head, whole).map(Pattern::Fields);
            let columns = fields.map(|pattern| Data::pattern(text, pattern)).transpose()?;
            let log = Log::read(text)?;
            match columns {
                Some(data) if is_nearly_all(&data, &log) && !log.is_severe() => Content::Data(data),
                columns => Content::Log(log, columns),
            }
        }
        Kind::Base64 => Content::Base64(blob::Encoded::read(text, head)),
        Kind::Markdown | Kind::Code => Content::Document(Document::read(text, &kind)?),
        Kind::Prose | Kind::Json | Kind::Empty => Content::Document(Document::read(text, &Kind::Prose)?),
    };
    Ok((if name == "json" { "text" } else { name }, content))
}

/// Whether the lines of one form are nearly all there are, so that the rest is not worth a log.
fn is_nearly_all(data: &Data<'_>, log: &Log) -> bool {
    let records = data.records(data.profile.root()).map_or(0, |records| records.count());
    records * 100 >= log.facts.lines * 97
}

fn first_bracket(head: &[u8]) -> u64 {
    memchr::memchr3(b'{', b'[', b'(', head).unwrap_or(0) as u64
}

fn describe_lines(draft: &mut Draft<'_>, facts: &LineFacts, kind: &str, below: &str) {
    let kind = if kind == "prose" { "text" } else { kind };
    draft.frame.what = format!("{} of {kind}", facts.count());
    draft.frame.below = below.to_owned();
    if facts.colours {
        draft.frame.notes.push("Colour codes are not shown.".into());
    }
    let shown = draft.lines.len() as u64;
    draft.leave_out(LeftOut::new("", "lines", shown, facts.lines));
    let first = (1..=facts.lines).find(|line| !draft.lines.contains(line)).unwrap_or(1);
    draft.frame.next =
        vec![format!("\"lines\":\"{first}-{}\"", (first + 49).min(facts.lines)), "\"grep\":\"text\"".into()];
}

/// JSON inside a text: after a heading or a sentence, or in a fence. It must be most of the text.
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
