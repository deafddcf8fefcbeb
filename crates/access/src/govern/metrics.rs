//! Metrics for Prometheus, labelled by server and tool, never by caller or argument.
//!
//! The number of labels is bounded: tools beyond [`MAX_TOOLS`] count as `other`, so that a server with ever new tool names
//! cannot fill the memory of the gateway or of Prometheus.

use std::collections::HashSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tidegate_gateway::calls::ServerState;
use tidegate_store::{Call, Usage};

/// The maximum number of tools with their own label.
pub const MAX_TOOLS: usize = 2000;
/// The server and tool label of all other tools.
const OTHER_TOOL: &str = "other";
/// The content type of the metrics.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The upper bounds of the latency histogram, in seconds.
const LATENCY_BUCKETS: [f64; 12] = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfTool {
    server: String,
    tool: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRequest {
    server: String,
    tool: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfServer {
    server: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfReason {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStep {
    server: String,
    tool: String,
    step: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSpan {
    outcome: &'static str,
}

/// Counts spans, by whether they were sent.
#[derive(Clone, Default)]
pub struct SpanCounts(Family<OfSpan, Counter>);

impl SpanCounts {
    /// Counts spans that were sent.
    pub(crate) fn sent(&self, count: u64) {
        self.0.get_or_create(&OfSpan { outcome: "sent" }).inc_by(count);
    }

    /// Counts spans that were dropped.
    pub(crate) fn dropped(&self, count: u64) {
        self.0.get_or_create(&OfSpan { outcome: "dropped" }).inc_by(count);
    }
}

type Latencies = Family<OfTool, Histogram, fn() -> Histogram>;

/// The metrics of a gateway.
pub struct Metrics {
    registry: Registry,
    requests: Family<OfRequest, Counter>,
    seconds: Latencies,
    refused: Family<OfReason, Counter>,
    results: Family<OfStep, Counter>,
    raw_tokens: Family<OfTool, Counter>,
    sent_tokens: Family<OfTool, Counter>,
    raw_bytes: Family<OfTool, Counter>,
    sent_bytes: Family<OfTool, Counter>,
    stored_bytes: Family<OfTool, Counter>,
    in_flight: Family<OfServer, Gauge>,
    open_circuits: Family<OfServer, Gauge>,
    waiting: Family<OfServer, Gauge>,
    up: Family<OfServer, Gauge>,
    connections: Family<OfServer, Gauge>,
    processes: Family<OfServer, Gauge>,
    kept_results: Gauge,
    kept_bytes: Gauge,
    audit_lines: Counter<u64, AtomicU64>,
    spans: SpanCounts,
    tools: Mutex<HashSet<(String, String)>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("tidegate");
        let latencies: fn() -> Histogram = || Histogram::new(LATENCY_BUCKETS);
        let metrics = Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(latencies),
            refused: Family::default(),
            results: Family::default(),
            raw_tokens: Family::default(),
            sent_tokens: Family::default(),
            raw_bytes: Family::default(),
            sent_bytes: Family::default(),
            stored_bytes: Family::default(),
            in_flight: Family::default(),
            open_circuits: Family::default(),
            waiting: Family::default(),
            up: Family::default(),
            connections: Family::default(),
            processes: Family::default(),
            kept_results: Gauge::default(),
            kept_bytes: Gauge::default(),
            audit_lines: Counter::default(),
            spans: SpanCounts::default(),
            tools: Mutex::default(),
            registry: Registry::default(),
        };
        registry.register("requests", "Requests to servers, by how they ended", metrics.requests.clone());
        registry.register_with_unit(
            "request_duration",
            "Time from admission of a request to its answer",
            Unit::Seconds,
            metrics.seconds.clone(),
        );
        registry.register("refused", "Requests that were not sent to a server", metrics.refused.clone());
        registry.register(
            "results",
            "Results and follow-ups, by what was done with them",
            metrics.results.clone(),
        );
        registry.register("raw_tokens", "Tokens of results of servers", metrics.raw_tokens.clone());
        registry.register("sent_tokens", "Tokens of answers", metrics.sent_tokens.clone());
        registry.register("raw_bytes", "Bytes of results of servers", metrics.raw_bytes.clone());
        registry.register("sent_bytes", "Bytes of answers", metrics.sent_bytes.clone());
        registry.register(
            "stored_bytes",
            "Bytes that new results take in the store",
            metrics.stored_bytes.clone(),
        );
        registry.register(
            "requests_in_flight",
            "Requests that servers are working on",
            metrics.in_flight.clone(),
        );
        registry.register(
            "upstream_circuit_open",
            "1 while requests to a server are refused because it keeps failing",
            metrics.open_circuits.clone(),
        );
        metrics.register_states(&mut registry);
        registry.register("audit_lines", "Lines written to the audit log", metrics.audit_lines.clone());
        registry.register("spans", "Spans of traces, by whether they were sent", metrics.spans.0.clone());
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// Registers what is measured when the metrics are read.
    fn register_states(&self, registry: &mut Registry) {
        for (name, help, family) in [
            ("requests_waiting", "Requests that wait for a place", &self.waiting),
            ("upstream_up", "1 if the lists of a server could be read the last time", &self.up),
            ("upstream_connections", "Open connections to a server", &self.connections),
            ("upstream_processes", "Processes of a server that is a command", &self.processes),
        ] {
            registry.register(name, help, family.clone());
        }
        registry.register("store_results", "Results in the store", self.kept_results.clone());
        registry.register("store_bytes", "Bytes of the results in the store", self.kept_bytes.clone());
    }

    /// Records the state of a server, and how many requests wait for it.
    pub(super) fn set_server(&self, server: &ServerState<'_>, waiting: usize) {
        let of_server = OfServer { server: server.name.into() };
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.waiting.get_or_create(&of_server).set(count(waiting));
        self.up.get_or_create(&of_server).set(i64::from(server.is_up));
        self.connections.get_or_create(&of_server).set(count(server.connections));
        if let Some(processes) = server.processes {
            self.processes.get_or_create(&of_server).set(count(processes));
        }
    }

    /// Records how much the store holds.
    pub(super) fn set_store(&self, usage: Usage) {
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.kept_results.set(count(usage.artifacts));
        self.kept_bytes.set(count(usage.stored_bytes));
    }

    /// Returns the labels of a tool; those of `other` if [`MAX_TOOLS`] is reached.
    fn of_tool(&self, server: &str, tool: &str) -> OfTool {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let known = (server.to_owned(), tool.to_owned());
        if tools.contains(&known) || tools.len() < MAX_TOOLS && tools.insert(known) {
            return OfTool { server: server.into(), tool: tool.into() };
        }
        OfTool { server: OTHER_TOOL.into(), tool: OTHER_TOOL.into() }
    }

    /// Counts a request that goes to a server.
    pub(super) fn began(&self, server: &str) {
        self.in_flight.get_or_create(&OfServer { server: server.into() }).inc();
    }

    /// Counts a request that has ended.
    pub(super) fn ended(&self, server: &str, tool: &str, outcome: &'static str, took: Duration) {
        self.in_flight.get_or_create(&OfServer { server: server.into() }).dec();
        let of_tool = self.of_tool(server, tool);
        let OfTool { server, tool } = of_tool.clone();
        self.requests.get_or_create(&OfRequest { server, tool, outcome }).inc();
        self.seconds.get_or_create(&of_tool).observe(took.as_secs_f64());
    }

    /// Counts a request that is refused.
    pub fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&OfReason { reason }).inc();
    }

    /// Counts a result or a follow-up.
    pub(super) fn result(&self, call: &Call) {
        let of_tool = self.of_tool(&call.server, &call.tool);
        let OfTool { server, tool } = of_tool.clone();
        self.results.get_or_create(&OfStep { server, tool, step: call.step.clone() }).inc();
        for (family, amount) in [
            (&self.raw_tokens, call.raw_tokens),
            (&self.sent_tokens, call.sent_tokens),
            (&self.raw_bytes, call.raw_bytes),
            (&self.sent_bytes, call.sent_bytes),
            (&self.stored_bytes, call.stored_bytes),
        ] {
            family.get_or_create(&of_tool).inc_by(amount);
        }
    }

    /// Records whether the circuit of a server is open.
    pub(super) fn set_open(&self, server: &str, is_open: bool) {
        self.open_circuits.get_or_create(&OfServer { server: server.into() }).set(i64::from(is_open));
    }

    /// Returns the counts of spans.
    pub fn spans(&self) -> SpanCounts {
        self.spans.clone()
    }

    /// Counts a line of the audit log.
    pub(super) fn audited(&self) {
        self.audit_lines.inc();
    }

    /// Returns all metrics as OpenMetrics text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_labelled_by_server_and_tool() {
        let metrics = Metrics::default();
        metrics.began("github");
        metrics.ended("github", "list_issues", "answered", Duration::from_millis(3));
        metrics.refused("rate");
        metrics.set_open("github", true);
        let state = ServerState { name: "github", is_up: true, connections: 3, processes: None };
        metrics.set_server(&state, 7);
        metrics.set_server(&ServerState { name: "jira", is_up: false, processes: Some(2), ..state }, 0);
        metrics.set_store(Usage { artifacts: 4, stored_bytes: 5000 });
        let text = metrics.text();
        for line in [
            "tidegate_requests_total{server=\"github\",tool=\"list_issues\",outcome=\"answered\"} 1",
            "tidegate_request_duration_seconds_bucket{le=\"0.005\",server=\"github\",tool=\"list_issues\"} 1",
            "tidegate_refused_total{reason=\"rate\"} 1",
            "tidegate_requests_in_flight{server=\"github\"} 0",
            "tidegate_upstream_circuit_open{server=\"github\"} 1",
            "tidegate_requests_waiting{server=\"github\"} 7",
            "tidegate_upstream_up{server=\"github\"} 1",
            "tidegate_upstream_up{server=\"jira\"} 0",
            "tidegate_upstream_connections{server=\"github\"} 3",
            "tidegate_upstream_processes{server=\"jira\"} 2",
            "tidegate_store_results 4",
            "tidegate_store_bytes 5000",
            "# EOF",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("tidegate_upstream_processes{server=\"github\"}"), "it has none: {text}");
    }

    #[test]
    fn tools_beyond_the_maximum_count_as_other() {
        let metrics = Metrics::default();
        for number in 0..MAX_TOOLS + 500 {
            metrics.began("s");
            metrics.ended("s", &format!("tool{number}"), "answered", Duration::ZERO);
        }
        let text = metrics.text();
        let lines = text.lines().filter(|line| line.starts_with("tidegate_requests_total{")).count();
        assert_eq!(lines, MAX_TOOLS + 1);
        assert!(
            text.contains(
                "tidegate_requests_total{server=\"other\",tool=\"other\",outcome=\"answered\"} 500"
            )
        );
    }
}
