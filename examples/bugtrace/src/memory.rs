//! A small store of keys and values, for what an agent wants to remember.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::answer::{Refusal, shown};

/// The most keys.
pub(crate) const MAX_KEYS: usize = 10_000;
/// The most bytes of a value, as JSON.
pub(crate) const MAX_VALUE_BYTES: usize = 1 << 20;
/// The most characters of a key.
pub(crate) const KEY_CHARS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    entries: BTreeMap<String, Value>,
}

impl Memory {
    /// Stores a value and returns its bytes, and whether it replaces another.
    pub(crate) fn store(&mut self, key: &str, value: Value) -> Result<(usize, bool), Refusal> {
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte);
        if key.is_empty() || key.len() > KEY_CHARS || !key.bytes().all(valid) {
            return Err(Refusal::new(format!(
                "key {} must be 1 to {KEY_CHARS} of letters, digits and - _ . : /",
                shown(key)
            )));
        }
        let bytes = value.to_string().len();
        if bytes > MAX_VALUE_BYTES {
            return Err(Refusal::new(format!(
                "the value has {bytes} bytes, at most {MAX_VALUE_BYTES} are kept"
            )));
        }
        if self.entries.len() >= MAX_KEYS && !self.entries.contains_key(key) {
            return Err(Refusal::new(format!("there are {MAX_KEYS} keys already; use one of them again")));
        }
        Ok((bytes, self.entries.insert(key.to_owned(), value).is_some()))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(key)
    }

    /// Keys in their order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.entries.keys()
    }

    /// What has a text in its key or its value, whatever the case, in the order of the keys.
    pub(crate) fn search(&self, text: &str) -> Vec<(String, Value)> {
        let text = text.to_lowercase();
        let matches = |(key, value): &(&String, &Value)| {
            key.to_lowercase().contains(&text) || as_text(value).to_lowercase().contains(&text)
        };
        let found = self.entries.iter().filter(matches);
        found.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

/// A value as text: a string as it is, everything else as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
