//! The style `contract`: one line of summary, at most ten items, and a reference to the complete result.
//!
//! Items that carry a severity come most severe first; the summary counts them.

use std::io;
use std::ops::ControlFlow;

use tidegate_core::view::{Dataset, visible_text};

use super::items::{Items, at};
use super::{AnswerLimits, cut, quoted};
use crate::raw::{self, ByteRange};

/// The most characters of the summary.
const MAX_SUMMARY_CHARS: usize = 100;
/// The most characters of an id or a label.
const MAX_LABEL_CHARS: usize = 50;

/// The severities, most severe first.
const SEVERITIES: [&str; 4] = ["critical", "high", "medium", "low"];
/// The fields that hold the severity of an item, likeliest first.
const SEVERITY_FIELDS: [&str; 3] = ["severity", "priority", "level"];
/// The fields that hold the label of an item, likeliest first.
const LABEL_FIELDS: [&str; 9] =
    ["title", "label", "name", "summary", "message", "description", "text", "path", "file"];
/// The fields that hold the id of an item, likeliest first.
const ID_FIELDS: [&str; 8] = ["id", "key", "number", "uuid", "slug", "name", "path", "sha"];

/// An answer of this style.
pub(crate) struct Contract<'c> {
    pub(crate) tool: &'c str,
    pub(crate) success: bool,
    /// The address of the complete result; `None` where it could not be kept.
    pub(crate) reference: Option<&'c str>,
    /// The cursor behind the items that are shown, for where they are shown in order.
    pub(crate) cursor: Option<&'c str>,
    pub(crate) total_size: u64,
}

struct Item {
    id: String,
    label: String,
    severity: Option<usize>,
}

impl Contract<'_> {
    /// Returns the answer.
    pub(crate) fn text(&self, data: &Dataset<'_>, limits: AnswerLimits<'_>) -> io::Result<String> {
        let items = Items::new(data)?;
        let count = if data.record_count() > 0 { Some(items.count()?) } else { None };
        let (mut shown, severities) = match count {
            Some(_) => choose(&items, limits.values.array_items)?,
            None => (Vec::new(), [0; 4]),
        };
        let summary = self.summary(count, severities);
        let in_order = severities.iter().all(|count| *count == 0);
        loop {
            let in_order = in_order && shown.len() == limits.values.array_items;
            let text = self.written(&summary, count, &shown, in_order);
            if shown.is_empty() || limits.fits(&text) {
                return Ok(text);
            }
            shown.pop();
        }
    }

    fn summary(&self, count: Option<u64>, severities: [u64; 4]) -> String {
        let counts: Vec<String> = SEVERITIES
            .iter()
            .zip(severities)
            .filter(|(_, count)| *count > 0)
            .map(|(severity, count)| format!("{count} {severity}"))
            .collect();
        let text = match count {
            Some(count) if !counts.is_empty() => {
                format!("{}: {count} total ({})", self.tool, counts.join(", "))
            }
            Some(count) => format!("{}: {count} items", self.tool),
            None => format!("{}: {} bytes of text", self.tool, self.total_size),
        };
        let mut text: String = text.chars().take(MAX_SUMMARY_CHARS).collect();
        if !self.success {
            text = format!("failed: {text}").chars().take(MAX_SUMMARY_CHARS).collect();
        }
        text
    }

    fn written(&self, summary: &str, count: Option<u64>, shown: &[Item], in_order: bool) -> String {
        let mut text = format!(r#"{{"summary":{},"success":{}"#, quoted(summary), self.success);
        if let Some(count) = count {
            let items: Vec<String> = shown.iter().map(Item::written).collect();
            text.push_str(&format!(r#","count":{count},"items":[{}]"#, items.join(",")));
        }
        let more = count.is_none_or(|count| (shown.len() as u64) < count);
        if let Some(reference) = self.reference {
            text.push_str(&format!(r#","artifactRef":{}"#, quoted(reference)));
        }
        // Items are cut to a label, so there is always more than what is shown.
        text.push_str(&format!(r#","hasMore":{}"#, more || self.reference.is_some()));
        if let Some(cursor) = self.cursor.filter(|_| in_order && more) {
            text.push_str(&format!(r#","nextCursor":{}"#, quoted(cursor)));
        }
        text.push('}');
        text
    }
}

impl Item {
    fn new(number: u64, key: Option<String>, json: &str) -> Self {
        let bytes = json.as_bytes();
        let whole = raw::whole(bytes).unwrap_or(0..0);
        let value = |names: &[&str]| {
            // A value that is null or no scalar says nothing; the next field may.
            let scalar = |place: &ByteRange| {
                !matches!(bytes[place.start], b'{' | b'[') && json[place.clone()] != *"null"
            };
            let place = names.iter().find_map(|name| at(bytes, &whole, name).filter(scalar))?;
            let text = raw::text(bytes, &place).unwrap_or_else(|| json[place].to_owned().into());
            Some(visible_text(&text))
        };
        let severity = value(&SEVERITY_FIELDS).map(|text| text.to_lowercase());
        let id = key.or_else(|| value(&ID_FIELDS)).unwrap_or_else(|| (number + 1).to_string());
        let plain = || raw::text(bytes, &whole).map_or_else(|| json.to_owned(), std::borrow::Cow::into_owned);
        let label = value(&LABEL_FIELDS)
            .unwrap_or_else(|| if bytes.first() == Some(&b'{') { id.clone() } else { plain() });
        Self {
            id: id.chars().take(MAX_LABEL_CHARS).collect(),
            label: first(&label, MAX_LABEL_CHARS),
            severity: severity.and_then(|found| SEVERITIES.iter().position(|known| *known == found)),
        }
    }

    fn written(&self) -> String {
        let severity =
            self.severity.map_or_else(String::new, |at| format!(r#","severity":"{}""#, SEVERITIES[at]));
        format!(r#"{{"id":{},"label":{}{severity}}}"#, quoted(&self.id), quoted(&self.label))
    }
}

/// Returns the first characters of a text, the mark of a cut included.
fn first(text: &str, most: usize) -> String {
    match text.chars().nth(most) {
        Some(_) => cut(text, most - 3),
        None => text.to_owned(),
    }
}

/// Returns the items to show, most severe first, and how many there are of each severity.
fn choose(items: &Items<'_>, most: usize) -> io::Result<(Vec<Item>, [u64; 4])> {
    let (mut shown, mut severities, mut number) = (Vec::<Item>::new(), [0; 4], 0);
    items.each(0, |key, json| {
        let item = Item::new(number, key.map(str::to_owned), &json);
        number += 1;
        if let Some(at) = item.severity {
            severities[at] += 1;
        }
        let rank = |item: &Item| item.severity.unwrap_or(SEVERITIES.len());
        let at = shown.partition_point(|other| rank(other) <= rank(&item));
        if at < most {
            shown.insert(at, item);
            shown.truncate(most);
        }
        ControlFlow::Continue(())
    })?;
    Ok((shown, severities))
}
