//! `memory_*`.

use serde_json::{Map, Value, json};
use tidegate_sdk::Scope;
use tidegate_sdk::contract::Item;

use super::{KeyArguments, SearchArguments, StoreArguments};
use crate::answer::{Answer, Refusal, is_shown_whole, limits, shown};
use crate::memory::as_text;
use crate::workshop::{Listing, Workshop};

impl Workshop {
    pub(crate) fn memory_store(&self, arguments: StoreArguments) -> Result<Answer, Refusal> {
        let StoreArguments { key, value } = arguments;
        let (bytes, replaced) = self.memory().store(&key, value)?;
        let word = if replaced { "Replaced" } else { "Stored" };
        let figures = json!({"key": key, "bytes": bytes, "replaced": replaced});
        Ok(Answer::figures(format!("{word} {}: {bytes} bytes", shown(&key)), figures))
    }

    pub(crate) fn memory_retrieve(&self, arguments: &KeyArguments) -> Result<Answer, Refusal> {
        let memory = self.memory();
        let key = &arguments.key;
        let Some(value) = memory.get(key) else {
            let some: Vec<Item> = memory.keys().take(10).map(|key| Item::new(key, "key")).collect();
            return Err(if some.is_empty() {
                Refusal::new(format!("no key {}; nothing is stored yet, memory_store does", shown(key)))
            } else {
                Refusal::new(format!("no key {}; some of those that are stored:", shown(key))).accepting(some)
            });
        };
        let summary = format!("{}: {} bytes", shown(key), value.to_string().len());
        let mut figures = json!({"key": key, "value": value});
        if !is_shown_whole(&figures, &limits("memory_retrieve")) {
            // What would be cut somewhere inside is shown as text, so that it is seen where it ends.
            let name = if value.is_string() { "value" } else { "json" };
            figures = json!({"key": key, name: as_text(value)});
        }
        Ok(Answer::figures(summary, figures).whole("memory", value.clone()))
    }

    pub(crate) fn memory_search(&self, arguments: &SearchArguments) -> Result<Answer, Refusal> {
        let query = arguments.query.as_deref().unwrap_or_default();
        let scope = Scope::of_tool("memory_search").with("query", &query.into());
        let position = self.position(&scope, arguments.cursor.as_deref())?;
        let found = self.memory().search(query);
        let summary = format!("{} key(s) match {}", found.len(), shown(query));
        let listing = Listing { scope, limit: arguments.limit, position, of: String::new(), summary };
        let item = |(key, value): &(String, Value)| Item::new(key, &as_text(value));
        let answer = self.list(listing, &found, |_, (key, _)| key.clone(), item)?;
        Ok(answer.whole("memory", Value::Object(Map::from_iter(found))))
    }
}
