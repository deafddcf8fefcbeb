//! A small key-value store in which an agent can keep notes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::answer::{Failure, quote};

/// The maximum number of keys.
pub(crate) const MAX_KEYS: usize = 10_000;
/// The maximum size of a value as JSON.
pub(crate) const MAX_VALUE_BYTES: usize = 1 << 20;
/// The maximum length of a key.
pub(crate) const MAX_KEY_CHARS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    entries: BTreeMap<String, Value>,
}

impl Memory {
    /// Stores a value; returns its bytes, and whether it replaced another.
    pub(crate) fn store(&mut self, key: &str, value: Value) -> Result<(usize, bool), Failure> {
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte);
        if key.is_empty() || key.len() > MAX_KEY_CHARS || !key.bytes().all(valid) {
            return Err(Failure::new(format!(
                "key {} must be 1 to {MAX_KEY_CHARS} letters, digits or - _ . : /",
                quote(key)
            )));
        }
        let bytes = value.to_string().len();
        if bytes > MAX_VALUE_BYTES {
            return Err(Failure::new(format!(
                "the value has {bytes} bytes, but at most {MAX_VALUE_BYTES} are allowed"
            )));
        }
        if self.entries.len() >= MAX_KEYS && !self.entries.contains_key(key) {
            return Err(Failure::new(format!("there are {MAX_KEYS} keys already; reuse one of them")));
        }
        Ok((bytes, self.entries.insert(key.to_owned(), value).is_some()))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(key)
    }

    /// Returns the keys in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.entries.keys()
    }

    /// Returns the entries whose key or value contains a text, ignoring case, in key order.
    pub(crate) fn search(&self, text: &str) -> Vec<(String, Value)> {
        let text = text.to_lowercase();
        let matches = |(key, value): &(&String, &Value)| {
            key.to_lowercase().contains(&text) || as_text(value).to_lowercase().contains(&text)
        };
        let found = self.entries.iter().filter(matches);
        found.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

/// Returns a string as it is, and any other value as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
