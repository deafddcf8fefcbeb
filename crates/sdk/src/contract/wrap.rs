//! Any data as an answer within the limits: a summary, the data cut down, and a reference to the whole.
//!
//! The members of an object stand beside `summary`. An array becomes `items`, `totalCount` and `showing`, whether or
//! not it was cut; a string, number or boolean becomes `value`; null becomes nothing. A member of the data that has
//! a name this file needs (`summary` always, `artifactRef` and `hasMore` where there is a reference) is renamed to
//! `data.summary` and so on, so that neither is lost.
//!
//! Invariant: the result of a tool that holds the answer as its one text never has more than `max_bytes` bytes. If
//! the limits alone do not achieve that, all of them are made smaller until it fits.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use super::cut::{Cut, free_key};
use super::flatten::flatten;
use super::{ResponseLimits, SUMMARY_CHARS, first_chars, result_bytes};

/// An answer within its limits.
///
/// Serializes as an object: `summary`, the data, then `artifactRef` and `hasMore` if there is a reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Wrapped {
    summary: String,
    data: Map<String, Value>,
    artifact_ref: Option<String>,
}

/// Not even an answer without data fits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the answer needs {needed} bytes without any data, but max_bytes is {max_bytes}; raise it, or shorten the summary or the reference"
)]
pub struct NoRoom {
    /// Bytes of the answer without data.
    pub needed: usize,
    /// The limit.
    pub max_bytes: usize,
}

/// Why data could not be wrapped and kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError<E: std::error::Error + 'static> {
    /// The data could not be stored.
    #[error("the data could not be stored")]
    Store(#[source] E),
    /// The answer does not fit.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
}

/// Wraps data without keeping it anywhere.
///
/// # Errors
///
/// Where the limit on bytes leaves no room for the summary.
pub fn wrap_response(data: &Value, summary: &str, limits: ResponseLimits) -> Result<Wrapped, NoRoom> {
    Response::new(summary, data).limits(limits).wrap()
}

/// Wraps data, and stores them if they have more bytes than the limit; `store` returns the reference.
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
/// Where the store fails, or the limit on bytes leaves no room for the summary and the reference.
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

/// An answer in the making, step by step: for a store that has to be awaited.
#[derive(Debug, Clone)]
pub struct Response<'a> {
    summary: &'a str,
    data: &'a Value,
    limits: ResponseLimits,
    artifact_ref: Option<String>,
}

impl<'a> Response<'a> {
    /// Returns an answer with the default limits; of the summary the first 100 characters are kept.
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

    /// Returns whether the data as compact JSON have more bytes than the limit, so that they should be stored.
    pub fn needs_artifact(&self) -> bool {
        let mut counted = Counted(0);
        // Counting cannot fail, and a `Value` has only string keys.
        let _ = serde_json::to_writer(&mut counted, self.data);
        counted.0 > self.limits.max_bytes
    }

    /// Returns the answer.
    ///
    /// # Errors
    ///
    /// Where the limit on bytes leaves no room for summary and reference.
    pub fn wrap(&self) -> Result<Wrapped, NoRoom> {
        let flat = flatten(self.data, &self.limits);
        let data = flat.as_ref().unwrap_or(self.data);
        let mut step = 0;
        // Ends, since every limit is zero after finitely many steps.
        loop {
            let cut = Cut::step(&self.limits, step);
            let wrapped = self.cut(data, &cut);
            let needed = result_bytes(&wrapped);
            if needed <= self.limits.max_bytes {
                return Ok(wrapped);
            }
            if cut.is_least() {
                return Err(NoRoom { needed, max_bytes: self.limits.max_bytes });
            }
            step += 1;
        }
    }

    fn cut(&self, data: &Value, cut: &Cut) -> Wrapped {
        let mut members = spread(data, cut);
        let needed: &[&str] = match self.artifact_ref {
            Some(_) => &["summary", "artifactRef", "hasMore"],
            None => &["summary"],
        };
        for name in needed {
            if let Some(value) = members.remove(*name) {
                members.insert(free_key(&format!("data.{name}"), "data.", &members), value);
            }
        }
        Wrapped { summary: self.summary.to_owned(), data: members, artifact_ref: self.artifact_ref.clone() }
    }
}

/// Data as members of the answer.
fn spread(data: &Value, cut: &Cut) -> Map<String, Value> {
    let members = match data {
        Value::Null => return Map::new(),
        Value::Object(members) => return cut.object(members, 0),
        Value::Array(items) => {
            let shown = cut.items(items, 0);
            let showing = shown.len();
            json!({"items": shown, "totalCount": items.len(), "showing": showing})
        }
        scalar => json!({"value": cut.value(scalar, 0)}),
    };
    match members {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

impl Wrapped {
    /// Returns the answer as the text of a result: JSON with an indent of two.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns the answer as JSON without white space.
    pub fn compact(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the answer as a value.
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

/// Counts bytes and keeps none.
struct Counted(usize);

impl std::io::Write for Counted {
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
