//! The line that begins an entry.

use serde::{Deserialize, Serialize};

use super::field::{fields, is_field};
use super::{is_indented, is_separator};
use crate::trim::trim;

/// What the titles of entries look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Title {
    /// A Markdown heading of this level.
    Heading(u8),
    /// A line that is bold as a whole.
    Bold,
    /// `1. title`, `1) title` or `[1] title`.
    Numbered,
    /// `- title`, `* title` or `• title`.
    Bullet,
    /// The first line after a blank or drawn one.
    AfterBlank,
    /// A line that is not indented, above lines that are.
    Unindented,
}

impl Title {
    /// All of them, in the order in which they are tried: those that say most clearly that they are titles come first.
    pub(super) const ALL: [Self; 11] = [
        Self::Heading(1),
        Self::Heading(2),
        Self::Heading(3),
        Self::Heading(4),
        Self::Heading(5),
        Self::Heading(6),
        Self::Bold,
        Self::Numbered,
        Self::Bullet,
        Self::AfterBlank,
        Self::Unindented,
    ];

    /// Returns the title in a line, without what marks it as one.
    pub(super) fn of(self, line: &str) -> Option<&str> {
        let title = match self {
            Self::Heading(level) => heading(line).filter(|(found, _)| *found == level)?.1,
            Self::Bold => bold(line)?,
            Self::Numbered => numbered(line)?,
            Self::Bullet => bullet(line).filter(|_| !is_indented(line))?,
            Self::AfterBlank => {
                Some(line.trim()).filter(|_| !is_indented(line) && fields(line).is_empty())?
            }
            Self::Unindented => Some(line.trim()).filter(|_| !is_indented(line))?,
        };
        (!title.is_empty() && !is_separator(line)).then_some(title)
    }

    /// Returns whether titles of this kind have a mark of their own.
    pub(super) fn is_marked(self) -> bool {
        !matches!(self, Self::AfterBlank | Self::Unindented)
    }

    /// Returns whether a line has the mark of some kind of title.
    pub(super) fn has_mark(line: &str) -> bool {
        heading(line).is_some() || bold(line).is_some() || numbered(line).is_some() || bullet(line).is_some()
    }

    /// Returns whether a line can follow a title. Titles without a mark of their own are told by it.
    pub(super) fn continues(self, line: &str) -> bool {
        match self {
            Self::AfterBlank => is_field(line),
            Self::Unindented => is_indented(line),
            _ => true,
        }
    }

    /// Returns whether a line that is no title ends the entry before it.
    pub(super) fn ends_before(self, line: &str) -> bool {
        match (self, heading(line)) {
            (Self::Heading(level), Some((found, _))) => found < level,
            _ => false,
        }
    }
}

/// Returns the level of a Markdown heading and its text.
fn heading(line: &str) -> Option<(u8, &str)> {
    let text = line.trim_start_matches('#');
    let level = u8::try_from(line.len() - text.len()).ok()?;
    let text = text.strip_prefix(' ')?.trim().trim_end_matches('#').trim_end();
    (1..=6).contains(&level).then_some((level, text))
}

fn bold(line: &str) -> Option<&str> {
    let inside = line.trim_end().strip_prefix("**")?.strip_suffix("**")?;
    (!inside.contains("**")).then_some(inside.trim())
}

fn numbered(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches([' ', '\t']);
    if line.len() - rest.len() > 3 {
        return None;
    }
    let (rest, closing) = match rest.strip_prefix('[') {
        Some(rest) => (rest, "]"),
        None => (rest, "."),
    };
    let digits = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    let after = &rest[digits..];
    let after = after.strip_prefix(closing).or_else(|| after.strip_prefix(')').filter(|_| closing == "."))?;
    ((1..=6).contains(&digits) && after.starts_with([' ', '\t'])).then(|| after.trim())
}

/// Returns the text of an item of a list, however deep it is.
pub(super) fn bullet(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches([' ', '\t']);
    if !rest.starts_with(|c: char| matches!(c, '-' | '*' | '+') || !c.is_ascii()) {
        return None;
    }
    let text = ["-", "*", "+", "•", "·", "▪", "◦", "●", "├─", "└─", "├──", "└──"]
        .iter()
        .filter_map(|mark| rest.strip_prefix(mark)?.strip_prefix([' ', '\t']))
        .next()?;
    Some(trim(text))
}
