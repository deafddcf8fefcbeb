//! Lists of values with how often each occurs, as many as fit: `open=412 closed=18 +3 more`.
//!
//! The statistics of every field and of plain lists use them. Counts are those of the whole data; a number that is an
//! estimate is marked with `~`. A value is shown as it is, or as a JSON string where that would be misread: two values
//! that differ never look the same, unless they are cut.

use std::io;

use super::section_writer::SectionWriter;
use super::uncovered::{Covered, Uncovered};
use crate::json::string;
use crate::profile::name_parts::NameParts;
use crate::profile::node::PathNode;
use crate::profile::number::{KeptNumber, Number};
use crate::profile::value_counts::{ValueCount, ValueCounts};
use crate::{prefix, visible, write};

/// The maximum number of characters shown of one value.
const MAX_VALUE_CHARACTERS: usize = 60;
/// The maximum number of characters shown of a number.
const MAX_NUMBER_CHARACTERS: usize = 48;

/// Writes the statistics of values that belong to no table.
pub(crate) fn of_values(node: &PathNode, writer: &SectionWriter<'_>, cap: u64) -> String {
    let numbers = node.numbers.as_ref().filter(|numbers| numbers.count * 2 > node.counts.total());
    let (distinct, _) = node.counts.distinct();
    let (mut out, covered) = match numbers {
        Some(numbers) if distinct > 8 => {
            let (mean, exact) = numbers.mean();
            let (min, max) = (number_text(&numbers.min), number_text(&numbers.max));
            (format!("{min} to {max}, mean {}{mean}", write::estimate_mark(exact)), Covered::Numbers)
        }
        _ => {
            let mut out = group_counts(&node.counts, writer, (cap, 0), |_| Ok(None)).unwrap_or_default();
            if let Some(names) = NameParts::of(node.counts.entries())
                .filter(|names| names.endings.is_complete() && names.endings.total() * 2 >= names.total)
            {
                let list =
                    group_counts(&names.endings, writer, (cap / 2, 0), |_| Ok(None)).unwrap_or_default();
                out.push_str(&format!("; ending {list}"));
            }
            (out, Covered::Values)
        }
    };
    let nulls = (node.types.nulls > 0).then(|| format!("{} null", node.types.nulls));
    for part in Uncovered::of(node, covered).text(node).into_iter().chain(nulls) {
        out.push_str(if out.is_empty() { "" } else { "; " });
        out.push_str(&part);
    }
    out
}

/// Writes what the keys of a map begin with, if that is a few words: `keys beginning net.=1050 vm.=62`.
pub(crate) fn key_beginnings(map: &PathNode, writer: &SectionWriter<'_>, cap: u64) -> Option<String> {
    let (distinct, exact) = map.keys.distinct();
    if !exact || distinct < MIN_KEYS_IN_GROUPS || map.keys.entries().len() as u64 != distinct {
        return None;
    }
    let names = NameParts::of(map.keys.entries())?;
    let (groups, exact) = names.beginnings.distinct();
    let tells = exact && (2..=24).contains(&groups) && names.beginnings.total() * 2 >= names.total;
    let list = group_counts(&names.beginnings, writer, (cap, 0), |_| Ok(None)).ok()?;
    tells.then(|| format!("keys beginning {list}"))
}

/// The minimum number of keys of which the beginnings are counted.
const MIN_KEYS_IN_GROUPS: u64 = 24;

/// Returns a number as written.
pub(crate) fn number_text(number: &KeptNumber) -> String {
    visible::cut(&number.text(), MAX_NUMBER_CHARACTERS)
}

/// Returns a value as shown in a statistic.
pub(crate) fn shown(entry: &ValueCount) -> String {
    shown_text(&entry.text(), entry.is_cut, false)
}

/// Returns a text as shown in a statistic: as it is, or as a JSON string.
fn shown_text(text: &str, is_cut: bool, quoted: bool) -> String {
    let plain = !text.is_empty() && !text.contains(['=', ';', '"']) && visible::line(text) == text;
    let end = text.char_indices().nth(MAX_VALUE_CHARACTERS).map(|(end, _)| end);
    let mark = if is_cut || end.is_some() { "…" } else { "" };
    let text = &text[..end.unwrap_or(text.len())];
    if plain && !quoted {
        return format!("{}{mark}", text.trim_end());
    }
    let mut out = String::new();
    string::write_visible(text, &mut out);
    out.insert_str(out.len() - 1, mark);
    out
}

/// Returns as many texts as fit into `cap` tokens, at least one, and how many are left over.
pub(crate) fn fit(writer: &SectionWriter<'_>, cap: u64, texts: Vec<String>) -> (Vec<String>, usize) {
    let all = texts.len();
    let mut spent = 0;
    let kept: Vec<String> = texts
        .into_iter()
        .enumerate()
        .take_while(|(index, text)| {
            spent += writer.cost(text);
            *index == 0 || spent <= cap
        })
        .map(|(_, text)| text)
        .collect();
    let left = all - kept.len();
    (kept, left)
}

/// The maximum number of values that are listed though most of them occur once: the kinds of a mixed list.
const MAX_LISTED_KINDS: u64 = 32;

/// Writes `value=count` for each value, most frequent first, as many as fit into `cap` tokens.
///
/// `note` may add a remark to a value, which is written in parentheses; remarks may take `notes_cap` tokens.
pub(crate) fn group_counts(
    counts: &ValueCounts,
    writer: &SectionWriter<'_>,
    (cap, notes_cap): (u64, u64),
    mut note: impl FnMut(&ValueCount) -> io::Result<Option<String>>,
) -> io::Result<String> {
    let mut ranked = counts.ranked();
    let (distinct, exact) = counts.distinct();
    let about = write::estimate_mark(exact);
    // Where most values occur once, only those that repeat are worth showing, if those are more than a few.
    let rare = distinct * 10 > counts.total() * 9;
    let few = distinct <= 12 || distinct <= MAX_LISTED_KINDS && !rare;
    if !few && distinct * 2 > counts.total() {
        ranked.retain(|entry| entry.count > 1 && (!rare || entry.count * 20 > counts.total()));
    }
    if ranked.is_empty() {
        return Ok(if distinct == 0 { String::new() } else { format!("{about}{distinct} distinct") });
    }
    // Values that all occur equally often are an axis, not groups.
    let even = distinct > 12 && ranked[0].count * distinct <= counts.total() * 3 / 2;
    let cap = if even { cap.min(16) } else { cap };
    let prefix = common_prefix(&ranked);
    let has_numbers = counts.entries().iter().any(|entry| entry.is_number);
    let texts: Vec<String> = ranked
        .iter()
        .take(cap as usize + 1)
        .map(|entry| {
            // A text that looks like a number is quoted among numbers.
            let quoted = has_numbers && !entry.is_number && Number::parse(&entry.raw).is_some();
            let value = shown_text(&entry.text()[prefix.len()..], entry.is_cut, quoted);
            format!("{value}={}", entry.count)
        })
        .collect();
    // A list that is complete answers more than one that is not, so it may cost somewhat more.
    let whole: u64 = texts.iter().map(|text| writer.cost(text)).sum();
    let all = texts.len() as u64 == distinct && whole <= cap + cap / 2 + 8;
    let (mut texts, _) = fit(writer, if all { whole } else { cap }, texts);
    let mut left = notes_cap;
    for (text, entry) in texts.iter_mut().zip(&ranked).rev() {
        if let Some(note) = note(entry)? {
            let noted = format!("{text} ({note})");
            let more = writer.cost(&noted) - writer.cost(text);
            if more <= left {
                left -= more;
                *text = noted;
            }
        }
    }
    let spaced = texts.iter().any(|text| text.contains(' '));
    // A value that is not held may occur more often than the last one shown.
    let ranks_are_certain = ranked[texts.len() - 1].count >= counts.max_unheld_count();
    let mut out = match distinct {
        _ if !ranks_are_certain => {
            format!("{about}{distinct} distinct; of the first {}: ", counts.entries().len())
        }
        0..=12 if exact => String::new(),
        _ => format!("{about}{distinct} distinct: "),
    };
    if !prefix.is_empty() {
        out.push_str(&format!("({prefix}…) "));
    }
    out.push_str(&texts.join(if spaced { "; " } else { " " }));
    if (texts.len() as u64) < distinct {
        let left = distinct - texts.len() as u64;
        out.push_str(&format!("{} +{about}{left} more", if spaced { ";" } else { "" }));
    }
    Ok(out)
}

/// Returns the prefix that several long values share, to be written once; empty if there is none worth it.
fn common_prefix(ranked: &[&ValueCount]) -> String {
    let texts: Vec<String> = ranked.iter().map(|entry| entry.text()).collect();
    if texts.len() < 3 || texts.iter().any(|text| text.len() < 24) {
        return String::new();
    }
    let prefix = shared_prefix(&texts, &['/', '#', ':', '.', '-', '_', ' '], 20);
    // A prefix that cannot be shown as it is stays in the values, which are then quoted.
    if visible::line(&prefix) == prefix.trim_end() { prefix } else { String::new() }
}

/// Returns the prefix that all texts share, up to and including the last separator in it; empty if it has fewer than
/// `min_bytes` bytes.
pub(crate) fn shared_prefix(texts: &[String], separators: &[char], min_bytes: usize) -> String {
    let Some(first) = texts.first() else { return String::new() };
    let same = texts.iter().fold(first.as_str(), |same, text| prefix::common(same, text));
    let end = same.rfind(separators).map_or(0, |at| at + 1);
    if end < min_bytes { String::new() } else { first[..end].to_owned() }
}
