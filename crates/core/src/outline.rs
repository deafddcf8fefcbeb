//! What is kept beside a stored result, so that any part of it is found without reading it again: where its text
//! stands, what notation its data is in, and where every so many-th record and line begins.

use std::io;

use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::payload::Payload;
use crate::profile::node::SparseIndex;
use crate::records::Notation;
use crate::source::Span;
use crate::text::{Text, TextIndex};

/// The form of the bytes; an outline of another form is made anew.
const VERSION: u8 = 1;
/// The most names of fields kept, to suggest one where a wrong one was asked for.
const FIELDS: usize = 400;

/// What is kept beside a stored result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// What the text was recognised as.
    pub(crate) kind: String,
    pub(crate) parts: Vec<Span>,
    pub(crate) escaped: bool,
    pub(crate) text: TextIndex,
    pub(crate) data: Option<DataOutline>,
}

/// Where data stands in a text, and its main list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DataOutline {
    pub(crate) notation: Notation,
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
}

impl Outline {
    /// Makes the outline of a text that has been read.
    pub(crate) fn new(kind: &str, text: Option<&Text<'_>>, data: Option<&Data<'_>>) -> io::Result<Self> {
        let (parts, escaped, index) = text.map(Text::index).transpose()?.unwrap_or_default();
        Ok(Self { kind: kind.to_owned(), parts, escaped, text: index, data: data.map(DataOutline::new) })
    }

    /// Reads a result and makes its outline.
    ///
    /// # Errors
    ///
    /// Where the source cannot be read.
    pub fn read(payload: &Payload<'_>) -> io::Result<Self> {
        let text = payload.joined_text();
        crate::shape::Prepared::new(payload, text.as_ref())?.outline()
    }

    /// Returns the bytes to keep.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(postcard::to_allocvec(self).unwrap_or_default());
        bytes
    }

    /// Reads kept bytes; `None` where they are of another version or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        (*version == VERSION).then(|| postcard::from_bytes(rest).ok())?
    }

    /// Returns what the text was recognised as.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns how many records the main list has, if there is one.
    pub fn record_count(&self) -> Option<u64> {
        let records = self.data.as_ref()?.records.as_ref()?;
        Some(records.index.count)
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
        });
        let mut paths: Vec<String> = fields.iter().map(|field| field.path.clone()).collect();
        if paths.is_empty() {
            paths = profile.children(record).map(|(id, _)| profile.path(record, id)).collect();
        }
        paths.truncate(FIELDS);
        Self {
            notation: data.notation.clone(),
            start: data.range.start,
            end: data.range.end,
            records,
            fields: paths,
        }
    }
}
