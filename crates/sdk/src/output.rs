//! Two answers of one tool: a summary unless the caller asks for everything.
//!
//! Tools whose results grow with what is asked for take an argument `output`. The two answers are two types, so
//! neither has fields of the other, not even as null. What a summary holds it takes from the same values as the full
//! answer: [`crate::series::Series`] and [`crate::grid::Grid`] lend entries, they never compute new ones.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Which answer a caller wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputMode {
    /// What answers the usual question.
    #[default]
    Summary,
    /// Everything.
    Full,
}

/// A mode that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("output must be \"summary\" or \"full\", not {given}")]
pub struct UnknownMode {
    /// What was given, as JSON.
    pub given: String,
}

impl OutputMode {
    fn of(value: &Value) -> Result<Self, UnknownMode> {
        match value.as_str() {
            Some("summary") => Ok(Self::Summary),
            Some("full") => Ok(Self::Full),
            _ => Err(UnknownMode { given: crate::shown(&value.to_string()).to_owned() }),
        }
    }
}

impl FromStr for OutputMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::of(&text.into())
    }
}

impl<'de> Deserialize<'de> for OutputMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
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

    /// Either shape; the protocol wants an object at the root.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (summary, full) = (generator.subschema_for::<S>(), generator.subschema_for::<F>());
        json_schema!({ "type": "object", "anyOf": [summary, full] })
    }
}

/// The answer in one of its two shapes; serializes as what it holds.
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
    /// The short one.
    Summary(S),
    /// The whole one.
    Full(F),
}

impl<S, F> SummaryOr<S, F> {
    /// Returns the answer of a mode; the other is not made.
    pub fn choose(mode: OutputMode, summary: impl FnOnce() -> S, full: impl FnOnce() -> F) -> Self {
        match mode {
            OutputMode::Summary => Self::Summary(summary()),
            OutputMode::Full => Self::Full(full()),
        }
    }

    /// Returns which of the two it is.
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

    fn read(arguments: Value) -> Result<OutputMode, String> {
        let read = serde_json::from_value::<Arguments>(arguments);
        read.map(|arguments| arguments.output).map_err(|error| error.to_string())
    }

    #[test]
    fn summary_is_the_default() {
        assert_eq!(read(json!({})), Ok(OutputMode::Summary));
        assert_eq!(read(json!({"output": "summary"})), Ok(OutputMode::Summary));
        assert_eq!(read(json!({"output": "full"})), Ok(OutputMode::Full));
        assert_eq!(serde_json::to_value(OutputMode::Full).unwrap(), json!("full"));
    }

    #[test]
    fn other_modes_are_told_the_two() {
        for (given, shown) in [(json!("Full"), "\"Full\""), (json!(1), "1"), (json!(null), "null")] {
            let expected = format!("output must be \"summary\" or \"full\", not {shown}");
            assert_eq!(read(json!({"output": given})), Err(expected));
        }
        assert_eq!("".parse::<OutputMode>().unwrap_err().given, "\"\"");
    }

    #[test]
    fn only_the_chosen_answer_is_made() {
        let full =
            SummaryOr::choose(OutputMode::Full, || -> u8 { panic!("not asked for") }, || json!({"all": [1]}));
        assert_eq!(serde_json::to_value(&full).unwrap(), json!({"all": [1]}));
        assert_eq!(full.mode(), OutputMode::Full);
    }
}
