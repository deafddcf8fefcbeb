//! Notations that are read by translating them to JSON: tables drawn in text, hits of a search, settings, YAML, XML.
//!
//! Their records cannot be read from any offset: the columns of a row are those of a header far above it, and a value
//! belongs to what is around it. So the whole text is translated, in memory and therefore up to a limit, and everything
//! that works on JSON works on the translation. Lines, ranges and searches stay with the text as it was written.

mod aligned;
mod bars;
mod components;
mod hits;
mod listing;
mod metrics;
mod settings;
mod tables;
mod typed;
mod xml;
mod yaml;

use serde::{Deserialize, Serialize};

use crate::pattern::OtherLines;
use crate::sample::Sample;
use crate::text::Text;

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

/// A text translated to JSON.
pub(crate) struct TranslatedText {
    pub(crate) text: Text<'static>,
    /// The lines that are not part of the data.
    pub(crate) others: OtherLines,
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

    /// Translates a text; `None` if it is not in the notation after all.
    pub(crate) fn translate(self, text: &str) -> Option<TranslatedText> {
        let text = text.trim_start_matches('\u{feff}');
        let (json, others) = match self {
            Self::Tables => tables::translate(text)?,
            Self::Hits => hits::translate(text)?,
            Self::Settings => (settings::translate(text)?, OtherLines::default()),
            Self::Metrics => metrics::translate(text)?,
            Self::Components => (components::translate(text)?, OtherLines::default()),
            Self::Xml => (xml::translate(text)?, OtherLines::default()),
            Self::Yaml => (yaml::translate(text)?, OtherLines::default()),
            Self::Listing => listing::translate(text)?,
        };
        Some(TranslatedText { text: Text::owned(json.into_bytes()), others })
    }
}
