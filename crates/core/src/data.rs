//! A text that is data: JSON in one of its notations, separated values, or records formed by a pattern of lines.
//!
//! One pass over the text builds its profile; afterwards single records and values are read again at their offsets.
//! [`Data`] has one constructor per notation, and everything behind it works on any notation.

use std::io;
use std::ops::Range;

use crate::csv::{self, CellFeed};
use crate::hints::Hints;
use crate::json::scan::CUT_OFF;
use crate::json::value::{ReadLimits, Value};
use crate::json::{Dialect, ScanError, Scanner};
use crate::pattern::{OtherLines, Pattern};
use crate::profile::{DataProfile, NodeId, ProfileBuilder};
use crate::records::{Notation, Records, read_value_at, scalar_at};
use crate::text::{DataText, Text};
use crate::translation::Translation;

/// Where and why a text stops being valid data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Break {
    pub(crate) offset: u64,
    pub(crate) reason: &'static str,
}

/// The minimum number of bytes of a value that counts as data though it breaks off.
const MIN_BROKEN_BYTES: u64 = 1024;

/// Returns a scanner for a profile, in which equal strings count as equal however they are escaped.
fn profiling_scanner<'t>(text: &'t Text<'t>, start: u64, dialect: Dialect) -> io::Result<Scanner<'t>> {
    let mut scanner = Scanner::at(text, start, dialect)?;
    scanner.decode_strings();
    Ok(scanner)
}

/// A text that is data, with its profile.
pub(crate) struct Data<'t> {
    /// The text that offsets are in.
    pub(crate) text: DataText<'t>,
    pub(crate) notation: Notation,
    pub(crate) profile: DataProfile,
    /// The range of the data in the text; there may be other text before and after it.
    pub(crate) range: Range<u64>,
    /// Lines that do not have the form of the others, where records are formed by lines.
    pub(crate) others: OtherLines,
    /// Set if the text breaks off inside the data.
    pub(crate) broken: Option<Break>,
    /// Set if `text` is the JSON that another notation is translated to.
    pub(crate) translation: Option<Translation>,
    /// What the tool's policy says about the data.
    pub(crate) hints: Hints,
}

/// What a pass over a text found, without the text.
struct ReadData {
    notation: Notation,
    profile: DataProfile,
    range: Range<u64>,
    broken: Option<Break>,
}

impl ReadData {
    fn new(notation: Notation, builder: ProfileBuilder, range: Range<u64>) -> Self {
        Self { notation, profile: builder.finish(range.end), range, broken: None }
    }

    /// Reads the JSON of a text, as [`Data::json`] says.
    fn json(text: &Text<'_>, start: u64, dialect: Dialect) -> io::Result<Option<Self>> {
        let (data, is_whole) = match Self::scan_value(text, start, dialect)? {
            Ok(read) => read,
            Err(broken) => return Ok(Some(broken).filter(|broken| broken.is_most_of(text))),
        };
        if is_whole {
            return Ok(Some(data));
        }
        if let Some(lines) = Self::json_lines(text, start, dialect)? {
            return Ok(Some(lines));
        }
        let length = text.length()?;
        Ok(Some(data).filter(|data| (data.range.end - data.range.start) * 2 >= length))
    }

    /// Reads one value and whether nothing but white space follows it; the error is the data up to where it breaks off.
    fn scan_value(text: &Text<'_>, start: u64, dialect: Dialect) -> io::Result<Result<(Self, bool), Self>> {
        let mut scanner = profiling_scanner(text, start, dialect)?;
        let mut builder = ProfileBuilder::new();
        match builder.scan_value(&mut scanner) {
            Ok(()) => {}
            Err(ScanError::Source(error)) => return Err(error),
            Err(ScanError::Syntax { offset, reason }) => {
                let broken = Some(Break { offset, reason });
                let data = Self::new(Notation::Json(dialect), builder, start..offset);
                return Ok(Err(Self { broken, ..data }));
            }
        }
        let end = scanner.position();
        let more = match scanner.begin_next() {
            Ok(more) => more,
            Err(ScanError::Source(error)) => return Err(error),
            Err(ScanError::Syntax { .. }) => true,
        };
        Ok(Ok((Self::new(Notation::Json(dialect), builder, start..end), !more)))
    }

    /// Returns whether data that breaks off is most of its text.
    fn is_most_of(&self, text: &Text<'_>) -> bool {
        let Range { start, end } = self.range;
        end - start >= MIN_BROKEN_BYTES && end * 10 >= text.max_len() * 8
    }

    /// Reads one JSON value after another as the elements of one list; `None` unless there are at least two and they
    /// reach the end of the text, where the last one may break off.
    fn json_lines(text: &Text<'_>, start: u64, dialect: Dialect) -> io::Result<Option<Self>> {
        let mut scanner = profiling_scanner(text, start, dialect)?;
        let mut builder = ProfileBuilder::new();
        builder.open(false, start);
        let mut broken = None;
        let mut count = 0u64;
        loop {
            match builder.scan_value(&mut scanner) {
                Ok(()) => count += 1,
                Err(ScanError::Source(error)) => return Err(error),
                Err(ScanError::Syntax { offset, reason }) if reason.starts_with(CUT_OFF) => {
                    broken = Some(Break { offset, reason });
                    break;
                }
                Err(ScanError::Syntax { .. }) => return Ok(None),
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
        let end = broken.map_or(scanner.position(), |broken: Break| broken.offset);
        let data = Self::new(Notation::JsonLines(dialect), builder, start..end);
        Ok(Some(Self { broken, ..data }))
    }
}

impl<'t> Data<'t> {
    fn new(text: DataText<'t>, read: ReadData) -> Self {
        let ReadData { notation, profile, range, broken } = read;
        Self {
            text,
            notation,
            profile,
            range,
            others: OtherLines::default(),
            broken,
            translation: None,
            hints: Hints::default(),
        }
    }

    /// Reads the one JSON value that begins at `start`, whatever follows it, or its beginning if it breaks off.
    pub(crate) fn value(text: &'t Text<'t>, start: u64, dialect: Dialect) -> io::Result<Self> {
        let read = match ReadData::scan_value(text, start, dialect)? {
            Ok((read, _)) | Err(read) => read,
        };
        Ok(Self::new(DataText::Original(text), read))
    }

    /// Reads the JSON of a text that begins at `start`: one value, or several to the end of the text. `None` if the text
    /// is not JSON in the main.
    ///
    /// Data that breaks off is still data if most of it can be read, because servers often truncate their own output.
    /// A value with other text after it is data if it is at least half of the text; `range` says where it ends.
    pub(crate) fn json(text: &'t Text<'t>, start: u64, dialect: Dialect) -> io::Result<Option<Self>> {
        let read = ReadData::json(text, start, dialect)?;
        Ok(read.map(|read| Self::new(DataText::Original(text), read)))
    }

    /// Reads separated values whose header row is at `start`.
    pub(crate) fn csv(text: &'t Text<'t>, format: csv::Format, start: u64) -> io::Result<Self> {
        let mut builder = ProfileBuilder::new();
        let mut feed = CellFeed::new(&mut builder);
        let end = format.profile(text, start, &mut feed)?;
        let text_columns = feed.text_columns();
        let read = ReadData::new(Notation::Table(format), builder, start..end);
        let data = Self::new(DataText::Original(text), read);
        Ok(data.without_numbers_in(&text_columns))
    }

    /// Reads records formed by a pattern of lines.
    pub(crate) fn pattern(text: &'t Text<'t>, pattern: Pattern) -> io::Result<Self> {
        let mut builder = ProfileBuilder::new();
        let mut feed = CellFeed::new(&mut builder);
        let (end, others) = pattern.profile(text, &mut feed)?;
        let text_columns = feed.text_columns();
        let has_others = pattern.has_other_lines();
        let read = ReadData::new(Notation::Pattern(pattern), builder, 0..end);
        let mut data = Self::new(DataText::Original(text), read);
        if !has_others {
            // Lines before the first record are not a record.
            let index = data.profile.node(data.profile.root()).index.as_deref();
            data.range.start = index.and_then(|index| index.before(0)).map_or(0, |(_, offset)| offset);
        }
        Ok(Self { others, ..data.without_numbers_in(&text_columns) })
    }

    /// Reads a text by translating it to JSON; `None` if it is too large or not in that notation.
    pub(crate) fn translated(text: &'t Text<'t>, translation: Translation) -> io::Result<Option<Self>> {
        let Some(json) = text.translated(translation)? else { return Ok(None) };
        let translated = text.in_json(&json);
        let read = match ReadData::json(&translated, 0, Dialect::Json) {
            // The text is not in the notation after all.
            _ if json.has_failed() => return Ok(None),
            read => read?,
        };
        let Some(read) = read else { return Ok(None) };
        text.keep_translation(translation, &json);
        let data = Self::new(DataText::Translation(Box::new(translated)), read);
        Ok(Some(Self { translation: Some(translation), others: json.others.clone(), ..data }))
    }

    /// Drops what was computed from numbers in columns whose numbers are texts.
    fn without_numbers_in(mut self, names: &[String]) -> Self {
        let record = self.profile.node(self.profile.root()).items;
        for name in names {
            let column = record.and_then(|record| self.profile.member(record, name));
            if let Some(column) = column {
                self.profile.forget_numbers(column);
            }
        }
        self
    }

    /// Returns how many records have the form that most have; the others are lines of another form.
    pub(crate) fn regular_records(&self) -> u64 {
        let records = self.records(self.profile.root()).map_or(0, |records| records.count());
        match &self.notation {
            Notation::Pattern(pattern) if pattern.has_other_lines() => records - self.others.count,
            _ => records,
        }
    }

    /// Returns the name of the notation, if it differs from the kind the text was recognised as.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        if let Some(translation) = self.translation {
            return Some(translation.name());
        }
        match self.notation {
            Notation::JsonLines(_) => Some("json lines"),
            Notation::Json(Dialect::Python) => Some("python literal"),
            Notation::Pattern(ref pattern) => Some(pattern.name()),
            Notation::Json(Dialect::Json) | Notation::Table(_) => None,
        }
    }

    /// Returns access to the elements of a container that is the only one at its path.
    pub(crate) fn records(&self, container: NodeId) -> Option<Records<'_>> {
        let node = self.profile.node(container);
        let index = node.index.as_deref()?;
        let keyed = node.types.objects > 0;
        let form = node.rows.as_deref();
        Some(Records { text: DataText::Original(&self.text), notation: &self.notation, index, keyed, form })
    }

    /// Returns the scalar at an offset; `None` in notations whose values have no offset of their own.
    pub(crate) fn scalar(&self, offset: u64) -> io::Result<Option<Value>> {
        match self.notation {
            Notation::Json(dialect) | Notation::JsonLines(dialect) => scalar_at(&self.text, offset, dialect),
            Notation::Table(_) | Notation::Pattern(_) => Ok(None),
        }
    }

    /// Reads the value at an offset up to limits; `None` in notations whose values have no offset of their own.
    pub(crate) fn value_at(&self, offset: u64, limits: ReadLimits) -> io::Result<Option<Value>> {
        match self.notation {
            Notation::Json(dialect) | Notation::JsonLines(dialect) => {
                read_value_at(&self.text, offset, dialect, limits)
            }
            Notation::Table(_) | Notation::Pattern(_) => Ok(None),
        }
    }
}
