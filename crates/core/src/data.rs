//! A text that is data: JSON in one of its notations, separated values, or lines in a pattern. One pass makes its
//! profile; afterwards single records and values are read again where they stand.

use std::io;
use std::ops::Range;

use crate::csv;
use crate::hints::Hints;
use crate::json::value::Value;
use crate::json::{Dialect, Event, ScanError, Scanner};
use crate::pattern::{Others, Pattern};
use crate::profile::{Builder, NodeId, Profile};
use crate::records::{Notation, Records, scalar_at};
use crate::text::Text;

/// Where and why a text stopped being valid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Break {
    pub(crate) offset: u64,
    pub(crate) reason: &'static str,
}

/// A text that is data, with its profile.
pub(crate) struct Data<'t> {
    pub(crate) text: &'t Text<'t>,
    pub(crate) notation: Notation,
    pub(crate) profile: Profile,
    /// Where in the text the data stands; what is before and after is words about it.
    pub(crate) range: Range<u64>,
    /// Lines that belong to no record, where records are lines.
    pub(crate) others: Others,
    /// Set where the text breaks off inside the data.
    pub(crate) broken: Option<Break>,
    /// What is said about it from outside.
    pub(crate) hints: Hints,
}

impl<'t> Data<'t> {
    /// Reads JSON that begins at `start`; `None` where that is no JSON.
    ///
    /// Data that breaks off is still data if most of it could be read: a server that cuts its own output is
    /// common.
    pub(crate) fn json(text: &'t Text<'t>, start: u64, dialect: Dialect) -> io::Result<Option<Self>> {
        let mut scanner = Scanner::at(text, start, dialect)?;
        let mut builder = Builder::new();
        match builder.scan_value(&mut scanner) {
            Ok(()) => {}
            Err(ScanError::Source(error)) => return Err(error),
            Err(ScanError::Syntax { offset, reason }) => {
                let enough = offset - start >= 1024 && offset * 10 >= text.max_len() * 8;
                if !enough {
                    return Ok(None);
                }
                let profile = builder.finish(offset);
                let broken = Some(Break { offset, reason });
                let range = start..offset;
                return Ok(Some(Self {
                    text,
                    notation: Notation::Json(dialect),
                    profile,
                    range,
                    others: Others::default(),
                    broken,
                    hints: Hints::default(),
                }));
            }
        }
        let end = scanner.position();
        if scanner.next().is_ok()
            && scanner.begin_next().unwrap_or(false)
            && let Some(lines) = Self::json_lines(text, start, dialect)?
        {
            return Ok(Some(lines));
        }
        let profile = builder.finish(end);
        Ok(Some(Self {
            text,
            notation: Notation::Json(dialect),
            profile,
            range: start..end,
            others: Others::default(),
            broken: None,
            hints: Hints::default(),
        }))
    }

    /// Reads one JSON value after another, as the elements of one list; `None` unless there are several and they
    /// reach the end of the text.
    fn json_lines(text: &'t Text<'t>, start: u64, dialect: Dialect) -> io::Result<Option<Self>> {
        let mut scanner = Scanner::at(text, start, dialect)?;
        let mut builder = Builder::new();
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
        let profile = builder.finish(end);
        Ok(Some(Self {
            text,
            notation: Notation::JsonLines(dialect),
            profile,
            range: start..end,
            others: Others::default(),
            broken,
            hints: Hints::default(),
        }))
    }

    /// Reads separated values.
    pub(crate) fn table(text: &'t Text<'t>, format: csv::Format) -> io::Result<Self> {
        let mut builder = Builder::new();
        let end = format.profile(text, &mut builder)?;
        let profile = builder.finish(end);
        Ok(Self {
            text,
            notation: Notation::Table(format),
            profile,
            range: 0..end,
            others: Others::default(),
            broken: None,
            hints: Hints::default(),
        })
    }

    /// Reads records in a pattern of the text's own.
    pub(crate) fn pattern(text: &'t Text<'t>, pattern: Pattern) -> io::Result<Self> {
        let mut builder = Builder::new();
        let (end, others) = pattern.profile(text, &mut builder)?;
        let profile = builder.finish(end);
        Ok(Self {
            text,
            notation: Notation::Pattern(pattern),
            profile,
            range: 0..end,
            others,
            broken: None,
            hints: Hints::default(),
        })
    }

    /// Returns the name of the notation, where it is one of its own.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        match self.notation {
            Notation::JsonLines(_) => Some("json lines"),
            _ => None,
        }
    }

    /// Returns access to the elements of a container that stands alone at its path.
    pub(crate) fn records(&self, container: NodeId) -> Option<Records<'_>> {
        let node = self.profile.node(container);
        let index = node.index.as_deref()?;
        let keyed = node.types.objects > 0;
        Some(Records { text: self.text, notation: &self.notation, index, keyed })
    }

    /// Returns the scalar at an offset; `None` where values do not stand by themselves (rows of a table).
    pub(crate) fn scalar(&self, offset: u64) -> io::Result<Option<Value>> {
        match self.notation {
            Notation::Json(dialect) | Notation::JsonLines(dialect) => scalar_at(self.text, offset, dialect),
            Notation::Table(_) | Notation::Pattern(_) => Ok(None),
        }
    }
}
