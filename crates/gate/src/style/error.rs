//! The style `error`: the budget that was exceeded, and what to do.
//!
//! The hint first says what callers of this style expect: ask for less and call again. The result is kept, so the hint
//! then names the handle, which makes that call unnecessary.

use serde_json::json;

/// The budget that was exceeded, and where the result is.
pub(crate) struct Exceeded<'e> {
    pub(crate) tool: &'e str,
    pub(crate) tokens: u64,
    pub(crate) budget: u64,
    /// The name of the kept result and for how long it is kept; `None` if it could not be kept.
    pub(crate) handle: Option<(&'e str, &'e str)>,
    /// The name of our tool.
    pub(crate) query_tool: &'e str,
}

impl Exceeded<'_> {
    /// Returns the answer.
    pub(crate) fn text(&self) -> String {
        let Self { tool, query_tool, .. } = self;
        let kept = match self.handle {
            Some((name, kept)) => format!(
                " The complete result is \"{name}\" ({kept}): read any part of it with {query_tool} {{\"id\":\"{name}\"}} \
                 instead of calling {tool} again."
            ),
            None => String::new(),
        };
        self.with_hint(tool, &format!("Lower limit or narrow fields and call again.{kept}"))
    }

    /// Returns the answer with a name of the tool and a hint.
    pub(crate) fn with_hint(&self, tool: &str, hint: &str) -> String {
        let Self { tokens, budget, .. } = self;
        // In the order that the style defines, which a map would not keep.
        format!(
            r#"{{"error":"OUTPUT_BUDGET_EXCEEDED","tool":{},"tokens":{tokens},"budget":{budget},"hint":{}}}"#,
            json!(tool),
            json!(hint)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_come_in_order_and_the_hint_names_the_handle() {
        let handle = Some(("list-3f9c2kq7m0xw", "kept 24 h"));
        let exceeded =
            Exceeded { tool: "list", tokens: 480_000, budget: 2000, handle, query_tool: "result_query" };
        let text = exceeded.text();
        assert!(text.starts_with(
            r#"{"error":"OUTPUT_BUDGET_EXCEEDED","tool":"list","tokens":480000,"budget":2000,"hint":"Lower limit or narrow fields and call again. The complete result is "#
        ));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(value["hint"].as_str().unwrap().contains(r#"result_query {"id":"list-3f9c2kq7m0xw"}"#));
    }
}
