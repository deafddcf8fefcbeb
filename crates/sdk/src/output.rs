//! Two answers of one tool: a summary by default, the full data on request.
//!
//! A tool with potentially large results takes an argument `output`. Summary and full answer are separate types, so
//! neither carries fields of the other, not even as null. Both are built from the same values:
//! [`crate::series::Series`] and [`crate::grid::Grid`] return references to entries and never compute new ones.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::text::excerpt;

/// The `output` argument of a tool: which answer the caller wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputMode {
    /// The short answer.
    #[default]
    Summary,
    /// The complete answer.
    Full,
}

/// The error for an unknown output mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("output must be \"summary\" or \"full\", not {given}")]
pub struct UnknownMode {
    /// The beginning of the given value, as JSON.
    pub given: String,
}

impl OutputMode {
    fn from_value(value: &Value) -> Result<Self, UnknownMode> {
        match value.as_str() {
            Some("summary") => Ok(Self::Summary),
            Some("full") => Ok(Self::Full),
            _ => Err(UnknownMode { given: excerpt(&value.to_string()).to_owned() }),
        }
    }
}

impl FromStr for OutputMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::from_value(&text.into())
    }
}

impl<'de> Deserialize<'de> for OutputMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for OutputMode {
    fn schema_name() -> Cow<'static, str> {
        "OutputMode".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": ["summary", "full"], "default": "summary" })
    }
}

impl<S: JsonSchema, F: JsonSchema> JsonSchema for SummaryOr<S, F> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", S::schema_name(), F::schema_name()).into()
    }

    /// The protocol requires an object at the root, so `type` is set beside the union. Each shape allows its own fields
    /// only, so that a summary is not valid as full, even where it has all fields of full and one more.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let shapes = [S::json_schema(generator), F::json_schema(generator)].map(closed);
        json_schema!({ "type": "object", "anyOf": shapes })
    }
}

/// Returns the schema of an object without other fields than its own, unless it already says what else it may have.
fn closed(mut schema: Schema) -> Schema {
    let open =
        ["additionalProperties", "unevaluatedProperties", "patternProperties", "anyOf", "oneOf", "allOf"];
    if schema.get("properties").is_some() && open.iter().all(|keyword| schema.get(*keyword).is_none()) {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    schema
}

/// A summary or the full answer; serializes as the one it holds.
///
/// Its schema is a union of both shapes, each with its own fields only. Give them different fields, so that a reader can
/// tell which one it got: a summary of a list may have the number of entries beside some of them.
///
/// ```
/// use serde::Serialize;
/// use tidegate_sdk::output::{OutputMode, SummaryOr};
///
/// #[derive(Serialize)]
/// struct Best { best: f64 }
/// #[derive(Serialize)]
/// struct All { best: f64, grid: Vec<f64> }
///
/// let grid = vec![5.5, 3.2];
/// let answer = SummaryOr::choose(OutputMode::Summary, || Best { best: 3.2 }, || All { best: 3.2, grid });
/// assert_eq!(serde_json::to_string(&answer).unwrap(), r#"{"best":3.2}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SummaryOr<S, F> {
    /// The summary.
    Summary(S),
    /// The full answer.
    Full(F),
}

impl<S, F> SummaryOr<S, F> {
    /// Builds the answer for a mode; the other closure is not called.
    pub fn choose(mode: OutputMode, summary: impl FnOnce() -> S, full: impl FnOnce() -> F) -> Self {
        match mode {
            OutputMode::Summary => Self::Summary(summary()),
            OutputMode::Full => Self::Full(full()),
        }
    }

    /// Returns the mode of this answer.
    pub fn mode(&self) -> OutputMode {
        match self {
            Self::Summary(_) => OutputMode::Summary,
            Self::Full(_) => OutputMode::Full,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    struct Arguments {
        #[serde(default)]
        output: OutputMode,
    }

    fn parse(arguments: Value) -> Result<OutputMode, String> {
        let parsed = serde_json::from_value::<Arguments>(arguments);
        parsed.map(|arguments| arguments.output).map_err(|error| error.to_string())
    }

    #[test]
    fn summary_is_the_default() {
        assert_eq!(parse(json!({})), Ok(OutputMode::Summary));
        assert_eq!(parse(json!({"output": "summary"})), Ok(OutputMode::Summary));
        assert_eq!(parse(json!({"output": "full"})), Ok(OutputMode::Full));
        assert_eq!(serde_json::to_value(OutputMode::Full).unwrap(), json!("full"));
    }

    #[test]
    fn the_error_lists_both_modes() {
        for (given, quoted) in [(json!("Full"), "\"Full\""), (json!(1), "1"), (json!(null), "null")] {
            let expected = format!("output must be \"summary\" or \"full\", not {quoted}");
            assert_eq!(parse(json!({"output": given})), Err(expected));
        }
        assert_eq!("".parse::<OutputMode>().unwrap_err().given, "\"\"");
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Few {
        states: Vec<f64>,
        of: u64,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct All {
        states: Vec<f64>,
    }

    #[test]
    fn a_summary_is_not_valid_as_full() {
        let schema = schemars::schema_for!(SummaryOr<Few, All>).to_value();
        let valid = |at: usize, value: &Value| {
            tidegate_testkit::schema::accepts(&schema["anyOf"][at], &schema, value)
        };
        let (summary, full) = (json!({"states": [1.5], "of": 7}), json!({"states": [1.5, 2.0]}));
        assert_eq!((valid(0, &summary), valid(1, &summary)), (true, false));
        assert_eq!((valid(0, &full), valid(1, &full)), (false, true));
    }

    #[test]
    fn only_the_chosen_answer_is_built() {
        let full =
            SummaryOr::choose(OutputMode::Full, || -> u8 { panic!("not asked for") }, || json!({"all": [1]}));
        assert_eq!(serde_json::to_value(&full).unwrap(), json!({"all": [1]}));
        assert_eq!(full.mode(), OutputMode::Full);
    }
}
