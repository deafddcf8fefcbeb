//! Records in lines of text: each notation is one file that implements [`LineNotation`], listed once in [`Pattern`].
//!
//! A notation says where a record begins and how to read one; the records then get the same statistics and the same
//! rows as those of any other notation. Where each line is a record, a line of another form is one as well: its text is
//! the value of one member, so that no line is missing from the records.

mod entries;
mod files;
mod json_values;
mod keyed_blocks;
mod leading_time;
mod line_fields;
mod logfmt;
mod reader;

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};

use crate::csv::{CellFeed, json_object};
use crate::json::value::{ReadLimits, Value};
use crate::json::{Dialect, Scanner, compact};
use crate::lines::Lines;
use crate::sample::Sample;
use crate::source::Span;
use crate::text::Text;

use entries::Entries;
use files::Files;
use json_values::JsonValues;
use keyed_blocks::KeyedBlocks;
pub(crate) use line_fields::LineFields;
use logfmt::Logfmt;
pub(crate) use reader::{OtherLines, PatternReader, RecordLines};

/// A notation of records in lines of text.
///
/// To add one, implement this in a file of its own and list it in [`Pattern`].
trait LineNotation {
    /// Recognises the notation in the beginning of a text.
    fn recognise(sample: &Sample<'_>) -> Option<Self>
    where
        Self: Sized;

    /// Returns the name that reports use.
    fn name(&self) -> &'static str;

    /// Returns what a record is called.
    fn noun(&self) -> &'static str;

    /// Reads the lines of the next record, with their offset.
    fn next(&self, reader: &mut PatternReader<'_>) -> io::Result<Option<(u64, RecordLines)>>;

    /// Returns what a record says; `None` if it is a line of another form.
    fn content<'r>(&'r self, record: &'r RecordLines) -> Option<RecordContent<'r>>;

    /// Returns whether a record that has the form has a member of a given name.
    fn has_member(&self, _name: &str) -> bool {
        false
    }

    /// Returns whether lines of another form are records, too.
    fn has_other_lines(&self) -> bool {
        true
    }

    /// Returns whether records have no types, so that text which looks like a number is meant as one.
    fn is_textual(&self) -> bool {
        true
    }

    /// Returns whether a search looks at the lines rather than at the records.
    fn is_searched_by_line(&self) -> bool {
        true
    }
}

/// The name of a member of a record and its text.
type Member<'r> = (Cow<'r, str>, Cow<'r, str>);

/// What a record says.
enum RecordContent<'r> {
    /// Members whose values are texts.
    Members(Vec<Member<'r>>),
    /// A JSON value.
    Json(Cow<'r, str>),
}

/// Declares the notations: those before the semicolon are recognised in this order, those after it by their users.
macro_rules! line_notations {
    ($($(#[$doc:meta])+ $name:ident($notation:ty),)+; $($(#[$more_doc:meta])+ $more:ident($more_notation:ty),)+) => {
        /// The notation of the records in lines of a text.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub(crate) enum Pattern {
            $($(#[$doc])+ $name($notation),)+
            $($(#[$more_doc])+ $more($more_notation),)+
        }

        impl Pattern {
            /// Recognises records in the beginning of a text.
            pub(crate) fn recognise(sample: &Sample<'_>) -> Option<Self> {
                $(if let Some(notation) = <$notation>::recognise(sample) {
                    return Some(Self::$name(notation));
                })+
                None
            }

            fn notation(&self) -> &dyn LineNotation {
                match self {
                    $(Self::$name(notation) => notation,)+
                    $(Self::$more(notation) => notation,)+
                }
            }
        }
    };
}

line_notations! {
    /// Several files, each under a line with its path.
    Files(Files),
    /// Lines of JSON among which there are others.
    JsonValues(JsonValues),
    /// Lines of `key=value` pairs.
    Logfmt(Logfmt),
    /// Titles with `Key: value` lines below them.
    Entries(Entries),
    /// Blocks of `Key: value` lines.
    Blocks(KeyedBlocks),
    ;
    /// Lines with the same fields; the kind of text that has them also looks at the other lines.
    Fields(LineFields),
}

impl Pattern {
    /// Returns whether a text is several files, whose content may be in any notation.
    pub(crate) fn is_files(sample: &Sample<'_>) -> bool {
        Files::recognise(sample).is_some()
    }
}

/// The member that holds the text of a line of another form, unless the lines of the form have one of that name.
const OTHER_LINE_KEY: &str = "line";

impl Pattern {
    /// Feeds all records to a profile as elements of one list; returns the offset of their end and the lines that do not
    /// have the form of the others.
    pub(crate) fn profile(&self, text: &Text<'_>, feed: &mut CellFeed<'_>) -> io::Result<(u64, OtherLines)> {
        let mut reader = self.reader(Lines::new(text));
        feed.builder.open(false, 0);
        while let Some((at, record)) = reader.next()? {
            match self.notation().content(&record) {
                Some(RecordContent::Members(members)) => {
                    feed.builder.open(true, at);
                    for (name, value) in members {
                        feed.cell(&name, &value, at);
                    }
                    feed.builder.close(at + record.bytes);
                }
                // All values inside a record get its offset, because it is read again as a whole.
                Some(RecordContent::Json(json)) => with_scanner(&json, |scanner| {
                    scanner.decode_strings();
                    let _ = feed.builder.scan_value_at(scanner, at);
                }),
                None => {
                    // The statistics are those of the lines of the form alone.
                    feed.builder.element(at);
                    reader.note_other(&record);
                }
            }
        }
        let end = reader.position();
        feed.builder.close(end);
        Ok((end, reader.others))
    }

    fn json(&self, record: &RecordLines) -> String {
        match self.notation().content(record) {
            Some(RecordContent::Members(members)) => {
                json_object(members.iter().map(|(name, value)| (&**name, &**value)))
            }
            Some(RecordContent::Json(json)) => with_scanner(&json, |scanner| {
                let compact = compact::value(scanner, Dialect::Json, usize::MAX);
                compact.map_or_else(|_| json.trim().to_owned(), |compact| compact.text)
            }),
            None => json_object([(self.other_line_key().as_str(), record.first())].into_iter()),
        }
    }

    fn object(&self, record: &RecordLines) -> Value {
        match self.notation().content(record) {
            Some(RecordContent::Members(members)) => {
                let members = members.into_iter();
                Value::object(members.map(|(name, value)| (name.into(), Value::string(&value))).collect())
            }
            Some(RecordContent::Json(json)) => {
                with_scanner(&json, |scanner| Value::read(scanner, ReadLimits::RECORD).unwrap_or(Value::Null))
            }
            None => Value::object(vec![(self.other_line_key().into(), Value::string(record.first()))]),
        }
    }

    /// Returns the name of the member that holds a line of another form.
    pub(crate) fn other_line_key(&self) -> String {
        let mut key = OTHER_LINE_KEY.to_owned();
        while self.notation().has_member(&key) {
            key.push('_');
        }
        key
    }

    /// Returns a reader of the records.
    pub(crate) fn reader<'a>(&'a self, lines: Lines<'a>) -> PatternReader<'a> {
        PatternReader::new(self, lines)
    }

    /// Returns the name that reports use.
    pub(crate) fn name(&self) -> &'static str {
        self.notation().name()
    }

    /// Returns what a record is called.
    pub(crate) fn noun(&self) -> &'static str {
        self.notation().noun()
    }

    /// Returns whether lines of another form are records, too.
    pub(crate) fn has_other_lines(&self) -> bool {
        self.notation().has_other_lines()
    }

    /// Returns whether records have no types, so that text which looks like a number is meant as one.
    pub(crate) fn is_textual(&self) -> bool {
        self.notation().is_textual()
    }

    /// Returns whether a search looks at the lines rather than at the records.
    pub(crate) fn is_searched_by_line(&self) -> bool {
        self.notation().is_searched_by_line()
    }
}

/// Calls `read` with a scanner of a JSON text.
fn with_scanner<T>(json: &str, read: impl FnOnce(&mut Scanner<'_>) -> T) -> T {
    let source = json.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    read(&mut Scanner::new(&text, Dialect::Json))
}
