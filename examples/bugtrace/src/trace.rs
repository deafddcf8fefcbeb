//! What happened during a scan or a run, event by event, with the time of each.
//!
//! A recorder takes the events; when it ends, the trace becomes an artifact and only its note stays in memory: the first
//! and the last event, the errors in one line, and the metrics.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::rules::Rule;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    /// Microseconds since the beginning.
    pub(crate) at_us: u64,
    /// What happened.
    pub(crate) event: What,
    /// In which file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// The details, in words.
    pub(crate) detail: String,
    /// Microseconds that it took, where it took some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) took_us: Option<u64>,
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    /// It began.
    Start,
    /// A file was read and checked.
    FileRead,
    /// A rule found something.
    RuleHit,
    /// A step of a run is done.
    Step,
    /// Something could not be read or done.
    Error,
    /// It ended.
    End,
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Everything was done.
    Completed,
    /// Some of it could not be done; the errors say what.
    Partial,
}

impl Status {
    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Partial => "partial",
        }
    }
}

/// All that happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Trace {
    /// Its name: `t1`, `t2`, ...
    pub(crate) trace_id: String,
    /// The tool, agent or workflow.
    pub(crate) of: String,
    /// How it went.
    pub(crate) status: Status,
    /// Milliseconds since 1970.
    pub(crate) started_at_ms: u64,
    /// How long it took.
    pub(crate) duration_ms: u64,
    /// What it comes to.
    pub(crate) metrics: Metrics,
    /// Every event in order.
    pub(crate) events: Vec<Event>,
}

/// What the events of a trace come to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metrics {
    /// Files that were read.
    pub(crate) files: u64,
    /// Bytes of those.
    pub(crate) bytes: u64,
    /// Findings.
    pub(crate) hits: u64,
    /// What could not be read or done.
    pub(crate) errors: u64,
    /// Findings by rule.
    pub(crate) by_rule: BTreeMap<Rule, u64>,
    /// Microseconds inside files.
    pub(crate) busy_us: u64,
    /// The file that took longest.
    pub(crate) slowest: Option<(String, u64)>,
}

/// What stays in memory of a trace.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) id: String,
    pub(crate) of: String,
    pub(crate) status: Status,
    pub(crate) duration_ms: u64,
    pub(crate) events: usize,
    pub(crate) first: Option<Event>,
    pub(crate) last: Option<Event>,
    /// The first error, and how many more.
    pub(crate) errors: Option<String>,
    pub(crate) metrics: Metrics,
    pub(crate) reference: String,
}

/// Takes down what happens.
pub(crate) struct Recorder {
    of: String,
    started: Instant,
    started_at_ms: u64,
    metrics: Metrics,
    events: Vec<Event>,
}

impl Recorder {
    pub(crate) fn start(of: &str, detail: String) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut recorder = Self {
            of: of.to_owned(),
            started: Instant::now(),
            started_at_ms: since.as_millis() as u64,
            metrics: Metrics::default(),
            events: Vec::new(),
        };
        recorder.push(What::Start, None, detail, None);
        recorder
    }

    fn push(&mut self, event: What, path: Option<&str>, detail: String, took_us: Option<u64>) {
        let at_us = self.started.elapsed().as_micros() as u64;
        self.events.push(Event { at_us, event, path: path.map(str::to_owned), detail, took_us });
    }

    /// A file was read and checked.
    pub(crate) fn file(&mut self, path: &str, bytes: usize, began: Instant) {
        let took = began.elapsed().as_micros() as u64;
        self.metrics.files += 1;
        self.metrics.bytes += bytes as u64;
        self.metrics.busy_us += took;
        if self.metrics.slowest.as_ref().is_none_or(|(_, longest)| took > *longest) {
            self.metrics.slowest = Some((path.to_owned(), took));
        }
        self.push(What::FileRead, Some(path), format!("{bytes} bytes"), Some(took));
    }

    /// A rule found something.
    pub(crate) fn hit(&mut self, rule: Rule, path: &str, line: usize) {
        self.metrics.hits += 1;
        *self.metrics.by_rule.entry(rule).or_default() += 1;
        self.push(What::RuleHit, Some(path), format!("{} at line {line}", rule.name()), None);
    }

    /// A step of a run is done.
    pub(crate) fn step(&mut self, detail: String, began: Instant) {
        self.push(What::Step, None, detail, Some(began.elapsed().as_micros() as u64));
    }

    /// Something could not be read or done.
    pub(crate) fn error(&mut self, path: &str, why: &str) {
        self.metrics.errors += 1;
        self.push(What::Error, Some(path), why.to_owned(), None);
    }

    /// Ends the trace.
    pub(crate) fn finish(mut self, trace_id: String) -> Trace {
        let status = if self.metrics.errors == 0 { Status::Completed } else { Status::Partial };
        let Metrics { files, hits, errors, .. } = &self.metrics;
        let detail = format!("{}: {files} files, {hits} hits, {errors} errors", status.name());
        self.push(What::End, None, detail, None);
        let duration_ms = self.started.elapsed().as_millis() as u64;
        let Self { of, started_at_ms, metrics, events, .. } = self;
        Trace { trace_id, of, status, started_at_ms, duration_ms, metrics, events }
    }
}

impl Trace {
    /// What stays in memory.
    pub(crate) fn note(&self, reference: String) -> Note {
        let mut errors = self.events.iter().filter(|event| event.event == What::Error);
        let told = errors.next().map(|first| {
            let (path, more) = (first.path.as_deref().unwrap_or("."), errors.count());
            let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
            format!("{path}: {}{more}", first.detail)
        });
        Note {
            id: self.trace_id.clone(),
            of: self.of.clone(),
            status: self.status,
            duration_ms: self.duration_ms,
            events: self.events.len(),
            first: self.events.first().cloned(),
            last: self.events.last().cloned(),
            errors: told,
            metrics: self.metrics.clone(),
            reference,
        }
    }
}

impl Note {
    /// One line on it.
    pub(crate) fn summary(&self) -> String {
        let Self { id, of, status, duration_ms, events, .. } = self;
        format!("Trace {id}: {of} {} ({duration_ms} ms, {events} events)", status.name())
    }
}
