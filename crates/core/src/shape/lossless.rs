//! Writes a whole result in less space: the text once instead of twice, JSON without white space, uniform records as
//! separated values.
//!
//! Nothing may be lost, so a text with characters that must be escaped to be shown does not qualify, and records
//! become separated values only if every value can be read back from its cell: a bare cell is a number, `true`,
//! `false` or a string that is none of these; an empty cell is null; a quoted cell is a string.

use std::io;

use crate::data::Data;
use crate::envelope;
use crate::json::value::Value;
use crate::json::{Dialect, ScanError, strict};
use crate::measure;
use crate::payload::Payload;
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

    /// Writes uniform flat records as separated values; `None` if some value could not be read back.
    fn separated(&self) -> io::Result<Option<LosslessForm>> {
        let data = &self.data;
        let root = data.profile.root();
        let Some(records) = data.records(root).filter(|records| !records.keyed && records.count() >= 2)
        else {
            return Ok(None);
        };
        let mut names: Vec<String> = Vec::new();
        let mut lines: Vec<String> = Vec::new();
        for number in 0..records.count() {
            let Some(record) = records.nth(number)? else { return Ok(None) };
            let Value::Object(members) = record.value else { return Ok(None) };
            if members.total != members.read.len() as u64 {
                return Ok(None);
            }
            let keys: Vec<String> = members.read.iter().map(|(key, _)| key.to_string()).collect();
            if number == 0 {
                let repeated = keys.iter().enumerate().any(|(at, key)| keys[..at].contains(key));
                if repeated || keys.is_empty() {
                    return Ok(None);
                }
                lines.push(keys.iter().map(|key| cell(key)).collect::<Vec<_>>().join(","));
                names = keys;
            } else if keys != names {
                return Ok(None);
            }
            let cells: Option<Vec<String>> =
                members.read.iter().map(|(_, value)| exact_cell(value)).collect();
            match cells {
                Some(cells) => lines.push(cells.join(",")),
                None => return Ok(None),
            }
        }
        let body = lines.join("\n");
        if body.chars().any(visible::is_hidden) {
            return Ok(None);
        }
        let how = "all of it as CSV, where a quoted cell is a string, an empty one null".into();
        Ok(Some(LosslessForm { body, how }))
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
