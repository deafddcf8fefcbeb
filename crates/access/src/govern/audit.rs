//! The audit log: who did what, whether it was allowed, and its sizes, as lines of JSON.
//!
//! It contains nothing of a payload: no arguments, no results, no credentials. Each request gets a line when it ends or is
//! refused. Each result and each follow-up gets a line with its sizes and the id under which the result is stored. A separate
//! thread writes the lines; if it falls far behind, requests wait for it, because a slow request is better than a lost line.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use serde::Serialize;
use tidegate_store::{Call, Millis};

/// The maximum number of lines that wait to be written.
const MAX_WAITING_LINES: usize = 10_000;
/// The maximum length of a name in the log.
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
    /// `allowed`, or the reason for the refusal.
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
    /// Returns a log that writes to a file or another sink.
    pub fn to(sink: impl Write + Send + 'static) -> Self {
        let (send, receive) = sync_channel(MAX_WAITING_LINES);
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
        // Serializing strings and numbers does not fail.
        let mut json = serde_json::to_vec(line).unwrap_or_default();
        json.push(b'\n');
        // The thread ends only with this sender.
        drop(self.0.send(json));
    }
}

/// Writes lines until the log is dropped, all waiting lines in one batch.
fn write_all(mut sink: impl Write, lines: &Receiver<Vec<u8>>) {
    while let Ok(line) = lines.recv() {
        let mut batch = line;
        while let Ok(line) = lines.try_recv() {
            batch.extend_from_slice(&line);
        }
        // A full disk must not end the gateway. This batch is lost, and the next one is tried.
        drop(sink.write_all(&batch).and_then(|()| sink.flush()));
    }
}

/// Cuts a name to [`MAX_NAME_CHARS`].
pub(super) fn name(text: &str) -> &str {
    text.char_indices().nth(MAX_NAME_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// Formats a time for the log.
pub(super) fn time(now: Millis) -> String {
    now.to_string()
}

/// Returns a duration in whole milliseconds.
pub(super) fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
