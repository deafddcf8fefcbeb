//! The tools `memory_*`.

use serde_json::{Map, Value, json};
use tidegate_sdk::Scope;
use tidegate_sdk::contract::Item;

use super::{KeyArguments, SearchArguments, StoreArguments};
use crate::answer::{Answer, Failure, fits_untruncated, limits, quote};
use crate::backend::{Backend, ListRequest};
use crate::memory::as_text;

impl Backend {
    pub(crate) fn memory_store(&self, arguments: StoreArguments) -> Result<Answer, Failure> {
        let StoreArguments { key, value } = arguments;
        let (bytes, replaced) = self.memory().store(&key, value)?;
        let word = if replaced { "Replaced" } else { "Stored" };
        let figures = json!({"key": key, "bytes": bytes, "replaced": replaced});
        Ok(Answer::figures(format!("{word} {}: {bytes} bytes", quote(&key)), figures))
    }

    pub(crate) fn memory_retrieve(&self, arguments: &KeyArguments) -> Result<Answer, Failure> {
        let memory = self.memory();
        let key = &arguments.key;
        let Some(value) = memory.get(key) else {
            let keys: Vec<Item> = memory.keys().take(10).map(|key| Item::new(key, "key")).collect();
            return Err(if keys.is_empty() {
                Failure::new(format!("no key {}; nothing is stored yet, use memory_store", quote(key)))
            } else {
                Failure::new(format!("no key {}; stored keys include:", quote(key))).with_accepted(keys)
            });
        };
        let summary = format!("{}: {} bytes", quote(key), value.to_string().len());
        let mut figures = json!({"key": key, "value": value});
        if !fits_untruncated(&figures, &limits("memory_retrieve")) {
            // Show the value as text, so that it is truncated at the end and not somewhere inside.
            let name = if value.is_string() { "value" } else { "json" };
            figures = json!({"key": key, name: as_text(value)});
        }
        Ok(Answer::figures(summary, figures).full_data("memory", value.clone()))
    }

    pub(crate) fn memory_search(&self, arguments: &SearchArguments) -> Result<Answer, Failure> {
        let query = arguments.query.as_deref().unwrap_or_default();
        let scope = Scope::of_tool("memory_search").with("query", &query.into());
        let position = self.position(&scope, arguments.cursor.as_deref())?;
        let found = self.memory().search(query);
        let summary = format!("{} key(s) match {}", found.len(), quote(query));
        let artifact = String::new();
        let request = ListRequest { scope, limit: arguments.limit, position, artifact, summary };
        let item = |(key, value): &(String, Value)| Item::new(key, &as_text(value));
        let answer = self.list(request, &found, |_, (key, _)| key.clone(), item)?;
        Ok(answer.full_data("memory", Value::Object(Map::from_iter(found))))
    }
}
