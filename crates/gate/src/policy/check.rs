//! Checks the values of rules that a program wrote, with the limits of the keys of `tidegate.toml`.
//!
//! A configuration file is checked when it is read; `crates/config` has a test that both have the same limits.

use tidegate_core::budget::Budget;
use tidegate_core::hints::Hints;

use super::Rules;

/// Upper bound of numbers that have no natural one; larger numbers limit nothing.
const MAX_NUMBER: u64 = 1 << 40;
/// Upper bound of `reference_max_bytes`: a call is built in memory.
const MAX_REFERENCE_BYTES: u64 = 16 << 20;

/// A value of a rule that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// A number is out of range.
    #[error("{key} is {value}, but must be a whole number from {min} to {max}")]
    Number {
        /// The rule.
        key: &'static str,
        /// Its value.
        value: u64,
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// A text is empty.
    #[error("{key} is empty; set a name, or leave it out")]
    Empty {
        /// The rule.
        key: &'static str,
    },
    /// The kind of content is unknown.
    #[error("kind is {given:?}, but must be one of {}", Hints::KINDS.join(", "))]
    Kind {
        /// The given kind.
        given: String,
    },
    /// A result within the budget would not be within the line.
    #[error("line_tokens is {line}, but must be at least budget_tokens, {budget}")]
    LineBelowBudget {
        /// The line.
        line: u64,
        /// The budget.
        budget: u64,
    },
}

impl Rules {
    /// Checks the values.
    ///
    /// # Errors
    ///
    /// The first value that is out of range, empty or unknown.
    pub fn validate(&self) -> Result<(), RuleError> {
        let numbers = self.numbers().into_iter();
        for (key, value, min, max) in
            numbers.filter_map(|(key, value, min, max)| Some((key, value?, min, max)))
        {
            if !(min..=max).contains(&value) {
                return Err(RuleError::Number { key, value, min, max });
            }
        }
        for (key, text) in self.texts() {
            if text.as_ref().is_some_and(String::is_empty) {
                return Err(RuleError::Empty { key });
            }
        }
        if let Some(kind) = self.kind.as_ref().filter(|kind| !Hints::KINDS.contains(&kind.as_str())) {
            return Err(RuleError::Kind { given: kind.clone() });
        }
        match (self.line_tokens, self.budget_tokens) {
            (Some(line), Some(budget)) if line < budget => Err(RuleError::LineBelowBudget { line, budget }),
            _ => Ok(()),
        }
    }

    /// Returns every number with its limits.
    fn numbers(&self) -> [(&'static str, Option<u64>, u64, u64); 17] {
        let (tokens, bytes) = (Budget::MIN_TOKENS.0, Budget::MIN_BYTES.0);
        [
            ("budget_tokens", self.budget_tokens, tokens, MAX_NUMBER),
            ("follow_up_tokens", self.follow_up_tokens, tokens, MAX_NUMBER),
            ("line_tokens", self.line_tokens, tokens, MAX_NUMBER),
            ("max_bytes", self.max_bytes, bytes, MAX_NUMBER),
            ("cap_tokens", self.cap_tokens, tokens, MAX_NUMBER),
            ("ttl_seconds", self.ttl_seconds, 1, MAX_NUMBER),
            ("save_max_bytes", self.save_max_bytes, 1, MAX_NUMBER),
            ("page_size", self.page_size, 1, 1000),
            ("token_seconds", self.token_seconds, 1, MAX_NUMBER),
            ("auto_negotiate_bytes", self.auto_negotiate_bytes, 1, MAX_NUMBER),
            ("max_items", self.max_items, 1, 1000),
            ("max_string", self.max_string, 1, 100_000),
            ("max_lines", self.max_lines, 2, 1000),
            ("max_depth", self.max_depth, 1, 64),
            ("full_cap_tokens", self.full_cap_tokens, tokens, MAX_NUMBER),
            ("session_max_bytes", self.session_max_bytes, 1, MAX_NUMBER),
            ("reference_max_bytes", self.reference_max_bytes, 1, MAX_REFERENCE_BYTES),
        ]
    }

    fn texts(&self) -> [(&'static str, &Option<String>); 4] {
        [
            ("rows", &self.rows),
            ("label_field", &self.label_field),
            ("id_field", &self.id_field),
            ("domain", &self.domain),
        ]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::policy::{Compact, OnStoreFailure};
    use crate::style::{AnswerWhen, Style};
    use crate::tier::Tier;

    fn read(rules: Value) -> Result<Rules, String> {
        serde_json::from_value(rules).map_err(|error| error.to_string())
    }

    #[test]
    fn rules_are_read_with_the_names_of_the_configuration() {
        let rules =
            read(json!({"style": "probe", "page_size": 25, "tier": "admin", "fields": ["id"]})).unwrap();
        let expected = Rules {
            style: Some(Style::Probe),
            page_size: Some(25),
            tier: Some(Tier::Admin),
            fields: Some(vec!["id".into()]),
            ..Rules::default()
        };
        assert_eq!(rules, expected);
        assert!(read(json!({"pages": 3})).unwrap_err().starts_with("unknown field `pages`"));
        for name in Style::NAMES {
            assert_eq!(read(json!({"style": name})).unwrap().style, Style::named(name));
        }
        for name in AnswerWhen::NAMES {
            assert_eq!(read(json!({"probe_when": name})).unwrap().probe_when, AnswerWhen::named(name));
        }
        for name in Compact::NAMES {
            assert_eq!(read(json!({"compact": name})).unwrap().compact, Compact::named(name));
        }
        for name in OnStoreFailure::NAMES {
            let rules = read(json!({"on_store_failure": name})).unwrap();
            assert_eq!(rules.on_store_failure, OnStoreFailure::named(name));
        }
    }

    #[test]
    fn an_invalid_rule_is_reported_with_its_limits() {
        for (rules, words) in [
            (
                json!({"budget_tokens": 10}),
                "budget_tokens is 10, but must be a whole number from 250 to 1099511627776",
            ),
            (json!({"page_size": 0}), "page_size is 0, but must be a whole number from 1 to 1000"),
            (json!({"domain": ""}), "domain is empty; set a name, or leave it out"),
            (
                json!({"line_tokens": 800, "budget_tokens": 900}),
                "line_tokens is 800, but must be at least budget_tokens, 900",
            ),
        ] {
            assert_eq!(read(rules).unwrap().validate().unwrap_err().to_string(), words);
        }
        let error = read(json!({"kind": "poem"})).unwrap().validate().unwrap_err().to_string();
        assert!(error.starts_with("kind is \"poem\", but must be one of "), "{error}");
        assert_eq!(Rules::default().validate(), Ok(()));
    }
}
