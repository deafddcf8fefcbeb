//! Notations that are read by translating them to JSON: tables drawn in text, hits of a search, settings, YAML, XML.
//!
//! Their records cannot be read from any offset: the columns of a row are those of a header far above it, and a value
//! belongs to what is around it. So the text is translated, and everything that works on JSON works on the translation.
//! Lines, ranges and searches stay with the text as it was written.
//!
//! Neither the text nor its JSON needs to be in memory. Each notation has a first pass over the text, which learns what
//! no part of it shows (the columns, which of them are numbers, the lines that are no data), and a [`JsonWriter`], which
//! turns a window of the text into JSON and then goes on with the next one. [`TranslatedJson`] keeps clones of the writer
//! as checkpoints and writes any part of the JSON again when it is read.
//!
//! A notation whose parts have to be brought together (settings of one section that are apart, anchors of YAML) asks for
//! more until it is given the whole text.

mod aligned;
mod bars;
mod components;
mod hits;
mod line_writer;
mod listing;
mod metrics;
mod settings;
mod source;
mod tables;
#[cfg(test)]
mod tests;
mod typed;
mod window;
mod xml;
mod yaml;

use std::io;

use serde::{Deserialize, Serialize};

use crate::pattern::OtherLines;
use crate::sample::Sample;
use crate::text::Text;
use source::STEP_BYTES;
pub(crate) use source::{TranslatedJson, TranslatedSource};
use window::Window;

/// The maximum number of bytes of a text that is translated.
pub(crate) const MAX_TEXT_BYTES: u64 = 8 * 1024 * 1024;
/// The maximum number of bytes of a translation, which repeats the names of columns and what YAML refers to.
const MAX_JSON_BYTES: usize = 64 * 1024 * 1024;
/// The maximum number of levels of nested values.
const MAX_DEPTH: usize = 100;

/// A notation that is translated to JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Translation {
    /// Tables whose columns are aligned or separated by bars.
    Tables,
    /// `path:line:text`, as searches and compilers print it.
    Hits,
    /// `key = value` under sections.
    Settings,
    /// Metrics as exporters write them.
    Metrics,
    /// Calendars and address books.
    Components,
    Xml,
    Yaml,
    /// Folders with details of their entries.
    Listing,
}

/// Writes a text as JSON, window by window.
trait JsonWriter: CloneWriter {
    /// Writes the JSON of the beginning of a window; `None` if the text is not in the notation after all.
    fn write(&mut self, window: &Window<'_>, json: &mut String) -> Option<Step>;

    /// Returns whether a clone takes little memory, so that it is worth being kept.
    fn is_small(&self) -> bool {
        true
    }
}

/// What a writer did with a window.
enum Step {
    /// Its first bytes, this many, are now JSON.
    Used(usize),
    /// It is too small. Whatever was written and changed is dropped.
    NeedsMore,
    /// All of the text is now JSON.
    End,
}

/// Clones a writer whose type is not known.
trait CloneWriter {
    fn boxed_clone(&self) -> Box<dyn JsonWriter>;
}

impl<W: JsonWriter + Clone + 'static> CloneWriter for W {
    fn boxed_clone(&self) -> Box<dyn JsonWriter> {
        Box::new(self.clone())
    }
}

/// A writer at the beginning of its text, and the lines that are not part of the data.
type Begun = (Box<dyn JsonWriter>, OtherLines);

/// Translates a text that has to be in memory as a whole.
#[derive(Clone)]
struct WholeText(fn(&str) -> Option<String>);

impl JsonWriter for WholeText {
    fn write(&mut self, window: &Window<'_>, json: &mut String) -> Option<Step> {
        if !window.is_end {
            return Some(Step::NeedsMore);
        }
        *json = (self.0)(&window.text)?;
        Some(Step::End)
    }
}

impl Translation {
    /// All of them, in the order in which they are tried.
    pub(crate) const ALL: [Self; 8] = [
        Self::Listing,
        Self::Xml,
        Self::Components,
        Self::Metrics,
        Self::Tables,
        Self::Hits,
        Self::Settings,
        Self::Yaml,
    ];

    /// Returns the name that reports use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tables => "table",
            Self::Hits => "hits",
            Self::Settings => "settings",
            Self::Metrics => "metrics",
            Self::Components => "calendar",
            Self::Xml => "xml",
            Self::Yaml => "yaml",
            Self::Listing => "listing",
        }
    }

    /// Returns whether a text is in the notation, judged by its beginning.
    pub(crate) fn recognise(self, sample: &Sample<'_>) -> bool {
        match self {
            Self::Tables => tables::recognise(sample),
            Self::Hits => hits::recognise(sample),
            Self::Settings => settings::recognise(sample),
            Self::Metrics => metrics::recognise(sample),
            Self::Components => components::recognise(sample),
            Self::Xml => xml::recognise(sample),
            Self::Yaml => yaml::recognise(sample),
            Self::Listing => listing::recognise(sample),
        }
    }

    /// Begins to translate a text; `None` if it is not in the notation after all.
    pub(crate) fn begin(self, text: &Text<'_>) -> io::Result<Option<TranslatedJson>> {
        self.begin_in_steps(text, STEP_BYTES)
    }

    fn begin_in_steps(self, text: &Text<'_>, step_bytes: usize) -> io::Result<Option<TranslatedJson>> {
        let start = after_byte_order_marks(text)?;
        let whole = |translate| Ok(Some((Box::new(WholeText(translate)) as Box<_>, OtherLines::default())));
        let begun: Option<Begun> = match self {
            Self::Tables => tables::begin(text, start),
            Self::Hits => hits::begin(text, start),
            Self::Settings => whole(settings::translate),
            Self::Metrics => metrics::begin(text, start),
            Self::Components => whole(components::translate),
            Self::Xml => xml::begin(text, start),
            Self::Yaml => yaml::begin(text, start),
            Self::Listing => listing::begin(text, start),
        }?;
        Ok(begun.map(|(writer, others)| TranslatedJson::new(writer, others, start, step_bytes)))
    }
}

/// Returns the offset after the byte order marks that a text may begin with.
fn after_byte_order_marks(text: &Text<'_>) -> io::Result<u64> {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    let mut at = 0;
    while text.read(at..at + MARK.len() as u64)? == MARK {
        at += MARK.len() as u64;
    }
    Ok(at)
}
