//! What was done: the latest scans, the traces, and the sessions with their calls. Only notes stay in memory; what they
//! are about is kept as artifacts.

use std::collections::{BTreeMap, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::finding::{Counts, Kind};
use crate::trace::Note;

/// The most traces, sessions and calls of a session that are remembered; the oldest are forgotten.
const REMEMBERED: usize = 500;

/// What was found by the latest scan of a kind.
#[derive(Debug, Clone)]
pub(crate) struct ScanNote {
    pub(crate) path: String,
    pub(crate) counts: Counts,
    pub(crate) reference: String,
    pub(crate) trace: String,
}

/// One call of a tool.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) success: bool,
    pub(crate) duration_ms: u64,
    pub(crate) bytes: u64,
}

/// A client and what it called.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    pub(crate) id: String,
    #[serde(skip)]
    pub(crate) number: u64,
    /// What tells it from others.
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
    scans: BTreeMap<Kind, ScanNote>,
    traces: VecDeque<Note>,
    traces_so_far: u64,
    sessions: VecDeque<Session>,
    sessions_so_far: u64,
}

impl Journal {
    pub(crate) fn next_trace(&mut self) -> String {
        self.traces_so_far += 1;
        format!("t{}", self.traces_so_far)
    }

    pub(crate) fn add_trace(&mut self, note: Note) {
        push(&mut self.traces, note);
    }

    /// A trace by its name, or the latest.
    pub(crate) fn trace(&self, id: Option<&str>) -> Option<&Note> {
        match id {
            None => self.traces.back(),
            Some(id) => self.traces.iter().rev().find(|note| note.id == id),
        }
    }

    /// All traces, the latest first.
    pub(crate) fn traces(&self) -> impl Iterator<Item = &Note> {
        self.traces.iter().rev()
    }

    pub(crate) fn add_scan(&mut self, kind: Kind, note: ScanNote) {
        self.scans.insert(kind, note);
    }

    pub(crate) fn scan(&self, kind: Kind) -> Option<&ScanNote> {
        self.scans.get(&kind)
    }

    fn begin(&mut self, key: (String, String)) -> String {
        self.sessions_so_far += 1;
        let number = self.sessions_so_far;
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

    /// The session of a client, by its name and the id of its HTTP session; it begins with the first call. Where a
    /// protocol has no sessions, all requests of clients of one name are one.
    pub(crate) fn session_of(&mut self, client: &str, http: &str) -> String {
        let key = (client.to_owned(), http.to_owned());
        let known = self.sessions.iter().rev().find(|session| session.key == key);
        known.map(|session| session.id.clone()).unwrap_or_else(|| self.begin(key))
    }

    pub(crate) fn add_call(&mut self, session: &str, call: Call) {
        let Some(session) = self.sessions.iter_mut().rev().find(|known| known.id == session) else { return };
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

fn push<T>(all: &mut VecDeque<T>, one: T) {
    if all.len() == REMEMBERED {
        all.pop_front();
    }
    all.push_back(one);
}
