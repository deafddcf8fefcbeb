//! The journal: the latest scans, the traces, and the sessions with their calls.
//!
//! It holds only summaries in memory; findings and events are stored as artifacts. Like those, scans and traces belong to
//! the caller whose call made them.

use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::finding::{Counts, Kind};
use crate::trace::TraceSummary;

/// Traces, sessions, and calls of a session that are kept; the oldest are dropped.
const MAX_ENTRIES: usize = 500;

/// A summary of the latest scan of a kind.
#[derive(Debug, Clone)]
pub(crate) struct ScanSummary {
    pub(crate) path: String,
    pub(crate) counts: Counts,
    pub(crate) reference: String,
    pub(crate) trace: String,
}

/// A tool call.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) success: bool,
    pub(crate) duration_ms: u64,
    pub(crate) bytes: u64,
}

/// A client and its calls.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    pub(crate) id: String,
    #[serde(skip)]
    pub(crate) number: u64,
    /// Client name and HTTP session id.
    #[serde(skip)]
    key: (String, String),
    pub(crate) client: String,
    pub(crate) started_at_ms: u64,
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    pub(crate) bytes: u64,
    pub(crate) latest: VecDeque<Call>,
}

#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// The latest scan of each kind, by caller.
    scans: VecDeque<(String, Kind, ScanSummary)>,
    /// The traces, by caller.
    traces: VecDeque<(String, TraceSummary)>,
    trace_count: u64,
    sessions: VecDeque<Session>,
    session_count: u64,
}

impl Journal {
    pub(crate) fn next_trace_id(&mut self) -> String {
        self.trace_count += 1;
        format!("t{}", self.trace_count)
    }

    pub(crate) fn add_trace(&mut self, caller: String, trace: TraceSummary) {
        push(&mut self.traces, (caller, trace));
    }

    /// Returns a trace of a caller by its id, or the latest.
    pub(crate) fn trace(&self, caller: &str, id: Option<&str>) -> Option<&TraceSummary> {
        self.traces(caller).find(|trace| id.is_none_or(|id| trace.id == id))
    }

    /// Returns all traces of a caller, latest first.
    pub(crate) fn traces(&self, caller: &str) -> impl Iterator<Item = &TraceSummary> {
        self.traces.iter().rev().filter(move |(other, _)| other == caller).map(|(_, trace)| trace)
    }

    pub(crate) fn add_scan(&mut self, caller: String, kind: Kind, scan: ScanSummary) {
        self.scans.retain(|(other, of_kind, _)| (other, of_kind) != (&caller, &kind));
        push(&mut self.scans, (caller, kind, scan));
    }

    pub(crate) fn scan(&self, caller: &str, kind: Kind) -> Option<&ScanSummary> {
        let found = self.scans.iter().find(|(other, of_kind, _)| other == caller && *of_kind == kind);
        found.map(|(_, _, scan)| scan)
    }

    fn start_session(&mut self, key: (String, String)) -> String {
        self.session_count += 1;
        let number = self.session_count;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = format!("s{number}");
        let session = Session {
            id: id.clone(),
            number,
            client: key.0.clone(),
            key,
            started_at_ms: since.as_millis() as u64,
            calls: 0,
            failed: 0,
            bytes: 0,
            latest: VecDeque::new(),
        };
        push(&mut self.sessions, session);
        id
    }

    /// Returns the session id of a client, by its name and HTTP session id; the first call starts the session.
    ///
    /// Without HTTP sessions, all clients with the same name share one session.
    pub(crate) fn session_of(&mut self, client: &str, http_session: &str) -> String {
        let key = (client.to_owned(), http_session.to_owned());
        let existing = self.sessions.iter().rev().find(|session| session.key == key);
        existing.map(|session| session.id.clone()).unwrap_or_else(|| self.start_session(key))
    }

    pub(crate) fn add_call(&mut self, session: &str, call: Call) {
        let Some(session) = self.sessions.iter_mut().rev().find(|other| other.id == session) else { return };
        session.calls += 1;
        session.failed += u64::from(!call.success);
        session.bytes += call.bytes;
        push(&mut session.latest, call);
    }

    pub(crate) fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.iter().find(|session| session.id == id)
    }

    pub(crate) fn sessions(&self) -> impl DoubleEndedIterator<Item = &Session> {
        self.sessions.iter()
    }
}

fn push<T>(entries: &mut VecDeque<T>, entry: T) {
    if entries.len() == MAX_ENTRIES {
        entries.pop_front();
    }
    entries.push_back(entry);
}
