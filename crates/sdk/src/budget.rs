//! The output budget: an answer that exceeds it becomes an error with the size, the limit and a hint.
//!
//! Nothing is truncated silently: a part that looks like the whole misleads the model more than an error does.

use serde::ser::{Serialize, SerializeStruct, Serializer};
use tidegate_core::Tokens;
use tidegate_core::measure::Meter;

/// The error code in a serialized [`OutputBudgetExceeded`].
pub const OUTPUT_BUDGET_EXCEEDED: &str = "OUTPUT_BUDGET_EXCEEDED";

/// The largest budget a meter accepts: it multiplies the limit by a hundred.
const MAX_BUDGET: Tokens = Tokens(u64::MAX / 100);

/// The next step for the caller.
const HINT: &str = "Lower limit or narrow fields and call again";

/// The error for an answer with more tokens than its budget.
///
/// Serializes as `{"error": "OUTPUT_BUDGET_EXCEEDED", "tool", "tokens", "budget", "hint"}`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer of {tool} has {tokens} tokens, but its budget is {budget}")]
pub struct OutputBudgetExceeded {
    /// The tool that answered.
    pub tool: String,
    /// Tokens of the answer.
    pub tokens: Tokens,
    /// The budget.
    pub budget: Tokens,
    /// The handle of the stored answer, if it was stored.
    pub handle: Option<String>,
}

/// Checks that an answer is within its budget.
///
/// ```
/// use tidegate_sdk::{Meter, Tokens, enforce_budget};
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
/// Returns [`OutputBudgetExceeded`] if the answer has more tokens than the budget.
pub fn enforce_budget(
    payload: &str,
    tool: &str,
    budget_tokens: Tokens,
    meter: &Meter,
) -> Result<(), OutputBudgetExceeded> {
    // Counting stops at the budget. Only an error needs the full count.
    if meter.count_up_to(payload, budget_tokens.min(MAX_BUDGET)).is_some() {
        return Ok(());
    }
    let tokens = meter.count(payload);
    Err(OutputBudgetExceeded { tool: tool.to_owned(), tokens, budget: budget_tokens, handle: None })
}

impl OutputBudgetExceeded {
    /// Adds the handle of the stored answer to the hint.
    #[must_use]
    pub fn kept_as(self, handle: impl Into<String>) -> Self {
        Self { handle: Some(handle.into()), ..self }
    }

    /// Returns the next step for the caller.
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

impl Serialize for OutputBudgetExceeded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut error = serializer.serialize_struct("OutputBudgetExceeded", 5)?;
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

    fn check(payload: &str, budget: u64) -> Result<(), OutputBudgetExceeded> {
        enforce_budget(payload, "list_articles", Tokens(budget), &Meter::default())
    }

    #[test]
    fn a_text_of_exactly_the_budget_passes() {
        let text = " word".repeat(100);
        assert_eq!(check(&text, 100), Ok(()));
        let over = check(&text, 99).unwrap_err();
        assert_eq!((over.tokens, over.budget), (Tokens(100), Tokens(99)));
        assert_eq!(over.to_string(), "the answer of list_articles has 100 tokens, but its budget is 99");
        assert_eq!(check("", 0), Ok(()));
        assert_eq!(check(&text, u64::MAX), Ok(()));
    }

    #[test]
    fn the_factor_of_an_estimate_counts() {
        let meter = Meter::new(Default::default(), Factor::percent(150));
        let over = enforce_budget(&" word".repeat(100), "t", Tokens(149), &meter).unwrap_err();
        assert_eq!(over.tokens, Tokens(150));
    }

    #[test]
    fn the_hint_names_a_stored_answer() {
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
