//! TOML. A table may be inline (`{ … }`), a section below its header, or spread over dotted keys, so the members of one table
//! may be far apart in the text.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Member, Node, Spacing, Splice, Syntax, Value};
use crate::error::Broken;

/// Implements [`Syntax`] for TOML.
pub(super) struct Toml;

impl Syntax for Toml {
    fn parse(&self, text: &str) -> Result<Node, Broken> {
        let table = DeTable::parse(text)
            .map_err(|error| Broken::at(text, error.span().map_or(0, |span| span.start), error.message()))?;
        Ok(Node { span: 0..text.len(), value: Value::Object(members(table.get_ref())) })
    }

    fn string(&self, value: &str) -> String {
        toml::Value::from(value).to_string()
    }

    fn key(&self, name: &str) -> String {
        let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !name.is_empty() && name.chars().all(bare) {
            name.to_owned()
        } else {
            // A TOML key must be a one-line string, and every JSON string is one.
            serde_json::Value::from(name).to_string()
        }
    }

    fn separator(&self, spacing: Spacing) -> &'static str {
        match spacing {
            Spacing::Spaced => " = ",
            Spacing::Compact => "=",
        }
    }

    fn insert_after(&self, text: &str, member: &Member, key: &str, value: &str) -> Splice {
        let equals = self.separator(Spacing::of(text, member));
        let end = member.value.span.end;
        let line = line_start(text, member.key.start);
        let before = &text[line..member.key.start];
        if is_inline(before) {
            return Splice::new(end..end, format!(", {key}{equals}{value}"));
        }
        // After a comment on the same line.
        let end = line_end(text, end);
        Splice::new(end..end, format!("{}{before}{key}{equals}{value}", newline(text)))
    }

    fn remove(&self, text: &str, members: &[Member], removed: Range<usize>) -> Vec<Splice> {
        let (previous, next) =
            (removed.start.checked_sub(1).and_then(|index| members.get(index)), members.get(removed.end));
        let Some(removed @ ([first, .., last] | [first @ last])) = members.get(removed) else {
            return Vec::new();
        };
        if is_inline(&text[line_start(text, first.key.start)..first.key.start]) {
            let end = last.value.span.end;
            let at = match (previous, next) {
                (Some(previous), _) => previous.value.span.end..end,
                (None, Some(next)) => first.key.start..next.key.start,
                (None, None) => first.key.start..end,
            };
            return vec![Splice::new(at, "")];
        }
        // Members of a section may be far apart, so each line is removed by itself.
        let lines = removed.iter().map(|member| {
            let line = line_start(text, member.key.start);
            let end = line_end(text, member.value.span.end);
            let start =
                text[..line].strip_suffix('\n').map(|rest| rest.strip_suffix('\r').unwrap_or(rest).len());
            Splice::new(start.unwrap_or(line)..end, "")
        });
        lines.collect()
    }
}

/// Returns whether the text before a key on its line shows that its table is inline.
fn is_inline(before: &str) -> bool {
    before.contains(['{', ',', '='])
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    if end > at && text[..end].ends_with('\r') { end - 1 } else { end }
}

fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn members(table: &DeTable<'_>) -> Vec<Member> {
    let mut members: Vec<Member> = table
        .iter()
        .map(|(key, value)| Member { name: key.get_ref().to_string(), key: key.span(), value: node(value) })
        .collect();
    // The parser sorts tables by name; keep the order of the file.
    members.sort_by_key(|member| member.key.start);
    members
}

fn node(value: &Spanned<DeValue<'_>>) -> Node {
    let span: Range<usize> = value.span();
    let value = match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Array(elements) => Value::Array(elements.iter().map(node).collect()),
        DeValue::Table(table) => Value::Object(members(table)),
        _ => Value::Other,
    };
    Node { span, value }
}
