//! The rules for a tool as they were written: each key may be absent.
//!
//! Narrower rules go over wider ones with [`Rules::over`]; `policy.rs` makes a policy of the outcome.

use serde::Deserialize;

use crate::choice;
use crate::style::{AnswerWhen, Style};
use crate::tier::Tier;

/// The answer where a result could not be kept. Both say that the tool did run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnStoreFailure {
    /// The overview, marked as the only thing there is.
    #[default]
    Overview,
    /// An error.
    Error,
}

impl OnStoreFailure {
    /// The names of the choices in the configuration.
    pub const NAMES: [&'static str; 2] = ["overview", "error"];

    /// Returns the choice of a name.
    pub fn named(name: &str) -> Option<Self> {
        choice::named(Self::NAMES, [Self::Overview, Self::Error], name)
    }
}

/// Whether results that pass are written in less space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Compact {
    /// They pass byte for byte.
    #[default]
    Off,
    /// All of the data in a shorter form, if there is one that can be read back.
    Lossless,
}

impl Compact {
    /// The names of the choices in the configuration.
    pub const NAMES: [&'static str; 2] = ["off", "lossless"];

    /// Returns the choice of a name.
    pub fn named(name: &str) -> Option<Self> {
        choice::named(Self::NAMES, [Self::Off, Self::Lossless], name)
    }
}

/// Which results are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Keep {
    /// Those that do not pass.
    #[default]
    Large,
    /// Those that pass too, after they were sent.
    All,
}

impl Keep {
    /// The names of the choices in the configuration.
    pub const NAMES: [&'static str; 2] = ["large", "all"];

    /// Returns the choice of a name.
    pub fn named(name: &str) -> Option<Self> {
        choice::named(Self::NAMES, [Self::Large, Self::All], name)
    }
}

/// Rules as they were written; what is absent comes from the next wider rules.
///
/// They can be read from a configuration file of your own, with the names and values of `tidegate.toml`; an unknown key is
/// an error. [`Rules::validate`] checks the values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// The maximum number of tokens of a first answer.
    pub budget_tokens: Option<u64>,
    /// The maximum number of tokens of follow-ups, pages and queries.
    pub follow_up_tokens: Option<u64>,
    /// The maximum number of tokens of a result that passes unchanged.
    pub line_tokens: Option<u64>,
    /// The maximum number of bytes of an answer.
    pub max_bytes: Option<u64>,
    /// The maximum number of tokens that a caller can request.
    pub cap_tokens: Option<u64>,
    /// Whether results that pass are written in less space.
    pub compact: Option<Compact>,
    /// Whether a result is compared with the last one of the same call.
    pub compare: Option<bool>,
    /// How long a result is kept.
    pub ttl_seconds: Option<u64>,
    /// Which results are kept.
    pub keep: Option<Keep>,
    /// Whether `tidegate run` offers the tool that writes a result to a file.
    pub save: Option<bool>,
    /// The most bytes of a file that is written.
    pub save_max_bytes: Option<u64>,
    /// Records on one page.
    pub page_size: Option<u64>,
    /// The fields that rows are shown with.
    pub fields: Option<Vec<String>>,
    /// Where the records are.
    pub rows: Option<String>,
    /// What the content is.
    pub kind: Option<String>,
    /// The answer where a result could not be kept.
    pub on_store_failure: Option<OnStoreFailure>,
    /// The answer where a result does not fit.
    pub style: Option<Style>,
    /// When a tool of the style `probe` answers with one.
    pub probe_when: Option<AnswerWhen>,
    /// When a tool of the style `contract` answers in its shape.
    pub contract_when: Option<AnswerWhen>,
    /// The field that labels an item of a contract; a path such as `product.name`.
    pub label_field: Option<String>,
    /// The field that identifies an item of a contract; a path such as `product.id`.
    pub id_field: Option<String>,
    /// How long the token of a probe is valid.
    pub token_seconds: Option<u64>,
    /// A result of more bytes is answered with a probe, whatever the style.
    pub auto_negotiate_bytes: Option<u64>,
    /// The domain in the addresses of kept results.
    pub domain: Option<String>,
    /// Whether the category of a tool, as its name shows, limits the bytes of its answers.
    pub category_budgets: Option<bool>,
    /// The maximum number of items of a list, when a value is cut down.
    pub max_items: Option<u64>,
    /// The maximum number of characters of a string, when a value is cut down.
    pub max_string: Option<u64>,
    /// The maximum number of lines of a text, when a value is cut down.
    pub max_lines: Option<u64>,
    /// The maximum number of levels of nesting, when a value is cut down.
    pub max_depth: Option<u64>,
    /// Whether a caller can ask for `output: "full"`.
    pub offer_output: Option<bool>,
    /// The maximum number of tokens of a full output; a larger one is attached.
    pub full_cap_tokens: Option<u64>,
    /// Once a session was sent this many bytes, answers are as small as possible.
    pub session_max_bytes: Option<u64>,
    /// The tier that a caller needs to call the tool and to read its results.
    pub tier: Option<Tier>,
    /// Whether arguments may be references to kept results.
    pub references: Option<bool>,
    /// The servers whose results may be passed to the tool, besides its own; patterns with `*`.
    pub references_from: Option<Vec<String>>,
    /// The most bytes that the references of a call may stand for.
    pub reference_max_bytes: Option<u64>,
}

impl Rules {
    /// Returns whether these rules give a tool arguments of ours.
    pub(crate) fn offer_arguments(&self) -> bool {
        self.style == Some(Style::Probe)
            || self.auto_negotiate_bytes.is_some()
            || self.offer_output == Some(true)
    }

    /// Returns these rules, with the wider ones where these set nothing.
    pub fn over(self, wider: &Self) -> Self {
        Self {
            budget_tokens: self.budget_tokens.or(wider.budget_tokens),
            follow_up_tokens: self.follow_up_tokens.or(wider.follow_up_tokens),
            line_tokens: self.line_tokens.or(wider.line_tokens),
            compact: self.compact.or(wider.compact),
            compare: self.compare.or(wider.compare),
            max_bytes: self.max_bytes.or(wider.max_bytes),
            cap_tokens: self.cap_tokens.or(wider.cap_tokens),
            ttl_seconds: self.ttl_seconds.or(wider.ttl_seconds),
            keep: self.keep.or(wider.keep),
            save: self.save.or(wider.save),
            save_max_bytes: self.save_max_bytes.or(wider.save_max_bytes),
            page_size: self.page_size.or(wider.page_size),
            fields: self.fields.or_else(|| wider.fields.clone()),
            rows: self.rows.or_else(|| wider.rows.clone()),
            kind: self.kind.or_else(|| wider.kind.clone()),
            on_store_failure: self.on_store_failure.or(wider.on_store_failure),
            style: self.style.or(wider.style),
            probe_when: self.probe_when.or(wider.probe_when),
            contract_when: self.contract_when.or(wider.contract_when),
            label_field: self.label_field.or_else(|| wider.label_field.clone()),
            id_field: self.id_field.or_else(|| wider.id_field.clone()),
            token_seconds: self.token_seconds.or(wider.token_seconds),
            auto_negotiate_bytes: self.auto_negotiate_bytes.or(wider.auto_negotiate_bytes),
            domain: self.domain.or_else(|| wider.domain.clone()),
            category_budgets: self.category_budgets.or(wider.category_budgets),
            max_items: self.max_items.or(wider.max_items),
            max_string: self.max_string.or(wider.max_string),
            max_lines: self.max_lines.or(wider.max_lines),
            max_depth: self.max_depth.or(wider.max_depth),
            offer_output: self.offer_output.or(wider.offer_output),
            full_cap_tokens: self.full_cap_tokens.or(wider.full_cap_tokens),
            session_max_bytes: self.session_max_bytes.or(wider.session_max_bytes),
            tier: self.tier.or(wider.tier),
            references: self.references.or(wider.references),
            references_from: self.references_from.or_else(|| wider.references_from.clone()),
            reference_max_bytes: self.reference_max_bytes.or(wider.reference_max_bytes),
        }
    }
}
