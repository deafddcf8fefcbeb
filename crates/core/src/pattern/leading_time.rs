//! A time at the beginning of a line, in one or several words: `2026-11-16 09:59:28,123`, `Nov 16 09:59:28`,
//! `Mon, 16 Nov 2026 09:59:28 +0100`, `[09:59:28]` without its bracket.

/// The maximum number of words of a time.
const MAX_WORDS: usize = 7;

/// What a word of a time is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Weekday,
    Month,
    /// A day or a year.
    Digits,
    Date,
    Clock,
    /// Date and time in one word.
    Both,
    Zone,
}

/// Returns the length of the time at the beginning of a line; `None` if there is none.
///
/// It must have a time of day or a complete date such as `2026-11-16`.
pub(super) fn leading_time(line: &str) -> Option<usize> {
    let mut end = 0;
    let (mut dated, mut clocked, mut month) = (false, false, false);
    let mut certain = None;
    for word in line.split(' ').take(MAX_WORDS + 2) {
        let begin = end;
        end += word.len() + 1;
        if word.is_empty() {
            // `Nov  6` has a space for the missing digit.
            if month && !clocked { continue } else { break }
        }
        match part(word) {
            Some(Part::Weekday) if !dated && !clocked => {}
            Some(Part::Month) if !month => month = true,
            Some(Part::Digits)
                if month || begin == 0 && month_follows(line) || begin > 0 && !dated && !clocked =>
            {
                // A year may follow the time of day, but only if there was a month name.
                if clocked
                    && !(month && word.len() == 4 && (word.starts_with("19") || word.starts_with("20")))
                {
                    break;
                }
            }
            Some(Part::Date) if !dated && !clocked && !month => {
                dated = true;
                certain = Some(begin + word.len());
                continue;
            }
            Some(Part::Clock) if !clocked => clocked = true,
            Some(Part::Both) if !dated && !clocked => (dated, clocked) = (true, true),
            Some(Part::Zone) if clocked => {
                certain = Some(begin + word.len());
                break;
            }
            _ => break,
        }
        if clocked {
            certain = Some(begin + word.len());
        }
    }
    certain
}

fn month_follows(line: &str) -> bool {
    line.split_whitespace().nth(1).is_some_and(|word| part(word) == Some(Part::Month))
}

fn part(word: &str) -> Option<Part> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let bytes = word.as_bytes();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if MONTHS.contains(&word) {
        return Some(Part::Month);
    }
    if WEEKDAYS.contains(&word.trim_end_matches(',')) {
        return Some(Part::Weekday);
    }
    if digits(word) {
        return matches!(word.len(), 1 | 2 | 4).then_some(Part::Digits);
    }
    if matches!(word, "Z" | "UTC" | "GMT" | "CET" | "CEST" | "EST" | "EDT" | "PST" | "PDT") {
        return Some(Part::Zone);
    }
    if matches!(bytes, [b'+' | b'-', rest @ ..] if matches!(rest.len(), 4 | 5) && digits(&word[1..].replace(':', "")))
    {
        return Some(Part::Zone);
    }
    if !bytes.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    if is_clock(word) {
        return Some(Part::Clock);
    }
    if is_date(word) {
        return Some(Part::Date);
    }
    let split = word
        .find('T')
        .or_else(|| word.match_indices(':').next().map(|(at, _)| at).filter(|_| word.contains('/')))?;
    (is_date(&word[..split]) && is_clock(&word[split + 1..])).then_some(Part::Both)
}

/// Returns whether a word is `2026-11-16`, `2026/11/16`, `16.11.2026` or `16/Nov/2026`.
fn is_date(word: &str) -> bool {
    ['-', '/', '.'].into_iter().any(|mark| {
        let parts: Vec<&str> = word.split(mark).collect();
        let digits =
            |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        let named = |part: &&str| part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_alphabetic());
        parts.len() == 3
            && digits(&parts[0])
            && (digits(&parts[1]) || named(&parts[1]))
            && digits(&parts[2])
            && parts.iter().any(|part| part.len() == 4)
    })
}

/// Returns whether a word is a time of day such as `09:59`, with optional seconds, fraction and zone.
fn is_clock(word: &str) -> bool {
    let word = word.strip_suffix('Z').unwrap_or(word);
    let word = word.rsplit_once(['+', '-']).map_or(word, |(clock, _)| clock);
    let (clock, fraction) = word.split_once(['.', ',']).unwrap_or((word, "0"));
    let parts: Vec<&str> = clock.split(':').collect();
    let two = |part: &&str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    (2..=3).contains(&parts.len())
        && (parts[0].len() <= 2 && parts[0].bytes().all(|byte| byte.is_ascii_digit()))
        && !parts[0].is_empty()
        && parts[1..].iter().all(two)
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_every_form() {
        for time in [
            "2026-11-16 09:59:28",
            "2026-11-16 09:59:28,123",
            "2026-11-16T09:59:28.123456Z",
            "2026-11-16T09:59:28+01:00",
            "2026/11/16 09:59:28",
            "16/Nov/2026:09:59:28 +0000",
            "16.11.2026 09:59",
            "Nov 16 09:59:28",
            "Nov  6 09:59:28",
            "Mon Nov 16 09:59:28 2026",
            "Mon, 16 Nov 2026 09:59:28 GMT",
            "09:59:28.123",
            "2026-11-16",
            "2026-11-16 09:59:28 UTC",
        ] {
            assert_eq!(leading_time(&format!("{time} host x")), Some(time.len()), "{time}");
            assert_eq!(leading_time(time), Some(time.len()), "{time}");
        }
        for other in ["1 2 3", "May I ask", "Mon ami", "12 apples", "1.2.3 x", "10.0.0.1 - -", "Nov 16 x", ""]
        {
            assert_eq!(leading_time(other), None, "{other}");
        }
    }
}
