//! Writes a whole result in less space: the text once instead of twice, JSON without white space, uniform records as
//! separated values.
//!
//! Nothing may be lost, so a text with characters that must be escaped to be shown does not qualify, and records
//! become separated values only if every value can be read back from its cell: a bare cell is a number, `true`,
//! `false` or a string that is none of these; an empty cell is null; a quoted cell is a string.

use std::io;

use crate::data::Data;
use crate::json::value::Value;
use crate::json::{Dialect, ScanError};
use crate::measure;
use crate::records::Notation;
use crate::text::Text;
use crate::visible;

/// A whole text in a shorter form.
pub(crate) struct LosslessForm {
    pub(crate) body: String,
    /// How it is written, in the words of the frame.
    pub(crate) how: &'static str,
}

/// Returns the forms worth trying, shortest first; none for texts of more than `max_bytes`.
pub(crate) fn forms(text: &Text<'_>, max_bytes: u64) -> io::Result<Vec<LosslessForm>> {
    if text.max_len() > max_bytes {
        return Ok(Vec::new());
    }
    let Ok(decoded) = String::from_utf8(text.read_all()?) else { return Ok(Vec::new()) };
    if decoded.chars().any(visible::is_hidden) {
        return Ok(Vec::new());
    }
    let mut forms = Vec::new();
    if decoded.trim_start().starts_with(['{', '['])
        && let Some(data) = Data::json(text, 0, Dialect::Json)?
            .filter(|data| data.broken.is_none() && data.notation == Notation::Json(Dialect::Json))
    {
        forms.extend(separated(&data)?);
        match measure::minify(text, Dialect::Json) {
            Ok(body) => forms.push(LosslessForm { body, how: "all of it, as JSON without white space" }),
            Err(ScanError::Source(error)) => return Err(error),
            Err(ScanError::Syntax { .. }) => {}
        }
    }
    forms.push(LosslessForm { body: decoded, how: "all of it, as it is" });
    Ok(forms)
}

/// Writes uniform flat records as separated values; `None` if some value could not be read back.
fn separated(data: &Data<'_>) -> io::Result<Option<LosslessForm>> {
    let root = data.profile.root();
    let Some(records) = data.records(root).filter(|records| !records.keyed && records.count() >= 2) else {
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
        let cells: Option<Vec<String>> = members.read.iter().map(|(_, value)| exact_cell(value)).collect();
        match cells {
            Some(cells) => lines.push(cells.join(",")),
            None => return Ok(None),
        }
    }
    let how = "all of it as CSV, where a quoted cell is a string, an empty one null";
    Ok(Some(LosslessForm { body: lines.join("\n"), how }))
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
                || matches!(&*text.text, "true" | "false" | "null" | "NaN" | "Infinity")
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
