//! JSON with comments and trailing commas, as clients accept it; no other extension is allowed.

use jsonc_parser::ast;
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Member, Node, Spacing, Splice, Syntax, Value};
use crate::error::Broken;

/// Implements [`Syntax`] for JSON.
pub(super) struct Json;

const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

impl Syntax for Json {
    fn parse(&self, text: &str) -> Result<Node, Broken> {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
            let message = error.kind().to_string();
            Broken::at(text, error.range().start, lower_first(&message))
        })?;
        match parsed.value {
            Some(value @ ast::Value::Object(_)) => Ok(node(value)),
            Some(other) => Err(Broken::at(text, other.range().start, "expected an object")),
            // An empty file has no servers.
            None => Ok(Node { span: 0..0, value: Value::Object(Vec::new()) }),
        }
    }

    fn string(&self, value: &str) -> String {
        serde_json::Value::from(value).to_string()
    }

    fn key(&self, name: &str) -> String {
        self.string(name)
    }

    fn separator(&self, spacing: Spacing) -> &'static str {
        match spacing {
            Spacing::Spaced => ": ",
            Spacing::Compact => ":",
        }
    }

    fn insert_after(&self, text: &str, member: &Member, key: &str, value: &str) -> Splice {
        let before = &text[..member.key.start];
        let indent = &before[before.trim_end().len()..];
        let colon = &text[member.key.end..member.value.span.start];
        // A comment between key and value belongs to the other member; do not copy it.
        let colon = if colon.trim() == ":" { colon } else { ": " };
        let end = member.value.span.end;
        Splice::new(end..end, format!(",{indent}{key}{colon}{value}"))
    }

    fn remove(&self, text: &str, members: &[Member], removed: std::ops::Range<usize>) -> Vec<Splice> {
        let index = removed.start;
        let next = members.get(removed.end);
        let Some([first, .., last] | [first @ last]) = members.get(removed) else { return Vec::new() };
        let (start, end) = (first.key.start, last.value.span.end);
        let delete = |range| Splice::new(range, "");
        let following = comma_after(text, end);
        match index.checked_sub(1).and_then(|previous| members.get(previous)) {
            Some(previous) => {
                let from = previous.value.span.end;
                match (text[from..start].trim() == ",", following) {
                    (true, _) => vec![delete(from..end)],
                    // The comment before it stays.
                    (false, Some(comma)) => vec![delete(start..comma + 1)],
                    (false, None) => match comma_after(text, from) {
                        Some(comma) => vec![delete(comma..comma + 1), delete(start..end)],
                        None => vec![delete(start..end)],
                    },
                }
            }
            None => match (next, following) {
                (Some(next), Some(comma)) if text[comma + 1..next.key.start].trim().is_empty() => {
                    vec![delete(start..next.key.start)]
                }
                (_, Some(comma)) => vec![delete(start..comma + 1)],
                (_, None) => vec![delete(start..end)],
            },
        }
    }
}

/// Returns the offset of the comma after a value, if there is one; only space and comments may come before it.
fn comma_after(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let rest = text.get(at..)?;
        let blank = rest.len() - rest.trim_start().len();
        let rest = &rest[blank..];
        at += blank;
        at += match rest.as_bytes() {
            [b',', ..] => return Some(at),
            [b'/', b'/', ..] => rest.find(['\n', '\r'])?,
            [b'/', b'*', ..] => rest.find("*/")? + 2,
            _ => return None,
        };
    }
}

fn lower_first(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

fn node(value: ast::Value<'_>) -> Node {
    let Range { start, end } = value.range();
    let value = match value {
        ast::Value::StringLit(text) => Value::String(text.value.into_owned()),
        ast::Value::BooleanLit(flag) => Value::Bool(flag.value),
        ast::Value::Array(array) => Value::Array(array.elements.into_iter().map(node).collect()),
        ast::Value::Object(object) => Value::Object(object.properties.into_iter().map(member).collect()),
        ast::Value::NumberLit(_) | ast::Value::NullKeyword(_) => Value::Other,
    };
    Node { span: start..end, value }
}

fn member(property: ast::ObjectProp<'_>) -> Member {
    let Range { start, end } = property.name.range();
    Member { name: property.name.into_string(), key: start..end, value: node(property.value) }
}
