//! What callers consumed today, and whether they may consume more.
//!
//! Every second a replica adds its new counts to the totals that all replicas share, and gets back the totals of these callers.
//! In between it knows only its own counts, so a caller can overshoot a limit by what the other replicas serve it in one second,
//! and by the results of calls in flight. While the shared totals are unreachable, each replica counts for itself and adds its
//! counts later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_gateway::limits::Limits;
use tidegate_store::{Clock, Consumed, DailyTotals, Millis, StoreError};

/// The milliseconds of a day.
const DAY_MILLIS: i64 = 86_400_000;

#[derive(Default, Clone, Copy)]
struct Count {
    /// The total of all replicas at the last flush.
    total: Consumed,
    /// What this replica has counted since.
    since: Consumed,
}

#[derive(Default)]
struct Today {
    day: i64,
    callers: HashMap<String, Count>,
}

/// What each caller has consumed today.
pub struct Totals {
    shared: Arc<dyn DailyTotals>,
    clock: Arc<dyn Clock>,
    today: Mutex<Today>,
}

/// A limit that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedUp {
    /// What is limited: `requests`, `tokens` or `stored_bytes`.
    pub what: &'static str,
    /// The limit.
    pub limit: u64,
    /// The time until the next day.
    pub wait: Duration,
}

impl Totals {
    /// Returns totals that [`Totals::flush`] adds to the shared ones.
    pub fn new(shared: Arc<dyn DailyTotals>, clock: Arc<dyn Clock>) -> Self {
        Self { shared, clock, today: Mutex::default() }
    }

    fn today(&self) -> (MutexGuard<'_, Today>, i64) {
        let Millis(now) = self.clock.now();
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let day = now.div_euclid(DAY_MILLIS);
        if today.day != day {
            // The counts since the last flush belong to the day before, whose totals limit nothing any more.
            *today = Today { day, callers: HashMap::new() };
        }
        (today, now)
    }

    /// Counts what a caller consumed.
    pub fn count(&self, caller: &str, consumed: Consumed) {
        let (mut today, _) = self.today();
        match today.callers.get_mut(caller) {
            Some(count) => count.since += consumed,
            None => {
                let count = Count { since: consumed, ..Count::default() };
                today.callers.insert(caller.to_owned(), count);
            }
        }
    }

    /// Returns what a caller consumed today, as far as this replica knows.
    pub fn of(&self, caller: &str) -> Consumed {
        let (today, _) = self.today();
        today.callers.get(caller).map_or(Consumed::default(), |count| count.total + count.since)
    }

    /// Checks whether a caller may send another request.
    ///
    /// # Errors
    ///
    /// The limit that is used up.
    pub fn check(&self, caller: &str, limits: &Limits) -> Result<(), UsedUp> {
        let consumed = self.of(caller);
        let Millis(now) = self.clock.now();
        let wait = Duration::from_millis((DAY_MILLIS - now.rem_euclid(DAY_MILLIS)).unsigned_abs());
        let used_up = [
            ("requests", consumed.requests, limits.requests_per_day),
            ("tokens", consumed.tokens, limits.tokens_per_day),
            ("stored_bytes", consumed.stored_bytes, limits.stored_bytes_per_day),
        ];
        let used_up = used_up.into_iter().find_map(|(what, used, limit)| {
            let limit = limit.filter(|limit| used >= *limit)?;
            Some(UsedUp { what, limit, wait })
        });
        used_up.map_or(Ok(()), Err)
    }

    /// Adds the counts since the last flush to the shared totals. It may wait for a database.
    ///
    /// # Errors
    ///
    /// The shared totals are unreachable; the counts are added at the next flush.
    pub fn flush(&self) -> Result<(), StoreError> {
        let (day, added) = {
            let (mut today, _) = self.today();
            let counted = today.callers.iter_mut().filter(|(_, count)| !count.since.is_nothing());
            let added: Vec<(String, Consumed)> = counted
                .map(|(caller, count)| {
                    let since = std::mem::take(&mut count.since);
                    count.total += since;
                    (caller.clone(), since)
                })
                .collect();
            (today.day, added)
        };
        if added.is_empty() {
            return Ok(());
        }
        let totals = self.shared.add(&Millis(day * DAY_MILLIS).day(), &added);
        let (mut today, _) = self.today();
        if today.day != day {
            return totals.map(drop);
        }
        match totals {
            Ok(totals) => {
                for (caller, total) in totals {
                    today.callers.entry(caller).or_default().total = total;
                }
                Ok(())
            }
            Err(error) => {
                for (caller, since) in added {
                    let count = today.callers.entry(caller).or_default();
                    count.since += since;
                    count.total = minus(count.total, since);
                }
                Err(error)
            }
        }
    }
}

fn minus(total: Consumed, part: Consumed) -> Consumed {
    Consumed {
        requests: total.requests.saturating_sub(part.requests),
        tokens: total.tokens.saturating_sub(part.tokens),
        stored_bytes: total.stored_bytes.saturating_sub(part.stored_bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tidegate_store::MemoryTotals;
    use tidegate_testkit::clock::ManualClock;

    use super::*;

    /// Shared totals that can be made unreachable.
    #[derive(Default)]
    struct Unreliable {
        totals: MemoryTotals,
        is_down: AtomicBool,
    }

    impl DailyTotals for Unreliable {
        fn add(
            &self,
            day: &str,
            added: &[(String, Consumed)],
        ) -> Result<Vec<(String, Consumed)>, StoreError> {
            match self.is_down.load(Ordering::SeqCst) {
                true => Err(StoreError::NotFound),
                false => self.totals.add(day, added),
            }
        }
    }

    fn requests(number: u64) -> Consumed {
        Consumed { requests: number, ..Consumed::default() }
    }

    #[test]
    fn replicas_share_their_counts() {
        let (shared, clock) = (Arc::new(Unreliable::default()), Arc::new(ManualClock::default()));
        let replica =
            || Totals::new(Arc::clone(&shared) as Arc<dyn DailyTotals>, Arc::clone(&clock) as Arc<dyn Clock>);
        let (one, two) = (replica(), replica());
        one.count("ada", requests(3));
        two.count("ada", requests(2));
        assert_eq!((one.of("ada"), two.of("ada")), (requests(3), requests(2)));
        one.flush().unwrap();
        two.flush().unwrap();
        assert_eq!((one.of("ada"), two.of("ada")), (requests(3), requests(5)));
        one.count("ada", requests(1));
        one.flush().unwrap();
        assert_eq!(one.of("ada"), requests(6));
        // While the totals are unreachable, no count is lost and none counts twice.
        shared.is_down.store(true, Ordering::SeqCst);
        one.count("ada", requests(4));
        assert!(one.flush().is_err());
        assert_eq!(one.of("ada"), requests(10));
        shared.is_down.store(false, Ordering::SeqCst);
        one.flush().unwrap();
        one.flush().unwrap();
        two.count("ada", requests(1));
        two.flush().unwrap();
        assert_eq!((one.of("ada"), two.of("ada")), (requests(10), requests(11)));
    }

    #[test]
    fn a_daily_limit_refuses_until_the_next_day() {
        let clock = Arc::new(ManualClock::default());
        let totals = Totals::new(Arc::new(MemoryTotals::default()), Arc::clone(&clock) as Arc<dyn Clock>);
        let limits = Limits { requests_per_day: Some(2), tokens_per_day: Some(100), ..Limits::default() };
        assert_eq!(totals.check("ada", &limits), Ok(()));
        totals.count("ada", Consumed { requests: 1, tokens: 99, stored_bytes: 1 << 40 });
        assert_eq!(totals.check("ada", &limits), Ok(()));
        totals.count("ada", Consumed { tokens: 1, ..Consumed::default() });
        let used_up = totals.check("ada", &limits).unwrap_err();
        assert_eq!((used_up.what, used_up.limit), ("tokens", 100));
        assert!(used_up.wait <= Duration::from_secs(86_400));
        assert_eq!(totals.check("bob", &limits), Ok(()));
        clock.advance(used_up.wait);
        assert_eq!(totals.check("ada", &limits), Ok(()), "a new day");
        totals.count("ada", requests(2));
        assert_eq!(totals.check("ada", &limits).unwrap_err().what, "requests");
    }
}
