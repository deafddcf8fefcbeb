//! Wraps any data as an answer within the limits: a summary, the truncated data and a reference to the whole.
//!
//! The members of an object go beside `summary` and `success`. An array becomes `items`, `totalCount` and `showing`,
//! truncated or not; a string, number or boolean becomes `value`; null adds nothing. A member whose name the answer needs
//! itself (`summary`, `success`, and where they are written `artifactRef` and `hasMore`) is renamed to `data.summary` and
//! so on, so that nothing is lost. `hasMore` is there whenever something was truncated.
//!
//! Invariant: a tool result with the answer as its only text never exceeds `max_bytes`. If the limits alone do not
//! achieve that, all of them shrink until it fits.
//!
//! Servers in Rust use this as `tidegate_sdk::contract`, and the examples below are written for them. Servers in other
//! languages reach it through `tidegate shape --serve`.

mod flatten;
mod limits;
mod summary;
mod truncate;

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use crate::text::first_chars;
use flatten::flatten;
pub use limits::{ResponseLimits, result_bytes};
pub use summary::{SUMMARY_CHARS, create_summary};
pub use truncate::truncate;
use truncate::{Truncator, free_key};

/// An answer within its limits.
///
/// Serializes as an object with `summary`, `success`, the data, with a reference `artifactRef`, and `hasMore` if the data
/// is not all there is.
#[derive(Debug, Clone, PartialEq)]
pub struct Wrapped {
    summary: String,
    success: bool,
    data: Map<String, Value>,
    artifact_ref: Option<String>,
    has_more: bool,
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

/// Wraps data without storing it; `hasMore` says if something was truncated.
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

/// Wraps data, and stores it if anything is truncated; `store` returns the reference.
///
/// ```
/// # mod tidegate_sdk { pub use tidegate_gate::wrap as contract; }
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
    let response = Response::new(summary, data).limits(limits);
    if !response.needs_artifact() {
        return Ok(response.wrap()?);
    }
    Ok(response.artifact(store(data).map_err(StoreError::Store)?).wrap()?)
}

/// Builds a [`Wrapped`] answer step by step, for stores that [`wrap_or_store`] cannot call, such as async ones.
#[derive(Debug, Clone)]
pub struct Response<'a> {
    summary: &'a str,
    success: bool,
    data: &'a Value,
    limits: ResponseLimits,
    artifact_ref: Option<String>,
}

impl<'a> Response<'a> {
    /// Returns a builder with the default limits; the summary is truncated to 100 characters.
    pub fn new(summary: &'a str, data: &'a Value) -> Self {
        let summary = first_chars(summary, SUMMARY_CHARS);
        Self { summary, success: true, data, limits: ResponseLimits::default(), artifact_ref: None }
    }

    /// Says that the tool failed: `"success": false`.
    #[must_use]
    pub fn failed(self) -> Self {
        Self { success: false, ..self }
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

    /// Returns whether the answer would not show all of the data, so that it should be stored.
    pub fn needs_artifact(&self) -> bool {
        let mut counter = ByteCounter(0);
        // Counting cannot fail, and a `Value` has only string keys.
        let _ = serde_json::to_writer(&mut counter, self.data);
        counter.0 > self.limits.max_bytes || self.wrap().is_ok_and(|wrapped| wrapped.has_more)
    }

    /// Returns the answer.
    ///
    /// # Errors
    ///
    /// Fails if the byte limit is too small for the summary and the reference.
    pub fn wrap(&self) -> Result<Wrapped, ResponseTooLarge> {
        let data = self.flat();
        let mut step = 0;
        // This loop ends because every limit reaches zero after finitely many steps.
        loop {
            let truncator = Truncator::step(&self.limits, step);
            let wrapped = self.truncated(&data, &truncator);
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

    /// Returns the data with its nesting flattened as far as that is possible.
    fn flat(&self) -> Cow<'a, Value> {
        let levels = self.limits.max_json_depth;
        match self.data {
            // The answer itself and `items` are a level each, whether the array is truncated or not.
            Value::Array(items) => {
                let flat = |item: &Value| flatten(item, &self.limits, levels.saturating_sub(2));
                let shown = items.iter().take(self.limits.max_array_items);
                let shown: Vec<Option<Value>> = shown.map(flat).collect();
                if shown.iter().all(Option::is_none) {
                    return Cow::Borrowed(self.data);
                }
                let mut items = items.clone();
                items
                    .iter_mut()
                    .zip(shown)
                    .for_each(|(item, flat)| *item = flat.unwrap_or_else(|| item.take()));
                Cow::Owned(items.into())
            }
            data => flatten(data, &self.limits, levels).map_or(Cow::Borrowed(data), Cow::Owned),
        }
    }

    fn truncated(&self, data: &Value, truncator: &Truncator) -> Wrapped {
        let mut members = members(data, truncator, self.limits.max_json_depth);
        let has_more = self.artifact_ref.is_some() || !shows_all(&members, data);
        let mut success = self.success;
        // What the data says about success is not said twice.
        if let Some(Value::Bool(own)) = members.get("success")
            && success
        {
            success = *own;
            members.remove("success");
        }
        let names = [
            ("summary", true),
            ("success", true),
            ("artifactRef", self.artifact_ref.is_some()),
            ("hasMore", has_more),
        ];
        for (name, _) in names.into_iter().filter(|(_, is_written)| *is_written) {
            if let Some(value) = members.remove(name) {
                members.insert(free_key(&format!("data.{name}"), "data.", &members), value);
            }
        }
        Wrapped {
            summary: self.summary.to_owned(),
            success,
            data: members,
            artifact_ref: self.artifact_ref.clone(),
            has_more,
        }
    }
}

/// Returns the truncated data as members of the answer, which is the first of `levels` levels.
fn members(data: &Value, truncator: &Truncator, levels: usize) -> Map<String, Value> {
    let members = match data {
        Value::Null => return Map::new(),
        Value::Object(members) => return truncator.object(members, levels),
        Value::Array(items) => {
            let shown = truncator.items(items, levels.saturating_sub(2));
            let showing = shown.len();
            json!({"items": shown, "totalCount": items.len(), "showing": showing})
        }
        scalar => json!({"value": truncator.value(scalar, levels)}),
    };
    match members {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Returns whether the members of an answer are all of the data.
fn shows_all(members: &Map<String, Value>, data: &Value) -> bool {
    match data {
        Value::Null => true,
        Value::Object(data) => members == data,
        Value::Array(_) => members.get("items") == Some(data),
        scalar => members.get("value") == Some(scalar),
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
        map.serialize_entry("success", &self.success)?;
        for (key, value) in &self.data {
            map.serialize_entry(key, value)?;
        }
        if let Some(reference) = &self.artifact_ref {
            map.serialize_entry("artifactRef", reference)?;
        }
        if self.has_more {
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
