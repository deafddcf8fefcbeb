//! The sessions of an HTTP server, each with its conversation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::link::Link;

/// The maximum number of sessions remembered. A session that was forgotten is treated as new at its next request: tidegate no
/// longer knows its client, nor the requests whose streams broke before.
const MAX_SESSIONS: usize = 10_000;

/// The conversations by the id of their session, and when each was last used.
#[derive(Default)]
pub(super) struct Sessions {
    known: Mutex<HashMap<String, (Arc<Link>, Instant)>>,
}

impl Sessions {
    fn known(&self) -> MutexGuard<'_, HashMap<String, (Arc<Link>, Instant)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the conversation of a session.
    pub(super) fn get(&self, id: &str) -> Option<Arc<Link>> {
        let mut known = self.known();
        let (link, used) = known.get_mut(id)?;
        *used = Instant::now();
        Some(Arc::clone(link))
    }

    /// Remembers the conversation of a session that is not known yet; if there are too many, forgets the least recently used
    /// session.
    pub(super) fn add(&self, id: &str, link: &Arc<Link>) {
        let mut known = self.known();
        if known.contains_key(id) {
            return;
        }
        if known.len() >= MAX_SESSIONS
            && let Some(oldest) = known.iter().min_by_key(|(_, (_, used))| *used).map(|(id, _)| id.clone())
        {
            known.remove(&oldest);
        }
        link.begin_session(id);
        known.insert(id.to_owned(), (Arc::clone(link), Instant::now()));
    }

    /// Forgets a session that has ended.
    pub(super) fn remove(&self, id: &str) {
        self.known().remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_least_recently_used_session_is_forgotten() {
        let (sessions, link) = (Sessions::default(), Arc::new(crate::tests::link(None)));
        for id in 0..MAX_SESSIONS {
            sessions.add(&id.to_string(), &link);
        }
        assert!(sessions.get("0").is_some());
        sessions.add("new", &link);
        assert!(sessions.get("1").is_none());
        assert!(["0", "2", "9999", "new"].iter().all(|id| sessions.get(id).is_some()));
        sessions.remove("0");
        assert!(sessions.get("0").is_none());
    }
}
