//! Points in time as tools write them, parsed exactly, so that they can be ordered.
//!
//! Supported: ISO 8601 with or without time and zone, the same with slashes (`2026/11/15 01:30`), web server logs
//! (`15/Nov/2026:01:30:10 +0000`), and mail and HTTP headers (`Sun, 15 Nov 2026 01:49:15 GMT`). A time without a zone
//! counts as UTC.

/// The maximum number of decimal places of a second; a text with more of them is not a time.
const MAX_SECOND_DECIMALS: usize = 18;

/// The time since the beginning of 1970 in UTC. The derived order is that of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Time {
    /// Whole seconds, rounded down.
    seconds: i64,
    /// The fraction of a second, in units of 10^-18 seconds.
    fraction: u64,
}

impl Time {
    /// Returns the time since the beginning of 1970 in seconds.
    pub(crate) fn to_seconds(self) -> f64 {
        self.seconds as f64 + self.fraction as f64 / 1e18
    }
}

/// Returns the time that a date, or a date with a time of day, names.
#[inline]
pub(crate) fn parse(raw: &[u8]) -> Option<Time> {
    if raw.len() < 10 || raw.len() > 40 {
        return None;
    }
    if matches!((raw[4], raw[7]), (b'-', b'-') | (b'/', b'/')) {
        return timestamp(raw).or_else(|| iso(raw));
    }
    if raw[2] == b'/' && raw.get(6) == Some(&b'/') {
        return web_log(raw);
    }
    if raw[3] == b',' && raw[4] == b' ' {
        return header(&raw[5..]);
    }
    None
}

/// Reads the form that most programs write, `2026-11-15T01:49:15` with or without `Z`, without a branch for each digit.
#[inline]
fn timestamp(raw: &[u8]) -> Option<Time> {
    let (text, rest) = raw.split_first_chunk::<19>()?;
    if !matches!(rest, b"" | b"Z") {
        return None;
    }
    let mut values = [0; TIMESTAMP.len()];
    let mut wrong = 0;
    for (at, (&byte, mark)) in text.iter().zip(TIMESTAMP).enumerate() {
        let digit = byte.wrapping_sub(b'0');
        values[at] = i64::from(digit);
        wrong |= if *mark == b'0' { u8::from(digit > 9) } else { byte ^ mark };
    }
    let two = |at: usize| values[at] * 10 + values[at + 1];
    let (hours, minutes, seconds) = (two(11), two(14), two(17));
    if wrong != 0 || hours > 24 || minutes > 59 || seconds > 60 {
        return None;
    }
    let seconds = midnight(two(0) * 100 + two(2), two(5), two(8))? + hours * 3600 + minutes * 60 + seconds;
    Some(Time { seconds, fraction: 0 })
}

/// The digits and marks of a [`timestamp`].
const TIMESTAMP: &[u8; 19] = b"0000-00-00T00:00:00";

fn iso(raw: &[u8]) -> Option<Time> {
    let date = midnight(digits(raw, 0, 4)?, digits(raw, 5, 2)?, digits(raw, 8, 2)?)?;
    match raw.get(10) {
        None => Some(Time { seconds: date, fraction: 0 }),
        Some(b'T' | b't' | b' ') => clock(date, &raw[11..]),
        Some(_) => None,
    }
}

fn web_log(raw: &[u8]) -> Option<Time> {
    let date = midnight(digits(raw, 7, 4)?, month(raw.get(3..6)?)?, digits(raw, 0, 2)?)?;
    (raw.get(11) == Some(&b':')).then_some(())?;
    clock(date, &raw[12..])
}

fn header(raw: &[u8]) -> Option<Time> {
    let date = midnight(digits(raw, 7, 4)?, month(raw.get(3..6)?)?, digits(raw, 0, 2)?)?;
    clock(date, raw.get(12..)?)
}

/// Adds `HH:MM` with optional seconds, fraction and zone to the seconds at which a day begins.
fn clock(date: i64, raw: &[u8]) -> Option<Time> {
    let (hours, minutes) = (digits(raw, 0, 2)?, digits(raw, 3, 2)?);
    if raw[2] != b':' || hours > 24 || minutes > 59 {
        return None;
    }
    let mut rest = &raw[5..];
    let mut total = hours * 3600 + minutes * 60;
    if rest.first() == Some(&b':') {
        total += digits(rest, 1, 2).filter(|seconds| *seconds <= 60)?;
        rest = &rest[3..];
    }
    let mut fraction = 0;
    if let Some((b'.' | b',', places)) = rest.split_first() {
        let end = places.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(places.len());
        let missing = MAX_SECOND_DECIMALS.checked_sub(end)? as u32;
        fraction = digits(places, 0, end)? as u64 * 10u64.pow(missing);
        rest = &places[end..];
    }
    Some(Time { seconds: date + total - zone(rest.trim_ascii_start())?, fraction })
}

fn zone(raw: &[u8]) -> Option<i64> {
    let (sign, rest) = match raw {
        b"" | b"Z" | b"z" | b"UTC" | b"GMT" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let minutes = match rest.len() {
        2 => 0,
        4 => digits(rest, 2, 2)?,
        5 => digits(rest, 3, 2)?,
        _ => return None,
    };
    Some(sign * (digits(rest, 0, 2)? * 3600 + minutes * 60))
}

fn digits(raw: &[u8], at: usize, count: usize) -> Option<i64> {
    raw.get(at..at + count)?
        .iter()
        .try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
}

fn month(name: &[u8]) -> Option<i64> {
    const NAMES: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    NAMES.chunks(3).position(|known| known == name).map(|index| index as i64 + 1)
}

/// Returns the beginning of a day in UTC, in seconds since 1970.
fn midnight(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970, counting years from March so that the leap day comes last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let days =
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    Some(days * 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_forms_of_times_are_parsed() {
        for (text, expected) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2019-08-23T10:53:23-07:00", 1_566_582_803),
            ("2006-06-25T19:00:00Z", 1_151_262_000),
            ("2006-06-25T19:00:00", 1_151_262_000),
            ("1969-12-31T23:59:60Z", 0),
            ("2025-09-14 08:53:12+02:00", 1_757_832_792),
            ("2026/11/15 01:30", 1_794_706_200),
            ("15/Nov/2026:01:30:10 +0000", 1_794_706_210),
            ("Sun, 15 Nov 2026 01:49:15 GMT", 1_794_707_355),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(Time { seconds: expected, fraction: 0 }), "{text}");
        }
        for text in [
            "2024-13-01",
            "2024-01-0x",
            "not a date",
            "2024-01-01Tx",
            "1234567890",
            "12/34/5678",
            "2024-01-01T25:00:00Z",
            "2024-01-01T00:60:00Z",
            "2024-01-01T00:00:61Z",
            "2024-01-01T00:00:0/Z",
            "2024-01-01T00:00x00",
            "2024-01-32T00:00:00",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn fractions_and_zones_are_compared_exactly() {
        let rising = [
            "2026-11-15",
            "2026-11-15T00:00:00.000000001Z",
            "2026-11-15T00:00:00,2Z",
            "2026-11-15T00:00:00.203",
            "2026-11-15T00:00:00.203000001Z",
            "2026-11-15T02:00:00.3+02:00",
            "2026-11-15T00:00:01Z",
            "14/Nov/2026:23:00:02 -0100",
        ];
        for pair in rising.windows(2) {
            assert!(parse(pair[0].as_bytes()).unwrap() < parse(pair[1].as_bytes()).unwrap(), "{pair:?}");
        }
        assert_eq!(parse(b"2026-11-15T01:30:22.5Z"), parse(b"2026-11-15 03:30:22.500+02:00"));
        assert_eq!(
            parse(b"2026-11-15T01:30:22.1234567890123456789"),
            None,
            "more digits than are told apart"
        );
    }
}
