//! Wraps any data as an answer within the limits: a summary, the truncated data and a reference to the whole.
//!
//! The members of an object go beside `summary`. An array becomes `items`, `totalCount` and `showing`, truncated or not;
//! a string, number or boolean becomes `value`; null adds nothing. A member whose name is reserved (`summary`, and with
//! a reference also `artifactRef` and `hasMore`) is renamed to `data.summary` and so on, so that nothing is lost.
//!
//! Invariant: a tool result with the answer as its only text never exceeds `max_bytes`. If the limits alone do not
//! achieve that, all of them shrink until it fits.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use super::flatten::flatten;
use super::truncate::{Truncator, free_key};
use super::{ResponseLimits, SUMMARY_CHARS, result_bytes};
use crate::text::first_chars;

/// An answer within its limits.
///
/// Serializes as an object with `summary`, the data, and with a reference also `artifactRef` and `hasMore`.
#[derive(Debug, Clone, PartialEq)]
pub struct Wrapped {
    summary: String,
    data: Map<String, Value>,
    artifact_ref: Option<String>,
}

/// The error for a byte limit that even an answer without data exceeds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the answer needs {needed} bytes without any data, but max_bytes is {max_bytes}; raise it, or shorten the summary or the reference"
)]
pub struct ResponseTooLarge {
    /// Bytes of the answer without data.
    pub needed: usize,
    /// The byte limit.
    pub max_bytes: usize,
}

/// Why [`wrap_or_store`] failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError<E: std::error::Error + 'static> {
    /// The data could not be stored.
    #[error("the data could not be stored")]
    Store(#[source] E),
    /// The answer does not fit the byte limit.
    #[error(transparent)]
    ResponseTooLarge(#[from] ResponseTooLarge),
}

/// Wraps data without storing it.
///
/// # Errors
///
/// Fails if the byte limit is too small for the summary.
pub fn wrap_response(
    data: &Value,
    summary: &str,
    limits: ResponseLimits,
) -> Result<Wrapped, ResponseTooLarge> {
    Response::new(summary, data).limits(limits).wrap()
}

/// Wraps data, and stores it if it exceeds the byte limit; `store` returns the reference.
///
/// ```
/// use serde_json::json;
/// use tidegate_sdk::contract::{ResponseLimits, wrap_or_store};
///
/// let trace = json!({"id": "t1", "events": vec!["x".repeat(90); 200]});
/// let store = |_: &_| Ok::<_, std::io::Error>("ax://trace/t1".to_owned());
/// let answer = wrap_or_store(&trace, "Trace t1", ResponseLimits::default(), store)?.to_value();
/// assert_eq!((&answer["artifactRef"], &answer["hasMore"]), (&json!("ax://trace/t1"), &json!(true)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Fails if the store fails, or if the byte limit is too small for the summary and the reference.
pub fn wrap_or_store<E: std::error::Error + 'static>(
    data: &Value,
    summary: &str,
    limits: ResponseLimits,
    store: impl FnOnce(&Value) -> Result<String, E>,
) -> Result<Wrapped, StoreError<E>> {
    let mut response = Response::new(summary, data).limits(limits);
    if response.needs_artifact() {
        response = response.artifact(store(data).map_err(StoreError::Store)?);
    }
    Ok(response.wrap()?)
}

/// Builds a [`Wrapped`] answer step by step, for stores that [`wrap_or_store`] cannot call, such as async ones.
#[derive(Debug, Clone)]
pub struct Response<'a> {
    summary: &'a str,
    data: &'a Value,
    limits: ResponseLimits,
    artifact_ref: Option<String>,
}

impl<'a> Response<'a> {
    /// Returns a builder with the default limits; the summary is truncated to 100 characters.
    pub fn new(summary: &'a str, data: &'a Value) -> Self {
        let summary = first_chars(summary, SUMMARY_CHARS);
        Self { summary, data, limits: ResponseLimits::default(), artifact_ref: None }
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(self, limits: ResponseLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the reference to the stored data.
    #[must_use]
    pub fn artifact(self, reference: impl Into<String>) -> Self {
        Self { artifact_ref: Some(reference.into()), ..self }
    }

    /// Returns whether the data as compact JSON exceeds the byte limit and should be stored.
    pub fn needs_artifact(&self) -> bool {
        let mut counter = ByteCounter(0);
        // Counting cannot fail, and a `Value` has only string keys.
        let _ = serde_json::to_writer(&mut counter, self.data);
        counter.0 > self.limits.max_bytes
    }

    /// Returns the answer.
    ///
    /// # Errors
    ///
    /// Fails if the byte limit is too small for the summary and the reference.
    pub fn wrap(&self) -> Result<Wrapped, ResponseTooLarge> {
        let flat = flatten(self.data, &self.limits);
        let data = flat.as_ref().unwrap_or(self.data);
        let mut step = 0;
        // This loop ends because every limit reaches zero after finitely many steps.
        loop {
            let truncator = Truncator::step(&self.limits, step);
            let wrapped = self.truncated(data, &truncator);
            let needed = result_bytes(&wrapped);
            if needed <= self.limits.max_bytes {
                return Ok(wrapped);
            }
            if truncator.is_exhausted() {
                return Err(ResponseTooLarge { needed, max_bytes: self.limits.max_bytes });
            }
            step += 1;
        }
    }

    fn truncated(&self, data: &Value, truncator: &Truncator) -> Wrapped {
        let mut members = members(data, truncator);
        let reserved: &[&str] = match self.artifact_ref {
            Some(_) => &["summary", "artifactRef", "hasMore"],
            None => &["summary"],
        };
        for name in reserved {
            if let Some(value) = members.remove(*name) {
                members.insert(free_key(&format!("data.{name}"), "data.", &members), value);
            }
        }
        Wrapped { summary: self.summary.to_owned(), data: members, artifact_ref: self.artifact_ref.clone() }
    }
}

/// Returns the truncated data as members of the answer.
fn members(data: &Value, truncator: &Truncator) -> Map<String, Value> {
    let members = match data {
        Value::Null => return Map::new(),
        Value::Object(members) => return truncator.object(members, 0),
        Value::Array(items) => {
            let shown = truncator.items(items, 0);
            let showing = shown.len();
            json!({"items": shown, "totalCount": items.len(), "showing": showing})
        }
        scalar => json!({"value": truncator.value(scalar, 0)}),
    };
    match members {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

impl Wrapped {
    /// Returns the answer as pretty JSON, for the text of a tool result.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns the answer as compact JSON.
    pub fn compact(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the answer as a JSON value.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Serialize for Wrapped {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("summary", &self.summary)?;
        for (key, value) in &self.data {
            map.serialize_entry(key, value)?;
        }
        if let Some(reference) = &self.artifact_ref {
            map.serialize_entry("artifactRef", reference)?;
            map.serialize_entry("hasMore", &true)?;
        }
        map.end()
    }
}

/// A writer that only counts bytes.
struct ByteCounter(usize);

impl std::io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
