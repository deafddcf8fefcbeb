//! A configuration file as a tree of values, each with its position in the text.
//!
//! JSON and TOML are parsed into the same tree. An edit is a [`Splice`], which replaces a range of bytes, so everything
//! outside the splices keeps its bytes by construction: comments, order, indentation, line endings.

mod json;
mod toml;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::Broken;

/// A value and its position.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

/// A parsed value, as far as the rest of the crate needs it.
#[derive(Debug)]
pub(crate) enum Value {
    String(String),
    Bool(bool),
    Array(Vec<Node>),
    Object(Vec<Member>),
    /// A number, a date or null.
    Other,
}

/// A key and its value.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// The position of the key, quotes included.
    pub(crate) key: Range<usize>,
    pub(crate) value: Node,
}

impl Node {
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    pub(crate) fn members(&self) -> &[Member] {
        match &self.value {
            Value::Object(members) => members,
            _ => &[],
        }
    }

    /// Returns the member with a name. Of duplicates the last one wins, as it does in the clients.
    pub(crate) fn get(&self, name: &str) -> Option<&Member> {
        self.members().iter().rev().find(|member| member.name == name)
    }

    /// Returns the value at a path of names.
    pub(crate) fn at(&self, path: &[String]) -> Option<&Node> {
        path.iter().try_fold(self, |node, name| node.get(name).map(|member| &member.value))
    }
}

/// Replaces a range of bytes by a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

impl Splice {
    pub(crate) fn new(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }
}

/// Applies splices to a text; `None` if they overlap. Splices that start at the same offset apply in the order given.
pub(crate) fn splice(text: &str, mut splices: Vec<Splice>) -> Option<String> {
    splices.sort_by_key(|splice| splice.range.start);
    let mut out =
        String::with_capacity(text.len() + splices.iter().map(|splice| splice.text.len()).sum::<usize>());
    let mut done = 0;
    for splice in splices {
        out.push_str(text.get(done..splice.range.start)?);
        out.push_str(&splice.text);
        done = splice.range.end;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

/// The format of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notation {
    /// JSON, with or without comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

/// Parses and writes one notation.
pub(crate) trait Syntax {
    /// Parses a text.
    fn parse(&self, text: &str) -> Result<Node, Broken>;
    /// Returns a string as a literal.
    fn string(&self, value: &str) -> String;
    /// Returns a name as a key.
    fn key(&self, name: &str) -> String;
    /// Returns what separates a key from its value.
    fn separator(&self, spacing: Spacing) -> &'static str;
    /// Returns an object on one line, from keys and values that are literals already.
    fn inline_object(&self, members: &[(String, String)], spacing: Spacing) -> String {
        let separator = self.separator(spacing);
        let members = members.iter().map(|(key, value)| format!("{key}{separator}{value}"));
        let members = members.collect::<Vec<_>>().join(spacing.comma());
        match spacing {
            Spacing::Compact => format!("{{{members}}}"),
            Spacing::Spaced => format!("{{ {members} }}"),
        }
    }

    /// Inserts a member after another one, with the same spacing and indentation.
    fn insert_after(&self, text: &str, member: &Member, key: &str, value: &str) -> Splice;
    /// Removes adjacent members, given by their indexes; the inverse of `insert_after`.
    fn remove(&self, text: &str, members: &[Member], removed: Range<usize>) -> Vec<Splice>;
}

/// Whether there is space after commas and colons on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spacing {
    Spaced,
    Compact,
}

impl Spacing {
    /// Returns the spacing of a member: compact if there is nothing around its colon or equals sign.
    pub(crate) fn of(text: &str, member: &Member) -> Self {
        let between = text.get(member.key.end..member.value.span.start).unwrap_or_default();
        if matches!(between, ":" | "=") { Self::Compact } else { Self::Spaced }
    }

    pub(crate) fn comma(self) -> &'static str {
        match self {
            Self::Spaced => ", ",
            Self::Compact => ",",
        }
    }
}

impl Notation {
    pub(crate) fn syntax(self) -> &'static dyn Syntax {
        match self {
            Self::Json => &json::Json,
            Self::Toml => &toml::Toml,
        }
    }
}

/// Returns whether two documents are equal, except for the value at a path.
pub(crate) fn equal_except(one: (&str, &Node), other: (&str, &Node), path: &[String]) -> bool {
    match (&one.1.value, &other.1.value) {
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| {
                    let pair = ((one.0, &left.value), (other.0, &right.value));
                    left.name == right.name
                        && match path {
                            [last] if *last == left.name => true,
                            [first, rest @ ..] if *first == left.name => equal_except(pair.0, pair.1, rest),
                            _ => equal(pair.0, pair.1),
                        }
                })
        }
        _ => equal(one, other),
    }
}

/// Returns whether two values are equal, whatever their spelling.
pub(crate) fn equal(one: (&str, &Node), other: (&str, &Node)) -> bool {
    match (&one.1.value, &other.1.value) {
        (Value::String(left), Value::String(right)) => left == right,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equal((one.0, left), (other.0, right)))
        }
        (Value::Object(_), Value::Object(_)) => equal_except(one, other, &[]),
        (Value::Other, Value::Other) => one.0.get(one.1.span.clone()) == other.0.get(other.1.span.clone()),
        _ => false,
    }
}
