//! The tools `trace_get` and `trace_analyze`.

use serde_json::json;
use tidegate_sdk::contract::Item;

use super::TraceArguments;
use crate::answer::{Answer, Failure, quote};
use crate::backend::Backend;
use crate::trace::TraceSummary;

impl Backend {
    /// Returns the first and the last event of a trace, and its errors.
    pub(crate) fn trace_get(&self, arguments: &TraceArguments) -> Result<Answer, Failure> {
        let trace = self.trace(arguments)?;
        let figures = json!({
            "traceId": trace.id, "status": trace.status, "durationMs": trace.duration_ms, "eventCount": trace.events,
            "startEvent": trace.first, "endEvent": trace.last, "errorSummary": trace.errors,
        });
        Ok(Answer::figures(trace.summary(), figures).stored(&trace.reference, None))
    }

    /// Returns the metrics of a trace.
    pub(crate) fn trace_analyze(&self, arguments: &TraceArguments) -> Result<Answer, Failure> {
        let trace = self.trace(arguments)?;
        let metrics = &trace.metrics;
        let slowest = metrics.slowest.as_ref().map(|(path, took)| json!({"path": path, "tookUs": took}));
        let figures = json!({
            "traceId": trace.id, "durationMs": trace.duration_ms, "files": metrics.files, "bytes": metrics.bytes,
            "hits": metrics.hits, "errors": metrics.errors, "byRule": metrics.by_rule, "slowestFile": slowest,
            "busyMs": metrics.busy_us / 1000,
        });
        let (hits, files) = (metrics.hits, metrics.files);
        let summary = format!("Trace {}: {hits} hits in {files} files, {} ms", trace.id, trace.duration_ms);
        Ok(Answer::figures(summary, figures).stored(&trace.reference, None))
    }

    fn trace(&self, arguments: &TraceArguments) -> Result<TraceSummary, Failure> {
        let (journal, caller) = (self.journal(), self.artifacts.caller_key());
        if let Some(trace) = journal.trace(&caller, arguments.trace.as_deref()) {
            return Ok(trace.clone());
        }
        let label = |trace: &TraceSummary| format!("{}, {} events", trace.operation, trace.events);
        let latest: Vec<Item> =
            journal.traces(&caller).take(5).map(|trace| Item::new(trace.id.clone(), &label(trace))).collect();
        Err(match &arguments.trace {
            Some(id) if !latest.is_empty() => {
                Failure::new(format!("no trace {}; the latest are:", quote(id))).with_accepted(latest)
            }
            Some(id) => Failure::new(format!("no trace {}: run bugfix_scan to create one", quote(id))),
            None => Failure::new("there are no traces yet; run bugfix_scan to create one"),
        })
    }
}
