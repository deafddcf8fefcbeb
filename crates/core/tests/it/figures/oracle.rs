//! The plain computations that figures are compared with.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::columns::{Cell, Column};

/// A number in its one normal form: its sign, the power of ten of its first digit, and its digits without zeros at
/// either end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Normal {
    sign: i8,
    magnitude: i64,
    digits: String,
}

impl Ord for Normal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sizes = (self.magnitude, &self.digits).cmp(&(other.magnitude, &other.digits));
        self.sign.cmp(&other.sign).then(if self.sign < 0 { sizes.reverse() } else { sizes })
    }
}

impl PartialOrd for Normal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Splits a number into whether it is negative, its digits, and the power of ten of the last one.
fn split(raw: &str) -> (bool, String, i64) {
    let (digits, exponent) = match raw.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.trim_start_matches('+').parse::<i64>().unwrap()),
        None => (raw, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all: String = whole.chars().chain(fraction.chars()).filter(char::is_ascii_digit).collect();
    (raw.starts_with('-'), all, exponent - fraction.len() as i64)
}

/// Returns the normal form of a number.
pub(super) fn normal(raw: &str) -> Normal {
    let (negative, digits, last) = split(raw);
    let leading = digits.trim_start_matches('0');
    if leading.is_empty() {
        return Normal { sign: 0, magnitude: 0, digits: String::new() };
    }
    let magnitude = last + leading.len() as i64 - 1;
    Normal { sign: if negative { -1 } else { 1 }, magnitude, digits: leading.trim_end_matches('0').into() }
}

/// Returns the sum in units of 10^-`places`, if all numbers are short enough for that.
pub(super) fn exact_sum(numbers: &[&str], places: i64) -> Option<i128> {
    numbers.iter().try_fold(0i128, |sum, raw| {
        let (negative, digits, last) = split(raw);
        let power = u32::try_from(last + places).ok()?;
        let value = digits.parse::<i128>().ok()?.checked_mul(10i128.checked_pow(power)?)?;
        sum.checked_add(if negative { -value } else { value })
    })
}

/// What equal values share: the number, or the text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Number(Normal),
    Text(String),
}

/// Returns the key of a value that is counted.
pub(super) fn key(cell: &Cell) -> Option<Key> {
    match cell {
        Cell::Number(raw) => Some(Key::Number(normal(raw))),
        Cell::Text(text) => Some(Key::Text(text.clone())),
        _ => None,
    }
}

/// Returns how often each text and number of a column occurs.
pub(super) fn counts(column: &Column) -> BTreeMap<Key, u64> {
    let mut counts = BTreeMap::new();
    column.cells.iter().filter_map(key).for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}

/// Returns the instant of a time as the columns write it, in nanoseconds.
pub(super) fn instant(text: &str) -> Option<i64> {
    let day: i64 = text.strip_prefix("2024-02-")?.get(..2)?.parse().ok()?;
    let rest = &text[10..];
    if rest.is_empty() {
        return Some(day * 86_400_000_000_000);
    }
    let number = |from: usize| rest[from..from + 2].parse::<i64>().unwrap();
    let seconds = day * 86_400 + number(1) * 3600 + number(4) * 60 + number(7);
    let mut after = &rest[9..];
    let mut nanoseconds = 0;
    if let Some(fraction) = after.strip_prefix('.') {
        let digits: String = fraction.chars().take_while(char::is_ascii_digit).collect();
        after = &fraction[digits.len()..];
        nanoseconds = format!("{digits:0<9}").parse::<i64>().unwrap();
    }
    let zone = match after {
        "" | "Z" => 0,
        "+02:00" => 7200,
        "-0530" => -(5 * 3600 + 1800),
        "+14:00" => 14 * 3600,
        other => panic!("zone {other}"),
    };
    Some((seconds - zone) * 1_000_000_000 + nanoseconds)
}
