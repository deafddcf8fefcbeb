//! The strict shape of an answer: a summary, a success flag, up to ten items, a reference and a cursor.
//!
//! The builder truncates the summary and the labels. It drops items after the tenth and sets `hasMore`. Identifiers
//! (`id`, `artifactRef`, `nextCursor`) are useless when truncated, so an answer in which they are too long is an error.
//!
//! Invariant: only the builder makes a [`Contract`], so every `Contract` is within the limits.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LABEL_CHARS, MAX_ITEMS, ResponseLimits, SUMMARY_CHARS, result_bytes};
use crate::text::{excerpt, first_chars};

/// An answer in the strict shape.
///
/// ```
/// use tidegate_sdk::contract::{Contract, Item, Severity};
///
/// let answer = Contract::success("Found bugs: 15 items")
///     .count(15)
///     .item(Item::new("b1", "crash on empty config").severity(Severity::High))
///     .artifact_ref("ax://bugfix/s7")
///     .build()?;
/// assert_eq!(
///     serde_json::to_string(&answer).unwrap(),
///     r#"{"summary":"Found bugs: 15 items","success":true,"count":15,"items":[{"id":"b1","label":"crash on empty config","severity":"high"}],"artifactRef":"ax://bugfix/s7","hasMore":true}"#
/// );
/// # Ok::<(), tidegate_sdk::contract::ContractError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Contract {
    summary: String,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    items: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_more: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// One item of an answer, with just enough to decide whether to look at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Item {
    id: String,
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<Severity>,
}

/// The severity of an item; the most severe sorts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The most severe.
    Critical,
    /// Less severe than critical.
    High,
    /// Less severe than high.
    Medium,
    /// The least severe.
    Low,
}

/// The error for an unknown severity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("severity must be critical, high, medium or low, not {given:?}")]
pub struct UnknownSeverity {
    /// The beginning of the given text.
    pub given: String,
}

impl Severity {
    /// All severities, most severe first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Medium, Self::Low];

    /// Returns the name in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Severity {
    type Err = UnknownSeverity;

    fn from_str(text: &str) -> Result<Self, UnknownSeverity> {
        let found = Self::ALL.into_iter().find(|severity| severity.as_str() == text);
        found.ok_or_else(|| UnknownSeverity { given: excerpt(text).to_owned() })
    }
}

/// Why a [`Contract`] could not be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The summary is empty.
    #[error("the summary is empty; say in one line what the tool did")]
    NoSummary,
    /// The artifact reference is malformed.
    #[error("{given:?} is not an artifact reference; it must look like ax://domain/id")]
    Reference {
        /// The given reference.
        given: String,
    },
    /// Ids, reference or cursor are too long for the byte limit.
    #[error(
        "the answer has {bytes} bytes, but at most {max_bytes} are allowed; use shorter ids or fewer items"
    )]
    TooLarge {
        /// Bytes of the answer.
        bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
}

impl Item {
    /// Returns an item; the label is truncated to 50 characters.
    pub fn new(id: impl Into<String>, label: &str) -> Self {
        Self { id: id.into(), label: first_chars(label, LABEL_CHARS).to_owned(), severity: None }
    }

    /// Sets the severity.
    #[must_use]
    pub fn severity(self, severity: Severity) -> Self {
        Self { severity: Some(severity), ..self }
    }
}

impl Contract {
    /// Starts the answer of a tool that succeeded; the summary is truncated to 100 characters.
    pub fn success(summary: &str) -> ContractBuilder {
        ContractBuilder::new(summary, true)
    }

    /// Starts the answer of a tool that failed; the summary is truncated to 100 characters.
    pub fn failure(summary: &str) -> ContractBuilder {
        ContractBuilder::new(summary, false)
    }
}

/// Builds a [`Contract`].
#[derive(Debug, Clone)]
#[must_use = "call `build` or `fit` to get the answer"]
pub struct ContractBuilder {
    contract: Contract,
    max_bytes: usize,
}

impl ContractBuilder {
    fn new(summary: &str, success: bool) -> Self {
        let contract = Contract {
            summary: first_chars(summary, SUMMARY_CHARS).to_owned(),
            success,
            count: None,
            items: Vec::new(),
            artifact_ref: None,
            has_more: None,
            next_cursor: None,
        };
        Self { contract, max_bytes: ResponseLimits::default().max_bytes }
    }

    /// Sets the total count.
    pub fn count(mut self, count: u64) -> Self {
        self.contract.count = Some(count);
        self
    }

    /// Adds an item; after the tenth it only sets `hasMore`.
    pub fn item(mut self, item: Item) -> Self {
        if self.contract.items.len() < MAX_ITEMS {
            self.contract.items.push(item);
        } else {
            self.contract.has_more = Some(true);
        }
        self
    }

    /// Adds items; after the tenth it only sets `hasMore`.
    pub fn items(self, items: impl IntoIterator<Item = Item>) -> Self {
        items.into_iter().fold(self, Self::item)
    }

    /// Sets the reference to the stored data, `ax://domain/id`, and `hasMore`.
    pub fn artifact_ref(mut self, reference: impl Into<String>) -> Self {
        self.contract.artifact_ref = Some(reference.into());
        self.has_more()
    }

    /// Sets `hasMore`: there is more than the answer shows.
    pub fn has_more(mut self) -> Self {
        self.contract.has_more = Some(true);
        self
    }

    /// Sets the cursor of the next page, and `hasMore`.
    pub fn next_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.contract.next_cursor = Some(cursor.into());
        self.has_more()
    }

    /// Sets the byte limit of the answer, such as that of a [`super::Category`].
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Returns the answer.
    ///
    /// # Errors
    ///
    /// Fails if the summary is empty, the reference is malformed, or the answer exceeds the byte limit.
    pub fn build(self) -> Result<Contract, ContractError> {
        let Self { contract, max_bytes } = self;
        if contract.summary.trim().is_empty() {
            return Err(ContractError::NoSummary);
        }
        if let Some(given) = contract.artifact_ref.as_ref().filter(|given| !is_reference(given)) {
            return Err(ContractError::Reference { given: given.clone() });
        }
        let bytes = result_bytes(&contract);
        if bytes > max_bytes {
            return Err(ContractError::TooLarge { bytes, max_bytes });
        }
        Ok(contract)
    }

    /// Returns the answer with as many items as fit the byte limit.
    ///
    /// `cursor` gets the number of items shown and returns the cursor of the next page, or `None` on the last page.
    ///
    /// ```
    /// use tidegate_sdk::contract::{Contract, Item};
    ///
    /// let items = (0..10).map(|id| Item::new(id.to_string(), &"\u{1f30a}".repeat(50)));
    /// let cursor = |shown: usize| (shown < 10).then(|| format!("from-{shown}"));
    /// let answer = Contract::success("10 waves").items(items).max_bytes(1536).fit(cursor)?;
    /// let answer = serde_json::to_value(&answer).unwrap();
    /// assert_eq!(answer["items"].as_array().unwrap().len(), 5);
    /// assert_eq!(answer["nextCursor"], "from-5");
    /// # Ok::<(), tidegate_sdk::contract::ContractError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`Self::build`], and if not even one item fits.
    pub fn fit(mut self, cursor: impl Fn(usize) -> Option<String>) -> Result<Contract, ContractError> {
        let total = self.contract.items.len();
        loop {
            let shown = self.contract.items.len();
            self.contract.next_cursor = cursor(shown);
            if shown < total || self.contract.next_cursor.is_some() {
                self.contract.has_more = Some(true);
            }
            match self.clone().build() {
                Err(ContractError::TooLarge { .. }) if shown > 1 => self.contract.items.pop(),
                built => return built,
            };
        }
    }
}

fn is_reference(text: &str) -> bool {
    let parts = text.strip_prefix("ax://").and_then(|path| path.split_once('/'));
    parts.is_some_and(|(domain, id)| !domain.is_empty() && !id.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn value(builder: ContractBuilder) -> Value {
        serde_json::to_value(builder.build().unwrap()).unwrap()
    }

    #[test]
    fn unset_fields_are_absent() {
        assert_eq!(
            value(Contract::failure("no such trace")),
            json!({"summary": "no such trace", "success": false})
        );
    }

    #[test]
    fn summary_labels_and_items_are_truncated() {
        let items = (0..12).map(|id| Item::new(id.to_string(), &"é".repeat(60)));
        let answer = value(Contract::success(&"s".repeat(120)).items(items).count(12));
        assert_eq!(answer["summary"], "s".repeat(100));
        assert_eq!(answer["items"].as_array().unwrap().len(), 10);
        assert_eq!(answer["items"][0], json!({"id": "0", "label": "é".repeat(50)}));
        assert_eq!((&answer["hasMore"], &answer["count"]), (&json!(true), &json!(12)));
    }

    #[test]
    fn a_cursor_sets_has_more() {
        let answer = value(Contract::success("s").next_cursor("c"));
        assert_eq!(answer, json!({"summary": "s", "success": true, "hasMore": true, "nextCursor": "c"}));
    }

    #[test]
    fn invalid_answers_are_errors() {
        assert_eq!(Contract::success(" ").build(), Err(ContractError::NoSummary));
        for reference in ["", "ax://", "ax://x", "ax:///x", "ax://x/", "https://x/y"] {
            let error = Contract::success("s").artifact_ref(reference).build().unwrap_err();
            assert!(error.to_string().contains("ax://domain/id"), "{error}");
        }
        let long = Contract::success("s").item(Item::new("i".repeat(11_000), "label"));
        assert!(matches!(long.build(), Err(ContractError::TooLarge { max_bytes: 10_240, .. })));
        assert!(Contract::success("s").max_bytes(80).build().is_err());
    }

    #[test]
    fn as_many_items_as_fit_are_shown() {
        let items = |chars: usize| (0..10).map(move |n| Item::new(n.to_string().repeat(chars), "label"));
        let cursor = |shown: usize| (shown < 10).then(|| shown.to_string());
        let fit = |chars| Contract::success("s").items(items(chars)).max_bytes(1536).fit(cursor);
        let all = serde_json::to_value(fit(3).unwrap()).unwrap();
        assert_eq!(all["items"].as_array().unwrap().len(), 10);
        assert!(all.get("hasMore").is_none() && all.get("nextCursor").is_none(), "{all}");
        let some = serde_json::to_value(fit(400).unwrap()).unwrap();
        assert_eq!((&some["hasMore"], &some["nextCursor"]), (&json!(true), &json!("2")));
        assert_eq!(some["items"].as_array().unwrap().len(), 2);
        let more = Contract::success("s").items(items(400).take(3)).next_cursor("3").max_bytes(1536).build();
        assert!(matches!(more, Err(ContractError::TooLarge { .. })), "{more:?}");
        assert!(matches!(fit(2000), Err(ContractError::TooLarge { .. })));
        assert_eq!(Contract::success("").fit(|_| None), Err(ContractError::NoSummary));
    }

    #[test]
    fn the_schema_accepts_contracts() {
        let schema = schemars::schema_for!(Contract).to_value();
        let accepts = |value: &Value| tidegate_testkit::schema::accepts(&schema, &schema, value);
        assert!(accepts(&value(Contract::failure("no such trace"))));
        assert!(accepts(&value(Contract::success("s").item(Item::new("b1", "a bug")))));
        let item = Item::new("b2", "another bug").severity(Severity::High);
        let all = Contract::success("s").count(2).item(item).artifact_ref("ax://bugfix/s7").next_cursor("c");
        let all = value(all);
        assert!(accepts(&all));
        let known = schema["properties"].as_object().unwrap();
        assert!(
            all.as_object().unwrap().keys().all(|name| known.contains_key(name)),
            "the names that are sent"
        );
        assert_eq!(known.len(), all.as_object().unwrap().len());
        assert!(!accepts(&json!({"summary": "s"})), "without success");
        assert!(!accepts(&json!({"summary": "s", "success": true, "items": [{"id": "b1"}]})));
        let urgent = json!([{"id": "b1", "label": "a bug", "severity": "urgent"}]);
        assert!(!accepts(&json!({"summary": "s", "success": true, "items": urgent})));
    }

    #[test]
    fn a_severity_parses_from_its_name() {
        for severity in Severity::ALL {
            assert_eq!(severity.to_string().parse(), Ok(severity));
            assert_eq!(json!(severity), severity.as_str());
        }
        let error = "urgent".parse::<Severity>().unwrap_err();
        assert_eq!(error.to_string(), r#"severity must be critical, high, medium or low, not "urgent""#);
        assert!("x".repeat(900).parse::<Severity>().unwrap_err().given.len() < 100);
        assert!(Severity::Critical < Severity::Low);
    }
}
