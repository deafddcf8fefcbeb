//! The value of a key, and the rule or client setting it changes.
//!
//! A [`Value`] has been checked against its key: `file.rs` reports everything else as a mistake.

use std::fmt;

use serde_json::{Value as Json, json};
use tidegate_gate::policy::{Compact, Keep, OnStoreFailure, Rules};
use tidegate_gate::profile::{OutputSchema, Profile, ProfileRules};
use tidegate_gate::style::{AnswerWhen, Style};
use tidegate_gate::tier::Tier;

use crate::keys::DefaultValue;

/// A value that is valid for its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Number(u64),
    /// `true` or `false`.
    Flag(bool),
    /// A string, or one of several names.
    Text(String),
    /// A list of strings.
    Texts(Vec<String>),
}

impl Value {
    /// Returns the default of a key; `None` if it is not a single value.
    pub fn of_default(default: &DefaultValue) -> Option<Self> {
        match default {
            DefaultValue::Number(number) => Some(Self::Number(*number)),
            DefaultValue::Flag(flag) => Some(Self::Flag(*flag)),
            DefaultValue::Choice(name) => Some(Self::Text((*name).to_owned())),
            DefaultValue::Described(_) => None,
        }
    }

    /// Returns the value as JSON.
    pub fn json(&self) -> Json {
        match self {
            Self::Number(number) => json!(number),
            Self::Flag(flag) => json!(flag),
            Self::Text(text) => json!(text),
            Self::Texts(texts) => json!(texts),
        }
    }

    pub(crate) fn number(&self) -> Option<u64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    fn flag(&self) -> Option<bool> {
        if let Self::Flag(flag) = self { Some(*flag) } else { None }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn owned_text(&self) -> Option<String> {
        self.text().map(str::to_owned)
    }

    fn texts(&self) -> Option<Vec<String>> {
        if let Self::Texts(texts) = self { Some(texts.clone()) } else { None }
    }
}

/// Writes the value as TOML.
impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Flag(flag) => write!(formatter, "{flag}"),
            Self::Text(text) => formatter.write_str(&quoted(text)),
            Self::Texts(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
                write!(formatter, "[{}]", texts.join(", "))
            }
        }
    }
}

/// Returns a part of a heading as TOML writes it: bare if it can be, else quoted.
pub fn quoted_key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.is_empty() && name.bytes().all(is_bare) { name.to_owned() } else { quoted(name) }
}

/// Quotes a string for TOML, which escapes what JSON escapes, and U+007F.
pub(crate) fn quoted(text: &str) -> String {
    Json::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Sets the rule with this name; an unknown name changes nothing.
pub fn set_rule(rules: &mut Rules, name: &str, value: &Value) {
    match name {
        "budget_tokens" => rules.budget_tokens = value.number(),
        "follow_up_tokens" => rules.follow_up_tokens = value.number(),
        "line_tokens" => rules.line_tokens = value.number(),
        "compact" => rules.compact = value.text().and_then(Compact::named),
        "max_bytes" => rules.max_bytes = value.number(),
        "cap_tokens" => rules.cap_tokens = value.number(),
        "ttl_seconds" => rules.ttl_seconds = value.number(),
        "keep" => rules.keep = value.text().and_then(Keep::named),
        "save" => rules.save = value.flag(),
        "save_max_bytes" => rules.save_max_bytes = value.number(),
        "page_size" => rules.page_size = value.number(),
        "fields" => rules.fields = value.texts(),
        "rows" => rules.rows = value.owned_text(),
        "kind" => rules.kind = value.owned_text(),
        "on_store_failure" => rules.on_store_failure = value.text().and_then(OnStoreFailure::named),
        "style" => rules.style = value.text().and_then(Style::named),
        "probe_when" => rules.probe_when = value.text().and_then(AnswerWhen::named),
        "contract_when" => rules.contract_when = value.text().and_then(AnswerWhen::named),
        "label_field" => rules.label_field = value.owned_text(),
        "id_field" => rules.id_field = value.owned_text(),
        "token_seconds" => rules.token_seconds = value.number(),
        "auto_negotiate_bytes" => rules.auto_negotiate_bytes = value.number(),
        "domain" => rules.domain = value.owned_text(),
        "category_budgets" => rules.category_budgets = value.flag(),
        "max_items" => rules.max_items = value.number(),
        "max_string" => rules.max_string = value.number(),
        "max_lines" => rules.max_lines = value.number(),
        "max_depth" => rules.max_depth = value.number(),
        "compare" => rules.compare = value.flag(),
        "offer_output" => rules.offer_output = value.flag(),
        "full_cap_tokens" => rules.full_cap_tokens = value.number(),
        "session_max_bytes" => rules.session_max_bytes = value.number(),
        "tier" => rules.tier = value.text().and_then(Tier::named),
        "references" => rules.references = value.flag(),
        "references_from" => rules.references_from = value.texts(),
        "reference_max_bytes" => rules.reference_max_bytes = value.number(),
        _ => {}
    }
}

/// Sets the client rule with this name; an unknown name changes nothing.
pub(crate) fn set_client_rule(rules: &mut ProfileRules, name: &str, value: &Value) {
    match name {
        "budget_tokens" => rules.budget_tokens = value.number(),
        "profile" => rules.profile = value.owned_text(),
        "follow_up_tokens" => rules.follow_up_tokens = value.number(),
        "line_tokens" => rules.line_tokens = value.number(),
        "max_bytes" => rules.max_bytes = value.number(),
        "cap_tokens" => rules.cap_tokens = value.number(),
        "program" => rules.program = value.flag(),
        "tier" => rules.tier = value.text().and_then(Tier::named),
        "count_percent" => rules.count_percent = value.number().and_then(|number| u32::try_from(number).ok()),
        "resource_link" => rules.resource_link = value.flag(),
        "output_schema" => rules.output_schema = value.text().and_then(OutputSchema::named),
        _ => {}
    }
}

/// Returns what a profile has for a client key; `None` if it has nothing.
pub(crate) fn client_value(profile: &Profile, name: &str) -> Option<Value> {
    match name {
        "budget_tokens" => profile.budget_tokens.map(Value::Number),
        "follow_up_tokens" => profile.follow_up_tokens.map(Value::Number),
        "line_tokens" => profile.line_tokens.map(Value::Number),
        "max_bytes" => Some(Value::Number(profile.max_bytes)),
        "cap_tokens" => Some(Value::Number(profile.cap_tokens)),
        "count_percent" => Some(Value::Number(u64::from(profile.meter.margin_percent()) + 100)),
        "resource_link" => Some(Value::Flag(profile.resource_link)),
        "program" => Some(Value::Flag(profile.program)),
        "tier" => Some(Value::Text(profile.tier.name().to_owned())),
        "output_schema" => Some(Value::Text(profile.output_schema.name().to_owned())),
        _ => None,
    }
}
