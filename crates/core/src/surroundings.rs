//! The text before and after the data of a text, by its lines.
//!
//! Whatever shows the data says which lines it does not cover, so that a reader does not take the data for the whole.

use std::io;
use std::ops::{Range, RangeInclusive};

use crate::text::Text;

/// The lines before and after the data that are not blank throughout, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Surroundings {
    pub(crate) before: Option<RangeInclusive<u64>>,
    pub(crate) after: Option<RangeInclusive<u64>>,
}

impl Surroundings {
    /// Finds the lines around the data at `range`.
    pub(crate) fn of(text: &Text<'_>, range: Range<u64>) -> io::Result<Self> {
        let before = match text.first_visible(0..range.start)? {
            Some(first) => {
                // The data may begin in the line in which the text before it ends.
                let last = text.line_at(range.start)?;
                let shared = text.first_visible(text.line_start(range.start)?..range.start)?.is_some();
                Some(text.line_at(first)?..=if shared { last } else { last - 1 })
            }
            None => None,
        };
        let after = match text.first_visible(range.end..text.length()?)? {
            Some(first) => Some(text.line_at(first)?..=text.line_count()?),
            None => None,
        };
        Ok(Self { before, after })
    }

    /// Returns what a reader of the data should know: where the text around it is. `None` if there is none.
    pub(crate) fn note(&self) -> Option<String> {
        let lines = |lines: &RangeInclusive<u64>| format!("\"lines\":\"{}-{}\"", lines.start(), lines.end());
        match (&self.before, &self.after) {
            (None, None) => None,
            (Some(before), None) => Some(format!("Text before the data: {}.", lines(before))),
            (None, Some(after)) => Some(format!("Text after the data: {}.", lines(after))),
            (Some(before), Some(after)) => {
                Some(format!("Text before the data: {}, after it: {}.", lines(before), lines(after)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    #[test]
    fn lines_around_the_data() {
        let around = |text: &str| {
            let (start, end) = (text.find('[').unwrap() as u64, text.rfind(']').unwrap() as u64 + 1);
            let source = text.as_bytes();
            Surroundings::of(&Text::plain(&source, Span::whole(&source)), start..end).unwrap().note()
        };
        assert_eq!(around(" \n[1]\n\n"), None);
        assert_eq!(around("Found:\n\n[1]").unwrap(), "Text before the data: \"lines\":\"1-2\".");
        assert_eq!(
            around("Found: [1] or\nso.\n").unwrap(),
            "Text before the data: \"lines\":\"1-1\", after it: \"lines\":\"1-2\"."
        );
        assert_eq!(around("[1]\nThat is all.\n").unwrap(), "Text after the data: \"lines\":\"2-2\".");
    }
}
