//! The output budget: an answer over it becomes an error that says by how much and what to do.
//!
//! Nothing is cut in silence, since a part that looks like the whole is the worst answer of all.

use serde::ser::{Serialize, SerializeStruct, Serializer};
use tidegate_core::Tokens;
use tidegate_core::measure::Meter;

/// The code of the error.
pub const OUTPUT_BUDGET_EXCEEDED: &str = "OUTPUT_BUDGET_EXCEEDED";

/// More than any text has; a meter multiplies a limit by a hundred.
const MOST: Tokens = Tokens(u64::MAX / 100);

/// What a caller can do about it.
const HINT: &str = "Lower limit or narrow fields and call again";

/// An answer has more tokens than its budget.
///
/// Serializes as `{"error": "OUTPUT_BUDGET_EXCEEDED", "tool", "tokens", "budget", "hint"}`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer of {tool} has {tokens} tokens, but its budget is {budget}")]
pub struct OverBudget {
    /// The tool that answered.
    pub tool: String,
    /// Tokens of the answer.
    pub tokens: Tokens,
    /// The most that are allowed.
    pub budget: Tokens,
    /// Under which name the answer is kept, if it is.
    pub handle: Option<String>,
}

/// Checks that an answer is within its budget.
///
/// ```
/// use tidegate_core::{Tokens, measure::Meter};
/// use tidegate_sdk::budget::enforce_budget;
///
/// assert!(enforce_budget("short", "list_articles", Tokens(2000), &Meter::default()).is_ok());
/// let over = enforce_budget("one two three", "list_articles", Tokens(2), &Meter::default()).unwrap_err();
/// assert_eq!(
///     serde_json::to_string(&over).unwrap(),
///     r#"{"error":"OUTPUT_BUDGET_EXCEEDED","tool":"list_articles","tokens":3,"budget":2,"hint":"Lower limit or narrow fields and call again"}"#
/// );
/// ```
///
/// # Errors
///
/// Where the answer has more tokens.
pub fn enforce_budget(
    payload: &str,
    tool: &str,
    budget_tokens: Tokens,
    meter: &Meter,
) -> Result<(), OverBudget> {
    // Stops at the budget; all of it is counted only to say how much too much it is.
    if meter.count_up_to(payload, budget_tokens.min(MOST)).is_some() {
        return Ok(());
    }
    let tokens = meter.count(payload);
    Err(OverBudget { tool: tool.to_owned(), tokens, budget: budget_tokens, handle: None })
}

impl OverBudget {
    /// Says that the answer is kept under a name.
    #[must_use]
    pub fn kept_as(self, handle: impl Into<String>) -> Self {
        Self { handle: Some(handle.into()), ..self }
    }

    /// Returns what the caller can do.
    pub fn hint(&self) -> String {
        match &self.handle {
            None => HINT.to_owned(),
            Some(handle) => format!(
                "{HINT}. This result is kept as {handle:?}: read it there, calling {} again is not needed to get it.",
                self.tool
            ),
        }
    }
}

impl Serialize for OverBudget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut error = serializer.serialize_struct("OverBudget", 5)?;
        error.serialize_field("error", OUTPUT_BUDGET_EXCEEDED)?;
        error.serialize_field("tool", &self.tool)?;
        error.serialize_field("tokens", &self.tokens.0)?;
        error.serialize_field("budget", &self.budget.0)?;
        error.serialize_field("hint", &self.hint())?;
        error.end()
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::measure::Factor;

    use super::*;

    fn check(payload: &str, budget: u64) -> Result<(), OverBudget> {
        enforce_budget(payload, "list_articles", Tokens(budget), &Meter::default())
    }

    #[test]
    fn the_budget_itself_is_allowed() {
        let text = " word".repeat(100);
        assert_eq!(check(&text, 100), Ok(()));
        let over = check(&text, 99).unwrap_err();
        assert_eq!((over.tokens, over.budget), (Tokens(100), Tokens(99)));
        assert_eq!(over.to_string(), "the answer of list_articles has 100 tokens, but its budget is 99");
        assert_eq!(check("", 0), Ok(()));
        assert_eq!(check(&text, u64::MAX), Ok(()));
    }

    #[test]
    fn an_estimate_counts_as_much_as_it_says() {
        let meter = Meter::new(Default::default(), Factor::percent(150));
        let over = enforce_budget(&" word".repeat(100), "t", Tokens(149), &meter).unwrap_err();
        assert_eq!(over.tokens, Tokens(150));
    }

    #[test]
    fn a_kept_answer_is_named_second() {
        let over = check("one two three", 1).unwrap_err().kept_as("list_articles-3f9c2kq7m0xw");
        let error = serde_json::to_value(&over).unwrap();
        let hint = error["hint"].as_str().unwrap();
        assert!(
            hint.starts_with("Lower limit or narrow fields and call again. This result is kept"),
            "{hint}"
        );
        assert!(
            hint.contains("\"list_articles-3f9c2kq7m0xw\"") && hint.contains("again is not needed"),
            "{hint}"
        );
        assert_eq!(error.as_object().unwrap().len(), 5);
    }
}
