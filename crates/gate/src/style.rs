//! What a tool answers when its result does not fit: one of four conventions over one store and one way to read on.
//!
//! `overview` is the text that the engine composes. The others are JSON with fixed fields, for callers that were written
//! against them: `probe` offers to fetch parts through arguments of the tool itself, `contract` is a summary with a
//! reference, `error` says what was exceeded. Whichever it is, the complete result was kept before.

pub(crate) mod contract;
pub(crate) mod error;
pub(crate) mod fetch;
pub(crate) mod items;
pub(crate) mod probe;

use serde_json::Value;
use tidegate_core::Bytes;
use tidegate_core::budget::Budget;
use tidegate_core::limits::HardLimits;

use crate::caller::Caller;
use crate::profile::OutputSchema;
use crate::{raw, reply, schema};

/// What a tool answers when its result does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// The most useful text that fits.
    #[default]
    Overview,
    /// A preview and a token with which parts are fetched through the same tool.
    Probe,
    /// A summary, a few items and a reference.
    Contract,
    /// What was exceeded, and how to ask for less.
    Error,
}

impl Style {
    /// The names of the styles, as they are set.
    pub const NAMES: [&'static str; 4] = ["overview", "probe", "contract", "error"];

    /// Returns the style of a name.
    pub fn named(name: &str) -> Option<Self> {
        let styles = [Self::Overview, Self::Probe, Self::Contract, Self::Error];
        Self::NAMES.iter().position(|known| *known == name).map(|at| styles[at])
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// When a tool of the style `probe` answers with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProbeWhen {
    /// When its result does not fit.
    #[default]
    OverBudget,
    /// Whatever the size.
    Always,
}

impl ProbeWhen {
    /// The names, as they are set.
    pub const NAMES: [&'static str; 2] = ["over_budget", "always"];

    /// Returns what a name means.
    pub fn named(name: &str) -> Option<Self> {
        let choices = [Self::OverBudget, Self::Always];
        Self::NAMES.iter().position(|known| *known == name).map(|at| choices[at])
    }
}

/// The room for one answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room<'r> {
    pub(crate) caller: &'r Caller,
    pub(crate) budget: Budget,
    pub(crate) limits: HardLimits,
}

impl Room<'_> {
    /// Returns whether a text fits, as the text of a result.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let bytes = Bytes(self.result(text, false).len() as u64);
        bytes <= self.budget.bytes && self.caller.profile.meter.count(text) <= self.budget.tokens
    }

    /// Returns the result of a text; where a schema was listed that allows our envelope, in both channels.
    pub(crate) fn result(&self, text: &str, is_error: bool) -> Vec<u8> {
        let result = reply::text_result(self.caller, text, is_error);
        if self.caller.profile.output_schema != OutputSchema::Union {
            return result;
        }
        let member = format!("\"structuredContent\":{{\"{}\":{}}}", schema::MEMBER, quoted(text));
        raw::added(&result, &[], member.as_bytes())
    }
}

/// The first characters of a text; what is cut ends with a mark.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
