//! The settings of `#[heavy]` on their way from the macro to the gate.
//!
//! The macro stores a [`Heavy`] in the tool's `_meta`; the gate reads it there as [`Marked`].
//!
//! Invariant: the settings never leave the server. [`Marked::take_out`] removes them from every listed tool.

use rmcp::model::{MetaObject, Tool};
use serde_json::{Map, Value, json};
use tidegate_gate::policy::{Compact, Rules};
use tidegate_gate::style::{AnswerWhen, Style};

use crate::tier::Tier;

/// The `_meta` key of the settings.
const META_KEY: &str = "tidegate/heavy";

/// The settings of one `#[heavy]` attribute; `None` means the default set for all tools.
///
/// The fields are the keys of [`#[heavy]`](macro@crate::heavy), which lists their meaning. The macro writes the settings into the
/// `_meta` of a tool. Without the macro, for tools that are made at run time, do the same; the values are then not checked
/// before the tool is called, and an unknown text means the default:
///
/// ```
/// use rmcp::model::{JsonObject, Tool};
/// use tidegate_sdk::Heavy;
///
/// let heavy = Heavy { style: Some("probe"), page_size: Some(25), ..Heavy::NOTHING };
/// let tool = Tool::new("list_all", "List every item in stock", JsonObject::new()).with_meta(heavy.meta());
/// assert!(tool.meta.is_some());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the keys of `#[heavy]`, under the same names")]
pub struct Heavy {
    pub style: Option<&'static str>,
    pub probe_when: Option<&'static str>,
    pub contract_when: Option<&'static str>,
    pub label_field: Option<&'static str>,
    pub id_field: Option<&'static str>,
    pub budget_tokens: Option<u64>,
    pub follow_up_tokens: Option<u64>,
    pub line_tokens: Option<u64>,
    pub compact: Option<&'static str>,
    pub page_size: Option<u64>,
    pub token_seconds: Option<u64>,
    pub keep_seconds: Option<u64>,
    pub auto_negotiate_bytes: Option<u64>,
    pub domain: Option<&'static str>,
    pub full_cap_tokens: Option<u64>,
    pub tier: Option<&'static str>,
}

/// The settings of a tool as read from its `_meta`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marked {
    pub(crate) rules: Rules,
}

impl Heavy {
    /// No settings.
    pub const NOTHING: Self = Self {
        style: None,
        probe_when: None,
        contract_when: None,
        label_field: None,
        id_field: None,
        budget_tokens: None,
        follow_up_tokens: None,
        line_tokens: None,
        compact: None,
        page_size: None,
        token_seconds: None,
        keep_seconds: None,
        auto_negotiate_bytes: None,
        domain: None,
        full_cap_tokens: None,
        tier: None,
    };

    /// Returns a number that is large enough; `#[heavy]` calls it for a constant, while the server is compiled.
    ///
    /// # Panics
    ///
    /// Panics with the message if the number is too small.
    #[doc(hidden)]
    #[must_use]
    #[track_caller]
    pub const fn at_least(number: u64, minimum: u64, message: &str) -> u64 {
        assert!(number >= minimum, "{}", message);
        number
    }

    /// Returns a text that is among the choices; `#[heavy]` calls it for a constant, while the server is compiled.
    ///
    /// # Panics
    ///
    /// Panics with the message if it is not.
    #[doc(hidden)]
    #[must_use]
    #[track_caller]
    pub const fn one_of(text: &'static str, choices: &[&str], message: &str) -> &'static str {
        let mut at = 0;
        while at < choices.len() {
            if is_same(text.as_bytes(), choices[at].as_bytes()) {
                return text;
            }
            at += 1;
        }
        panic!("{}", message)
    }

    /// Returns the settings as the `_meta` of a tool.
    #[must_use]
    pub fn meta(self) -> MetaObject {
        let mut meta = Map::new();
        meta.insert(
            META_KEY.into(),
            json!({
                "style": self.style,
                "probe_when": self.probe_when,
                "contract_when": self.contract_when,
                "label_field": self.label_field,
                "id_field": self.id_field,
                "budget_tokens": self.budget_tokens,
                "follow_up_tokens": self.follow_up_tokens,
                "line_tokens": self.line_tokens,
                "compact": self.compact,
                "page_size": self.page_size,
                "token_seconds": self.token_seconds,
                "keep_seconds": self.keep_seconds,
                "auto_negotiate_bytes": self.auto_negotiate_bytes,
                "domain": self.domain,
                "full_cap_tokens": self.full_cap_tokens,
                "tier": self.tier,
            }),
        );
        MetaObject(meta)
    }
}

/// Compares bytes while the server is compiled, where `==` cannot be called.
const fn is_same(one: &[u8], two: &[u8]) -> bool {
    if one.len() != two.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != two[at] {
            return false;
        }
        at += 1;
    }
    true
}

impl Marked {
    /// Returns the settings of a tool without `#[heavy]`.
    fn unmarked() -> Self {
        Self::of_tier(Tier::Read)
    }

    fn of_tier(tier: Tier) -> Self {
        Self { rules: Rules { tier: Some(tier), ..Rules::default() } }
    }

    /// Returns the settings of a tool that the server does not list: only an admin may call it.
    pub(crate) fn unknown() -> Self {
        Self::of_tier(Tier::Admin)
    }

    /// Returns the settings of a tool.
    pub(crate) fn of(tool: &Tool) -> Self {
        let Some(settings) = tool.meta.as_ref().and_then(|meta| meta.0.get(META_KEY)) else {
            return Self::unmarked();
        };
        let text = |key: &str| settings.get(key).and_then(Value::as_str);
        let number = |key: &str| settings.get(key).and_then(Value::as_u64);
        let rules = Rules {
            style: text("style").and_then(Style::named),
            probe_when: text("probe_when").and_then(AnswerWhen::named),
            contract_when: text("contract_when").and_then(AnswerWhen::named),
            label_field: text("label_field").map(str::to_owned),
            id_field: text("id_field").map(str::to_owned),
            budget_tokens: number("budget_tokens"),
            follow_up_tokens: number("follow_up_tokens"),
            line_tokens: number("line_tokens"),
            compact: text("compact").and_then(Compact::named),
            page_size: number("page_size"),
            token_seconds: number("token_seconds"),
            ttl_seconds: number("keep_seconds"),
            auto_negotiate_bytes: number("auto_negotiate_bytes"),
            domain: text("domain").map(str::to_owned),
            // Only a tool with an `output` argument has a cap on its full output.
            offer_output: number("full_cap_tokens").map(|_| true),
            full_cap_tokens: number("full_cap_tokens"),
            tier: Some(text("tier").and_then(Tier::named).unwrap_or(Tier::Read)),
            ..Rules::default()
        };
        Self { rules }
    }

    /// Removes the settings from a tool before it is listed to a client.
    pub(crate) fn take_out(tool: &mut Tool) {
        if let Some(meta) = &mut tool.meta {
            meta.0.remove(META_KEY);
            if meta.0.is_empty() {
                tool.meta = None;
            }
        }
    }
}
