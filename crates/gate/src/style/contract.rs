//! The style `contract`: one line of summary, at most ten items, and a reference to the complete result.
//!
//! Items that carry a severity come most severe first; the summary counts them. The items of a text are its first and
//! last lines; those of an object without a list are its members. The summary of a failure quotes the error.
//! `hasMore` is false only if the answer shows everything that the result holds.

mod item;

use std::io;
use std::ops::ControlFlow;

use tidegate_core::payload::{Form, Payload};
use tidegate_core::view::{Dataset, visible_text};

pub use item::ItemFields;
use item::{Item, SEVERITIES, severity};

use super::items::{Items, at};
use super::limits::HardLimits;
use super::{AnswerLimits, cut_within, quoted};
use crate::raw::{self, ByteRange};

/// The maximum number of characters of the summary.
const MAX_SUMMARY_CHARS: usize = 100;
/// The maximum number of characters of a text that the summary can hold whole, beside the name of the tool.
const MAX_SUMMARY_TEXT: usize = 400;
/// The fields that hold the words of an error, likeliest first.
const ERROR_FIELDS: [&str; 6] = ["error.message", "message", "error", "detail", "reason", "stderr"];

/// An answer of this style.
pub(crate) struct Contract<'c> {
    pub(crate) tool: &'c str,
    pub(crate) success: bool,
    /// The address of the complete result; `None` if it could not be kept.
    pub(crate) reference: Option<&'c str>,
    /// The cursor after the items that are shown, if they are shown in order.
    pub(crate) cursor: Option<&'c str>,
    pub(crate) total_size: u64,
    /// Where items get their label and id from.
    pub(crate) fields: &'c ItemFields,
    /// Whether the result holds something beside its data, such as pictures.
    pub(crate) has_others: bool,
}

/// What an answer says about the data of a result.
struct Shown {
    summary: String,
    count: Option<u64>,
    items: Vec<Item>,
    /// Whether summary and items are all of the data, as long as no item is left out.
    is_all: bool,
    /// Whether the items are the first ones, in their order.
    in_order: bool,
}

impl Contract<'_> {
    /// Returns the answer.
    pub(crate) fn text(&self, data: &Dataset<'_>, limits: AnswerLimits<'_>) -> io::Result<String> {
        let most = limits.values.array_items;
        let mut shown = self.shown(data, most)?;
        shown.in_order &= shown.items.len() == most;
        loop {
            let text = self.written(&shown);
            if shown.items.is_empty() || limits.fits(&text) {
                return Ok(text);
            }
            shown.items.pop();
            (shown.is_all, shown.in_order) = (false, false);
        }
    }

    fn shown(&self, data: &Dataset<'_>, most: usize) -> io::Result<Shown> {
        if let Some(text) = short_text(data)? {
            let summary = self.summary(if text.is_empty() { "no text" } else { &text });
            let is_all = summary.ends_with(&text);
            return Ok(Shown { summary, count: None, items: Vec::new(), is_all, in_order: false });
        }
        let items = Items::new(data)?;
        let mut shown = match items.is_text() || data.kind() == "log" {
            true => self.lines(data, most)?,
            false => self.records(&items, most)?,
        };
        if !self.success {
            shown.summary = self.summary(&error_words(data)?);
        }
        Ok(shown)
    }

    /// Shows the first and the last lines of a text.
    fn lines(&self, data: &Dataset<'_>, most: usize) -> io::Result<Shown> {
        let total = data.line_count()?;
        let (head, tail) = match total <= most as u64 {
            true => (total, 0),
            false => (most.div_ceil(2) as u64, most as u64 / 2),
        };
        let mut items = Vec::new();
        for (from, count) in [(1, head), (total - tail + 1, tail)] {
            let end = items.len() as u64 + count;
            data.lines(from, &mut |line| {
                if items.len() as u64 == end {
                    return ControlFlow::Break(());
                }
                items.push(Item::line(line.number, line.text));
                ControlFlow::Continue(())
            })?;
        }
        let is_all = total == items.len() as u64 && items.iter().all(|item| item.is_whole);
        let size = format!("{} bytes of text, {total} lines", self.total_size);
        Ok(Shown { summary: self.summary(&size), count: Some(total), items, is_all, in_order: false })
    }

    /// Shows the records of a list or the members of an object.
    fn records(&self, items: &Items<'_>, most: usize) -> io::Result<Shown> {
        let (shown, severities, count) = choose(items, most, self.fields)?;
        let counts: Vec<String> = SEVERITIES
            .iter()
            .zip(severities)
            .filter(|(_, count)| *count > 0)
            .map(|(severity, count)| format!("{count} {severity}"))
            .collect();
        let size = match counts.is_empty() {
            true => format!("{count} items"),
            false => format!("{count} total ({})", counts.join(", ")),
        };
        let is_all = count == shown.len() as u64
            && shown.iter().all(|item| item.is_whole)
            && items.outside().is_empty();
        Ok(Shown {
            summary: self.summary(&size),
            count: Some(count),
            items: shown,
            is_all,
            in_order: counts.is_empty(),
        })
    }

    fn summary(&self, words: &str) -> String {
        let failed = if self.success { "" } else { "failed: " };
        cut_within(&format!("{failed}{}: {words}", visible_text(self.tool)), MAX_SUMMARY_CHARS)
    }

    /// Returns the answer without items, with these words as its summary, cut to a number of characters.
    pub(crate) fn shortest(&self, says: &str, characters: usize) -> String {
        let summary = cut_within(&self.summary(says), characters);
        self.written(&Shown { summary, count: None, items: Vec::new(), is_all: false, in_order: false })
    }

    fn written(&self, shown: &Shown) -> String {
        let mut text = format!(r#"{{"summary":{},"success":{}"#, quoted(&shown.summary), self.success);
        if let Some(count) = shown.count {
            let items: Vec<String> = shown.items.iter().map(Item::written).collect();
            text.push_str(&format!(r#","count":{count},"items":[{}]"#, items.join(",")));
        }
        let has_more = !shown.is_all || self.has_others;
        if let Some(reference) = self.reference.filter(|_| has_more) {
            text.push_str(&format!(r#","artifactRef":{}"#, quoted(reference)));
        }
        text.push_str(&format!(r#","hasMore":{has_more}"#));
        let are_left_out = shown.count.is_some_and(|count| (shown.items.len() as u64) < count);
        if let Some(cursor) = self.cursor.filter(|_| shown.in_order && are_left_out) {
            text.push_str(&format!(r#","nextCursor":{}"#, quoted(cursor)));
        }
        text.push('}');
        text
    }
}

/// Returns a text of one line that is short enough for a summary; `None` for data and longer texts.
fn short_text(data: &Dataset<'_>) -> io::Result<Option<String>> {
    if data.record_count() > 0 || data.text_bytes()? > MAX_SUMMARY_TEXT as u64 {
        return Ok(None);
    }
    let text = visible_text(data.beginning(MAX_SUMMARY_TEXT)?.trim());
    let is_short = text.chars().count() <= MAX_SUMMARY_CHARS && !text.starts_with(['{', '[']);
    Ok((is_short && text.lines().count() <= 1).then_some(text))
}

/// Returns the words of an error: the message in it, or its first line.
pub(crate) fn error_words(data: &Dataset<'_>) -> io::Result<String> {
    let beginning = data.beginning(64 * MAX_SUMMARY_CHARS)?;
    let json = beginning.trim();
    let message = raw::whole(json.as_bytes()).and_then(|whole| {
        let text = |field: &&str| raw::text(json.as_bytes(), &at(json.as_bytes(), &whole, field)?);
        ERROR_FIELDS.iter().find_map(text)
    });
    let words = message.as_deref().unwrap_or(json);
    let line = words.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    Ok(visible_text(line))
}

/// Returns the items to show, most severe first, how many there are of each severity, and how many in all.
fn choose(items: &Items<'_>, most: usize, fields: &ItemFields) -> io::Result<(Vec<Item>, [u64; 4], u64)> {
    let (mut shown, mut severities, mut number) = (Vec::<Item>::new(), [0; 4], 0);
    items.each_field(|key, json| {
        let severity = severity(json);
        if let Some(at) = severity {
            severities[at] += 1;
        }
        let rank = severity.unwrap_or(SEVERITIES.len());
        let at = shown.partition_point(|other: &Item| other.severity.unwrap_or(SEVERITIES.len()) <= rank);
        if at < most {
            shown.insert(at, Item::new(number, key, json, fields));
            shown.truncate(most);
        }
        number += 1;
        ControlFlow::Continue(())
    })?;
    Ok((shown, severities, number))
}

/// Returns whether a result follows the contract by itself: its only text is an object with a summary and a success flag,
/// within all limits.
pub(crate) fn is_contract(payload: &Payload<'_>, limits: &HardLimits) -> bool {
    let is_bare = payload.form != Form::Plain
        && payload.block_count == 1
        && (payload.structured.is_none() || payload.structured_repeats_text)
        && payload.source().len() <= 2 * limits.bytes.0;
    let text = payload.joined_text().filter(|_| is_bare).and_then(|text| text.to_bytes().ok());
    let Some(text) = text.and_then(|text| String::from_utf8(text).ok()) else { return false };
    let bytes = text.as_bytes();
    let member = |name: &str| raw::whole(bytes).and_then(|whole| raw::member(bytes, &whole, name));
    let summary = member("summary").and_then(|place: ByteRange| raw::text(bytes, &place));
    summary.is_some_and(|summary| summary.chars().count() <= MAX_SUMMARY_CHARS)
        && member("success").is_some_and(|place| matches!(&bytes[place], b"true" | b"false"))
        && limits.hold_for(&text)
}
