//! Alerts: reports answers above 10 KB, sessions above their goal, and a store above its share.
//!
//! Every ledger entry is checked. Each large answer is reported; a session and the store are reported once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidegate_store::{Call, Quotas};

use crate::gate::{LIST, MORE_OF_LIST};
use crate::user_store::UserStore;

/// The maximum number of sessions that are remembered. Beyond it, all are forgotten and may be reported again.
const MAX_SESSIONS: usize = 10_000;
/// How often the size of the store is checked.
const STORE_INTERVAL: Duration = Duration::from_secs(60);

/// The sizes above which something is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlertLimits {
    /// Bytes of one answer.
    pub answer_bytes: u64,
    /// Bytes of all answers of a session.
    pub session_bytes: u64,
    /// Bytes that one session stores, compressed.
    pub session_stored_bytes: u64,
    /// Percent of the store's quota.
    pub store_percent: u64,
}

impl Default for AlertLimits {
    /// Returns the goals of the response contract, and four fifths of the store.
    fn default() -> Self {
        Self {
            answer_bytes: 10 * 1024,
            session_bytes: 25 * 1024,
            session_stored_bytes: 100 << 20,
            store_percent: 80,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct SessionSizes {
    sent: u64,
    stored: u64,
}

/// Finds what is above its limit.
#[derive(Debug, Default)]
pub struct Alerts {
    limits: AlertLimits,
    sessions: Mutex<HashMap<String, SessionSizes>>,
    /// When the store was last checked, and whether it was above its share.
    store: Mutex<Option<(Instant, bool)>>,
}

impl Alerts {
    /// Returns alerts with these limits.
    pub fn new(limits: AlertLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Returns a line for each limit that an entry exceeds; `keep` is where the results of all sessions are kept.
    pub fn of(&self, call: &Call, keep: &UserStore) -> Vec<String> {
        if matches!(call.step.as_str(), LIST | MORE_OF_LIST | "observe" | "whole") {
            return Vec::new();
        }
        let mut lines = Vec::new();
        let AlertLimits { answer_bytes, session_bytes, session_stored_bytes, .. } = self.limits;
        if call.sent_bytes > answer_bytes {
            let Call { tool, server, sent_bytes, sent_tokens, .. } = call;
            lines.push(format!(
                "an answer of {tool} ({server}) has {sent_bytes} bytes and {sent_tokens} tokens, above {answer_bytes} bytes"
            ));
        }
        let (before, after) = self.add(call);
        if before.sent <= session_bytes && after.sent > session_bytes {
            lines.push(format!(
                "a session with {} was sent {} bytes, above its goal of {session_bytes}",
                call.server, after.sent
            ));
        }
        if before.stored <= session_stored_bytes && after.stored > session_stored_bytes {
            lines.push(format!(
                "a session with {} stored {} bytes, above its share of {session_stored_bytes}",
                call.server, after.stored
            ));
        }
        if call.stored_bytes > 0 {
            lines.extend(self.of_store(keep));
        }
        lines
    }

    /// Adds an entry to its session, and returns the sizes before and after it.
    fn add(&self, call: &Call) -> (SessionSizes, SessionSizes) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let session = call.session.clone().unwrap_or_default();
        if sessions.len() >= MAX_SESSIONS && !sessions.contains_key(&session) {
            sessions.clear();
        }
        let sizes = sessions.entry(session).or_default();
        let before = *sizes;
        sizes.sent += call.sent_bytes;
        sizes.stored += call.stored_bytes;
        (before, *sizes)
    }

    fn of_store(&self, keep: &UserStore) -> Option<String> {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if store.is_some_and(|(at, _)| at.elapsed() < STORE_INTERVAL) {
            return None;
        }
        let Quotas { store_bytes, .. } = keep.quotas();
        let used = keep.open().ok()?.store.usage().ok()?.stored_bytes;
        let is_above = used > store_bytes / 100 * self.limits.store_percent;
        let was_above = store.replace((Instant::now(), is_above)).is_some_and(|(_, above)| above);
        let percent = self.limits.store_percent;
        (is_above && !was_above).then(|| {
            format!("the store holds {used} bytes, above {percent} % of the {store_bytes} that it may hold")
        })
    }
}

#[cfg(test)]
mod tests {
    use tidegate_store::{Description, Millis};

    use super::*;
    use crate::user_store::StoreLocation;

    fn call(session: &str, step: &str, sent: u64, stored: u64) -> Call {
        Call {
            at: Millis(0),
            client: String::new(),
            server: "issues".into(),
            tool: "list".into(),
            step: step.into(),
            raw_bytes: sent,
            raw_tokens: 10,
            sent_bytes: sent,
            sent_tokens: 10,
            added_micros: 0,
            artifact: None,
            session: Some(session.into()),
            view: None,
            stored_bytes: stored,
            counted: None,
            budget_tokens: 0,
            owner: None,
        }
    }

    #[test]
    fn an_answer_is_reported_each_time_and_a_session_once() {
        let (alerts, keep) = (Alerts::default(), UserStore::of_user(StoreLocation::Memory));
        let lines = |call: Call| alerts.of(&call, &keep);
        assert!(lines(call("one", "pass", 10_240, 0)).is_empty());
        let answer = "an answer of list (issues) has 10241 bytes and 10 tokens, above 10240 bytes";
        assert_eq!(lines(call("one", "pass", 10_241, 0)), [answer]);
        let both = lines(call("one", "pass", 10_241, 0));
        assert_eq!(both, [answer, "a session with issues was sent 30722 bytes, above its goal of 25600"]);
        assert_eq!(lines(call("one", "pass", 10_241, 0)), [answer]);
        assert_eq!(lines(call("two", "view", 10_241, 0)), [answer], "another session");
        assert!(lines(call("two", "list", 100_000, 0)).is_empty(), "a list of tools is no result");
    }

    #[test]
    fn a_store_above_its_share_is_reported_once() {
        let keep = UserStore::of_user(StoreLocation::Memory);
        let limits = AlertLimits { store_percent: 0, session_stored_bytes: 100, ..AlertLimits::default() };
        let alerts = Alerts::new(limits);
        let new = keep.new_artifact("list", Duration::from_secs(60));
        keep.put(&new, &b"{}".as_slice(), &|| Ok(Description::default())).unwrap();
        let lines = alerts.of(&call("one", "overview", 10, 101), &keep);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0], "a session with issues stored 101 bytes, above its share of 100");
        assert!(lines[1].contains("above 0 % of the 1073741824"), "{lines:?}");
        assert!(alerts.of(&call("one", "overview", 10, 101), &keep).is_empty());
    }
}
