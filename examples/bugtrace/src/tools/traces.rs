//! `trace_get` and `trace_analyze`.

use serde_json::json;
use tidegate_sdk::contract::Item;

use super::TraceArguments;
use crate::answer::{Answer, Refusal, shown};
use crate::trace::Note;
use crate::workshop::Workshop;

impl Workshop {
    /// The beginning and the end of a trace, and what went wrong.
    pub(crate) fn trace_get(&self, arguments: &TraceArguments) -> Result<Answer, Refusal> {
        let note = self.trace(arguments)?;
        let figures = json!({
            "traceId": note.id, "status": note.status, "durationMs": note.duration_ms, "eventCount": note.events,
            "startEvent": note.first, "endEvent": note.last, "errorSummary": note.errors,
        });
        Ok(Answer::figures(note.summary(), figures).kept(&note.reference, None))
    }

    /// What the events of a trace come to.
    pub(crate) fn trace_analyze(&self, arguments: &TraceArguments) -> Result<Answer, Refusal> {
        let note = self.trace(arguments)?;
        let metrics = &note.metrics;
        let slowest = metrics.slowest.as_ref().map(|(path, took)| json!({"path": path, "tookUs": took}));
        let figures = json!({
            "traceId": note.id, "durationMs": note.duration_ms, "files": metrics.files, "bytes": metrics.bytes,
            "hits": metrics.hits, "errors": metrics.errors, "byRule": metrics.by_rule, "slowestFile": slowest,
            "busyMs": metrics.busy_us / 1000,
        });
        let (hits, files) = (metrics.hits, metrics.files);
        let summary = format!("Trace {}: {hits} hits in {files} files, {} ms", note.id, note.duration_ms);
        Ok(Answer::figures(summary, figures).kept(&note.reference, None))
    }

    fn trace(&self, arguments: &TraceArguments) -> Result<Note, Refusal> {
        let journal = self.journal();
        if let Some(note) = journal.trace(arguments.trace.as_deref()) {
            return Ok(note.clone());
        }
        let label = |note: &Note| format!("{}, {} events", note.of, note.events);
        let some: Vec<Item> =
            journal.traces().take(5).map(|note| Item::new(note.id.clone(), &label(note))).collect();
        Err(match &arguments.trace {
            Some(_) if some.is_empty() => Refusal::new("there are no traces yet; bugfix_scan makes one"),
            None => Refusal::new("there are no traces yet; bugfix_scan makes one"),
            Some(id) => Refusal::new(format!("no trace {}; the latest are:", shown(id))).accepting(some),
        })
    }
}
