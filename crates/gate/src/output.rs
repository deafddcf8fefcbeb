//! `output: "summary" | "full"`: an argument with which a caller asks for all of a result at once.
//!
//! It is offered where tools are listed, unless the tool has one of that name itself; then what that one says is heeded
//! and reaches the tool. A full output above its cap is attached instead of refused.

use serde_json::{Value, json};

use crate::policy::Policy;
use crate::raw;
use crate::style::items::short;

/// The name of the argument.
pub(crate) const NAME: &str = "output";
/// What it can be.
const CHOICES: [&str; 2] = ["summary", "full"];

/// What offers it in a schema.
pub(crate) fn offered() -> String {
    format!("\"{NAME}\":{}", schema())
}

/// The schema of the argument.
pub(crate) fn schema() -> Value {
    json!({
        "type": "string",
        "enum": CHOICES,
        "description": "summary if absent; full: all of the result, attached where it is too large",
    })
}

/// What the arguments of a call say.
fn said(arguments: &[u8]) -> Option<Value> {
    let whole = raw::whole(arguments)?;
    let place = raw::member(arguments, &whole, NAME)?;
    serde_json::from_slice(&arguments[place]).ok().filter(|said: &Value| !said.is_null())
}

/// Returns whether a call asks for all of its result.
pub(crate) fn is_full(policy: &Policy, arguments: Option<&str>) -> bool {
    policy.offers_output
        && arguments.and_then(|arguments| said(arguments.as_bytes())).is_some_and(|said| said == "full")
}

/// Says what is wrong with the argument, where it is ours.
pub(crate) fn mistake(arguments: &[u8]) -> Option<String> {
    let said = said(arguments)?;
    let known = said.as_str().is_some_and(|said| CHOICES.contains(&said));
    (!known).then(|| {
        format!("{NAME} is {}, but should be one of {}", short(&said.to_string(), 80), CHOICES.join(", "))
    })
}
