//! Limits the requests per minute of each caller, on this replica.
//!
//! A caller may send the requests of a whole minute at once; its allowance is then refilled evenly. Callers with the same limit
//! share a limiter, keyed by their names. Callers whose allowance is full again are forgotten.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

type Limiter =
    RateLimiter<String, HashMapStateStore<String>, MonotonicClock, NoOpMiddleware<std::time::Instant>>;

/// The number of callers above which a limiter forgets those whose allowance is full again.
const MAX_CALLERS: usize = 10_000;

/// The rates of all callers.
#[derive(Default)]
pub(super) struct Rates(Mutex<HashMap<u32, Arc<Limiter>>>);

impl Rates {
    /// Takes one request of a caller that may send `limit` per minute.
    ///
    /// # Errors
    ///
    /// The limit is reached: the time until the next request is allowed.
    pub(super) fn take(&self, caller: &str, limit: u32) -> Result<(), Duration> {
        let Some(quota) = NonZeroU32::new(limit).map(Quota::per_minute) else {
            return Err(Duration::from_secs(60));
        };
        let limiter = {
            let mut limiters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Arc::new(RateLimiter::new(quota, HashMapStateStore::default(), MonotonicClock));
            Arc::clone(limiters.entry(limit).or_insert_with(new))
        };
        let taken = limiter.check_key(&caller.to_owned());
        if limiter.len() > MAX_CALLERS {
            limiter.retain_recent();
        }
        taken.map_err(|refused| refused.wait_time_from(MonotonicClock.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_an_allowance_of_its_own() {
        let rates = Rates::default();
        for _ in 0..3 {
            assert_eq!(rates.take("ada", 3), Ok(()));
        }
        let wait = rates.take("ada", 3).unwrap_err();
        assert!(wait > Duration::from_secs(15) && wait <= Duration::from_secs(20), "{wait:?}");
        assert_eq!(rates.take("bob", 3), Ok(()));
        assert!(rates.take("nobody", 0).is_err());
    }
}
