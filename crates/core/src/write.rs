//! Writes quantities for a reader: grouped digits in sentences, plain digits in tables, short forms for estimates.
//!
//! All text of overviews, frames and views uses these functions, so that a quantity looks the same everywhere.

/// Writes a count with thousands separators: `512,340`.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Writes an estimate in three digits: `950`, `1.4k`, `128k`, `2.6M`.
pub(crate) fn short(value: u64) -> String {
    const UNITS: [&str; 4] = ["", "k", "M", "G"];
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => value.to_string(),
        _ if scaled < 9.95 => format!("{scaled:.1}{}", UNITS[unit]),
        _ => format!("{scaled:.0}{}", UNITS[unit]),
    }
}

/// Writes a size in bytes: `812 B`, `1.1 kB`, `4.8 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let short = short(bytes);
    match short.strip_suffix(['k', 'M', 'G']) {
        Some(number) => format!("{number} {}B", &short[number.len()..]),
        None => format!("{short} B"),
    }
}

/// Returns the mark before a number: `~` for an estimate, nothing for an exact one.
pub(crate) fn estimate_mark(exact: bool) -> &'static str {
    if exact { "" } else { "~" }
}

/// Writes a computed float to six significant digits, or more if its integer part has more.
pub(crate) fn float(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}").replace("-0", "0");
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-5..15).contains(&magnitude) {
        return format!("{value:.5e}");
    }
    let decimals = (5 - magnitude).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Writes a count with its noun: `1 row`, `12 rows`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    let end = match noun {
        _ if count == 1 => return format!("1 {noun}"),
        _ if noun.ends_with('y') && !noun.ends_with("ay") && !noun.ends_with("ey") => {
            return format!("{} {}ies", grouped(count), &noun[..noun.len() - 1]);
        }
        _ if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{end}", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        assert_eq!(
            [grouped(0), grouped(999), grouped(1000), grouped(12_345_678)],
            ["0", "999", "1,000", "12,345,678"]
        );
        assert_eq!(
            [short(999), short(1400), short(128_040), short(2_600_000)],
            ["999", "1.4k", "128k", "2.6M"]
        );
        assert_eq!([size(812), size(1100), size(4_800_000)], ["812 B", "1.1 kB", "4.8 MB"]);
        assert_eq!(
            [float(3.241_136_208), float(1_057.849_12), float(0.0), float(123_456_789.4)],
            ["3.24114", "1057.85", "0", "123456789"]
        );
        assert_eq!(
            [plural(1, "row"), plural(2000, "entry"), plural(3, "box")],
            ["1 row", "2,000 entries", "3 boxes"]
        );
    }
}
