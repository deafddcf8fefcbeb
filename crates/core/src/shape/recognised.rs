//! A text that has been recognised and read once: what an overview is composed from.
//!
//! [`TEXT_KINDS`] lists every kind of text, in the order in which they are tried. If a kind recognised a text by mistake and
//! reads nothing from it, the next one is tried; the last one reads any text.

use std::io;

use super::draft::Draft;
use super::strategy::{Content, TextKind};
use super::{blob, data_kinds, diff, document, drawn_tree, html, log, snapshot};
use crate::data::Data;
use crate::hints::Hints;
use crate::sample::{SAMPLE_BYTES, Sample};
use crate::text::Text;
use crate::translation::{MAX_TEXT_BYTES, Translation};

/// All kinds of text. Kinds that show themselves by marks that hardly occur elsewhere come first.
const TEXT_KINDS: &[&TextKind] = &[
    &document::EMPTY,
    &data_kinds::JSON,
    &data_kinds::JSON_STRING,
    &diff::KIND,
    &html::KIND,
    &snapshot::KIND,
    &drawn_tree::KIND,
    &log::REPORT,
    &blob::BASE64,
    &data_kinds::TRANSLATED,
    &data_kinds::CSV,
    &data_kinds::RECORDS,
    &data_kinds::JSON_IN_TEXT,
    &log::KIND,
    &document::CODE,
    &document::MARKDOWN,
    &log::LISTING,
    &document::PROSE,
];

/// A text that has been recognised and read.
pub(crate) struct RecognisedText<'t> {
    text: &'t Text<'t>,
    kind: &'static str,
    content: Content<'t>,
    /// The notation of data that the text begins like, if it is too large to be read as that.
    too_large_for: Option<Translation>,
}

impl<'t> RecognisedText<'t> {
    /// Recognises a text and reads it.
    pub(crate) fn read(text: &'t Text<'t>, hints: &Hints) -> io::Result<Self> {
        let bytes = text.read(0..SAMPLE_BYTES)?;
        let whole = (bytes.len() as u64) < SAMPLE_BYTES;
        let head = String::from_utf8_lossy(&bytes);
        let sample = Sample::new(&bytes, &head, whole);
        let (name, mut content) = read(text, &sample, hints.kind.as_deref())?;
        let kind = match &mut content {
            Content::Data(data) => {
                data.hints = hints.clone();
                data.kind().unwrap_or(name)
            }
            Content::Text(_) => name,
        };
        let too_large = matches!(content, Content::Text(_)) && text.max_len() > MAX_TEXT_BYTES;
        let mut notations = Translation::ALL.into_iter().filter(|_| too_large);
        let too_large_for = notations.find(|notation| notation.recognise(&sample));
        Ok(Self { text, kind, content, too_large_for })
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
            Content::Text(_) => None,
        }
    }

    /// Returns the name of the strategy that composes the overview.
    pub(crate) fn strategy(&self) -> &'static str {
        self.content.strategy().name()
    }

    /// Fills a draft with an overview of the text.
    pub(crate) fn compose(&self, arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        self.content.strategy().compose(self.text, arguments, draft)?;
        draft.frame.notes.extend(self.too_large_for.map(|notation| {
            let (name, limit) = (notation.name(), MAX_TEXT_BYTES >> 20);
            format!("It begins like data ({name}), but it is larger than {limit} MiB and is read by line.")
        }));
        Ok(())
    }
}

/// Reads a text as the kind of a given name, if it is one, or else as the first kind that recognises and reads it.
fn read<'t>(
    text: &'t Text<'t>,
    sample: &Sample<'_>,
    hint: Option<&str>,
) -> io::Result<(&'static str, Content<'t>)> {
    // Policies call prose a text.
    let hint = hint.map(|hint| if hint == "text" { document::PROSE.name } else { hint });
    let hinted = TEXT_KINDS.iter().filter(|kind| hint == Some(kind.name));
    let recognised = TEXT_KINDS.iter().filter(|kind| (kind.recognise)(sample));
    for kind in hinted.chain(recognised) {
        if let Some(content) = (kind.read)(text, sample)? {
            return Ok((kind.name, content));
        }
    }
    // The last kind reads any text, so this is never reached.
    Err(io::Error::other("no kind of text was recognised"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    fn kind_of(text: &str, hint: Option<&str>) -> &'static str {
        let source = text.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        let hints = Hints { kind: hint.map(str::to_owned), ..Hints::default() };
        RecognisedText::read(&text, &hints).unwrap().kind()
    }

    #[test]
    fn each_kind_of_text_is_recognised() {
        for (text, kind) in [
            ("  \n", "empty"),
            ("[{\"a\":1}]", "json"),
            ("[{'a': None}]", "python literal"),
            ("[INFO] starting\n[INFO] done\n[ERROR] bad\n", "log"),
            ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "diff"),
            ("<!DOCTYPE html>\n<html><body>x</body></html>", "html"),
            ("- list [ref=e1]:\n  - listitem [ref=e2]: one\n  - link \"Home\" [ref=e3]\n", "snapshot"),
            ("/a/b.json:\n{}\n\n---\n/a/c.json:\n[]\n", "files"),
            ("1. a\n   Size: 1\n2. b\n   Size: 2\n3. c\n   Size: 3\n", "entries"),
            ("- a\n  - Size: 1\n- b\n  - Size: 2\n- c\n  - Size: 3\n", "entries"),
            ("# All\n\n## a\n- **Size:** 1\n\n## b\n- **Size:** 2\n\n## c\n- **Size:** 3\n", "entries"),
            ("a\n    Size: 1\nb\n    Size: 2\nc\n    Size: 3\n", "entries"),
            ("a,b,c\n1,2,3\n4,5,6\n", "csv"),
            ("2024-01-02 10:00:00 started\n2024-01-02 10:00:01 stopped\n", "log"),
            ("# Title\n\nWords.\n\n## Part\n\nMore [link](x).\n", "markdown"),
            ("use std::io;\n\nfn main() {\n    let x = 1;\n}\n", "code"),
            (
                "Call me Ishmael. Some years ago I thought\nI would sail about a little and see the\nwatery part of the world.",
                "prose",
            ),
        ] {
            assert_eq!(kind_of(text, None), kind, "{text:?}");
        }
    }

    #[test]
    fn a_policy_names_the_kind_if_the_text_can_be_read_as_it() {
        let table = "a,b,c\n1,2,3\n4,5,6\n";
        assert_eq!(kind_of(table, Some("log")), "log");
        assert_eq!(kind_of(table, Some("text")), "prose");
        assert_eq!(kind_of(table, Some("json")), "csv");
        assert_eq!(kind_of("two words\n", Some("csv")), "prose");
        for kind in Hints::KINDS {
            let name = if kind == "text" { "prose" } else { kind };
            assert!(TEXT_KINDS.iter().any(|known| known.name == name), "{kind}");
        }
    }
}
