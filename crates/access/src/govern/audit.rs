//! The audit log: who did what, with sizes and the decision, one line of JSON for each request and each result.
//!
//! Nothing of a payload is in it: no arguments, no results, no tokens. A request has one line when it ends or is refused; its
//! result has one with the sizes and the name under which it is kept, as every follow-up has. Lines are written by a thread
//! of its own; when that is far behind, requests wait for it, because a line that is lost is worse than a slow one.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use serde::Serialize;
use tidegate_store::{Call, Millis};

/// Lines that may wait to be written.
const MAX_WAITING: usize = 10_000;
/// The longest name that is written.
const MAX_NAME_CHARS: usize = 256;

/// A request that has ended or was refused.
#[derive(Debug, Serialize)]
pub(super) struct RequestLine<'l> {
    pub(super) at: String,
    pub(super) event: &'static str,
    pub(super) caller: &'l str,
    pub(super) groups: Vec<&'l str>,
    pub(super) method: &'l str,
    pub(super) server: &'l str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) tool: &'l str,
    /// `allowed`, or why not.
    pub(super) decision: &'static str,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) milliseconds: Option<u64>,
}

/// A result or a follow-up.
#[derive(Debug, Serialize)]
struct ResultLine<'l> {
    at: String,
    event: &'static str,
    caller: &'l str,
    client: &'l str,
    server: &'l str,
    tool: &'l str,
    /// What was done with the result: `pass`, `overview`, `view`, ...
    step: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    view: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<&'l str>,
    raw_bytes: u64,
    raw_tokens: u64,
    sent_bytes: u64,
    sent_tokens: u64,
    stored_bytes: u64,
}

/// The audit log.
pub struct Audit(SyncSender<Vec<u8>>);

impl Audit {
    /// Returns a log that writes its lines to a file or another sink.
    pub fn to(sink: impl Write + Send + 'static) -> Self {
        let (send, receive) = sync_channel(MAX_WAITING);
        std::thread::spawn(move || write_all(sink, &receive));
        Self(send)
    }

    pub(super) fn request(&self, line: &RequestLine<'_>) {
        self.write(line);
    }

    pub(super) fn result(&self, caller: &str, call: &Call) {
        self.write(&ResultLine {
            at: call.at.to_string(),
            event: "result",
            caller,
            client: &call.client,
            server: &call.server,
            tool: &call.tool,
            step: &call.step,
            view: call.view.as_deref(),
            artifact: call.artifact.as_deref(),
            raw_bytes: call.raw_bytes,
            raw_tokens: call.raw_tokens,
            sent_bytes: call.sent_bytes,
            sent_tokens: call.sent_tokens,
            stored_bytes: call.stored_bytes,
        });
    }

    fn write(&self, line: &impl Serialize) {
        // Names and numbers can always be written.
        let mut json = serde_json::to_vec(line).unwrap_or_default();
        json.push(b'\n');
        // The thread ends only with this sender.
        drop(self.0.send(json));
    }
}

/// Writes lines until the log is dropped. What waits is written at once.
fn write_all(mut sink: impl Write, lines: &Receiver<Vec<u8>>) {
    while let Ok(line) = lines.recv() {
        let mut batch = line;
        while let Ok(line) = lines.try_recv() {
            batch.extend_from_slice(&line);
        }
        // A disk that is full must not end the gateway; the next line is tried again.
        drop(sink.write_all(&batch).and_then(|()| sink.flush()));
    }
}

/// Returns a name as it is written: not longer than a line can bear.
pub(super) fn name(text: &str) -> &str {
    text.char_indices().nth(MAX_NAME_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// Returns the time as it is written.
pub(super) fn time(now: Millis) -> String {
    now.to_string()
}

/// Returns whole milliseconds.
pub(super) fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
