//! TOML. A table may be written in one place (`{ … }`), below its header, or by dotted keys; a key stands wherever its
//! table was opened.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Broken, Member, Node, Splice, Style, Syntax, Value};

/// The notation.
pub(super) struct Toml;

impl Syntax for Toml {
    fn parse(&self, text: &str) -> Result<Node, Broken> {
        let table = DeTable::parse(text)
            .map_err(|error| Broken::at(text, error.span().map_or(0, |span| span.start), error.message()))?;
        Ok(Node { span: 0..text.len(), value: Value::Map(members(table.get_ref())) })
    }

    fn string(&self, value: &str) -> String {
        toml::Value::from(value).to_string()
    }

    fn key(&self, name: &str) -> String {
        let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !name.is_empty() && name.chars().all(bare) {
            name.to_owned()
        } else {
            // Of all strings, only those on one line are keys; JSON's are such ones.
            serde_json::Value::from(name).to_string()
        }
    }

    fn map(&self, members: &[(String, String)], style: Style) -> String {
        let equals = if style == Style::Tight { "=" } else { " = " };
        let members: Vec<String> =
            members.iter().map(|(key, value)| format!("{key}{equals}{value}")).collect();
        match style {
            Style::Tight => format!("{{{}}}", members.join(",")),
            Style::Wide => format!("{{ {} }}", members.join(", ")),
        }
    }

    fn after(&self, text: &str, member: &Member, key: &str, value: &str) -> Splice {
        let equals = if Style::of(text, member) == Style::Tight { "=" } else { " = " };
        let end = member.value.span.end;
        let line = line_start(text, member.key.start);
        let before = &text[line..member.key.start];
        if in_line(before) {
            return Splice::new(end..end, format!(", {key}{equals}{value}"));
        }
        // Behind the comment that may follow.
        let end = line_end(text, end);
        Splice::new(end..end, format!("{}{before}{key}{equals}{value}", newline(text)))
    }

    fn without(&self, text: &str, members: &[Member], gone: Range<usize>) -> Vec<Splice> {
        let (previous, next) =
            (gone.start.checked_sub(1).and_then(|index| members.get(index)), members.get(gone.end));
        let Some(gone @ ([first, .., last] | [first @ last])) = members.get(gone) else { return Vec::new() };
        if in_line(&text[line_start(text, first.key.start)..first.key.start]) {
            let end = last.value.span.end;
            let at = match (previous, next) {
                (Some(previous), _) => previous.value.span.end..end,
                (None, Some(next)) => first.key.start..next.key.start,
                (None, None) => first.key.start..end,
            };
            return vec![Splice::new(at, "")];
        }
        // Members of a table may stand far from each other, so each line goes by itself.
        let lines = gone.iter().map(|member| {
            let line = line_start(text, member.key.start);
            let end = line_end(text, member.value.span.end);
            let start =
                text[..line].strip_suffix('\n').map(|rest| rest.strip_suffix('\r').unwrap_or(rest).len());
            Splice::new(start.unwrap_or(line)..end, "")
        });
        lines.collect()
    }
}

/// Whether what stands before a key on its line shows that its table is written in one place.
fn in_line(before: &str) -> bool {
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
    // Tables come sorted by name; a person reads them as they stand.
    members.sort_by_key(|member| member.key.start);
    members
}

fn node(value: &Spanned<DeValue<'_>>) -> Node {
    let span: Range<usize> = value.span();
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Array(elements) => Value::List(elements.iter().map(node).collect()),
        DeValue::Table(table) => Value::Map(members(table)),
        _ => Value::Other,
    };
    Node { span, value }
}
