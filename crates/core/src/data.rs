//! A text that is data: JSON in one of its notations, separated values, or records formed by a pattern of lines.
//!
//! One pass over the text builds its profile; afterwards single records and values are read again at their offsets.
//! [`Data`] has one constructor per notation, and everything behind it works on any notation.

use std::io;
use std::ops::Range;

use crate::csv;
use crate::hints::Hints;
use crate::json::value::Value;
use crate::json::{Dialect, Event, ScanError, Scanner};
use crate::pattern::{OtherLines, Pattern};
use crate::profile::{DataProfile, NodeId, ProfileBuilder};
use crate::records::{Notation, Records, scalar_at};
use crate::text::Text;

/// Where and why a text stops being valid data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Break {
    pub(crate) offset: u64,
    pub(crate) reason: &'static str,
}

/// A text that is data, with its profile.
pub(crate) struct Data<'t> {
    pub(crate) text: &'t Text<'t>,
    pub(crate) notation: Notation,
    pub(crate) profile: DataProfile,
    /// The range of the data in the text; there may be other text before and after it.
    pub(crate) range: Range<u64>,
    /// Lines that belong to no record, where records are formed by lines.
    pub(crate) others: OtherLines,
    /// Set if the text breaks off inside the data.
    pub(crate) broken: Option<Break>,
    /// What the tool's policy says about the data.
    pub(crate) hints: Hints,
}

impl<'t> Data<'t> {
    fn new(text: &'t Text<'t>, notation: Notation, builder: ProfileBuilder, range: Range<u64>) -> Self {
        Self {
            text,
            notation,
            profile: builder.finish(range.end),
            range,
            others: OtherLines::default(),
            broken: None,
            hints: Hints::default(),
        }
    }

    /// Reads JSON that begins at `start`; `None` if that is not JSON.
    ///
    /// Data that breaks off is still data if most of it can be read: servers often truncate their own output.
    pub(crate) fn json(text: &'t Text<'t>, start: u64, dialect: Dialect) -> io::Result<Option<Self>> {
        let mut scanner = Scanner::at(text, start, dialect)?;
        let mut builder = ProfileBuilder::new();
        match builder.scan_value(&mut scanner) {
            Ok(()) => {}
            Err(ScanError::Source(error)) => return Err(error),
            Err(ScanError::Syntax { offset, reason }) => {
                let enough = offset - start >= 1024 && offset * 10 >= text.max_len() * 8;
                if !enough {
                    return Ok(None);
                }
                let broken = Some(Break { offset, reason });
                let data = Self::new(text, Notation::Json(dialect), builder, start..offset);
                return Ok(Some(Self { broken, ..data }));
            }
        }
        let end = scanner.position();
        if scanner.next().is_ok()
            && scanner.begin_next().unwrap_or(false)
            && let Some(lines) = Self::json_lines(text, start, dialect)?
        {
            return Ok(Some(lines));
        }
        Ok(Some(Self::new(text, Notation::Json(dialect), builder, start..end)))
    }

    /// Reads one JSON value after another as the elements of one list; `None` unless there are at least two and they
    /// reach the end of the text.
    fn json_lines(text: &'t Text<'t>, start: u64, dialect: Dialect) -> io::Result<Option<Self>> {
        let mut scanner = Scanner::at(text, start, dialect)?;
        let mut builder = ProfileBuilder::new();
        builder.open(false, start);
        let mut broken = None;
        let mut count = 0u64;
        loop {
            let begin = scanner.position();
            match builder.scan_value(&mut scanner) {
                Ok(()) => count += 1,
                Err(ScanError::Source(error)) => return Err(error),
                Err(ScanError::Syntax { offset, reason }) => {
                    if begin * 10 < text.max_len() * 8 {
                        return Ok(None);
                    }
                    broken = Some(Break { offset, reason });
                    break;
                }
            }
            match scanner.next() {
                Ok(Event::End) => {}
                _ => return Ok(None),
            }
            match scanner.begin_next() {
                Ok(true) => {}
                Ok(false) => break,
                Err(ScanError::Source(error)) => return Err(error),
                Err(ScanError::Syntax { .. }) => return Ok(None),
            }
        }
        if count < 2 {
            return Ok(None);
        }
        let end = scanner.position();
        let data = Self::new(text, Notation::JsonLines(dialect), builder, start..end);
        Ok(Some(Self { broken, ..data }))
    }

    /// Reads separated values.
    pub(crate) fn csv(text: &'t Text<'t>, format: csv::Format) -> io::Result<Self> {
        let mut builder = ProfileBuilder::new();
        let end = format.profile(text, &mut builder)?;
        Ok(Self::new(text, Notation::Table(format), builder, 0..end))
    }

    /// Reads records formed by a pattern of lines.
    pub(crate) fn pattern(text: &'t Text<'t>, pattern: Pattern) -> io::Result<Self> {
        let mut builder = ProfileBuilder::new();
        let (end, others) = pattern.profile(text, &mut builder)?;
        let data = Self::new(text, Notation::Pattern(pattern), builder, 0..end);
        Ok(Self { others, ..data })
    }

    /// Returns the name of the notation, if it differs from the kind the text was recognised as.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        match self.notation {
            Notation::JsonLines(_) => Some("json lines"),
            _ => None,
        }
    }

    /// Returns access to the elements of a container that is the only one at its path.
    pub(crate) fn records(&self, container: NodeId) -> Option<Records<'_>> {
        let node = self.profile.node(container);
        let index = node.index.as_deref()?;
        let keyed = node.types.objects > 0;
        Some(Records { text: self.text, notation: &self.notation, index, keyed })
    }

    /// Returns the scalar at an offset; `None` in notations whose values have no offset of their own.
    pub(crate) fn scalar(&self, offset: u64) -> io::Result<Option<Value>> {
        match self.notation {
            Notation::Json(dialect) | Notation::JsonLines(dialect) => scalar_at(self.text, offset, dialect),
            Notation::Table(_) | Notation::Pattern(_) => Ok(None),
        }
    }
}
