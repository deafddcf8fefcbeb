//! What an adapter can ask for besides requests and responses: a name and its input give a value.
//!
//! ```text
//! adapter: {"id":2,"session":"a","tool":"scan","wrap_response":{"data":[...],"summary":"Found 3","domain":"scan"}}
//! service: {"id":2,"value":"{\n  \"summary\": ..."}
//! ```
//!
//! | name | input | value |
//! |---|---|---|
//! | `count_tokens` | `text`, `limit` | `tokens`, and whether they are `within` the limit |
//! | `wrap_response` | `data`, `summary`, and optionally `limits`, `success`, `domain`, `artifact_ref` | the text of the answer |
//! | `create_summary` | `action`, `count`, and optionally `by_severity` | the summary |
//! | `store_artifact` | `domain`, `data`, and optionally `id` | the reference |
//! | `retrieve_artifact` | `reference` | the data |
//!
//! An artifact belongs to the caller of the line, and to the tier of its `tool`. The work itself is done by the gate, for the
//! SDK and for adapters alike.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tidegate_core::Tokens;
use tidegate_core::measure::Meter;
use tidegate_gate::wrap::{Response, ResponseLimits, create_summary};

use crate::link::Link;

/// Returns the value of a function, or the reason why there is none.
pub(super) fn compute(name: &str, input: &[u8], link: &Link, tool: Option<&str>) -> Result<Value, String> {
    // Data that the engine cannot handle must still be answered.
    catch_unwind(AssertUnwindSafe(|| value(name, input, link, tool)))
        .unwrap_or_else(|_| Err(format!("{name} failed inside tidegate")))
}

fn value(name: &str, input: &[u8], link: &Link, tool: Option<&str>) -> Result<Value, String> {
    match name {
        "count_tokens" => read(name, input).map(|given| count_tokens(&given)),
        "wrap_response" => read(name, input).and_then(|given| wrap_response(&given, link, tool)),
        "create_summary" => read(name, input).map(|given: SummaryInput| given.line()),
        "store_artifact" => {
            let StoreInput { domain, id, data } = read(name, input)?;
            link.store_artifact(tool, (&domain, id.as_deref()), &data.to_string()).map(Value::from)
        }
        "retrieve_artifact" => {
            read(name, input).and_then(|given: RetrieveInput| link.retrieve_artifact(&given.reference))
        }
        _ => Err(format!("there is no {name:?}")),
    }
}

fn read<T: DeserializeOwned>(name: &str, input: &[u8]) -> Result<T, String> {
    serde_json::from_slice(input).map_err(|error| format!("{name}: {error}"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CountInput {
    text: String,
    limit: Option<u64>,
}

/// Counts the tokens of a text; whether they are within the limit is known without counting all of it.
fn count_tokens(given: &CountInput) -> Value {
    let meter = Meter::default();
    // A meter takes a limit of a hundredth of what a number can be.
    let limit = Tokens(given.limit.unwrap_or(u64::MAX).min(u64::MAX / 100));
    let within = meter.count_up_to(&given.text, limit).is_some();
    json!({ "tokens": meter.count(&given.text).0, "within": within })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrapInput {
    data: Value,
    summary: String,
    #[serde(default)]
    limits: ResponseLimits,
    success: Option<bool>,
    /// The domain to store the data under, if anything is left out.
    domain: Option<String>,
    /// The reference to data that is stored already.
    artifact_ref: Option<String>,
}

/// Wraps data as an answer within the limits; returns its text.
fn wrap_response(given: &WrapInput, link: &Link, tool: Option<&str>) -> Result<Value, String> {
    let mut response = Response::new(&given.summary, &given.data).limits(given.limits);
    if given.success == Some(false) {
        response = response.failed();
    }
    match (&given.artifact_ref, &given.domain) {
        (Some(reference), _) => response = response.artifact(reference),
        (None, Some(domain)) if response.needs_artifact() => {
            let stored = link.store_artifact(tool, (domain, None), &given.data.to_string())?;
            response = response.artifact(stored);
        }
        _ => {}
    }
    response.wrap().map(|wrapped| wrapped.text().into()).map_err(|error| error.to_string())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SummaryInput {
    action: String,
    count: u64,
    /// Severities and their counts, in the order of the summary.
    by_severity: Option<Vec<(String, u64)>>,
}

impl SummaryInput {
    fn line(&self) -> Value {
        let counts = self.by_severity.as_ref();
        let counts: Option<Vec<(&str, u64)>> =
            counts.map(|counts| counts.iter().map(|(name, count)| (name.as_str(), *count)).collect());
        create_summary(&self.action, self.count, counts.as_deref()).into()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoreInput {
    domain: String,
    id: Option<String>,
    data: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RetrieveInput {
    reference: String,
}
