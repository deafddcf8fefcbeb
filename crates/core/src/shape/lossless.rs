//! Writes a whole result in less space: the text once instead of twice, JSON without white space, uniform records as
//! separated values.
//!
//! Nothing may be lost, so a text with characters that must be escaped to be shown does not qualify, and records
//! become separated values only if every value can be read back from its cell: a bare cell is a number, `true`,
//! `false` or a string that is none of these; an empty cell is null; a quoted cell is a string. A value that all
//! records share is written once, and the members of an object in a record are columns of their own.

use std::io;

use crate::data::Data;
use crate::envelope;
use crate::json::value::{Elements, Value};
use crate::json::{Dialect, ScanError, strict};
use crate::measure;
use crate::payload::Payload;
use crate::records::Records;
use crate::text::Text;
use crate::{visible, write};

/// A whole result in a shorter form.
pub(crate) struct LosslessForm {
    pub(crate) body: String,
    /// How it is written, in the words of the frame.
    pub(crate) how: String,
}

/// The text of a result that consists of nothing else, read whole.
///
/// Only such a text may be called complete, so there is no other way to a [`LosslessForm`].
pub(crate) struct WholeText<'t> {
    text: &'t Text<'t>,
    decoded: String,
    /// How many texts were joined to this one.
    texts: usize,
    /// How many more texts say the same once more.
    repeated: usize,
}

impl<'t> WholeText<'t> {
    /// Reads the text of a result; `None` if the result has anything else, if the text has characters that must be
    /// escaped to be shown, or if it has more than `max_bytes` bytes.
    pub(crate) fn read(
        payload: &Payload<'_>,
        text: &'t Text<'t>,
        max_bytes: u64,
    ) -> io::Result<Option<Self>> {
        let only_text = payload.is_only_text() && envelope::dropped_members(payload).is_empty();
        if !only_text || text.max_len() > max_bytes {
            return Ok(None);
        }
        let Ok(decoded) = String::from_utf8(text.read_all()?) else { return Ok(None) };
        let hidden = decoded.chars().any(visible::is_hidden);
        let repeated = payload.repeated_blocks().len();
        let texts = payload.blocks.len() - repeated;
        Ok((!hidden).then_some(Self { text, decoded, texts, repeated }))
    }

    /// Returns the forms worth trying, shortest first.
    pub(crate) fn forms(&self) -> io::Result<Vec<LosslessForm>> {
        let mut forms = Vec::new();
        if let Some(json) = WholeJson::read(self)? {
            forms.extend(json.separated()?);
            forms.extend(json.compact()?);
        }
        let how = match self.texts {
            1 => "all of it, as it is".to_owned(),
            texts => format!("all of its {texts} texts, as they are, one after the other"),
        };
        forms.push(LosslessForm { body: self.decoded.clone(), how });
        if self.repeated > 0 {
            let again = format!("; {} repeating it left out", write::plural(self.repeated as u64, "text"));
            forms.iter_mut().for_each(|form| form.how.push_str(&again));
        }
        Ok(forms)
    }
}

/// A whole text that is one JSON value from its first byte to its last, white space aside.
struct WholeJson<'t> {
    text: &'t Text<'t>,
    data: Data<'t>,
}

impl<'t> WholeJson<'t> {
    fn read(whole: &WholeText<'t>) -> io::Result<Option<Self>> {
        // Several texts are several values, even if together they read like one.
        if whole.texts != 1 || !strict::is_container(&whole.decoded) {
            return Ok(None);
        }
        Ok(Some(Self { text: whole.text, data: Data::value(whole.text, 0, Dialect::Json)? }))
    }

    /// Writes the value without white space; `None` if a string is too long to copy.
    fn compact(&self) -> io::Result<Option<LosslessForm>> {
        match measure::minify(self.text, Dialect::Json) {
            Ok(body) => Ok(Some(LosslessForm { body, how: "all of it, as JSON without white space".into() })),
            Err(ScanError::Source(error)) => Err(error),
            Err(ScanError::Syntax { .. }) => Ok(None),
        }
    }

    /// Writes uniform records as separated values; `None` if some value could not be read back.
    fn separated(&self) -> io::Result<Option<LosslessForm>> {
        let data = &self.data;
        let root = data.profile.root();
        // Records are read as they are written: lists are not objects.
        let records = data.records(root).map(|records| Records { form: None, ..records });
        let Some(records) = records.filter(|records| !records.keyed && records.count() >= 2) else {
            return Ok(None);
        };
        let mut table = CellTable::default();
        for number in 0..records.count() {
            let record = records.nth(number)?.map(|record| record.value);
            let Some(Value::Object(members)) = record else { return Ok(None) };
            if table.push(&members).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(table.written()).filter(|form| !form.body.chars().any(visible::is_hidden)))
    }
}

/// Uniform records as named columns of cells from which every value can be read back.
#[derive(Default)]
struct CellTable {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Whether a record has objects in it, whose members are columns such as `user.name`.
    is_nested: bool,
    /// Whether a key has a dot in it, so that it could be taken for a member of an object.
    has_dots: bool,
}

impl CellTable {
    /// Adds a record; `None` if it has other columns than the first, or a value that does not fit a cell.
    fn push(&mut self, members: &Elements<(Box<str>, Value)>) -> Option<()> {
        let mut cells = Vec::new();
        self.flatten("", members, &mut cells)?;
        let (names, row): (Vec<String>, Vec<String>) = cells.into_iter().unzip();
        if self.rows.is_empty() {
            let repeated = names.iter().enumerate().any(|(at, name)| names[..at].contains(name));
            self.names = (!repeated).then_some(names)?;
        } else if names != self.names {
            return None;
        }
        self.rows.push(row);
        (!self.is_nested || !self.has_dots).then_some(())
    }

    fn flatten(
        &mut self,
        prefix: &str,
        members: &Elements<(Box<str>, Value)>,
        out: &mut Vec<(String, String)>,
    ) -> Option<()> {
        // An object without members would leave no trace.
        if members.total != members.read.len() as u64 || members.read.is_empty() {
            return None;
        }
        for (key, value) in &members.read {
            self.has_dots |= key.contains('.');
            match value {
                Value::Object(inner) => {
                    self.is_nested = true;
                    self.flatten(&format!("{prefix}{key}."), inner, out)?;
                }
                _ => out.push((format!("{prefix}{key}"), exact_cell(value)?)),
            }
        }
        Some(())
    }

    /// Returns for each column whether all rows have the same cell; no column where that is so of all.
    fn constant(&self) -> Vec<bool> {
        let is_constant =
            |at: usize| self.rows.len() > 2 && self.rows.iter().all(|row| row[at] == self.rows[0][at]);
        let constant: Vec<bool> = (0..self.names.len()).map(is_constant).collect();
        if constant.iter().all(|constant| *constant) { vec![false; constant.len()] } else { constant }
    }

    /// Writes the table: the constants, if there are any, then a header and the rows.
    fn written(&self) -> LosslessForm {
        let constant = self.constant();
        let varying = |cells: &[String]| {
            let cells = cells.iter().zip(&constant).filter(|(_, constant)| !**constant);
            cells.map(|(cell, _)| cell.as_str()).collect::<Vec<_>>().join(",")
        };
        let names: Vec<String> = self.names.iter().map(|name| cell(name)).collect();
        let constants = (0..names.len()).filter(|at| constant[*at]).map(|at| {
            let name = if names[at].contains('=') { quoted(&self.names[at]) } else { names[at].clone() };
            format!("{name}={}", self.rows[0][at])
        });
        let constants: Vec<String> = constants.collect();
        let mut how = "all of it as CSV, where a quoted cell is a string, an empty one null".to_owned();
        let mut lines = Vec::new();
        if !constants.is_empty() {
            how.push_str("; the first line is true of every row");
            lines.push(constants.join(","));
        }
        if self.is_nested {
            how.push_str("; a.b is the member b of a");
        }
        lines.push(varying(&names));
        lines.extend(self.rows.iter().map(|row| varying(row)));
        LosslessForm { body: lines.join("\n"), how }
    }
}

/// Returns the cell from which a value can be read back, or `None` for a value that does not fit a cell.
pub(crate) fn exact_cell(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(raw) => Some(raw.to_string()),
        Value::String(text) if text.left_out > 0 => None,
        Value::String(text) => {
            let like_other = text.text.is_empty()
                || matches!(&*text.text, "true" | "false" | "null" | "NaN" | "Infinity" | "nan" | "inf")
                || text.text.starts_with(['-', '+', '[', '{'])
                || text.text.starts_with(|c: char| c.is_ascii_digit());
            Some(if like_other { quoted(&text.text) } else { cell(&text.text) })
        }
        _ => None,
    }
}

/// Returns a text as a cell, quoted if needed.
pub(crate) fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) || text.trim() != text { quoted(text) } else { text.to_owned() }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
