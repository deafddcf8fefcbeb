//! Mistakes in the arguments of a call, told by the tool itself.
//!
//! rmcp answers arguments that do not deserialize with an error of the protocol, which many clients do not show to their
//! model. [`Checked`] always deserializes and tells the mistake where the tool looks, with the argument it is about and
//! everything that is accepted; [`ToolError`] turns it, and any other error, into a result that says `isError`.

use std::borrow::Cow;
use std::error::Error;

use rmcp::model::{ContentBlock, IntoContents};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use tidegate_gate::causes;

/// Arguments that may be wrong: `Parameters<Checked<Listing>>` instead of `Parameters<Listing>`.
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
///     "there is no argument \"slugg\"; accepted are slug (string, required)"
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Checked<T>(Result<T, InvalidArguments>);

/// Arguments that a tool does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; accepted are {accepted}")]
pub struct InvalidArguments {
    /// What is wrong.
    pub problem: String,
    /// The names of the arguments, with what they are.
    pub accepted: String,
}

impl<T> Checked<T> {
    /// Returns the arguments.
    ///
    /// # Errors
    ///
    /// An argument that there is not, that is missing, or of another type.
    pub fn arguments(self) -> Result<T, InvalidArguments> {
        self.0
    }
}

impl<'de, T: DeserializeOwned + JsonSchema> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut given = Map::deserialize(deserializer)?;
        // Some models fill in all arguments there are; null is as good as absent.
        given.retain(|_, value| !value.is_null());
        let schema = SchemaGenerator::default().into_root_schema_for::<T>();
        let empty = Map::new();
        let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let refused = |problem| Err(InvalidArguments { problem, accepted: accepted(&schema, known) });
        if let Some(name) = given.keys().find(|name| !known.contains_key(*name)) {
            return Ok(Self(refused(format!("there is no argument {:?}", crate::shown(name)))));
        }
        Ok(Self(read(&given).or_else(|mistake| match culprit::<T>(&given, &mistake) {
            Some(name) => refused(format!("{name}: {mistake}")),
            None => refused(mistake),
        })))
    }
}

fn read<T: DeserializeOwned>(given: &Map<String, Value>) -> Result<T, String> {
    T::deserialize(Value::Object(given.clone())).map_err(|error| error.to_string())
}

/// The argument that a mistake is about: the one without which it is not made.
fn culprit<'g, T: DeserializeOwned>(given: &'g Map<String, Value>, mistake: &str) -> Option<&'g str> {
    let makes_it = |name: &String| {
        let rest = given.iter().filter(|(other, _)| *other != name);
        let rest = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
        read::<T>(&rest).err().as_deref() != Some(mistake)
    };
    given.keys().find(|name| makes_it(name)).map(String::as_str)
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

/// The arguments of a schema in words.
fn accepted(schema: &Schema, known: &Map<String, Value>) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let words = |(name, property): (&String, &Value)| {
        let must = required.is_some_and(|required| required.iter().any(|other| other == name));
        let must = if must { ", required" } else { "" };
        format!("{name} ({}{must})", kind(property))
    };
    if known.is_empty() { "none".to_owned() } else { known.iter().map(words).collect::<Vec<_>>().join(", ") }
}

/// What a value may be.
fn kind(property: &Value) -> String {
    let kinds: Vec<&Value> = match &property["type"] {
        Value::Array(kinds) => kinds.iter().filter(|kind| *kind != "null").collect(),
        kind => vec![kind],
    };
    let kinds: Vec<&str> = kinds.into_iter().filter_map(Value::as_str).collect();
    let kind = if kinds.is_empty() { "any".to_owned() } else { kinds.join(" or ") };
    match (property["enum"].as_array(), property["minimum"].as_u64(), property["maximum"].as_u64()) {
        (Some(choices), ..) => {
            let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
            format!("one of {}", choices.join(", "))
        }
        (None, Some(least), Some(most)) => format!("{kind} from {least} to {most}"),
        _ => kind,
    }
}

/// Whatever went wrong, as the result of a tool: `Result<String, ToolError>`, with `?` for any error.
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
// Like every type that any error turns into, it is none itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError(String);

impl ToolError {
    /// Returns an error that says this.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Returns an error that says this as JSON, for those that have a form of their own.
    pub fn json(error: &impl Serialize) -> Self {
        Self(serde_json::to_string(error).unwrap_or_else(|error| error.to_string()))
    }

    /// Returns what it says.
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

    const ACCEPTED: &str = "accepted are cursor (string), fields (array), limit (integer from 1 to 20), max_tokens (integer \
                            from 1 to 10000), site (string), slug (string, required)";

    #[test]
    fn arguments_within_the_schema_are_read() {
        let listing = checked(json!({"slug": "tides", "site": null, "limit": 3})).unwrap();
        assert_eq!((listing.slug.as_str(), &listing.site), ("tides", &None));
        assert_eq!(PageRules::default().resolve(&listing.page).unwrap().limit, 3);
    }

    #[test]
    fn every_mistake_says_what_is_accepted() {
        for (given, problem) in [
            (json!({}), "missing field `slug`"),
            (json!({"slug": 3}), "slug: invalid type: integer `3`, expected a string"),
            (json!({"slug": "a", "sluug": 1}), "there is no argument \"sluug\""),
        ] {
            assert_eq!(checked(given).unwrap_err(), format!("{problem}; {ACCEPTED}"));
        }
    }

    #[test]
    fn the_schema_is_that_of_the_arguments_and_of_nothing_else() {
        let schema = SchemaGenerator::default().into_root_schema_for::<Checked<Listing>>();
        let plain = SchemaGenerator::default().into_root_schema_for::<Listing>();
        assert_eq!(schema.get("properties"), plain.get("properties"));
        assert_eq!(schema.get("additionalProperties"), Some(&json!(false)));
    }

    #[test]
    fn causes_are_told() {
        let error = rmcp::ErrorData::invalid_params("wrong", None);
        assert!(ToolError::from(error).message().contains("wrong"));
        assert_eq!(ToolError::json(&json!({"error": "X"})).message(), r#"{"error":"X"}"#);
    }
}
