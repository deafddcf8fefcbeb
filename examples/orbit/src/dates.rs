//! Dates as callers write them.

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, SecondsFormat, Utc};

/// The years of which dates are taken. The theory of the planets would go further, a TLE would not.
const YEARS: std::ops::Range<i32> = 1950..2100;

/// Why something is no date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name} is {given:?}, which is no date that can be used; it takes a day such as 2026-10-31 or a time such as 2026-10-31T12:00:00Z, from the year {} to {}",
    YEARS.start,
    YEARS.end - 1
)]
pub struct DateError {
    name: &'static str,
    given: String,
}

/// Reads the argument `name`: a day, which begins at midnight, or a time as in RFC 3339.
pub(crate) fn read(name: &'static str, given: &str) -> Result<DateTime<Utc>, DateError> {
    let day = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let midnight = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
    let time = |text: &str| DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc());
    let text = given.trim();
    let found = day(text).map(midnight).or_else(|| time(text)).filter(|time| YEARS.contains(&time.year()));
    // Enough to recognise it; a caller may have given a book.
    found.ok_or_else(|| DateError { name, given: given.chars().take(60).collect() })
}

/// Writes a time as in RFC 3339, with as many digits as asked for.
pub(crate) fn write(time: DateTime<Utc>, digits: SecondsFormat) -> String {
    time.to_rfc3339_opts(digits, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_are_read() {
        let whole = |text| read("start", text).map(|time| write(time, SecondsFormat::Secs));
        assert_eq!(whole("2026-10-31").unwrap(), "2026-10-31T00:00:00Z");
        assert_eq!(whole(" 2026-10-31T14:30:00+02:00 ").unwrap(), "2026-10-31T12:30:00Z");
        assert_eq!(whole("2028-02-29").unwrap(), "2028-02-29T00:00:00Z");
    }

    #[test]
    fn what_is_no_date_is_told() {
        for wrong in [
            "2026-02-30",
            "2027-02-29",
            "31.10.2026",
            "2026-10-31T25:00:00Z",
            "1949-12-31",
            "",
            "99999-01-01",
        ] {
            let error = read("departure_start", wrong).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "departure_start is {wrong:?}, which is no date that can be used; it takes a day such as 2026-10-31 \
                     or a time such as 2026-10-31T12:00:00Z, from the year 1950 to 2099"
                )
            );
        }
        assert!(read("start", &"9".repeat(10_000)).unwrap_err().to_string().len() < 300);
    }
}
