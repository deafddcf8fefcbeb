//! What callers consumed in a day, for limits: requests, tokens and bytes, added up over all processes that share a store.
//!
//! Processes add their counts in batches, and get the totals of all processes back. A batch that is lost with its process is not
//! counted.

use std::collections::HashMap;
use std::ops::{Add, AddAssign};
use std::sync::{Mutex, PoisonError};

use crate::error::StoreError;

/// What was consumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Requests to servers.
    pub requests: u64,
    /// Tokens of answers.
    pub tokens: u64,
    /// Bytes of results that were stored.
    pub stored_bytes: u64,
}

impl Consumed {
    /// Returns whether nothing was consumed.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Add for Consumed {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            tokens: self.tokens.saturating_add(other.tokens),
            stored_bytes: self.stored_bytes.saturating_add(other.stored_bytes),
        }
    }
}

impl AddAssign for Consumed {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// The totals of a day, by caller.
pub trait DailyTotals: Send + Sync {
    /// Adds what callers consumed on a day, such as `2026-11-18`, and returns the totals of these callers.
    ///
    /// # Errors
    ///
    /// The totals are out of reach; nothing was added.
    fn add(&self, day: &str, added: &[(String, Consumed)]) -> Result<Vec<(String, Consumed)>, StoreError>;
}

/// Totals of this process alone.
#[derive(Debug, Default)]
pub struct MemoryTotals(Mutex<(String, HashMap<String, Consumed>)>);

impl DailyTotals for MemoryTotals {
    fn add(&self, day: &str, added: &[(String, Consumed)]) -> Result<Vec<(String, Consumed)>, StoreError> {
        let mut totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if totals.0 != day {
            *totals = (day.to_owned(), HashMap::new());
        }
        let mut sum = |(caller, consumed): &(String, Consumed)| {
            let total = totals.1.entry(caller.clone()).or_default();
            *total += *consumed;
            (caller.clone(), *total)
        };
        Ok(added.iter().map(&mut sum).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_day_begins_at_nothing() {
        let totals = MemoryTotals::default();
        let one = Consumed { requests: 1, tokens: 10, stored_bytes: 100 };
        let add = |day, caller: &str| totals.add(day, &[(caller.to_owned(), one)]).unwrap()[0].1;
        assert_eq!(add("2026-11-18", "ada"), one);
        assert_eq!(add("2026-11-18", "ada"), one + one);
        assert_eq!(add("2026-11-18", "bob"), one);
        assert_eq!(add("2026-11-19", "ada"), one);
        assert!(Consumed::default().is_nothing() && !one.is_nothing());
    }
}
