//! A file's text as it may be shown: what can be a secret is hidden behind `…`.
//!
//! Text is shown only where it is known to be harmless: what a server is and how it is started, arguments that name no
//! secret ([`words`]), open addresses, references to values that are elsewhere, and [`comments`] in prose. All other text of
//! the file is hidden, whatever its key is called; numbers and flags are shown, except where secrets are expected.

mod comments;
mod words;

use crate::address;
use crate::client::Client;
use crate::document::{Node, Notation, Splice, Syntax, Value, splice};
use crate::launch::References;
use crate::text::unmarked;

/// Members of a server that are no secrets: what it is, how it is started, and names of variables and tools.
const PLAIN: [&str; 13] = [
    "type",
    "source",
    "command",
    "path",
    "args",
    "cwd",
    "envFile",
    "env_vars",
    "bearer_token_env_var",
    "env_http_headers",
    "enabled_tools",
    "includeTools",
    "excludeTools",
];
/// Members whose values are secrets more often than not.
const SECRET: [&str; 4] = ["env", "environment", "headers", "http_headers"];
/// Members that are addresses.
const ADDRESS: [&str; 3] = ["url", "httpUrl", "serverUrl"];

/// How much of a value may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// All of it, but for arguments that are secrets.
    Plain,
    /// An address, if it is open.
    Address,
    /// Numbers and flags.
    Unknown,
    /// References alone.
    Secret,
}

impl Trust {
    fn of(name: &str, above: Self) -> Self {
        let is_one_of = |names: &[&str]| names.contains(&name);
        match above {
            Self::Secret => above,
            _ if is_one_of(&SECRET) => Self::Secret,
            Self::Plain => above,
            _ if is_one_of(&PLAIN) => Self::Plain,
            _ if is_one_of(&ADDRESS) => Self::Address,
            _ => Self::Unknown,
        }
    }
}

/// Returns a text with everything hidden that may be a secret. References are those that all of these clients know.
///
/// A text that cannot be read is not shown at all.
pub(crate) fn masked<'c>(text: &str, notation: Notation, clients: impl Iterator<Item = &'c str>) -> String {
    let (_, text) = unmarked(text);
    let syntax = notation.syntax();
    let Ok(root) = syntax.parse(text) else { return String::new() };
    let clients = clients.filter_map(Client::named);
    let mut mask =
        Mask { syntax, references: clients.map(|client| client.shape.references).collect(), splices: vec![] };
    mask.node(&root, Trust::Unknown);
    mask.splices.extend(comments::hidden(text, &root, notation));
    splice(text, mask.splices).unwrap_or_default()
}

struct Mask<'t> {
    syntax: &'t dyn Syntax,
    references: Vec<References>,
    splices: Vec<Splice>,
}

impl Mask<'_> {
    fn node(&mut self, node: &Node, trust: Trust) {
        match &node.value {
            Value::Map(members) => {
                members.iter().for_each(|member| self.node(&member.value, Trust::of(&member.name, trust)));
            }
            Value::List(elements) if trust == Trust::Plain => {
                let texts: Vec<&str> = elements.iter().map(|word| word.text().unwrap_or_default()).collect();
                let shown = words::shown(&texts, &|text| self.is_reference(text));
                for (word, shown) in elements.iter().zip(shown) {
                    match word.text() {
                        Some(_) => self.put(word, shown),
                        None => self.node(word, Trust::Unknown),
                    }
                }
            }
            Value::List(elements) => elements.iter().for_each(|element| self.node(element, trust)),
            Value::Text(text) if self.is_reference(text) => {}
            Value::Text(text) => self.put(
                node,
                match trust {
                    Trust::Plain => {
                        words::shown(&[text.as_str()], &|text| self.is_reference(text)).pop().flatten()
                    }
                    Trust::Address if address::is_open(text) => None,
                    _ => Some("…".into()),
                },
            ),
            Value::Flag(_) | Value::Other if trust == Trust::Secret => self.put(node, Some("…".into())),
            Value::Flag(_) | Value::Other => {}
        }
    }

    /// Shows something else in the place of a value.
    fn put(&mut self, node: &Node, shown: Option<String>) {
        self.splices.extend(shown.map(|shown| Splice::new(node.span.clone(), self.syntax.string(&shown))));
    }

    /// Tells whether a value is nothing but a reference, for every client that reads the file.
    fn is_reference(&self, text: &str) -> bool {
        !self.references.is_empty() && self.references.iter().all(|references| references.is_whole(text))
    }
}
