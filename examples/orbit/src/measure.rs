//! The table of before and after, measured in this process.

use serde_json::{Value, json};
use tidegate_sdk::visit::{Seen, VisitError, Visitor, thousands};
use tidegate_sdk::{Place, Rules};

use crate::ISS;

/// Enough for everything that is measured here.
const RAISED: u64 = 1_000_000;
/// The budget of an answer, in bytes and tokens.
const BUDGET: (u64, u64) = (10_240, 2_000);

/// Measures both tools, as they were and with tidegate, and returns the table of the README.
///
/// # Errors
///
/// Where a tool does not answer.
pub async fn table() -> Result<String, VisitError> {
    let server = || crate::server().kept_in(Place::Memory).quiet();
    let plain = Visitor::to(crate::plain()).await?;
    let gated = Visitor::to(server()).await?;
    let raised = Rules { full_cap_tokens: Some(RAISED), ..Rules::default() };
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

fn with_output(arguments: &Value, output: &str) -> Value {
    let mut arguments = arguments.clone();
    arguments["output"] = output.into();
    arguments
}

/// Bytes and tokens of an answer. Where something is attached, its name is random and a few bytes come and go with it, so
/// the budget is told that it kept to.
fn size(seen: &Seen) -> (String, String) {
    let attached = seen.result.content.iter().any(|block| block.as_resource_link().is_some());
    let told = |count: u64, budget: u64| match attached && count <= budget {
        true => format!("at most {}", thousands(budget)),
        false => thousands(count),
    };
    (told(seen.bytes(), BUDGET.0), told(seen.tokens(), BUDGET.1))
}
