//! Parses and formats the dates in arguments and results.

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, SecondsFormat, Utc};

/// The accepted years. VSOP87 covers more, but TLEs do not.
const ACCEPTED_YEARS: std::ops::Range<i32> = 1950..2100;

/// The error for an invalid date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name} is {given:?}, which is not a valid date; use a day such as 2026-10-31 or a time such as 2026-10-31T12:00:00Z, in the years {} to {}",
    ACCEPTED_YEARS.start,
    ACCEPTED_YEARS.end - 1
)]
pub struct DateError {
    name: &'static str,
    given: String,
}

/// Parses the argument `name`: a day, which means its midnight, or an RFC 3339 time.
pub(crate) fn parse(name: &'static str, given: &str) -> Result<DateTime<Utc>, DateError> {
    let day = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let midnight = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
    let time = |text: &str| DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc());
    let text = given.trim();
    let found =
        day(text).map(midnight).or_else(|| time(text)).filter(|time| ACCEPTED_YEARS.contains(&time.year()));
    // The text may be long; its beginning is enough to recognize it.
    found.ok_or_else(|| DateError { name, given: given.chars().take(60).collect() })
}

/// Formats a time as in RFC 3339.
pub(crate) fn format(time: DateTime<Utc>, digits: SecondsFormat) -> String {
    time.to_rfc3339_opts(digits, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_parse() {
        let normalized = |text| parse("start", text).map(|time| format(time, SecondsFormat::Secs));
        assert_eq!(normalized("2026-10-31").unwrap(), "2026-10-31T00:00:00Z");
        assert_eq!(normalized(" 2026-10-31T14:30:00+02:00 ").unwrap(), "2026-10-31T12:30:00Z");
        assert_eq!(normalized("2028-02-29").unwrap(), "2028-02-29T00:00:00Z");
    }

    #[test]
    fn invalid_dates_are_errors() {
        for wrong in [
            "2026-02-30",
            "2027-02-29",
            "31.10.2026",
            "2026-10-31T25:00:00Z",
            "1949-12-31",
            "",
            "99999-01-01",
        ] {
            let error = parse("departure_start", wrong).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "departure_start is {wrong:?}, which is not a valid date; use a day such as 2026-10-31 \
                     or a time such as 2026-10-31T12:00:00Z, in the years 1950 to 2099"
                )
            );
        }
        assert!(parse("start", &"9".repeat(10_000)).unwrap_err().to_string().len() < 300);
    }
}
