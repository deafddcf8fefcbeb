//! The response contract: a summary, a few items, and a reference to the rest.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ErrorData, ServerHandler, tool, tool_handler, tool_router};
use serde::Deserialize;
use serde_json::{Value, json};
use tidegate_sdk::contract::{Response, ResponseLimits, create_summary, paginated_list, wrap_or_store};
use tidegate_sdk::{Artifacts, Contract};

#[derive(Clone)]
pub(crate) struct Bugs {
    artifacts: Artifacts,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Count {
    count: usize,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Trace {
    trace_id: String,
    count: usize,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Reference {
    reference: String,
}

const SEVERITIES: [&str; 4] = ["critical", "high", "medium", "low"];

fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

fn bugs(count: usize) -> Vec<Value> {
    let bug = |n: usize| json!({"id": format!("bug-{n}"), "title": format!("Something is wrong in part {n}"), "severity": SEVERITIES[n % 4], "log": "line\n".repeat(40)});
    (0..count).map(bug).collect()
}

#[tool_router]
impl Bugs {
    pub(crate) fn new(artifacts: &Artifacts) -> Self {
        Self { artifacts: artifacts.clone() }
    }

    #[tool(description = "Scans for bugs")]
    async fn bugfix_scan(&self, Parameters(Count { count }): Parameters<Count>) -> Result<String, ErrorData> {
        let bugs = bugs(count);
        let of = |severity: &str| bugs.iter().filter(|bug| bug["severity"] == severity).count() as u64;
        let counts: Vec<(&str, u64)> = SEVERITIES.iter().map(|severity| (*severity, of(severity))).collect();
        let summary = create_summary("Found bugs", count as u64, Some(&counts));
        let store =
            |data: &Value| self.artifacts.store("bugfix", data).map(|stored| stored.reference().to_owned());
        let answer = wrap_or_store(&json!({ "bugs": bugs }), &summary, ResponseLimits::default(), store);
        Ok(answer.map_err(failed)?.text())
    }

    #[tool(description = "Lists bugs")]
    async fn bugfix_list(&self, Parameters(Count { count }): Parameters<Count>) -> Result<String, ErrorData> {
        let list = paginated_list(&bugs(count), "bug", None, Some("title")).map_err(failed)?;
        serde_json::to_string(&list).map_err(failed)
    }

    #[tool(description = "The first and last event of a trace")]
    async fn trace_get(&self, Parameters(Count { count }): Parameters<Count>) -> Result<String, ErrorData> {
        let events: Vec<Value> = (0..count).map(|n| json!({"at": n, "event": format!("step {n}")})).collect();
        let shown = json!({"traceId": "t1", "status": "done", "eventCount": count, "startEvent": events.first(), "endEvent": events.last(), "errorSummary": null});
        let summary = format!("Trace t1: done ({count} events)");
        let stored = self.artifacts.store("trace", &events).map_err(failed)?;
        Ok(Response::new(&summary, &shown).artifact(stored.reference()).wrap().map_err(failed)?.text())
    }

    #[tool(description = "Keeps a trace under its own id")]
    async fn trace_keep(
        &self,
        Parameters(Trace { trace_id, count }): Parameters<Trace>,
    ) -> Result<String, ErrorData> {
        let events: Vec<Value> = (0..count).map(|n| json!({"at": n, "event": format!("step {n}")})).collect();
        let stored = self.artifacts.store_as("trace", &trace_id, &events).map_err(failed)?;
        let summary = format!("Trace {trace_id}: {count} events");
        Ok(Response::new(&summary, &Value::Null).artifact(stored.reference()).wrap().map_err(failed)?.text())
    }

    #[tool(description = "A status in the strict shape")]
    async fn status(&self) -> Result<String, ErrorData> {
        let contract =
            Contract::success(&create_summary("Checked", 3, None)).count(3).build().map_err(failed)?;
        serde_json::to_string(&contract).map_err(failed)
    }

    #[tool(description = "The artifact of a reference")]
    async fn artifact_get(
        &self,
        Parameters(Reference { reference }): Parameters<Reference>,
    ) -> Result<String, ErrorData> {
        Ok(self.artifacts.retrieve(&reference).map_err(failed)?.to_string())
    }
}

#[tool_handler]
impl ServerHandler for Bugs {}
