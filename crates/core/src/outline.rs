//! The outline that is stored with a result, so that any part of it is found without reading all of it again.
//!
//! It says where the text of the result is, in which notation its data is written, and holds a sparse index of its
//! records and lines. The bytes begin with a version: an outline that another version wrote is rebuilt from the
//! result itself, so a stored result stays readable after an update.

use std::io;

use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::hints::Hints;
use crate::inner_texts;
use crate::payload::Payload;
use crate::profile::NodeId;
use crate::profile::lists::RowForm;
use crate::profile::node::SparseIndex;
use crate::records::Notation;
use crate::shape::Prepared;
use crate::source::{Source, Span};
use crate::text::{Text, TextIndex};
use crate::translation::Translation;

/// The version of the serialized form; an outline of another version is rebuilt from the result.
const VERSION: u8 = 4;
/// The maximum number of field names kept, to suggest one if a request names a field that does not exist.
const MAX_FIELDS: usize = 400;

/// The outline that is stored with a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// What the text was recognised as.
    pub(crate) kind: String,
    pub(crate) parts: Vec<Span>,
    pub(crate) escaped: bool,
    pub(crate) text: TextIndex,
    pub(crate) data: Option<DataOutline>,
    /// The parts of the result that are not in the text.
    pub(crate) beside: Vec<PartBeside>,
    /// The path of the string that is most of the data.
    pub(crate) main_text: Option<String>,
    /// The path, in the whole result, of the value that this is the outline of; empty for the whole.
    pub(crate) scope: String,
}

/// A part of a result that is not in its main text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartBeside {
    /// What it is, in our own words.
    pub(crate) what: String,
    /// Where it is in the source.
    pub(crate) span: Span,
}

/// Where the data is in a text, and its main list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DataOutline {
    pub(crate) notation: Notation,
    /// The notation that is translated to JSON, in which the offsets are.
    pub(crate) translation: Option<Translation>,
    /// How many lines of a translated text are not part of its data.
    pub(crate) other_lines: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) records: Option<RecordsOutline>,
    /// The paths of the fields, from a record or from the top.
    pub(crate) fields: Vec<String>,
}

/// The main list of records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordsOutline {
    /// The path of the list, empty for the whole.
    pub(crate) path: String,
    pub(crate) keyed: bool,
    pub(crate) index: SparseIndex,
    /// Bytes of all records.
    pub(crate) bytes: u64,
    /// What one record is called.
    pub(crate) noun: String,
    /// How records that are written as lists get their columns.
    pub(crate) form: Option<RowForm>,
    /// How many values are beside the list, in the objects and lists that hold it.
    pub(crate) beside: u64,
}

impl Outline {
    /// Returns the outline of a result whose text was read.
    pub(crate) fn new(
        payload: &Payload<'_>,
        kind: &str,
        text: Option<&Text<'_>>,
        data: Option<&Data<'_>>,
    ) -> io::Result<Self> {
        let (parts, escaped, index) = text.map(Text::index).transpose()?.unwrap_or_default();
        let beside = payload.parts_beside_text();
        let beside = beside.into_iter().map(|(what, span)| PartBeside { what, span }).collect();
        let main_text = data.map(inner_texts::main).transpose()?.flatten().map(|text| text.path);
        let (kind, data, scope) = (kind.to_owned(), data.map(DataOutline::new), String::new());
        Ok(Self { kind, parts, escaped, text: index, data, beside, main_text, scope })
    }

    /// Reads a result and returns its outline.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn read(payload: &Payload<'_>) -> io::Result<Self> {
        Self::read_with_hints(payload, &Hints::default())
    }

    fn read_with_hints(payload: &Payload<'_>, hints: &Hints) -> io::Result<Self> {
        let text = payload.joined_text();
        Prepared::with_hints(payload, text.as_ref(), hints)?.outline()
    }

    /// Reads a value inside a result and returns its outline; `scope` is its path.
    pub(crate) fn read_within(payload: &Payload<'_>, hints: &Hints, scope: String) -> io::Result<Self> {
        Ok(Self { scope, ..Self::read_with_hints(payload, hints)? })
    }

    /// Returns whether the data is one JSON value.
    pub(crate) fn is_json(&self) -> bool {
        self.data.as_ref().is_some_and(|data| matches!(data.notation, Notation::Json(_)))
    }

    /// Reads a stored outline, and rebuilds it from the result where another version wrote it or it is damaged.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn load(bytes: &[u8], source: &dyn Source, hints: &Hints) -> io::Result<Self> {
        match Self::from_bytes(bytes) {
            Some(outline) => Ok(outline),
            None => {
                let payload = Payload::read_result(source).map_err(io::Error::other)?;
                Self::read_with_hints(&payload, hints)
            }
        }
    }

    /// Returns the bytes to store.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(postcard::to_allocvec(self).unwrap_or_default());
        bytes
    }

    /// Reads stored bytes; `None` if another version wrote them or they are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        (*version == VERSION).then(|| postcard::from_bytes(rest).ok())?
    }

    /// Returns what the path of a value begins with; empty in a whole result, or in a string that is all of one.
    pub(crate) fn path_prefix(&self) -> &str {
        if self.scope == "/" { "" } else { &self.scope }
    }

    /// Returns the path of the value that this is the outline of; empty for a whole result.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// Returns what the text was recognised as.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the path of the string that is most of the data.
    pub(crate) fn main_text(&self) -> Option<&str> {
        self.main_text.as_deref()
    }

    /// Returns how many records the main list has, if there is one.
    pub fn record_count(&self) -> Option<u64> {
        let records = self.data.as_ref()?.records.as_ref()?;
        Some(records.count())
    }
}

impl RecordsOutline {
    /// Returns how many records the list has; a header row is none.
    pub(crate) fn count(&self) -> u64 {
        self.index.count - self.header_rows().min(self.index.count)
    }

    /// Returns how many elements of the list come before its first record.
    pub(crate) fn header_rows(&self) -> u64 {
        self.form.as_ref().map_or(0, |form| form.header_rows)
    }

    /// Returns whether the records are not elements of one list, but of several, so that no path leads to one.
    pub(crate) fn is_joined(&self) -> bool {
        self.form.as_ref().is_some_and(|form| form.names.is_empty())
    }
}

impl DataOutline {
    fn new(data: &Data<'_>) -> Self {
        let table = crate::shape::main_table(data);
        let profile = &data.profile;
        let (container, record, fields, noun) = match &table {
            Some(table) => (table.container, table.record, &table.fields, table.noun()),
            None => (profile.root(), profile.root(), &Vec::new(), "member"),
        };
        let node = profile.node(container);
        let records = node.index.as_deref().filter(|index| index.count > 0).map(|index| RecordsOutline {
            path: profile.path(profile.root(), container),
            keyed: node.types.objects > 0,
            index: index.clone(),
            bytes: node.bytes,
            noun: noun.to_owned(),
            form: node.rows.as_deref().cloned(),
            beside: values_beside(data, container),
        });
        let mut paths: Vec<String> = fields.iter().map(|field| field.path.clone()).collect();
        if paths.is_empty() {
            paths = profile.children(record).map(|(id, _)| profile.path(record, id)).collect();
        }
        paths.truncate(MAX_FIELDS);
        if let Notation::Pattern(pattern) = &data.notation
            && pattern.has_other_lines()
            && data.others.count > 0
        {
            paths.push(pattern.other_line_key());
        }
        Self {
            notation: data.notation.clone(),
            translation: data.translation,
            other_lines: data.translation.map_or(0, |_| data.others.count),
            start: data.range.start,
            end: data.range.end,
            records,
            fields: paths,
        }
    }
}

/// Returns how many values are beside a container, in those that hold it.
fn values_beside(data: &Data<'_>, container: NodeId) -> u64 {
    let profile = &data.profile;
    let mut beside = 0;
    let mut at = profile.node(container).parent;
    let form = profile.node(container).rows.as_deref();
    // How many members of the object above hold the records.
    let mut holding = form.map_or(1, |form| form.columns.len().max(1)) as u64;
    while let Some(id) = at {
        let node = profile.node(id);
        beside += node.members.as_ref().map_or(0, |members| members.total).saturating_sub(holding);
        (at, holding) = (node.parent, 1);
    }
    beside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_of_another_version_is_rebuilt() {
        let text: String = (0..300).map(|n| format!(r#"{{\"id\":{n}}},"#)).collect();
        let result =
            format!(r#"{{"content":[{{"type":"text","text":"[{}]"}}]}}"#, text.trim_end_matches(','));
        let source = result.as_bytes();
        let load = |bytes: &[u8]| Outline::load(bytes, &source, &Hints::default()).unwrap();
        let written = Outline::read(&Payload::read_result(&source).unwrap()).unwrap().to_bytes();
        assert_eq!(load(&written).to_bytes(), written);
        let mut other_version = written.clone();
        other_version[0] += 1;
        assert_eq!(Outline::from_bytes(&other_version), None);
        assert_eq!(load(&other_version).to_bytes(), written);
        assert_eq!(load(&[]).record_count(), Some(300));
    }
}
