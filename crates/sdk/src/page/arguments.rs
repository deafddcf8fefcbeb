//! The page arguments as the caller sent them, and the rules that belong to them.
//!
//! [`PageArguments`] has its rules as a type parameter: a schema is derived from types alone, so the schema of a tool can
//! state the limits that the tool checks.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::{ArgumentError, PageRequest, PageRules};

/// A list with page rules of its own, for [`PageArguments`].
pub trait Paged {
    /// Returns the limits, the defaults and the fields of the list.
    fn rules() -> PageRules;

    /// Returns the page arguments as properties of a JSON schema.
    #[doc(hidden)]
    fn properties() -> Map<String, Value> {
        Self::rules().properties()
    }
}

/// The default rules. The fields of the rows are not known, so the schema allows any names.
impl Paged for () {
    fn rules() -> PageRules {
        PageRules::default()
    }

    fn properties() -> Map<String, Value> {
        let mut properties = Self::rules().properties();
        properties.insert("fields".into(), json!({"type": "array", "items": {"type": "string"}}));
        properties
    }
}

/// The page arguments as the caller sent them, unchecked; null means absent.
///
/// Flatten them into the arguments of a tool:
///
/// | argument | type | meaning |
/// |---|---|---|
/// | `limit` | integer | rows of the page, at most [`PageRules::max_limit`] |
/// | `cursor` | string | `nextCursor` of the previous page; absent for the first page |
/// | `fields` | list of strings | the fields of a row, among those of its `PageRules` |
/// | `max_tokens`, also `maxTokens` | integer | tokens of the page, at most [`PageRules::max_tokens`] |
///
/// The answer, a [`Page`](super::Page), has `items`, `total` and, unless it is the last page, `nextCursor`.
///
/// `P` provides the rules. [`Self::request`] checks the arguments against them, and the schema of the tool states their
/// limits, defaults and field names. Without `P`, the schema states those of [`PageRules::default`]; check the arguments with
/// [`PageRules::resolve`] then.
///
/// ```
/// use schemars::{JsonSchema, schema_for};
/// use serde::Deserialize;
/// use serde_json::json;
/// use tidegate_sdk::{PageArguments, PageRules, Paged};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Listing {
///     site: String,
///     #[serde(flatten)]
///     page: PageArguments<Self>,
/// }
///
/// impl Paged for Listing {
///     fn rules() -> PageRules {
///         PageRules { default_limit: 10, max_limit: 50, ..PageRules::with_fields(&["slug", "title"]) }
///     }
/// }
///
/// let schema = schema_for!(Listing).to_value();
/// assert_eq!(schema["properties"]["limit"], json!({"type": "integer", "minimum": 1, "maximum": 50, "default": 10}));
///
/// let asked: Listing = serde_json::from_value(json!({"site": "harbour", "limit": 60}))?;
/// let error = asked.page.request().unwrap_err();
/// assert_eq!(error.to_string(), "limit must be a whole number from 1 to 50, not 60");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub struct PageArguments<P = ()> {
    pub(super) given: Given,
    rules: PhantomData<fn() -> P>,
}

/// The values of the page arguments.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(super) struct Given {
    pub(super) limit: Option<Value>,
    pub(super) cursor: Option<Value>,
    pub(super) fields: Option<Value>,
    #[serde(alias = "maxTokens")]
    pub(super) max_tokens: Option<Value>,
}

impl<P: Paged> PageArguments<P> {
    /// Checks the arguments against the rules of `P`.
    ///
    /// # Errors
    ///
    /// Fails if an argument has the wrong type or is out of range, or if a field does not exist.
    pub fn request(&self) -> Result<PageRequest, ArgumentError> {
        P::rules().resolve(self)
    }
}

impl<P> From<Given> for PageArguments<P> {
    fn from(given: Given) -> Self {
        Self { given, rules: PhantomData }
    }
}

// Derived implementations would require the same traits of `P`, which is never a value.

impl<P> fmt::Debug for PageArguments<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.given.fmt(formatter)
    }
}

impl<P> Clone for PageArguments<P> {
    fn clone(&self) -> Self {
        self.given.clone().into()
    }
}

impl<P> Default for PageArguments<P> {
    fn default() -> Self {
        Given::default().into()
    }
}

impl<P> PartialEq for PageArguments<P> {
    fn eq(&self, other: &Self) -> bool {
        self.given == other.given
    }
}

impl<'de, P> Deserialize<'de> for PageArguments<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Given::deserialize(deserializer).map(Self::from)
    }
}

impl<P: Paged> JsonSchema for PageArguments<P> {
    fn schema_name() -> Cow<'static, str> {
        "PageArguments".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::from(Map::from_iter([
            ("type".into(), json!("object")),
            ("properties".into(), Value::Object(P::properties())),
        ]))
    }
}
