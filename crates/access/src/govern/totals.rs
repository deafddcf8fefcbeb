//! What callers consumed today, and whether they may consume more.
//!
//! Every second what was counted since is added to the totals that all replicas share, and the totals of these callers come
//! back. Between two such batches a replica knows what itself counted, so that a caller can overshoot a limit by what the other
//! replicas serve it in one second, and by the results of calls that were under way. While the totals are out of reach, each
//! replica counts for itself and adds all of it later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_gateway::limits::Limits;
use tidegate_store::{Clock, Consumed, DailyTotals, Millis, StoreError};

/// The milliseconds of a day.
const DAY: i64 = 86_400_000;

#[derive(Default, Clone, Copy)]
struct Count {
    /// The total of all replicas, when the last batch was added.
    total: Consumed,
    /// What was counted since.
    since: Consumed,
}

#[derive(Default)]
struct Today {
    day: i64,
    callers: HashMap<String, Count>,
}

/// The totals of today.
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
    /// Returns totals that are added to those of all replicas.
    pub fn new(shared: Arc<dyn DailyTotals>, clock: Arc<dyn Clock>) -> Self {
        Self { shared, clock, today: Mutex::default() }
    }

    fn today(&self) -> (MutexGuard<'_, Today>, i64) {
        let Millis(now) = self.clock.now();
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let day = now.div_euclid(DAY);
        if today.day != day {
            // What was counted in the last second of the day before is lost for its totals, which nobody needs any more.
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

    /// Returns what a caller consumed today, as far as it is known.
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
        let wait = Duration::from_millis((DAY - now.rem_euclid(DAY)).unsigned_abs());
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

    /// Adds what was counted since the last time to the shared totals. It may wait for a database.
    ///
    /// # Errors
    ///
    /// The totals are out of reach; what was counted is added the next time.
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
        let totals = self.shared.add(&Millis(day * DAY).day(), &added);
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

    /// Totals that are out of reach at times.
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
    fn replicas_learn_of_each_other() {
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
        // Nothing is lost and nothing counts twice while the totals are out of reach.
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
    fn limits_of_a_day() {
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
