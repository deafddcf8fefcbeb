//! Measures what both tools cost with and without tidegate, for the table in the README.

use serde_json::{Value, json};
use tidegate_sdk::visit::{Seen, VisitError, Visitor, thousands};
use tidegate_sdk::{Meter, Rules, StoreLocation};

use crate::satellite::{Start, StateVector};
use crate::{ISS, Propagation, PropagationError};

/// A cap above every result measured here.
const RAISED_CAP_TOKENS: u64 = 1_000_000;
const BUDGET_BYTES: u64 = 10_240;
const BUDGET_TOKENS: u64 = 1_000;

/// Returns the table in the README: the cost of both tools with and without tidegate.
///
/// # Errors
///
/// Fails if a tool does not answer.
pub async fn table() -> Result<String, VisitError> {
    let server = || crate::server().store_in(StoreLocation::Memory).quiet();
    let plain = Visitor::to(crate::plain()).await?;
    let gated = Visitor::to(server()).await?;
    let raised = Rules { full_cap_tokens: Some(RAISED_CAP_TOKENS), ..Rules::default() };
    let raised = Visitor::to(server().tools("*", raised)).await?;

    let mut table = "| call | server | `output` | bytes | tokens |\n|---|---|---|---:|---:|\n".to_owned();
    for (tool, call, arguments) in [
        ("porkchop", "`porkchop`, 30 x 30", json!({})),
        ("sgp4_propagate", "`sgp4_propagate`, 24 h by 1 min", json!({ "tle": ISS })),
    ] {
        let full = with_output(&arguments, "full");
        let mut row = |server: &str, output: &str, seen: &Seen| {
            let (bytes, tokens) = size(seen);
            table.push_str(&format!("| {call} | {server} | {output} | {bytes} | {tokens} |\n"));
        };
        row("`--plain`", "", &plain.call(tool, &arguments).await?);
        row("tidegate", "summary", &gated.call(tool, &arguments).await?);
        row("tidegate", "full, attached", &gated.call(tool, &full).await?);
        row("tidegate, cap raised", "full", &raised.call(tool, &full).await?);
    }
    Ok(table)
}

/// Returns the second table in the README: what the states of a day cost in other forms.
///
/// # Errors
///
/// Fails if the states cannot be computed.
pub fn state_table() -> Result<String, PropagationError> {
    let day = Propagation {
        tle: ISS.to_owned(),
        start: Start::Minutes(0.0),
        duration_minutes: 1440.0,
        step_minutes: 1.0,
    };
    let states = day.states()?.into_entries();
    let rounded = |numbers: [f64; 3]| numbers.map(|number| (number * 1000.0).round() / 1000.0);
    let row = |state: &StateVector| [rounded(state.position), rounded(state.velocity)].concat();
    let short = |state: &StateVector| {
        json!({ "epoch": state.epoch, "minutes": state.minutes, "position": rounded(state.position),
            "velocity": rounded(state.velocity) })
    };
    let forms: [(&str, Value); 3] = [
        ("as `full` sends them", json!(states)),
        ("rounded to m and m/s", states.iter().map(short).collect()),
        ("rounded, the six numbers alone", states.iter().map(row).collect()),
    ];
    let mut table =
        "| 1,441 states | bytes | bytes a state | tokens | bytes / 4 |\n|---|---:|---:|---:|---:|\n"
            .to_owned();
    for (form, states) in forms {
        let (text, count) = (states.to_string(), states.as_array().map_or(1, Vec::len));
        let (bytes, tokens) = (text.len() as u64, Meter::default().count(&text).0);
        let numbers = [bytes, bytes / count as u64, tokens, bytes / 4].map(thousands);
        table.push_str(&format!("| {form} | {} |\n", numbers.join(" | ")));
    }
    Ok(table)
}

fn with_output(arguments: &Value, output: &str) -> Value {
    let mut arguments = arguments.clone();
    arguments["output"] = output.into();
    arguments
}

/// Returns the bytes and tokens of an answer.
///
/// An attached result has a random name, which changes the size by a few bytes; the budget is shown instead.
fn size(seen: &Seen) -> (String, String) {
    let attached = seen.result.content.iter().any(|block| block.as_resource_link().is_some());
    let format = |count: u64, budget: u64| match attached && count <= budget {
        true => format!("at most {}", thousands(budget)),
        false => thousands(count),
    };
    (format(seen.bytes(), BUDGET_BYTES), format(seen.tokens(), BUDGET_TOKENS))
}
