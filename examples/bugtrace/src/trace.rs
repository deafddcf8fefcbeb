//! Traces: the events of a scan or run, each with its time.
//!
//! A [`Recorder`] collects the events. When it finishes, the [`Trace`] becomes an artifact and only its [`TraceSummary`]
//! stays in memory: the first and the last event, the errors in one line, and the metrics.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::rules::Rule;

/// An event of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    /// Microseconds since the start of the trace.
    pub(crate) at_us: u64,
    /// The kind of event.
    pub(crate) event: EventKind,
    /// The file, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// The details, in words.
    pub(crate) detail: String,
    /// The duration in microseconds, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) took_us: Option<u64>,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EventKind {
    /// The trace started.
    Start,
    /// A file was read and checked.
    FileRead,
    /// A rule found something.
    RuleHit,
    /// A step of a run is done.
    Step,
    /// Something could not be read or done.
    Error,
    /// The trace ended.
    End,
}

/// The outcome of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Everything was done.
    Completed,
    /// Some of it failed; the errors say what.
    Partial,
}

impl Status {
    /// Returns the name in lower case.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Partial => "partial",
        }
    }
}

/// All events of a scan or run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Trace {
    /// The id: `t1`, `t2`, ...
    pub(crate) trace_id: String,
    /// The tool, agent or workflow.
    pub(crate) operation: String,
    /// The outcome.
    pub(crate) status: Status,
    /// The start, in milliseconds since 1970.
    pub(crate) started_at_ms: u64,
    /// The duration in milliseconds.
    pub(crate) duration_ms: u64,
    /// The metrics.
    pub(crate) metrics: Metrics,
    /// All events in order.
    pub(crate) events: Vec<Event>,
}

/// The metrics of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metrics {
    /// Files read.
    pub(crate) files: u64,
    /// Bytes of those files.
    pub(crate) bytes: u64,
    /// Findings.
    pub(crate) hits: u64,
    /// Errors.
    pub(crate) errors: u64,
    /// Findings by rule.
    pub(crate) by_rule: BTreeMap<Rule, u64>,
    /// Microseconds spent on files.
    pub(crate) busy_us: u64,
    /// The slowest file and its microseconds.
    pub(crate) slowest: Option<(String, u64)>,
}

/// The summary of a trace that stays in memory.
#[derive(Debug, Clone)]
pub(crate) struct TraceSummary {
    pub(crate) id: String,
    pub(crate) operation: String,
    pub(crate) status: Status,
    pub(crate) duration_ms: u64,
    pub(crate) events: usize,
    pub(crate) first: Option<Event>,
    pub(crate) last: Option<Event>,
    /// The first error, and the number of others.
    pub(crate) errors: Option<String>,
    pub(crate) metrics: Metrics,
    pub(crate) reference: String,
}

/// Collects the events of a trace.
pub(crate) struct Recorder {
    operation: String,
    started: Instant,
    started_at_ms: u64,
    metrics: Metrics,
    events: Vec<Event>,
}

impl Recorder {
    pub(crate) fn start(operation: &str, detail: String) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut recorder = Self {
            operation: operation.to_owned(),
            started: Instant::now(),
            started_at_ms: since.as_millis() as u64,
            metrics: Metrics::default(),
            events: Vec::new(),
        };
        recorder.push(EventKind::Start, None, detail, None);
        recorder
    }

    fn push(&mut self, event: EventKind, path: Option<&str>, detail: String, took_us: Option<u64>) {
        let at_us = self.started.elapsed().as_micros() as u64;
        self.events.push(Event { at_us, event, path: path.map(str::to_owned), detail, took_us });
    }

    /// Records that a file was read and checked.
    pub(crate) fn file(&mut self, path: &str, bytes: usize, started: Instant) {
        let took = started.elapsed().as_micros() as u64;
        self.metrics.files += 1;
        self.metrics.bytes += bytes as u64;
        self.metrics.busy_us += took;
        if self.metrics.slowest.as_ref().is_none_or(|(_, longest)| took > *longest) {
            self.metrics.slowest = Some((path.to_owned(), took));
        }
        self.push(EventKind::FileRead, Some(path), format!("{bytes} bytes"), Some(took));
    }

    /// Records that a rule found something.
    pub(crate) fn hit(&mut self, rule: Rule, path: &str, line: usize) {
        self.metrics.hits += 1;
        *self.metrics.by_rule.entry(rule).or_default() += 1;
        self.push(EventKind::RuleHit, Some(path), format!("{} at line {line}", rule.name()), None);
    }

    /// Records that a step of a run is done.
    pub(crate) fn step(&mut self, detail: String, started: Instant) {
        self.push(EventKind::Step, None, detail, Some(started.elapsed().as_micros() as u64));
    }

    /// Records an error.
    pub(crate) fn error(&mut self, path: &str, reason: &str) {
        self.metrics.errors += 1;
        self.push(EventKind::Error, Some(path), reason.to_owned(), None);
    }

    /// Ends the trace.
    pub(crate) fn finish(mut self, trace_id: String) -> Trace {
        let status = if self.metrics.errors == 0 { Status::Completed } else { Status::Partial };
        let Metrics { files, hits, errors, .. } = &self.metrics;
        let detail = format!("{}: {files} files, {hits} hits, {errors} errors", status.name());
        self.push(EventKind::End, None, detail, None);
        let duration_ms = self.started.elapsed().as_millis() as u64;
        let Self { operation, started_at_ms, metrics, events, .. } = self;
        Trace { trace_id, operation, status, started_at_ms, duration_ms, metrics, events }
    }
}

impl Trace {
    /// Returns the summary of the trace, which is stored under `reference`.
    pub(crate) fn summarize(&self, reference: String) -> TraceSummary {
        let mut errors = self.events.iter().filter(|event| event.event == EventKind::Error);
        let error_line = errors.next().map(|first| {
            let (path, more) = (first.path.as_deref().unwrap_or("."), errors.count());
            let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
            format!("{path}: {}{more}", first.detail)
        });
        TraceSummary {
            id: self.trace_id.clone(),
            operation: self.operation.clone(),
            status: self.status,
            duration_ms: self.duration_ms,
            events: self.events.len(),
            first: self.events.first().cloned(),
            last: self.events.last().cloned(),
            errors: error_line,
            metrics: self.metrics.clone(),
            reference,
        }
    }
}

impl TraceSummary {
    /// Returns the trace in one line.
    pub(crate) fn summary(&self) -> String {
        let Self { id, operation, status, duration_ms, events, .. } = self;
        format!("Trace {id}: {operation} {} ({duration_ms} ms, {events} events)", status.name())
    }
}
