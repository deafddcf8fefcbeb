//! A list of records inside data: its fields, the labels of its records, and reading single ones.
//!
//! The strategies for rows, series and grids all work on a [`Table`].

use std::borrow::Cow;
use std::io;
use std::ops::ControlFlow;

use super::field::{Field, FieldKind, fields};
use super::row_series::RowSeries;
use crate::data::Data;
use crate::json::value::Value;
use crate::pattern::Pattern;
use crate::profile::{NodeId, PathStep};
use crate::records::{Notation, Record, Records};
use crate::view::read_key;
use crate::visible;

/// A list of records.
pub(crate) struct Table<'d> {
    pub(crate) data: &'d Data<'d>,
    /// The array or object that holds the records.
    pub(crate) container: NodeId,
    /// The node of the records.
    pub(crate) record: NodeId,
    /// The path of the container, empty for the whole.
    pub(crate) path: String,
    pub(crate) records: Records<'d>,
    pub(crate) count: u64,
    pub(crate) fields: Vec<Field>,
    /// The field that names a record, as an index into `fields`.
    pub(crate) label: Option<usize>,
}

/// The minimum share of all bytes of a list that gets a table.
const MIN_TABLE_SHARE: f64 = 0.02;

/// Finds the lists of records, largest first.
pub(crate) fn tables<'d>(data: &'d Data<'d>) -> Vec<Table<'d>> {
    let profile = &data.profile;
    let total = profile.node(profile.root()).bytes.max(1) as f64;
    let mut found: Vec<(u64, NodeId, NodeId)> = Vec::new();
    let mut pending = vec![profile.root()];
    while let Some(id) = pending.pop() {
        let node = profile.node(id);
        let records = if node.types.objects == 0 { node.items } else { node.values };
        let records = records.filter(|record| profile.node(*record).parent == Some(id));
        let alone = node.index.as_ref().is_some_and(|index| index.count >= 2);
        match records.filter(|_| alone && node.types.containers() == 1) {
            Some(record) if node.bytes as f64 >= total * MIN_TABLE_SHARE || data.hints.rows.is_some() => {
                found.push((node.bytes, id, record));
            }
            _ => {
                let is_member = |step: &PathStep| matches!(step, PathStep::Key(_) | PathStep::Rows);
                let members = profile.children(id).filter(|(_, child)| is_member(&child.step));
                pending.extend(
                    members.filter(|(_, child)| child.types.containers() == 1).map(|(child, _)| child),
                );
                // A list of one element is not a table, but its element may contain some.
                if let Some(only) = node.items.filter(|_| node.index.as_ref().is_some_and(|i| i.count == 1)) {
                    pending.push(only);
                }
            }
        }
    }
    let hinted = data.hints.rows_path();
    let is_hinted =
        |id: NodeId| hinted.as_deref().is_some_and(|path| profile.path(profile.root(), id) == path);
    found.sort_by_key(|&(bytes, id, _)| (!is_hinted(id), std::cmp::Reverse(bytes), id));
    found.into_iter().filter_map(|(_, container, record)| Table::new(data, container, record)).collect()
}

impl<'d> Table<'d> {
    fn new(data: &'d Data<'d>, container: NodeId, record: NodeId) -> Option<Self> {
        let records = data.records(container)?;
        let profile = &data.profile;
        let fields = fields(profile, record);
        let count = records.count();
        let path = profile.path(profile.root(), container);
        let mut table = Self { data, container, record, path, records, count, fields, label: None };
        let series = RowSeries::of(&table);
        table.fields.retain(|field| !series.mixes(field));
        table.label = label(&table.fields, data);
        Some(table)
    }

    /// Returns the label of the record that contains an offset.
    pub(crate) fn label_at(&self, offset: u64) -> io::Result<Option<String>> {
        Ok(self.records.holding(offset)?.and_then(|record| self.label_of(&record)))
    }

    /// Returns the label of a record: its key, or the value of the field that names it.
    pub(crate) fn label_of(&self, record: &Record) -> Option<String> {
        if let Some(key) = &record.key {
            return Some(visible::cut(key, 80));
        }
        let field = &self.fields[self.label?];
        let text = scalar_text(field_value(&record.value, &field.path)?, 80);
        (!text.is_empty()).then_some(text)
    }

    /// Returns whether each record is one line of the text.
    fn is_lines(&self) -> bool {
        self.path.is_empty() && matches!(self.data.notation, Notation::Pattern(Pattern::Fields(_)))
    }

    /// Returns the line that a record is, as it was written; `None` if records are not lines.
    pub(crate) fn line_of(&self, number: u64, limit: usize) -> io::Result<Option<String>> {
        if !self.is_lines() {
            return Ok(None);
        }
        let mut range = None;
        self.records.each_json(number, 0, |record| {
            range = Some(record.range);
            ControlFlow::Break(())
        })?;
        let Some(range) = range else { return Ok(None) };
        let bytes = self.data.text.read(range.start..range.end.min(range.start + 8 * limit as u64))?;
        let line = String::from_utf8_lossy(&bytes);
        Ok(Some(visible::cut(&visible::strip_colours(&line), limit)))
    }

    /// Returns whether records are addressed by key.
    pub(crate) fn keyed(&self) -> bool {
        self.records.keyed
    }

    /// Returns the word for several records.
    pub(crate) fn nouns(&self) -> String {
        let plural = crate::write::plural(2, self.noun());
        plural.trim_start_matches("2 ").to_owned()
    }

    /// Returns the word for one record.
    pub(crate) fn noun(&self) -> &'static str {
        let node = self.data.profile.node(self.record);
        match self.data.notation {
            Notation::Table(_) => "row",
            Notation::Pattern(ref pattern) => pattern.noun(),
            _ if self.keyed() => "entry",
            _ if node.types.objects * 2 >= node.seen() => "row",
            _ => "item",
        }
    }
}

/// Returns the value at a dotted path without list steps. A path that does not exist may be a key that contains dots.
pub(crate) fn field_value<'v>(record: &'v Value, path: &str) -> Option<&'v Value> {
    let mut value = Some(record);
    let mut rest = path;
    while !rest.is_empty() {
        let (key, after) = read_key(rest)?;
        value = value.and_then(|value| value.get(&key));
        rest = match after.strip_prefix('.') {
            Some(next) => next,
            None if after.is_empty() => after,
            None => return None,
        };
    }
    value.or_else(|| record.get(path))
}

/// Returns a path as shown above or before its values: a very long one is cut.
pub(crate) fn shown_path(path: &str) -> Cow<'_, str> {
    const MAX_PATH_CHARACTERS: usize = 120;
    match path.char_indices().nth(MAX_PATH_CHARACTERS) {
        Some((end, _)) => format!("{}…", &path[..end]).into(),
        None => path.into(),
    }
}

/// Returns a value on one line of at most `limit` characters.
pub(crate) fn scalar_text(value: &Value, limit: usize) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Number(raw) => visible::cut(raw, limit.max(40)),
        Value::String(text) if text.left_out > 0 && text.text.chars().count() <= limit => {
            format!("{}…", visible::cut(&text.text, limit))
        }
        Value::String(text) => visible::cut(&text.text, limit),
        other => visible::cut(&compact(other), limit),
    }
}

/// Returns a value as JSON on one line; what was not read is marked.
pub(crate) fn compact(value: &Value) -> String {
    let mut out = String::new();
    write_compact(value, &mut out);
    out
}

fn write_compact(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(raw) => out.push_str(raw),
        Value::String(text) => {
            crate::json::string::write(&text.text, out);
            if text.left_out > 0 {
                out.insert(out.len() - 1, '…');
            }
        }
        Value::Array(elements) => {
            out.push('[');
            for (index, element) in elements.read.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_compact(element, out);
            }
            if elements.total > elements.read.len() as u64 {
                out.push_str(&format!(",… {} more", elements.total - elements.read.len() as u64));
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (index, (key, member)) in members.read.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                crate::json::string::write(key, out);
                out.push(':');
                write_compact(member, out);
            }
            if members.total > members.read.len() as u64 {
                out.push_str(&format!(",… {} more", members.total - members.read.len() as u64));
            }
            out.push('}');
        }
        Value::Unread(bytes) => out.push_str(&format!("… {}", crate::write::size(*bytes))),
    }
}

/// Names of fields that name a record, best first.
const LABEL_NAMES: &[&str] = &[
    "name",
    "title",
    "full_name",
    "fullname",
    "displayname",
    "display_name",
    "filepath",
    "file_path",
    "path",
    "file",
    "filename",
    "key",
    "slug",
    "label",
    "subject",
    "summary",
    "headline",
    "place",
    "login",
    "username",
    "user",
    "symbol",
    "command",
    "cmd",
    "text",
    "message",
    "id",
    "uid",
    "number",
    "sha",
    "commit",
    "hash",
    "url",
    "href",
    "email",
    "code",
    "date",
];

/// Chooses the field that names a record: it has a likely name, is near the top, and differs from record to record.
fn label(fields: &[Field], data: &Data<'_>) -> Option<usize> {
    let score = |field: &Field| -> Option<f64> {
        let node = data.profile.node(field.node);
        let values = node.types.strings + node.types.numbers;
        if !field.single || values * 2 < field.expected || field.expected < 2 {
            return None;
        }
        let mean = node.lengths.as_ref().map_or(6, |lengths| lengths.total / lengths.count.max(1));
        if mean > 120 || matches!(field.kind, FieldKind::Constant | FieldKind::Empty | FieldKind::Bool) {
            return None;
        }
        let (distinct, _) = node.counts.distinct();
        let unique = distinct as f64 / values as f64;
        let name = field.name();
        let hint = match LABEL_NAMES
            .iter()
            .position(|known| name == *known || name.replace([' ', '-', '_'], "") == *known)
        {
            Some(at) => 60.0 - at as f64,
            None if LABEL_NAMES[..20].iter().any(|known| name.ends_with(known)) => 45.0,
            None => 0.0,
        };
        let number = matches!(field.kind, FieldKind::Number);
        // A measurement does not name a record, even if no two are equal.
        let fractions = node.numbers.as_ref().is_some_and(|numbers| numbers.integers < numbers.count);
        if number && fractions && hint == 0.0 {
            return None;
        }
        let textual = if number { -30.0 } else { 15.0 };
        (unique > 0.2 || hint > 40.0)
            .then_some(unique * 50.0 + hint + textual - field.depth as f64 * 12.0 - mean as f64 * 0.1)
    };
    let scored = fields.iter().enumerate().filter_map(|(index, field)| Some((score(field)?, index)));
    scored.max_by(|one, two| one.0.total_cmp(&two.0).then(two.1.cmp(&one.1))).map(|(_, index)| index)
}
