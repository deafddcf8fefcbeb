//! `output: "summary" | "full"`: an argument with which a caller asks for all of a result at once.
//!
//! It is offered where tools are listed, unless the tool has an argument of that name; then the tool's own argument wins
//! and reaches the tool. A full output above its cap is attached instead of refused.

use serde_json::{Value, json};
use tidegate_core::Tokens;

use crate::policy::Policy;
use crate::raw;
use crate::style::items::short;

/// The name of our argument.
pub(crate) const NAME: &str = "output";
/// The values of our argument.
const CHOICES: [&str; 2] = ["summary", "full"];

/// The beginning of its description.
const DESCRIPTION: &str = "full: all of the result, attached above ";

/// Returns the member of a schema that offers our argument.
pub(crate) fn offered(max_tokens: Tokens) -> String {
    format!("\"{NAME}\":{}", schema(max_tokens))
}

/// Returns the schema of our argument; `max_tokens` is what a full result may cost.
fn schema(max_tokens: Tokens) -> Value {
    json!({
        "type": "string",
        "enum": CHOICES,
        "default": CHOICES[0],
        "description": format!("{DESCRIPTION}{max_tokens} tokens"),
    })
}

/// Returns whether a listed argument is the one that we offer, whatever a full result may cost.
pub(crate) fn is_ours(listed: &Value) -> bool {
    listed["description"].as_str().is_some_and(|description| description.starts_with(DESCRIPTION))
}

/// Returns the value of our argument in a call.
fn value_in(arguments: &[u8]) -> Option<Value> {
    let whole = raw::whole(arguments)?;
    let place = raw::member(arguments, &whole, NAME)?;
    serde_json::from_slice(&arguments[place]).ok().filter(|value: &Value| !value.is_null())
}

/// Returns whether a call asks for all of its result.
pub(crate) fn is_full(policy: &Policy, arguments: Option<&str>) -> bool {
    policy.offers_output
        && arguments.and_then(|arguments| value_in(arguments.as_bytes())).is_some_and(|value| value == "full")
}

/// Says what is wrong with our argument in a call, if anything is.
pub(crate) fn mistake(arguments: &[u8]) -> Option<String> {
    let value = value_in(arguments)?;
    let known = value.as_str().is_some_and(|value| CHOICES.contains(&value));
    (!known).then(|| {
        format!("{NAME} is {}, but should be one of {}", short(&value.to_string(), 80), CHOICES.join(", "))
    })
}
