//! A circuit breaker: a server that keeps failing gets no requests for a while.
//!
//! Five failures in a row open the circuit; requests are then refused at once instead of waiting for a server that is down.
//! After a pause one request is sent as a trial. If it succeeds, the circuit closes; if it fails, the pause doubles. An error
//! response of the server is not a failure, because the server is reachable.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many failures in a row open the circuit.
const FAILURES_TO_OPEN: u32 = 5;
/// The first pause; each further one is twice as long, up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// After this time without an answer another trial request may be sent.
const MAX_TRIAL: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct Circuit {
    failures: u32,
    /// Until when requests are refused, and the length of that pause.
    open: Option<(Instant, Duration)>,
    /// When the trial request was admitted.
    trial: Option<Instant>,
}

impl Circuit {
    fn refusal(&self, now: Instant) -> Option<Duration> {
        let (until, pause) = self.open?;
        if now < until {
            return Some(until - now);
        }
        let began = self.trial.filter(|began| now < *began + MAX_TRIAL)?;
        Some((began + MAX_TRIAL - now).min(pause))
    }
}

/// The circuit of one server.
#[derive(Debug, Default)]
pub struct Breaker(Mutex<Circuit>);

impl Breaker {
    fn circuit(&self) -> MutexGuard<'_, Circuit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how long requests are refused; `None` if one may go to the server, perhaps as a trial.
    pub fn refusal(&self, now: Instant) -> Option<Duration> {
        self.circuit().refusal(now)
    }

    /// Returns whether a request may go to the server. Whoever gets `Ok` must say how it ended.
    ///
    /// # Errors
    ///
    /// The circuit is open: the time until the next request may be sent.
    pub fn admit(&self, now: Instant) -> Result<(), Duration> {
        let mut circuit = self.circuit();
        if let Some(wait) = circuit.refusal(now) {
            return Err(wait);
        }
        circuit.trial = circuit.open.map(|_| now);
        Ok(())
    }

    /// Records that the server answered.
    pub fn succeeded(&self) {
        *self.circuit() = Circuit::default();
    }

    /// Records that a request ended without telling anything about the server, because its client is gone.
    pub fn abandoned(&self) {
        self.circuit().trial = None;
    }

    /// Records that the server could not be reached, or did not answer.
    pub fn failed(&self, now: Instant) {
        let mut circuit = self.circuit();
        circuit.failures = circuit.failures.saturating_add(1);
        let pause = match circuit.open {
            // Requests that were in flight when the circuit opened fail as well, and count no further.
            Some((until, _)) if now < until => return,
            Some((_, pause)) => (2 * pause).min(MAX_PAUSE),
            None if circuit.failures < FAILURES_TO_OPEN => return,
            None => FIRST_PAUSE,
        };
        circuit.open = Some((now + pause, pause));
        circuit.trial = None;
    }

    /// Returns whether the circuit is open.
    pub fn is_open(&self) -> bool {
        self.circuit().open.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_until_a_trial_succeeds() {
        let breaker = Breaker::default();
        let start = Instant::now();
        for _ in 1..FAILURES_TO_OPEN {
            breaker.failed(start);
            assert_eq!(breaker.admit(start), Ok(()));
        }
        breaker.failed(start);
        assert_eq!(breaker.admit(start), Err(FIRST_PAUSE));
        breaker.failed(start);
        let later = start + FIRST_PAUSE;
        assert_eq!(breaker.admit(later), Ok(()), "one trial is sent");
        assert!(breaker.admit(later).is_err(), "but only one");
        breaker.failed(later);
        assert_eq!(breaker.admit(later), Err(2 * FIRST_PAUSE));
        let later = later + 2 * FIRST_PAUSE;
        assert_eq!(breaker.admit(later), Ok(()));
        breaker.abandoned();
        assert_eq!(breaker.admit(later), Ok(()), "the client of the trial is gone");
        assert!(breaker.admit(later + MAX_TRIAL).is_ok(), "the trial was never answered");
        breaker.succeeded();
        assert_eq!((breaker.is_open(), breaker.admit(later)), (false, Ok(())));
        for _ in 1..FAILURES_TO_OPEN {
            breaker.failed(later);
        }
        assert!(!breaker.is_open(), "a success resets the count");
    }
}
