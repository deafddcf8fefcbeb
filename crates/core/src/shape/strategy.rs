//! What every strategy has in common: a name, and composing an overview.
//!
//! A strategy is chosen when a text is recognised and has then read the text once. Composing may be repeated with a
//! smaller budget, so it must not change the strategy.

use std::io;

use super::draft::Draft;
use crate::text::Text;

/// One way to compose an overview of a text.
pub(crate) trait Strategy {
    /// Returns the name that reports use.
    fn name(&self) -> &'static str;

    /// Fills a draft with an overview of `text`, which the strategy has read; `arguments` are the values of the call.
    fn compose(&self, text: &Text<'_>, arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()>;
}

/// The first of the sections that belong to the strategy of a text.
pub(crate) const STRATEGY_SECTION: usize = 10;
