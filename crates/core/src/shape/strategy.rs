//! What every kind of text and every strategy has in common.
//!
//! A [`TextKind`] says how a text is recognised and which strategy reads it; each is declared beside its strategy and
//! listed once, in `recognised.rs`. A strategy has read its text once. Composing may be repeated with a smaller budget,
//! so it must not change the strategy.

use std::io;

use super::draft::Draft;
use crate::data::Data;
use crate::sample::Sample;
use crate::text::Text;

/// One kind of text: how it is recognised, and what reads it.
pub(crate) struct TextKind {
    /// The name that reports use; a policy may give it as a hint.
    pub(crate) name: &'static str,
    /// Returns whether a text is of this kind, judged by its beginning. Kinds are tried in the order of their list.
    pub(crate) recognise: fn(&Sample<'_>) -> bool,
    /// Reads the text; `None` if it turns out not to be of this kind.
    pub(crate) read: ReadText,
}

/// Reads a text of a kind.
pub(crate) type ReadText = for<'t> fn(&'t Text<'t>, &Sample<'_>) -> io::Result<Option<Content<'t>>>;

/// What a text was read as.
pub(crate) enum Content<'t> {
    /// Data in any notation.
    Data(Box<Data<'t>>),
    /// Any other text.
    Text(Box<dyn Strategy + 't>),
}

impl<'t> Content<'t> {
    /// Returns the content of a text that a strategy has read.
    pub(crate) fn text(strategy: impl Strategy + 't) -> Option<Self> {
        Some(Self::Text(Box::new(strategy)))
    }

    /// Returns the content of a text that is data.
    pub(crate) fn data(data: Data<'t>) -> Option<Self> {
        Some(Self::Data(Box::new(data)))
    }

    /// Returns the strategy that composes the overview.
    pub(crate) fn strategy(&self) -> &dyn Strategy {
        match self {
            Self::Data(data) => &**data,
            Self::Text(strategy) => &**strategy,
        }
    }
}

/// One way to compose an overview of a text.
pub(crate) trait Strategy {
    /// Returns the name that reports use.
    fn name(&self) -> &'static str;

    /// Fills a draft with an overview of `text`, which the strategy has read; `arguments` are the values of the call.
    fn compose(&self, text: &Text<'_>, arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()>;
}

/// The first of the sections that belong to the strategy of a text.
pub(crate) const STRATEGY_SECTION: usize = 10;
