//! A circuit breaker: a server that keeps failing gets no requests for a while.
//!
//! After five failures in a row the circuit is open, and requests are refused at once instead of waiting for a server
//! that is down. After a pause one request may try; if it succeeds the circuit is closed, else the pause is twice as long. An
//! error that a server itself answered with is no failure: it is there.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many failures in a row open the circuit.
pub(super) const FAILURES: u32 = 5;
/// The first pause; each further one is twice as long, up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// After this time without an answer the one request that tries counts as failed.
const MAX_TRIAL: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// Until when requests are refused, and how long that pause is.
    open: Option<(Instant, Duration)>,
    /// When the one request began that tries whether the server is back.
    trial: Option<Instant>,
}

/// The circuit of one server.
#[derive(Debug, Default)]
pub struct Breaker(Mutex<State>);

impl Breaker {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a request may go to the server.
    ///
    /// # Errors
    ///
    /// The circuit is open; the time until a request may try.
    pub fn admit(&self, now: Instant) -> Result<(), Duration> {
        let mut state = self.state();
        let Some((until, pause)) = state.open else { return Ok(()) };
        if now < until {
            return Err(until - now);
        }
        if let Some(began) = state.trial.filter(|began| now < *began + MAX_TRIAL) {
            return Err((began + MAX_TRIAL - now).min(pause));
        }
        state.trial = Some(now);
        Ok(())
    }

    /// Notes that the server answered.
    pub fn succeeded(&self) {
        *self.state() = State::default();
    }

    /// Notes that nothing is known of a request, because its client is gone.
    pub fn abandoned(&self) {
        self.state().trial = None;
    }

    /// Notes that the server could not be reached, or did not answer.
    pub fn failed(&self, now: Instant) {
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        let pause = match state.open {
            // Requests that were on their way when the circuit opened fail as well.
            Some((until, _)) if now < until => return,
            Some((_, pause)) => (2 * pause).min(MAX_PAUSE),
            None if state.failures < FAILURES => return,
            None => FIRST_PAUSE,
        };
        state.open = Some((now + pause, pause));
        state.trial = None;
    }

    /// Returns whether the circuit is open.
    pub fn is_open(&self) -> bool {
        self.state().open.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_fails_gets_a_pause_that_grows() {
        let breaker = Breaker::default();
        let start = Instant::now();
        for _ in 1..FAILURES {
            breaker.failed(start);
            assert_eq!(breaker.admit(start), Ok(()));
        }
        breaker.failed(start);
        assert_eq!(breaker.admit(start), Err(FIRST_PAUSE));
        breaker.failed(start);
        let later = start + FIRST_PAUSE;
        assert_eq!(breaker.admit(later), Ok(()), "one may try");
        assert!(breaker.admit(later).is_err(), "but only one");
        breaker.failed(later);
        assert_eq!(breaker.admit(later), Err(2 * FIRST_PAUSE));
        let later = later + 2 * FIRST_PAUSE;
        assert_eq!(breaker.admit(later), Ok(()));
        breaker.abandoned();
        assert_eq!(breaker.admit(later), Ok(()), "the client of the one that tried is gone");
        assert!(breaker.admit(later + MAX_TRIAL).is_ok(), "it was never heard of again");
        breaker.succeeded();
        assert_eq!((breaker.is_open(), breaker.admit(later)), (false, Ok(())));
        for _ in 1..FAILURES {
            breaker.failed(later);
        }
        assert!(!breaker.is_open(), "failures count in a row");
    }
}
