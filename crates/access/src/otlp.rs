//! Sends spans to a collector of OpenTelemetry: OTLP over HTTP, with JSON bodies.
//!
//! The protocol allows JSON as well as protobuf, and a span of the gateway has a dozen fields. So this file writes them over
//! the HTTP client that is there already; the crates of OpenTelemetry with their exporter would bring about 30 more, among
//! them a second HTTP client.
//!
//! ```text
//! record ─▶ queue (bounded; what does not fit is dropped and counted) ─▶ batch ─▶ POST, tried three times
//! ```
//!
//! A thread with a runtime of its own sends, so that a collector that is slow or gone costs calls nothing but the queue's memory.

use std::sync::mpsc as std_mpsc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tidegate_gate::causes;
use tidegate_gateway::trace::{Span, Trace, hex};
use tidegate_proxy::http::Remote;
use tokio::sync::{mpsc, watch};

use crate::govern::SpanCounts;

/// The most spans that wait.
pub const MAX_WAITING: usize = 4096;
/// The most spans in a request.
const MAX_BATCH: usize = 512;
/// How long further spans are waited for.
const GATHER_TIME: Duration = Duration::from_secs(1);
/// The pauses before a batch is sent again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// How long the end of the process waits for the last spans.
const MAX_FINISH_TIME: Duration = Duration::from_secs(3);
/// The numbers of the specification for the kind of a span that answers a request, and for the status of one that failed.
const KIND_SERVER: u64 = 2;
const STATUS_ERROR: u64 = 2;

/// Receives log lines.
pub type Log = Box<dyn Fn(&str) + Send>;

/// Sends spans to a collector.
pub struct OtlpTraces {
    queue: mpsc::Sender<Span>,
    counts: SpanCounts,
    is_ending: watch::Sender<bool>,
    /// Says when the thread has ended.
    ended: Mutex<std_mpsc::Receiver<()>>,
}

impl OtlpTraces {
    /// Begins to send spans to a collector, as those of a service of this name.
    pub fn start(collector: Remote, service: String, counts: SpanCounts, log: Log) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (queue, spans) = mpsc::channel(MAX_WAITING);
        let is_ending = watch::Sender::new(false);
        let (end, ended) = std_mpsc::channel();
        let sender = Sender {
            collector,
            service,
            counts: counts.clone(),
            log,
            is_down: false,
            is_ending: is_ending.subscribe(),
        };
        std::thread::Builder::new().name("traces".into()).spawn(move || {
            runtime.block_on(sender.send_all(spans));
            // Nobody may wait for it.
            let _ = end.send(());
        })?;
        Ok(Self { queue, counts, is_ending, ended: Mutex::new(ended) })
    }
}

impl Trace for OtlpTraces {
    fn record(&self, span: Span) {
        if self.queue.try_send(span).is_err() {
            self.counts.dropped(1);
        }
    }

    fn finish(&self) {
        self.is_ending.send_replace(true);
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(MAX_FINISH_TIME);
    }
}

/// State of the sender thread.
struct Sender {
    collector: Remote,
    service: String,
    counts: SpanCounts,
    log: Log,
    is_down: bool,
    is_ending: watch::Receiver<bool>,
}

impl Sender {
    /// Sends spans until there are no more, or until the process ends.
    async fn send_all(mut self, mut spans: mpsc::Receiver<Span>) {
        let mut batch = Vec::new();
        loop {
            let goes_on = tokio::select! {
                biased;
                count = spans.recv_many(&mut batch, MAX_BATCH) => count > 0,
                _ = self.is_ending.wait_for(|ending| *ending) => false,
            };
            match goes_on {
                true => self.gather(&mut spans, &mut batch).await,
                false => batch.extend(std::iter::from_fn(|| spans.try_recv().ok())),
            }
            while !batch.is_empty() {
                let rest = batch.split_off(batch.len().min(MAX_BATCH));
                self.send(std::mem::replace(&mut batch, rest)).await;
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Waits a moment for more spans.
    async fn gather(&mut self, spans: &mut mpsc::Receiver<Span>, batch: &mut Vec<Span>) {
        let is_full = async {
            while batch.len() < MAX_BATCH && spans.recv_many(batch, MAX_BATCH - batch.len()).await > 0 {}
        };
        tokio::select! {
            () = is_full => {}
            () = tokio::time::sleep(GATHER_TIME) => {}
            _ = self.is_ending.wait_for(|ending| *ending) => {}
        }
    }

    /// Sends spans, again if the collector may take them later.
    async fn send(&mut self, spans: Vec<Span>) {
        let (count, body) = (spans.len() as u64, body(&self.service, &spans).to_string());
        let body = Bytes::from(body);
        let mut pauses = PAUSES.iter();
        let problem = loop {
            let (problem, may_come) = match self.collector.post(body.clone()).await {
                Ok(status) if status.is_success() => break None,
                Ok(status) => (format!("the collector answered with status {status}"), is_temporary(status)),
                Err(error) => (causes(&error), true),
            };
            match pauses.next() {
                Some(pause) if may_come && !*self.is_ending.borrow() => {
                    let _ = tokio::time::timeout(*pause, self.is_ending.wait_for(|ending| *ending)).await;
                }
                _ => break Some(problem),
            }
        };
        match &problem {
            None => self.counts.sent(count),
            Some(_) => self.counts.dropped(count),
        }
        if problem.is_some() != self.is_down {
            self.is_down = problem.is_some();
            (self.log)(&match problem {
                Some(problem) => format!("traces cannot be sent, and are dropped: {problem}"),
                None => "traces are sent again".to_owned(),
            });
        }
    }
}

/// Returns whether the specification asks to send again.
fn is_temporary(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// Returns the body of a request.
fn body(service: &str, spans: &[Span]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({"resourceSpans": [{
        "resource": {"attributes": [text("service.name", service), text("service.version", version)]},
        "scopeSpans": [{
            "scope": {"name": "tidegate", "version": version},
            "spans": spans.iter().map(written).collect::<Vec<_>>(),
        }],
    }]})
}

/// Returns a span, with the names of the semantic conventions for MCP where they have one.
fn written(span: &Span) -> Value {
    let Span { method, tool, .. } = span;
    let mut attributes = vec![
        text("mcp.method.name", method),
        text("tidegate.server", &span.server),
        text("tidegate.outcome", span.outcome),
        number("tidegate.request.bytes", span.request_bytes),
        number("tidegate.response.bytes", span.response_bytes),
    ];
    match method.as_str() {
        _ if tool.is_empty() => {}
        "prompts/get" => attributes.push(text("gen_ai.prompt.name", tool)),
        _ => attributes.push(text("gen_ai.tool.name", tool)),
    }
    if let Some(code) = span.error_code {
        attributes.push(text("rpc.response.status_code", &code.to_string()));
    }
    let has_failed = matches!(span.outcome, "failed" | "unreachable" | "refused");
    if has_failed {
        attributes.push(text("error.type", span.outcome));
    }
    let name = if tool.is_empty() { method.clone() } else { format!("{method} {tool}") };
    let mut written = json!({
        "traceId": hex(&span.context.trace),
        "spanId": hex(&span.context.span),
        "name": name,
        "kind": KIND_SERVER,
        "startTimeUnixNano": nanoseconds(span.began),
        "endTimeUnixNano": nanoseconds(span.ended),
        "attributes": attributes,
        "status": if has_failed { json!({"code": STATUS_ERROR}) } else { json!({}) },
    });
    if let Some(parent) = &span.parent {
        written["parentSpanId"] = hex(parent).into();
    }
    written
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// 64-bit numbers are strings in the JSON of protobuf.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
