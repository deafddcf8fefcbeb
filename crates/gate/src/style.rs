//! What a tool answers when its result does not fit: one of four styles over one store and one way to read on.
//!
//! `overview` is the text that the engine composes. The others are JSON with fixed fields, for callers that were written
//! against them: `probe` offers to fetch parts through arguments of the tool itself, `contract` is a summary with a
//! reference, `error` says which budget was exceeded. In every style the complete result is kept first.

pub mod category;
pub mod contract;
pub(crate) mod error;
pub(crate) mod fetch;
pub(crate) mod items;
pub mod limits;
pub(crate) mod probe;
pub(crate) mod smallest;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tidegate_core::budget::Budget;
use tidegate_core::{Bytes, visible};

use crate::caller::Caller;
use crate::profile::OutputSchema;
use crate::{choice, raw, reply, schema};
use limits::HardLimits;

/// What a tool answers when its result does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Style {
    /// The most useful text that fits.
    #[default]
    Overview,
    /// A preview and a token with which parts are fetched through the same tool.
    Probe,
    /// A summary, a few items and a reference.
    Contract,
    /// The budget that was exceeded, and how to ask for less.
    Error,
}

impl Style {
    /// The names of the styles in the configuration.
    pub const NAMES: [&'static str; 4] = ["overview", "probe", "contract", "error"];

    /// Returns the style of a name.
    pub fn named(name: &str) -> Option<Self> {
        choice::named(Self::NAMES, [Self::Overview, Self::Probe, Self::Contract, Self::Error], name)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// When a tool of the style `probe` or `contract` answers in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnswerWhen {
    /// When the result does not fit.
    #[default]
    #[serde(rename = "over_budget")]
    OutputBudgetExceeded,
    /// For results of any size.
    Always,
}

impl AnswerWhen {
    /// The names of the choices in the configuration.
    pub const NAMES: [&'static str; 2] = ["over_budget", "always"];

    /// Returns the choice of a name.
    pub fn named(name: &str) -> Option<Self> {
        choice::named(Self::NAMES, [Self::OutputBudgetExceeded, Self::Always], name)
    }
}

/// The limits of one answer to one caller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerLimits<'r> {
    pub(crate) caller: &'r Caller,
    /// What the whole answer may cost.
    pub(crate) budget: Budget,
    /// What single values are cut down to.
    pub(crate) values: HardLimits,
}

impl AnswerLimits<'_> {
    /// Returns whether a text fits, as the text of a result.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let text = visible_json(text);
        let bytes = Bytes(self.result(&text, false).len() as u64);
        bytes <= self.budget.bytes && self.caller.profile.meter.count(&text) <= self.budget.tokens
    }

    /// Returns a result with a text; in both channels if the listed schema allows our envelope.
    pub(crate) fn result(&self, text: &str, is_error: bool) -> Vec<u8> {
        let text = &*visible_json(text);
        let result = reply::text_result(self.caller, text, is_error);
        if self.caller.profile.output_schema != OutputSchema::Union {
            return result;
        }
        let member = format!("\"structuredContent\":{{\"{}\":{}}}", schema::MEMBER, quoted(text));
        raw::added(&result, &[], member.as_bytes())
    }
}

/// Returns a text in which the hidden characters of a JSON document are escaped; another text stays as it is.
fn visible_json(text: &str) -> Cow<'_, str> {
    let has_hidden = text.contains(visible::is_hidden);
    match has_hidden && serde_json::from_str::<IgnoredAny>(text).is_ok() {
        true => visible::json(text).into(),
        false => text.into(),
    }
}

/// Returns the first characters of a text, with `...` where something was cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns a text of at most `most` characters, with `...` among them where something was cut.
pub(crate) fn cut_within(text: &str, most: usize) -> String {
    match text.chars().nth(most) {
        Some(_) => cut(text, most.saturating_sub("...".len())),
        None => text.to_owned(),
    }
}

/// Returns a text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
