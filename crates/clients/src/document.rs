//! A configuration file as a tree of places in its text.
//!
//! Both notations are read into the same tree, whose nodes know where they stand. An edit is a [`Splice`]: some bytes
//! go, others come in their place. So everything that is not spliced stays as it is, byte for byte, by construction:
//! comments, order, indentation, line endings.

mod json;
mod toml;

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A value and where it stands.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

/// What a value is, as far as anybody asks.
#[derive(Debug)]
pub(crate) enum Value {
    Text(String),
    Flag(bool),
    List(Vec<Node>),
    Map(Vec<Member>),
    /// A number, a date, nothing.
    Other,
}

/// A key and its value.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Where the key stands, with its quotes.
    pub(crate) key: Range<usize>,
    pub(crate) value: Node,
}

impl Node {
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(elements) => Some(elements),
            _ => None,
        }
    }

    pub(crate) fn members(&self) -> &[Member] {
        match &self.value {
            Value::Map(members) => members,
            _ => &[],
        }
    }

    /// Returns the member of a name. Where there are several the last one counts, as it does for the clients.
    pub(crate) fn get(&self, name: &str) -> Option<&Member> {
        self.members().iter().rev().find(|member| member.name == name)
    }

    /// Returns the value at the end of a path of names.
    pub(crate) fn at(&self, path: &[String]) -> Option<&Node> {
        path.iter().try_fold(self, |node, name| node.get(name).map(|member| &member.value))
    }
}

/// Bytes that go, and what comes in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) at: Range<usize>,
    pub(crate) text: String,
}

impl Splice {
    pub(crate) fn new(at: Range<usize>, text: impl Into<String>) -> Self {
        Self { at, text: text.into() }
    }
}

/// Returns a text with splices made. Those that start at the same place come in the order given.
pub(crate) fn splice(text: &str, mut splices: Vec<Splice>) -> Option<String> {
    splices.sort_by_key(|splice| splice.at.start);
    let mut out = String::with_capacity(text.len() + splices.iter().map(|one| one.text.len()).sum::<usize>());
    let mut done = 0;
    for one in splices {
        out.push_str(text.get(done..one.at.start)?);
        out.push_str(&one.text);
        done = one.at.end;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

/// Why a text is not what its notation says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl Broken {
    pub(crate) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            message: message.into(),
        }
    }
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notation {
    /// JSON, with or without comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

/// What the mechanism needs of a notation.
pub(crate) trait Syntax {
    /// Reads a text.
    fn parse(&self, text: &str) -> Result<Node, Broken>;
    /// Writes a string.
    fn string(&self, value: &str) -> String;
    /// Writes a key.
    fn key(&self, name: &str) -> String;
    /// Writes a map of keys and values that are written already.
    fn map(&self, members: &[(String, String)], style: Style) -> String;
    /// Adds a member after another one, in its manner.
    fn after(&self, text: &str, member: &Member, key: &str, value: &str) -> Splice;
    /// Takes members that stand side by side away; undoes `after`, if nothing was moved since.
    fn without(&self, text: &str, members: &[Member], gone: Range<usize>) -> Vec<Splice>;
}

/// Whether there are blanks between things on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Wide,
    Tight,
}

impl Style {
    /// Returns how a member is written: tight, if there is nothing around its colon.
    pub(crate) fn of(text: &str, member: &Member) -> Self {
        let between = text.get(member.key.end..member.value.span.start).unwrap_or_default();
        if matches!(between, ":" | "=") { Self::Tight } else { Self::Wide }
    }

    pub(crate) fn comma(self) -> &'static str {
        match self {
            Self::Wide => ", ",
            Self::Tight => ",",
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

/// Tells whether two documents say the same, apart from what is at a path.
pub(crate) fn same_besides(one: (&str, &Node), other: (&str, &Node), path: &[String]) -> bool {
    match (&one.1.value, &other.1.value) {
        (Value::Map(left), Value::Map(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| {
                    let pair = ((one.0, &left.value), (other.0, &right.value));
                    left.name == right.name
                        && match path {
                            [last] if *last == left.name => true,
                            [first, rest @ ..] if *first == left.name => same_besides(pair.0, pair.1, rest),
                            _ => same(pair.0, pair.1),
                        }
                })
        }
        _ => same(one, other),
    }
}

fn same(one: (&str, &Node), other: (&str, &Node)) -> bool {
    match (&one.1.value, &other.1.value) {
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::Flag(left), Value::Flag(right)) => left == right,
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same((one.0, left), (other.0, right)))
        }
        (Value::Map(_), Value::Map(_)) => same_besides(one, other, &[]),
        (Value::Other, Value::Other) => one.0.get(one.1.span.clone()) == other.0.get(other.1.span.clone()),
        _ => false,
    }
}
