//! Masks secrets in a file's text, so that a diff can be shown and logged: what may be a secret becomes `…`.
//!
//! A string is shown only if it is known to be harmless: how a server is started, arguments that name no secret
//! ([`arguments`]), harmless URLs, references to variables, and [`comments`] in prose. Every other string is masked, whatever
//! its key is. Numbers and booleans are shown, except below keys that hold secrets.

mod arguments;
mod comments;

use crate::client::Client;
use crate::document::{Node, Notation, Splice, Syntax, Value, splice};
use crate::references::References;
use crate::remote_url;
use crate::text::split_bom;

const MASK: &str = "…";

/// Keys of a server that hold no secrets: how it is started, and names of variables and tools.
const PUBLIC_KEYS: [&str; 13] = [
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
/// Keys whose values are usually secrets.
const SECRET_KEYS: [&str; 4] = ["env", "environment", "headers", "http_headers"];
/// Keys of URLs.
const URL_KEYS: [&str; 3] = ["url", "httpUrl", "serverUrl"];

/// How much of a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// All of it, except arguments that may be secrets.
    Public,
    /// A URL, if it is harmless.
    Url,
    /// Numbers and booleans.
    Unknown,
    /// References only.
    Secret,
}

impl Trust {
    /// Returns the trust in the value of a key, given the trust in the object around it.
    fn of(name: &str, parent: Self) -> Self {
        let is_one_of = |names: &[&str]| names.contains(&name);
        match parent {
            Self::Secret => parent,
            _ if is_one_of(&SECRET_KEYS) => Self::Secret,
            Self::Public => parent,
            _ if is_one_of(&PUBLIC_KEYS) => Self::Public,
            _ if is_one_of(&URL_KEYS) => Self::Url,
            _ => Self::Unknown,
        }
    }
}

/// Returns a text with everything masked that may be a secret.
///
/// A reference is shown only if it is one for all of these clients. A text that cannot be parsed is not shown at all.
pub(crate) fn mask_secrets<'c>(
    text: &str,
    notation: Notation,
    clients: impl Iterator<Item = &'c str>,
) -> String {
    let (_, text) = split_bom(text);
    let syntax = notation.syntax();
    let Ok(root) = syntax.parse(text) else { return String::new() };
    let clients = clients.filter_map(Client::named);
    let mut masking = Masking {
        syntax,
        references: clients.map(|client| client.format.references).collect(),
        splices: vec![],
    };
    masking.node(&root, Trust::Unknown);
    masking.splices.extend(comments::mask(text, &root, notation));
    splice(text, masking.splices).unwrap_or_default()
}

/// Collects the splices that mask one text.
struct Masking<'t> {
    syntax: &'t dyn Syntax,
    references: Vec<References>,
    splices: Vec<Splice>,
}

impl Masking<'_> {
    fn node(&mut self, node: &Node, trust: Trust) {
        match &node.value {
            Value::Object(members) => {
                members.iter().for_each(|member| self.node(&member.value, Trust::of(&member.name, trust)));
            }
            Value::Array(elements) if trust == Trust::Public => {
                let words: Vec<&str> =
                    elements.iter().map(|word| word.as_str().unwrap_or_default()).collect();
                let masked = arguments::masked(&words, &|text| self.is_reference(text));
                for (word, masked) in elements.iter().zip(masked) {
                    match word.as_str() {
                        Some(_) => self.replace(word, masked),
                        None => self.node(word, Trust::Unknown),
                    }
                }
            }
            Value::Array(elements) => elements.iter().for_each(|element| self.node(element, trust)),
            Value::String(text) if self.is_reference(text) => {}
            Value::String(text) => self.replace(
                node,
                match trust {
                    Trust::Public => {
                        arguments::masked(&[text.as_str()], &|text| self.is_reference(text)).pop().flatten()
                    }
                    Trust::Url if remote_url::is_safe_to_show(text) => None,
                    _ => Some(MASK.into()),
                },
            ),
            Value::Bool(_) | Value::Other if trust == Trust::Secret => self.replace(node, Some(MASK.into())),
            Value::Bool(_) | Value::Other => {}
        }
    }

    /// Shows another string in place of a value, if there is one.
    fn replace(&mut self, node: &Node, masked: Option<String>) {
        self.splices.extend(masked.map(|text| Splice::new(node.span.clone(), self.syntax.string(&text))));
    }

    /// Returns whether a value is one reference and nothing else, for every client that reads the file.
    fn is_reference(&self, text: &str) -> bool {
        !self.references.is_empty() && self.references.iter().all(|references| references.is_whole(text))
    }
}
