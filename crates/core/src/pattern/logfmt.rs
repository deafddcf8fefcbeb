//! Lines of `key=value` pairs: logfmt, kernel and firewall logs, metrics in one line.
//!
//! A value may be quoted. A time at the beginning of a line is `time`; words that are not a pair are `text`.

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};

use super::leading_time::leading_time;
use super::{LineNotation, Member, PatternReader, RecordContent, RecordLines};
use crate::sample::Sample;

/// Lines of `key=value` pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Logfmt;

/// The minimum number of lines in the sample.
const MIN_LINES: usize = 3;
/// The maximum number of pairs of a line; a line with more is one of another form.
const MAX_PAIRS: usize = 200;

impl LineNotation for Logfmt {
    /// Recognises a text of which nearly all lines are mostly pairs.
    fn recognise(sample: &Sample<'_>) -> Option<Self> {
        let fitting =
            sample.lines.iter().filter(|line| members(line).is_some_and(|found| found.len() > 1)).count();
        (fitting >= MIN_LINES && fitting * 10 >= sample.lines.len() * 8).then_some(Self)
    }

    fn name(&self) -> &'static str {
        "logfmt"
    }

    fn noun(&self) -> &'static str {
        "line"
    }

    fn next(&self, reader: &mut PatternReader<'_>) -> io::Result<Option<(u64, RecordLines)>> {
        reader.next_line(|_| false)
    }

    fn content<'r>(&'r self, record: &'r RecordLines) -> Option<RecordContent<'r>> {
        members(record.first()).map(RecordContent::Members)
    }

    /// Any key may occur, so the other lines get one that cannot.
    fn has_member(&self, name: &str) -> bool {
        !name.ends_with('_')
    }
}

/// Returns the pairs of a line; `None` unless they are most of it: one pair alone must be all of it.
fn members(line: &str) -> Option<Vec<Member<'_>>> {
    let line = line.trim();
    let mut members: Vec<Member<'_>> = Vec::new();
    let mut words = String::new();
    let (mut pairs, mut others) = (0, 0);
    let mut rest = line;
    if let Some(end) = leading_time(line) {
        members.push(("time".into(), line[..end].into()));
        rest = line[end..].trim_start();
    }
    while !rest.is_empty() {
        if let Some((key, value, after)) = pair(rest) {
            pairs += 1;
            let known = members.iter().filter(|(known, _)| *known == key).count();
            let key = if known > 0 { Cow::Owned(format!("{key}_{pairs}")) } else { Cow::Borrowed(key) };
            members.push((key, value));
            rest = after.trim_start();
        } else {
            others += 1;
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(&rest[..end]);
            rest = rest[end..].trim_start();
        }
    }
    if !(1..=MAX_PAIRS).contains(&pairs) || others > pairs || pairs == 1 && others > 0 {
        return None;
    }
    if !words.is_empty() {
        let key = if members.iter().any(|(known, _)| known == "text") { "text_words" } else { "text" };
        members.push((key.into(), words.into()));
    }
    Some(members)
}

/// Takes a pair from the beginning of a text: its key, its value and what follows.
fn pair(text: &str) -> Option<(&str, Cow<'_, str>, &str)> {
    let end =
        text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '@')))?;
    let (key, rest) = text.split_at(end);
    let value = rest.strip_prefix('=')?;
    if !key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || value.starts_with('=') {
        return None;
    }
    if let Some(quoted) = value.strip_prefix('"') {
        let bytes = quoted.as_bytes();
        let mut at = 0;
        while at < bytes.len() && bytes[at] != b'"' {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        if let Some(after) = quoted.get(at + 1..)
            && (after.is_empty() || after.starts_with([' ', '\t', ',', ';']))
        {
            let inside = &quoted[..at];
            let value = match inside.contains('\\') {
                true => inside.replace("\\\"", "\"").replace("\\n", "\n").replace("\\\\", "\\").into(),
                false => inside.into(),
            };
            return Some((key, value, after.trim_start_matches([',', ';'])));
        }
    }
    let end = value.find(char::is_whitespace).unwrap_or(value.len());
    let (value, after) = value.split_at(end);
    Some((key, value.trim_end_matches([',', ';']).into(), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> Option<String> {
        Some(members(line)?.iter().map(|(key, value)| format!("{key}:{value}")).collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn pairs_become_members() {
        for (line, members) in [
            (r#"level=info msg="user \"x\" in" took=12ms"#, "level:info|msg:user \"x\" in|took:12ms"),
            (
                "2026-11-16T09:59:28Z level=warn a.b=1 empty= c=d",
                "time:2026-11-16T09:59:28Z|level:warn|a.b:1|empty:|c:d",
            ),
            ("IN=eth0 OUT= SRC=10.0.0.1 DF", "IN:eth0|OUT:|SRC:10.0.0.1|text:DF"),
            ("a=1, b=2; c=3", "a:1|b:2|c:3"),
            ("a=1 a=2", "a:1|a_2:2"),
        ] {
            assert_eq!(shown(line).as_deref(), Some(members), "{line}");
        }
        for line in
            ["x = 1", "let a=1", "if a==b and c==d", "see http://a/b?c=d&e=f", "a=1 and then some words"]
        {
            assert_eq!(shown(line), None, "{line}");
        }
    }
}
