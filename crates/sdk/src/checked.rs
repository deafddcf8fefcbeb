//! Invalid arguments reported by the tool itself.
//!
//! rmcp answers arguments that do not deserialize with a protocol error, which many clients do not show to their model.
//! [`Checked`] always deserializes; the tool then gets either the arguments or an error that names the wrong argument and
//! lists the accepted ones. [`ToolError`] turns this and any other error into a result with `isError`.

use std::borrow::Cow;
use std::error::Error;

use rmcp::model::{ContentBlock, IntoContents};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use tidegate_gate::causes;

use crate::text::excerpt;

/// Arguments that may be invalid: `Parameters<Checked<Listing>>` instead of `Parameters<Listing>`.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::json;
/// use tidegate_sdk::checked::Checked;
///
/// #[derive(Debug, Deserialize, JsonSchema)]
/// struct One {
///     slug: String,
/// }
///
/// let given: Checked<One> = serde_json::from_value(json!({"slugg": "tides"}))?;
/// assert_eq!(
///     given.arguments().unwrap_err().to_string(),
///     "unknown argument \"slugg\"; accepted arguments: slug (string, required)"
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Checked<T>(Result<T, InvalidArguments>);

/// The error for arguments that a tool does not accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; accepted arguments: {accepted}")]
pub struct InvalidArguments {
    /// What is wrong.
    pub problem: String,
    /// The names of the accepted arguments with their types.
    pub accepted: String,
}

impl<T> Checked<T> {
    /// Returns the arguments.
    ///
    /// # Errors
    ///
    /// Fails if an argument is unknown, missing or of the wrong type.
    pub fn arguments(self) -> Result<T, InvalidArguments> {
        self.0
    }
}

impl<'de, T: DeserializeOwned + JsonSchema> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut given = Map::deserialize(deserializer)?;
        // Some models send every argument and set the unused ones to null.
        given.retain(|_, value| !value.is_null());
        let schema = SchemaGenerator::default().into_root_schema_for::<T>();
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let invalid =
            |problem| Err(InvalidArguments { problem, accepted: describe_arguments(&schema, properties) });
        if let Some(name) = given.keys().find(|name| !properties.contains_key(*name)) {
            return Ok(Self(invalid(format!("unknown argument {:?}", excerpt(name)))));
        }
        Ok(Self(parse(&given).or_else(|problem| match wrong_argument::<T>(&given, &problem) {
            Some(name) => invalid(format!("{name}: {problem}")),
            None => invalid(problem),
        })))
    }
}

fn parse<T: DeserializeOwned>(given: &Map<String, Value>) -> Result<T, String> {
    T::deserialize(Value::Object(given.clone())).map_err(|error| error.to_string())
}

/// Returns the argument that causes a problem: the problem disappears when that argument is left out.
fn wrong_argument<'g, T: DeserializeOwned>(given: &'g Map<String, Value>, problem: &str) -> Option<&'g str> {
    let causes_problem = |name: &String| {
        let rest = given.iter().filter(|(other, _)| *other != name);
        let rest = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
        parse::<T>(&rest).err().as_deref() != Some(problem)
    };
    given.keys().find(|name| causes_problem(name)).map(String::as_str)
}

impl<T: JsonSchema> JsonSchema for Checked<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("Checked<{}>", T::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.insert("additionalProperties".into(), false.into());
        schema
    }
}

fn describe_arguments(schema: &Schema, properties: &Map<String, Value>) -> String {
    if properties.is_empty() {
        return "none".to_owned();
    }
    let required = schema.get("required").and_then(Value::as_array);
    let describe = |(name, property): (&String, &Value)| {
        let is_required = required.is_some_and(|required| required.iter().any(|other| other == name));
        let suffix = if is_required { ", required" } else { "" };
        format!("{name} ({}{suffix})", describe_type(property))
    };
    properties.iter().map(describe).collect::<Vec<_>>().join(", ")
}

/// Returns the type of a property, with its choices or range where it has them.
fn describe_type(property: &Value) -> String {
    let types: Vec<&Value> = match &property["type"] {
        Value::Array(types) => types.iter().filter(|name| *name != "null").collect(),
        name => vec![name],
    };
    let types: Vec<&str> = types.into_iter().filter_map(Value::as_str).collect();
    let types = if types.is_empty() { "any".to_owned() } else { types.join(" or ") };
    match (property["enum"].as_array(), property["minimum"].as_u64(), property["maximum"].as_u64()) {
        (Some(choices), ..) => {
            let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
            format!("one of {}", choices.join(", "))
        }
        (None, Some(min), Some(max)) => format!("{types} from {min} to {max}"),
        _ => types,
    }
}

/// Any error, as a tool result with `isError`.
///
/// A tool returns `Result<String, ToolError>` and uses `?` on any error; the message includes the causes.
///
/// ```
/// use rmcp::handler::server::tool::IntoCallToolResult;
/// use tidegate_sdk::ToolError;
///
/// fn half(text: &str) -> Result<String, ToolError> {
///     let number: u32 = text.parse()?;
///     if number % 2 == 1 {
///         return Err(ToolError::new(format!("{number} is odd; give an even number")));
///     }
///     Ok((number / 2).to_string())
/// }
/// # let _ = half("3").into_call_tool_result();
/// assert_eq!(half("3").unwrap_err().message(), "3 is odd; give an even number");
/// assert_eq!(half("x").unwrap_err().message(), "invalid digit found in string");
/// ```
// It does not implement `Error`, which would conflict with `From<E: Error>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError(String);

impl ToolError {
    /// Returns an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Returns an error whose message is a value as JSON.
    pub fn json(error: &impl Serialize) -> Self {
        Self(serde_json::to_string(error).unwrap_or_else(|error| error.to_string()))
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.0
    }
}

impl<E: Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self(causes(&error))
    }
}

impl IntoContents for ToolError {
    fn into_contents(self) -> Vec<ContentBlock> {
        vec![ContentBlock::text(self.0)]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::page::{PageArguments, PageRules};

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Listing {
        site: Option<String>,
        slug: String,
        #[serde(flatten)]
        page: PageArguments,
    }

    fn checked(given: Value) -> Result<Listing, String> {
        let checked: Checked<Listing> = serde_json::from_value(given).unwrap();
        checked.arguments().map_err(|error| error.to_string())
    }

    const ACCEPTED: &str = "accepted arguments: cursor (string), fields (array), limit (integer from 1 to 20), max_tokens (integer \
                            from 1 to 10000), site (string), slug (string, required)";

    #[test]
    fn valid_arguments_are_parsed() {
        let listing = checked(json!({"slug": "tides", "site": null, "limit": 3})).unwrap();
        assert_eq!((listing.slug.as_str(), &listing.site), ("tides", &None));
        assert_eq!(PageRules::default().resolve(&listing.page).unwrap().limit, 3);
    }

    #[test]
    fn every_error_lists_the_accepted_arguments() {
        for (given, problem) in [
            (json!({}), "missing field `slug`"),
            (json!({"slug": 3}), "slug: invalid type: integer `3`, expected a string"),
            (json!({"slug": "a", "sluug": 1}), "unknown argument \"sluug\""),
        ] {
            assert_eq!(checked(given).unwrap_err(), format!("{problem}; {ACCEPTED}"));
        }
    }

    #[test]
    fn the_schema_allows_no_other_arguments() {
        let schema = SchemaGenerator::default().into_root_schema_for::<Checked<Listing>>();
        let plain = SchemaGenerator::default().into_root_schema_for::<Listing>();
        assert_eq!(schema.get("properties"), plain.get("properties"));
        assert_eq!(schema.get("additionalProperties"), Some(&json!(false)));
    }

    #[test]
    fn the_message_includes_the_causes() {
        let error = rmcp::ErrorData::invalid_params("wrong", None);
        assert!(ToolError::from(error).message().contains("wrong"));
        assert_eq!(ToolError::json(&json!({"error": "X"})).message(), r#"{"error":"X"}"#);
    }
}
