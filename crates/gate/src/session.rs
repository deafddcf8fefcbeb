//! What was sent to a session so far, what its ceiling (`session_max_bytes`) leaves, and which results were stored for it.
//!
//! Answers shrink towards what is left. Once too little is left for an answer, each one is the smallest of its style: at
//! most [`MAX_SMALLEST_BYTES`] on the wire. An answer is counted before it is sent, and in one step with the check that it
//! fits, so that calls at the same time cannot exceed the ceiling together.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_core::Bytes;
use tidegate_core::budget::Budget;
use tidegate_store::{ArtifactId, Millis};

/// The maximum number of bytes on the wire of an answer once the ceiling is reached.
pub const MAX_SMALLEST_BYTES: u64 = 400;
/// The bytes counted for the message around a result.
const MESSAGE_BYTES: u64 = 64;
/// The maximum number of bytes of the result in the smallest answer.
pub(crate) const MAX_SMALLEST_RESULT: usize = (MAX_SMALLEST_BYTES - MESSAGE_BYTES) as usize;

/// After this time without a call, a caller without sessions starts again at zero.
pub(crate) const IDLE_RESET: Duration = Duration::from_secs(3600);

/// The maximum number of stored results that a session remembers.
const MAX_KEPT: usize = 200;

/// The bytes sent to one session, and the results stored for it.
#[derive(Debug)]
pub struct SessionMeter {
    /// Distinguishes this session from every other.
    id: ArtifactId,
    state: Mutex<SessionUse>,
    /// The results that were stored for it, oldest first.
    kept: Mutex<VecDeque<ArtifactId>>,
    /// The time without a call after which the session starts again at zero.
    idle_reset: Option<Duration>,
}

#[derive(Debug, Default)]
struct SessionUse {
    sent: u64,
    last_call: Option<Millis>,
}

/// The ceiling of a session, and what is left below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ceiling {
    /// The ceiling, as it was set.
    pub(crate) max_bytes: u64,
    /// The bytes that are left for results.
    pub(crate) left: u64,
}

impl Ceiling {
    /// Returns whether too little is left for anything but the smallest answer.
    pub(crate) fn is_reached(self) -> bool {
        self.left < Budget::MIN_BYTES.0
    }

    /// Returns the ceiling with nothing left.
    pub(crate) fn reached(self) -> Self {
        Self { left: 0, ..self }
    }

    /// Returns the part of a budget that is left.
    pub(crate) fn limit(self, budget: Budget) -> Budget {
        budget.with_bytes(budget.bytes.min(Bytes(self.left)))
    }

    /// Returns the maximum number of bytes of a result that is sent unchanged.
    pub(crate) fn max_passing(self) -> u64 {
        self.left.max(MAX_SMALLEST_RESULT as u64)
    }

    /// Says that the ceiling is reached.
    pub(crate) fn note(self) -> String {
        format!("This session has used its {} bytes", self.max_bytes)
    }
}

impl Default for SessionMeter {
    fn default() -> Self {
        Self { id: ArtifactId::random(), state: Mutex::default(), kept: Mutex::default(), idle_reset: None }
    }
}

impl SessionMeter {
    /// Returns an id that distinguishes this session from every other.
    pub(crate) fn id(&self) -> &str {
        self.id.as_str()
    }

    /// Returns the meter of a caller without sessions, which starts again at zero after an hour without a call.
    pub(crate) fn of_caller() -> Self {
        Self { idle_reset: Some(IDLE_RESET), ..Self::default() }
    }

    /// Remembers a result that was stored for the session.
    pub(crate) fn note_kept(&self, id: ArtifactId) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|known| *known != id);
        if kept.len() >= MAX_KEPT {
            kept.pop_front();
        }
        kept.push_back(id);
    }

    /// Returns the results that were stored for the session, newest first.
    pub(crate) fn kept(&self) -> Vec<ArtifactId> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect()
    }

    fn last_call(&self) -> Option<Millis> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).last_call
    }

    fn state(&self, now: Millis) -> MutexGuard<'_, SessionUse> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |last: Millis| self.idle_reset.is_some_and(|idle| last.after(idle) <= now);
        if state.last_call.is_some_and(is_over) {
            *state = SessionUse::default();
        }
        state.last_call = Some(now);
        state
    }

    /// Returns the ceiling with what is left of it.
    pub(crate) fn ceiling(&self, max_bytes: u64, now: Millis) -> Ceiling {
        let sent = self.state(now).sent;
        Ceiling { max_bytes, left: max_bytes.saturating_sub(sent + MESSAGE_BYTES) }
    }

    /// Counts a result that is sent, unless the ceiling leaves too little for it and it is not one of the smallest.
    pub(crate) fn admit(&self, max_bytes: Option<u64>, result: u64, now: Millis) -> bool {
        let mut state = self.state(now);
        let bytes = result + MESSAGE_BYTES;
        let exceeds = max_bytes.is_some_and(|max| state.sent.saturating_add(bytes) > max);
        if exceeds && bytes > MAX_SMALLEST_BYTES {
            return false;
        }
        state.sent = state.sent.saturating_add(bytes);
        true
    }
}

/// The meters of callers whose requests belong to no session, by their name.
#[derive(Debug, Default)]
pub(crate) struct SessionMeters {
    by_caller: Mutex<HashMap<String, Arc<SessionMeter>>>,
}

/// The maximum number of callers whose bytes are counted separately; the one idle longest makes room for another.
const MAX_CALLERS: usize = 10_000;

impl SessionMeters {
    /// Returns the meter of a caller.
    pub(crate) fn of(&self, caller: &str) -> Arc<SessionMeter> {
        let mut meters = self.by_caller.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(meter) = meters.get(caller) {
            return Arc::clone(meter);
        }
        if meters.len() >= MAX_CALLERS {
            let idle = meters.iter().min_by_key(|(_, meter)| meter.last_call()).map(|(name, _)| name.clone());
            idle.map(|name| meters.remove(&name));
        }
        let meter = Arc::new(SessionMeter::of_caller());
        meters.insert(caller.to_owned(), Arc::clone(&meter));
        meter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    #[test]
    fn a_session_never_exceeds_its_ceiling_but_by_the_smallest_answers() {
        let meter = SessionMeter::default();
        assert!(meter.admit(Some(10_000), 9_000, NOW));
        assert_eq!(meter.ceiling(10_000, NOW).left, 10_000 - 9_064 - 64);
        assert!(!meter.admit(Some(10_000), 1_000, NOW), "not counted either");
        assert!(meter.admit(Some(10_000), 900 - 64, NOW));
        assert!(meter.ceiling(10_000, NOW).is_reached());
        assert!(meter.admit(Some(10_000), 336, NOW) && !meter.admit(Some(10_000), 337, NOW));
        assert!(meter.admit(None, 1 << 20, NOW), "a tool without a ceiling");
    }

    #[test]
    fn only_the_count_of_a_caller_without_sessions_starts_again() {
        let later = NOW.after(IDLE_RESET);
        for (meter, left) in [(SessionMeter::default(), 0), (SessionMeter::of_caller(), 9_936)] {
            assert!(meter.admit(Some(10_000), 9_900, NOW));
            assert_eq!(meter.ceiling(10_000, Millis(later.0 - 1)).left, 0);
            let later = Millis(later.0 - 1).after(IDLE_RESET);
            assert_eq!(meter.ceiling(10_000, later).left, left);
        }
    }
}
