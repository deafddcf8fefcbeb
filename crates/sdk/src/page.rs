//! Pages of a list, and the arguments that request one.
//!
//! Arguments are checked in two stages. [`PageArguments`] holds what the caller sent, of any type, so a tool can flatten
//! it into its own arguments. [`PageRules`] turn it into a [`PageRequest`], or into an [`ArgumentError`] that lists the
//! valid choices; a type that is [`Paged`] connects the two.

mod arguments;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tidegate_core::Tokens;
use tidegate_core::budget::Budget;

use crate::fields::{Fields, UnknownField, list_names};
use crate::text::excerpt;
use arguments::Given;
pub use arguments::{PageArguments, Paged};

/// A page of a list, with the total number of rows and the cursor of the next page. As JSON: `items`, `total` and
/// `nextCursor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// The number of rows in the whole list.
    pub total: u64,
    /// The cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// Applies a function to every row, such as [`Fields::apply`].
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        let items = self.items.into_iter().map(change).collect();
        Page { items, total: self.total, next_cursor: self.next_cursor }
    }
}

/// The limits and defaults of the page arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRules {
    /// Rows of a page by default.
    pub default_limit: usize,
    /// The largest `limit` a caller may request.
    pub max_limit: usize,
    /// The fields of a row; if empty, the argument `fields` is not offered.
    pub fields: Vec<String>,
    /// The fields shown by default; if empty, all of them.
    pub default_fields: Vec<String>,
    /// The token budget of an answer by default.
    pub default_tokens: Tokens,
    /// The largest token budget a caller may request.
    pub max_tokens: Tokens,
}

/// A valid request for one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Rows of the page.
    pub limit: usize,
    /// The cursor, to be decoded with [`crate::keyset::Keyset::decode`]; `None` for the first page.
    pub cursor: Option<String>,
    /// The fields to show; `None` for all.
    pub fields: Option<Fields>,
    /// The token budget of the answer.
    pub max_tokens: Tokens,
}

/// The error for an invalid page argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The arguments are not an object.
    #[error("arguments must be an object with any of limit, cursor, fields, max_tokens, not {given}")]
    Arguments {
        /// The beginning of the given value, as JSON.
        given: String,
    },
    /// A number has the wrong type, is zero or too high.
    #[error("{name} must be a whole number from 1 to {max}, not {given}")]
    Number {
        /// The name of the argument.
        name: &'static str,
        /// The largest value allowed.
        max: u64,
        /// The beginning of the given value, as JSON.
        given: String,
    },
    /// The cursor is not a string.
    #[error(
        "cursor must be nextCursor of the previous page, a string, not {given}; omit it for the first page"
    )]
    Cursor {
        /// The beginning of the given value, as JSON.
        given: String,
    },
    /// The fields are not a list of names.
    #[error("fields must be a list of names, not {given}; valid names are {}", list_names(valid))]
    Fields {
        /// The beginning of the given value, as JSON.
        given: String,
        /// The valid names.
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
    /// Returns the default rules for rows with these fields.
    pub fn with_fields<N: AsRef<str>>(fields: &[N]) -> Self {
        let fields = fields.iter().map(|name| name.as_ref().to_owned()).collect();
        Self { fields, ..Self::default() }
    }

    /// Reads the page arguments among the arguments of a call; others are ignored.
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
    /// Fails if an argument has the wrong type or is out of range, or if a field does not exist.
    pub fn read(&self, arguments: &Value) -> Result<PageRequest, ArgumentError> {
        let not_an_object = || ArgumentError::Arguments { given: quote(arguments) };
        let arguments = match arguments {
            Value::Null => Given::default(),
            Value::Object(_) => Given::deserialize(arguments).map_err(|_| not_an_object())?,
            _ => return Err(not_an_object()),
        };
        self.resolve_given(&arguments)
    }

    /// Checks arguments that are already deserialized.
    ///
    /// # Errors
    ///
    /// Fails if an argument has the wrong type or is out of range, or if a field does not exist.
    pub fn resolve<P>(&self, arguments: &PageArguments<P>) -> Result<PageRequest, ArgumentError> {
        self.resolve_given(&arguments.given)
    }

    fn resolve_given(&self, arguments: &Given) -> Result<PageRequest, ArgumentError> {
        let limit = number("limit", arguments.limit.as_ref(), self.max_limit as u64)?;
        let tokens = number("max_tokens", arguments.max_tokens.as_ref(), self.max_tokens.0)?;
        Ok(PageRequest {
            limit: limit
                .and_then(|limit| usize::try_from(limit).ok())
                .unwrap_or(self.default_limit.min(self.max_limit)),
            cursor: cursor(arguments.cursor.as_ref())?,
            fields: self.fields(arguments.fields.as_ref())?,
            max_tokens: tokens.map_or(self.default_tokens.min(self.max_tokens), Tokens),
        })
    }

    /// Returns the requested fields, or the default ones if the list is absent or empty.
    fn fields(&self, value: Option<&Value>) -> Result<Option<Fields>, ArgumentError> {
        let names = value.map(|value| self.names(value)).transpose()?.unwrap_or_default();
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
        names.ok_or_else(|| ArgumentError::Fields { given: quote(value), valid: self.fields.clone() })
    }

    /// Returns the page arguments as properties of a JSON schema.
    pub fn properties(&self) -> Map<String, Value> {
        let integer = |default: u64, max: u64| json!({"type": "integer", "minimum": 1, "maximum": max, "default": default});
        let mut fields = json!({"type": "array", "items": {"type": "string", "enum": self.fields}});
        if !self.default_fields.is_empty() {
            fields["default"] = json!(self.default_fields);
        }
        let mut properties = Map::new();
        properties.insert("limit".into(), integer(self.default_limit as u64, self.max_limit as u64));
        properties.insert(
            "cursor".into(),
            json!({"type": "string", "description": "nextCursor of the previous page"}),
        );
        if !self.fields.is_empty() {
            properties.insert("fields".into(), fields);
        }
        properties.insert("max_tokens".into(), integer(self.default_tokens.0, self.max_tokens.0));
        properties
    }
}

fn number(name: &'static str, value: Option<&Value>, max: u64) -> Result<Option<u64>, ArgumentError> {
    let Some(value) = value else { return Ok(None) };
    match value.as_u64().filter(|number| (1..=max).contains(number)) {
        Some(number) => Ok(Some(number)),
        None => Err(ArgumentError::Number { name, max, given: quote(value) }),
    }
}

fn cursor(value: Option<&Value>) -> Result<Option<String>, ArgumentError> {
    match value {
        None => Ok(None),
        Some(Value::String(cursor)) => Ok(Some(cursor.clone())),
        Some(other) => Err(ArgumentError::Cursor { given: quote(other) }),
    }
}

/// Returns the beginning of a value as JSON, for an error message.
fn quote(value: &Value) -> String {
    excerpt(&value.to_string()).to_owned()
}

#[cfg(test)]
mod tests;
