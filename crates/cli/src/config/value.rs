//! A value as it was set, and what setting it changes.

use std::fmt;

use serde_json::{Value as Json, json};
use tidegate_gate::policy::{OnStoreFailure, Rules};
use tidegate_gate::profile::{OutputSchema, Profile, ProfileRules};
use tidegate_gate::style::{ProbeWhen, Style};

use super::keys::Fallback;

/// A value that was found to be right for its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// A whole number.
    Number(u64),
    /// `true` or `false`.
    Flag(bool),
    /// A text, or one of several names.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
}

impl Value {
    /// Returns what holds where nothing is set; `None` where that is no single value.
    pub(super) fn of_fallback(fallback: &Fallback) -> Option<Self> {
        match fallback {
            Fallback::Number(number) => Some(Self::Number(*number)),
            Fallback::Flag(flag) => Some(Self::Flag(*flag)),
            Fallback::Name(name) => Some(Self::Text((*name).to_owned())),
            Fallback::Words(_) => None,
        }
    }

    /// Returns it as JSON.
    pub(super) fn json(&self) -> Json {
        match self {
            Self::Number(number) => json!(number),
            Self::Flag(flag) => json!(flag),
            Self::Text(text) => json!(text),
            Self::Texts(texts) => json!(texts),
        }
    }

    pub(super) fn number(&self) -> Option<u64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    fn flag(&self) -> Option<bool> {
        if let Self::Flag(flag) = self { Some(*flag) } else { None }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn owned_text(&self) -> Option<String> {
        self.text().map(str::to_owned)
    }

    fn texts(&self) -> Option<Vec<String>> {
        if let Self::Texts(texts) = self { Some(texts.clone()) } else { None }
    }
}

/// As it is written in a file.
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

/// A text as TOML writes it, also as a key: as JSON does, but for one character more.
pub(super) fn quoted(text: &str) -> String {
    Json::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Sets a rule; a name that is none changes nothing.
pub(crate) fn set_rule(rules: &mut Rules, name: &str, value: &Value) {
    match name {
        "budget_tokens" => rules.budget_tokens = value.number(),
        "max_bytes" => rules.max_bytes = value.number(),
        "cap_tokens" => rules.cap_tokens = value.number(),
        "ttl_seconds" => rules.ttl_seconds = value.number(),
        "page_size" => rules.page_size = value.number(),
        "fields" => rules.fields = value.texts(),
        "rows" => rules.rows = value.owned_text(),
        "kind" => rules.kind = value.owned_text(),
        "on_store_failure" => rules.on_store_failure = value.text().and_then(OnStoreFailure::named),
        "style" => rules.style = value.text().and_then(Style::named),
        "probe_when" => rules.probe_when = value.text().and_then(ProbeWhen::named),
        "token_seconds" => rules.token_seconds = value.number(),
        "auto_negotiate_bytes" => rules.auto_negotiate_bytes = value.number(),
        "domain" => rules.domain = value.owned_text(),
        "category_budgets" => rules.category_budgets = value.flag(),
        "max_items" => rules.max_items = value.number(),
        "max_string" => rules.max_string = value.number(),
        "max_lines" => rules.max_lines = value.number(),
        "max_depth" => rules.max_depth = value.number(),
        "offer_output" => rules.offer_output = value.flag(),
        "full_cap_tokens" => rules.full_cap_tokens = value.number(),
        "session_max_bytes" => rules.session_max_bytes = value.number(),
        _ => {}
    }
}

/// Sets how a client is treated; a name that is none changes nothing.
pub(super) fn set_client(rules: &mut ProfileRules, name: &str, value: &Value) {
    match name {
        "budget_tokens" => rules.budget_tokens = value.number(),
        "max_bytes" => rules.max_bytes = value.number(),
        "cap_tokens" => rules.cap_tokens = value.number(),
        "count_percent" => rules.count_percent = value.number().and_then(|number| u32::try_from(number).ok()),
        "resource_link" => rules.resource_link = value.flag(),
        "output_schema" => rules.output_schema = value.text().and_then(OutputSchema::named),
        _ => {}
    }
}

/// Returns how a client is treated; `None` where nothing is said of it.
pub(super) fn of_profile(profile: &Profile, name: &str) -> Option<Value> {
    match name {
        "budget_tokens" => profile.budget_tokens.map(Value::Number),
        "max_bytes" => Some(Value::Number(profile.max_bytes)),
        "cap_tokens" => Some(Value::Number(profile.cap_tokens)),
        "count_percent" => Some(Value::Number(u64::from(profile.meter.margin_percent()) + 100)),
        "resource_link" => Some(Value::Flag(profile.resource_link)),
        "output_schema" => Some(Value::Text(profile.output_schema.name().to_owned())),
        _ => None,
    }
}
