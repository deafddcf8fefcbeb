//! Time as milliseconds since 1970, and a clock that tests can replace.
//!
//! Every time in the store and the ledger is a [`Millis`]. The conversion to and from ISO 8601 is written out here, since
//! it is all that would be needed of a date library.

use std::fmt;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Millis(pub i64);

impl Millis {
    /// Returns the time a duration later.
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns how long this is after an earlier time; nothing if it is before it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Returns the time a duration earlier.
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// Milliseconds of a day.
const DAY_MILLIS: i64 = 86_400_000;

impl Millis {
    /// Parses a day such as `2026-11-14` or a time such as `2026-11-14T09:30:00Z`, both in UTC.
    ///
    /// ```
    /// use tidegate_store::Millis;
    ///
    /// let time = Millis::parse("2026-11-14T09:30:00Z").unwrap();
    /// assert_eq!(time.to_string(), "2026-11-14T09:30:00Z");
    /// assert_eq!(Millis::parse("2026-11-14").map(Millis::day), Some("2026-11-14".into()));
    /// assert_eq!(Millis::parse("2026-02-30"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (day, time) = match text.split_once('T') {
            Some((day, time)) => (day, time.strip_suffix('Z')?),
            None => (text, "00:00:00"),
        };
        let [year, month, day] = numbers(day, '-', [4, 2, 2])?;
        let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        // The day number of a civil date. Years begin in March here, so that a leap day is the last of its year.
        let shifted = year - i64::from(month <= 2);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let year_of_era = shifted.rem_euclid(400);
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = shifted.div_euclid(400) * 146_097 + day_of_era - 719_468;
        let time = Self(days * DAY_MILLIS + (hour * 3600 + minute * 60 + second) * 1000);
        // February 30 would come out as a day of March.
        time.to_string().starts_with(&text[..10]).then_some(time)
    }

    /// Returns the day in UTC, such as `2026-11-14`.
    pub fn day(self) -> String {
        self.to_string().split('T').next().unwrap_or_default().to_owned()
    }
}

/// Parses three numbers with the given numbers of digits.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut read = [0; 3];
    for (number, digits) in read.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits)?;
        *number = part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(read)
}

/// Writes the time as ISO 8601 in UTC, to the second.
impl fmt::Display for Millis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(1000);
        let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // The civil date of a day number; years begin in March, as above.
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(formatter, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Millis;

    /// Returns the time up to which a result counts as expired. It is never later than [`Self::now`], and never later than
    /// this process has seen time pass, so a process that is already running deletes nothing when the clock is set ahead.
    fn certain_now(&self) -> Millis {
        self.now()
    }

    /// Returns whether this is the clock of the machine. A store that several machines share corrects it by that of its server.
    fn is_of_machine(&self) -> bool {
        false
    }
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// What the system clock showed when this process first read it, and the monotonic time of that reading.
static FIRST_LOOK: LazyLock<(Millis, Instant)> = LazyLock::new(|| (wall_clock(), Instant::now()));

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        LazyLock::force(&FIRST_LOOK);
        wall_clock()
    }

    fn certain_now(&self) -> Millis {
        // A machine that sleeps does not count as time that passed; what expired meanwhile is deleted later.
        let (first, since) = &*FIRST_LOOK;
        self.now().min(first.after(since.elapsed()))
    }

    fn is_of_machine(&self) -> bool {
        true
    }
}

fn wall_clock() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(Millis(0).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(Millis(1_794_706_222_835).to_string(), "2026-11-15T01:30:22Z");
        assert_eq!(Millis(951_782_400_000).to_string(), "2000-02-29T00:00:00Z");
    }

    #[test]
    fn a_written_time_parses_back() {
        // Every day of the calendar's cycle of 400 years, each at a different time.
        for day in 0..146_097 {
            let time = Millis((day - 20_000) * DAY_MILLIS + day * 7919 % 86_400 * 1000);
            assert_eq!(Millis::parse(&time.to_string()), Some(time));
            assert_eq!(Millis::parse(&time.day()), Some(Millis(time.0.div_euclid(DAY_MILLIS) * DAY_MILLIS)));
        }
        for wrong in
            ["", "2026", "2026-1-01", "2026-13-01", "2026-00-10", "2026-02-29", "2026-11-31", "2026-11-14T"]
        {
            assert_eq!(Millis::parse(wrong), None, "{wrong}");
        }
        for wrong in
            ["2026-11-14T10:00", "2026-11-14T24:00:00Z", "2026-11-14T10:60:00Z", "+026-11-14", "2026-11-14-1"]
        {
            assert_eq!(Millis::parse(wrong), None, "{wrong}");
        }
    }
}
