//! The tools: each takes its arguments and returns an answer or a failure.

mod memory;
mod scans;
mod sessions;
mod settings;
mod traces;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The arguments of `bugfix_scan` and `refactor_scan`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScanArguments {
    /// A file or folder below the root; default: the root
    pub(crate) path: Option<String>,
}

/// The arguments of `bugfix_list` and `refactor_list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FindingArguments {
    /// critical, high, medium or low
    pub(crate) severity: Option<String>,
    /// Name of a rule
    pub(crate) rule: Option<String>,
    /// At most 10
    pub(crate) limit: Option<u64>,
    /// nextCursor of the previous page
    pub(crate) cursor: Option<String>,
}

/// The arguments of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListArguments {
    /// At most 10
    pub(crate) limit: Option<u64>,
    /// nextCursor of the previous page
    pub(crate) cursor: Option<String>,
}

/// The arguments of `trace_get` and `trace_analyze`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceArguments {
    /// Name of a trace, such as t1; default: the latest
    pub(crate) trace: Option<String>,
}

/// The arguments of `agent_run`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentArguments {
    /// A name from agent_list
    pub(crate) agent: String,
    /// A file or folder below the root; default: the root
    pub(crate) path: Option<String>,
    /// For the explainer: the id of a finding
    pub(crate) finding: Option<String>,
}

/// The arguments of `workflow_run`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkflowArguments {
    /// A name from workflow_list
    pub(crate) workflow: String,
    /// A file or folder below the root; default: the root
    pub(crate) path: Option<String>,
}

/// The arguments of `session_status`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionArguments {
    /// A name from session_list; default: this session
    pub(crate) session: Option<String>,
}

/// The arguments of `memory_store`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoreArguments {
    /// 1 to 64 characters: letters, digits and - _ . : /
    pub(crate) key: String,
    /// Any JSON value
    pub(crate) value: Value,
}

/// The arguments of `memory_retrieve`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyArguments {
    /// A key from memory_search
    pub(crate) key: String,
}

/// The arguments of `memory_search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchArguments {
    /// Part of a key or value; default: all
    pub(crate) query: Option<String>,
    /// At most 10
    pub(crate) limit: Option<u64>,
    /// nextCursor of the previous page
    pub(crate) cursor: Option<String>,
}

/// The arguments of `config_get`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigArguments {
    /// A key of the configuration; default: list the keys
    pub(crate) key: Option<String>,
}

/// The arguments of `guard_check`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuardArguments {
    /// release (the default), size or strict
    pub(crate) guard: Option<String>,
    /// A file or folder below the root; default: the root
    pub(crate) path: Option<String>,
}
