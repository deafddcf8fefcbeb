//! The plain computations that figures are compared with.

use std::collections::BTreeMap;

use super::columns::{Cell, Column};

/// How many digits are written out before and after the point.
const WHOLE_DIGITS: usize = 450;
const FRACTION_DIGITS: usize = 450;

/// Returns a key that orders numbers: their sign, and their digits, complemented if negative.
pub(super) fn order_key(raw: &str) -> (i8, Vec<u8>) {
    let (negative, rest) = match raw.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, raw.strip_prefix('+').unwrap_or(raw)),
    };
    let (digits, exponent) = match rest.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.trim_start_matches('+').parse::<i64>().unwrap()),
        None => (rest, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut places = vec![0u8; WHOLE_DIGITS + FRACTION_DIGITS];
    let first = WHOLE_DIGITS as i64 - exponent - whole.len() as i64;
    for (at, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        if digit != b'0' {
            places[(first + at as i64) as usize] = digit - b'0';
        }
    }
    match (places.iter().all(|digit| *digit == 0), negative) {
        (true, _) => (0, Vec::new()),
        (_, false) => (1, places),
        (_, true) => (-1, places.iter().map(|digit| 9 - digit).collect()),
    }
}

/// Returns the sum in units of 10^-18, if all numbers are short enough for that.
pub(super) fn exact_sum(numbers: &[&str]) -> Option<i128> {
    numbers.iter().try_fold(0i128, |sum, raw| sum.checked_add(scaled(raw)?))
}

fn scaled(raw: &str) -> Option<i128> {
    let (digits, exponent) = match raw.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.trim_start_matches('+').parse::<i32>().ok()?),
        None => (raw, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let places = 18 + exponent - fraction.len() as i32;
    let mantissa: i128 = format!("{whole}{fraction}").trim_start_matches('+').parse().ok()?;
    match u32::try_from(places) {
        Ok(places) => mantissa.checked_mul(10i128.checked_pow(places)?),
        Err(_) => None,
    }
}

/// What equal values share: the number, or the text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Number((i8, Vec<u8>)),
    Text(String),
}

/// Returns the key of a value that is counted.
pub(super) fn key(cell: &Cell) -> Option<Key> {
    match cell {
        Cell::Number(raw) => Some(Key::Number(order_key(raw))),
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
