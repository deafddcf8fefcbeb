//! Pages of a list, and the arguments with which one is asked for.
//!
//! Two stages: [`PageArguments`] is what a caller wrote, of whatever type; [`PageRules`] say what is allowed and turn
//! it into a [`PageRequest`]. So every mistake has one place where it is told, with the valid choices, and a tool can
//! flatten the arguments into its own.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tidegate_core::Tokens;
use tidegate_core::budget::Budget;

use crate::fields::{Fields, UnknownField, listed};

/// Some rows of a list, how many there are in all, and the way to the next ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// How many rows there are in all.
    pub total: u64,
    /// The cursor of the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// Returns the page with every row changed, such as written out or projected.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        let items = self.items.into_iter().map(change).collect();
        Page { items, total: self.total, next_cursor: self.next_cursor }
    }
}

/// The arguments of a page as they were written. Absent and null are the same.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct PageArguments {
    limit: Option<Value>,
    cursor: Option<Value>,
    fields: Option<Value>,
    #[serde(alias = "maxTokens")]
    max_tokens: Option<Value>,
}

impl JsonSchema for PageArguments {
    fn schema_name() -> Cow<'static, str> {
        "PageArguments".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut properties = PageRules::default().properties();
        properties.insert("fields".into(), json!({"type": "array", "items": {"type": "string"}}));
        Schema::from(Map::from_iter([
            ("type".into(), json!("object")),
            ("properties".into(), Value::Object(properties)),
        ]))
    }
}

/// What a caller may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRules {
    /// Rows of a page unless the caller says otherwise.
    pub default_limit: usize,
    /// Most rows of a page.
    pub max_limit: usize,
    /// The fields that rows have; nothing can be chosen where there are none.
    pub fields: Vec<String>,
    /// The fields shown unless the caller says otherwise; all where there are none.
    pub default_fields: Vec<String>,
    /// Most tokens of an answer unless the caller says otherwise.
    pub default_tokens: Tokens,
    /// Most tokens a caller can ask for.
    pub max_tokens: Tokens,
}

/// The page that is asked for, within the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Rows of the page.
    pub limit: usize,
    /// Where it begins; to be decoded by [`crate::keyset::Keyset::decode`].
    pub cursor: Option<String>,
    /// The fields to show; `None` for all.
    pub fields: Option<Fields>,
    /// Most tokens of the answer.
    pub max_tokens: Tokens,
}

/// An argument that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The arguments are no object.
    #[error("arguments must be an object with any of limit, cursor, fields, max_tokens, not {given}")]
    Arguments {
        /// What was given.
        given: String,
    },
    /// A number is of the wrong type, zero or too high.
    #[error("{name} must be a whole number from 1 to {max}, not {given}")]
    Number {
        /// The argument.
        name: &'static str,
        /// The highest that is allowed.
        max: u64,
        /// What was given.
        given: String,
    },
    /// The cursor is no string.
    #[error(
        "cursor must be the string that the last page has as nextCursor, not {given}; leave it out for the first page"
    )]
    Cursor {
        /// What was given.
        given: String,
    },
    /// The fields are no list of names.
    #[error("fields must be a list of names, not {given}; valid names are {}", listed(valid))]
    Fields {
        /// What was given.
        given: String,
        /// What could be.
        valid: Vec<String>,
    },
    /// A field does not exist.
    #[error(transparent)]
    UnknownField(#[from] UnknownField),
}

impl Default for PageRules {
    fn default() -> Self {
        Self {
            default_limit: 20,
            max_limit: 20,
            fields: Vec::new(),
            default_fields: Vec::new(),
            default_tokens: Budget::DEFAULT_TOKENS,
            max_tokens: Tokens(10_000),
        }
    }
}

impl PageRules {
    /// Returns the usual rules for rows with these fields.
    pub fn with_fields<N: AsRef<str>>(fields: &[N]) -> Self {
        let fields = fields.iter().map(|name| name.as_ref().to_owned()).collect();
        Self { fields, ..Self::default() }
    }

    /// Reads the arguments of a call; those that are not about pages are left alone.
    ///
    /// ```
    /// use serde_json::json;
    /// use tidegate_sdk::page::PageRules;
    ///
    /// let rules = PageRules::with_fields(&["slug", "title"]);
    /// assert_eq!(rules.read(&json!({"site": "harbour", "limit": 5}))?.limit, 5);
    /// assert_eq!(
    ///     rules.read(&json!({"limit": 50})).unwrap_err().to_string(),
    ///     "limit must be a whole number from 1 to 20, not 50"
    /// );
    /// # Ok::<(), tidegate_sdk::page::ArgumentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An argument of the wrong type or out of range, or a field that does not exist.
    pub fn read(&self, arguments: &Value) -> Result<PageRequest, ArgumentError> {
        let not_an_object = |_| ArgumentError::Arguments { given: given(arguments) };
        let written = match arguments {
            Value::Null => PageArguments::default(),
            Value::Object(_) => PageArguments::deserialize(arguments).map_err(not_an_object)?,
            other => return Err(ArgumentError::Arguments { given: given(other) }),
        };
        self.resolve(&written)
    }

    /// Checks arguments that were deserialized.
    ///
    /// # Errors
    ///
    /// An argument of the wrong type or out of range, or a field that does not exist.
    pub fn resolve(&self, written: &PageArguments) -> Result<PageRequest, ArgumentError> {
        let limit = number("limit", written.limit.as_ref(), self.max_limit as u64)?;
        let tokens = number("max_tokens", written.max_tokens.as_ref(), self.max_tokens.0)?;
        Ok(PageRequest {
            limit: limit
                .and_then(|limit| usize::try_from(limit).ok())
                .unwrap_or(self.default_limit.min(self.max_limit)),
            cursor: cursor(written.cursor.as_ref())?,
            fields: self.chosen(written.fields.as_ref())?,
            max_tokens: tokens.map_or(self.default_tokens.min(self.max_tokens), Tokens),
        })
    }

    /// An empty list chooses nothing, which is the same as no choice.
    fn chosen(&self, written: Option<&Value>) -> Result<Option<Fields>, ArgumentError> {
        let names = written.map(|value| self.names(value)).transpose()?.unwrap_or_default();
        if !names.is_empty() {
            return Ok(Some(Fields::among(&names, &self.fields)?));
        }
        if self.default_fields.is_empty() {
            return Ok(None);
        }
        Ok(Some(Fields::among(&self.default_fields, &self.fields)?))
    }

    fn names<'a>(&self, value: &'a Value) -> Result<Vec<&'a str>, ArgumentError> {
        let names = value.as_array().and_then(|names| names.iter().map(Value::as_str).collect());
        names.ok_or_else(|| ArgumentError::Fields { given: given(value), valid: self.fields.clone() })
    }

    /// Returns the arguments as the properties of a JSON schema.
    pub fn properties(&self) -> Map<String, Value> {
        let integer = |default: u64, max: u64| json!({"type": "integer", "minimum": 1, "maximum": max, "default": default});
        let mut fields = json!({"type": "array", "items": {"type": "string", "enum": self.fields}});
        if !self.default_fields.is_empty() {
            fields["default"] = json!(self.default_fields);
        }
        let mut properties = Map::new();
        properties.insert("limit".into(), integer(self.default_limit as u64, self.max_limit as u64));
        properties
            .insert("cursor".into(), json!({"type": "string", "description": "nextCursor of the last page"}));
        if !self.fields.is_empty() {
            properties.insert("fields".into(), fields);
        }
        properties.insert("max_tokens".into(), integer(self.default_tokens.0, self.max_tokens.0));
        properties
    }
}

fn number(name: &'static str, written: Option<&Value>, max: u64) -> Result<Option<u64>, ArgumentError> {
    let Some(value) = written else { return Ok(None) };
    match value.as_u64().filter(|number| (1..=max).contains(number)) {
        Some(number) => Ok(Some(number)),
        None => Err(ArgumentError::Number { name, max, given: given(value) }),
    }
}

fn cursor(written: Option<&Value>) -> Result<Option<String>, ArgumentError> {
    match written {
        None => Ok(None),
        Some(Value::String(cursor)) => Ok(Some(cursor.clone())),
        Some(other) => Err(ArgumentError::Cursor { given: given(other) }),
    }
}

/// A value in an error.
fn given(value: &Value) -> String {
    crate::shown(&value.to_string()).to_owned()
}

#[cfg(test)]
mod tests;
