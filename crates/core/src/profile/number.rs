//! Numbers: parsed from their text without rounding where possible, and statistics over many of them.
//!
//! Extremes are compared exactly and kept as written. Sums are exact decimals as long as decimals can hold them;
//! otherwise they are rounded and marked so.

use std::cmp::Ordering;

use super::decimal::{Decimal, Digits, FRACTION_DIGITS, WideFloat};
use super::ordered_sample::OrderedSample;
use super::sum::Sum;
use super::trend::Trend;
use crate::hash;

/// A number read from its text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number<'r> {
    /// The number as written.
    raw: &'r [u8],
    /// The nearest float; infinite beyond the range of floats.
    pub(crate) value: f64,
    /// The exact value, if a decimal holds it.
    pub(super) exact: Option<Decimal>,
    pub(crate) integer: bool,
}

/// The maximum number of bytes of a text that is counted as a number.
const MAX_NUMBER_BYTES: usize = 4096;

const POWERS: [u64; 19] = {
    let mut powers = [1u64; 19];
    let mut index = 1;
    while index < 19 {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

impl<'r> Number<'r> {
    /// Reads a number as JSON writes it; `None` for anything else, also for `NaN` and infinities.
    #[inline]
    pub(crate) fn parse(raw: &'r [u8]) -> Option<Self> {
        let (negative, digits) = match raw.split_first()? {
            (b'-', rest) => (true, rest),
            (b'+', rest) => (false, rest),
            _ => (false, raw),
        };
        if !digits.first()?.is_ascii_digit() {
            return None;
        }
        let (mut mantissa, mut length, mut decimals, mut point) = (0u64, 0usize, 0usize, false);
        for (index, &byte) in digits.iter().enumerate() {
            match byte {
                b'0'..=b'9' if length < FRACTION_DIGITS => {
                    mantissa = mantissa * 10 + u64::from(byte - b'0');
                    length += usize::from(mantissa != 0);
                    decimals += usize::from(point);
                }
                b'.' if !point && index + 1 < digits.len() => point = true,
                _ => return Self::parse_slowly(raw),
            }
        }
        if decimals > FRACTION_DIGITS || mantissa >= 1 << 53 {
            return Self::parse_slowly(raw);
        }
        let (size, whole, fraction) = if decimals == 0 {
            (mantissa as f64, mantissa, 0)
        } else {
            let unit = POWERS[decimals];
            let fraction = (mantissa % unit) * POWERS[FRACTION_DIGITS - decimals];
            // Both operands are exact below 2^53 and 10^22, so one division rounds correctly.
            (mantissa as f64 / unit as f64, mantissa / unit, fraction as i64)
        };
        let whole = i128::from(whole);
        let (value, exact) = match negative {
            true => (-size, Decimal { whole: -whole, fraction: -fraction }),
            false => (size, Decimal { whole, fraction }),
        };
        Some(Self { raw, value, exact: Some(exact), integer: !point })
    }

    #[cold]
    fn parse_slowly(raw: &'r [u8]) -> Option<Self> {
        if raw.len() > MAX_NUMBER_BYTES {
            return None;
        }
        let digits = Digits::read(raw)?;
        let value = std::str::from_utf8(raw).ok()?.parse().ok()?;
        let integer = !raw.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
        Some(Self { raw, value, exact: digits.exact(), integer })
    }

    /// Reads a text that is a number, or one with a mark that says what it counts: `v3`, `$9.99`, `#12`, `433 ms`, `85%`.
    #[inline]
    pub(crate) fn parse_text(raw: &'r [u8]) -> Option<(Self, NumberMarks<'r>)> {
        let (digits, marks) = NumberMarks::split(raw);
        let number = Self::parse(digits)?;
        Some((Self { raw, ..number }, marks))
    }

    /// Returns the number with the text that it was read from.
    #[inline]
    pub(super) fn written(self, raw: &'r [u8]) -> Self {
        Self { raw, ..self }
    }

    /// Returns a hash that equal numbers share, however they are written.
    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        let Some(exact) = self.exact else { return self.hash_digits() };
        let whole = hash::mix(exact.whole as u64) ^ (exact.whole >> 64) as u64;
        hash::mix(whole ^ hash::mix(exact.fraction as u64))
    }

    #[cold]
    fn hash_digits(&self) -> u64 {
        let Some(digits) = Digits::read(numeric_part(self.raw)) else { return hash::bytes(self.raw) };
        let significant: Vec<u8> = digits.significant().collect();
        let magnitude = digits.magnitude().unwrap_or(0) as u64;
        hash::mix(hash::bytes(&significant) ^ hash::mix(magnitude) ^ u64::from(digits.negative))
    }

    pub(super) fn wide(&self) -> WideFloat {
        match Digits::read(numeric_part(self.raw)) {
            Some(digits) => WideFloat::of(&digits),
            None => WideFloat::new(self.value),
        }
    }
}

fn numeric_part(raw: &[u8]) -> &[u8] {
    NumberMarks::split(raw).0
}

/// What a text has beside its number. Only numbers with the same marks can be compared and added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NumberMarks<'r> {
    /// A sign before the number: `$`, `#` or `v`.
    pub(crate) before: &'r [u8],
    /// The unit after it, with the space before the unit.
    pub(crate) after: &'r [u8],
}

/// The maximum number of bytes of a unit.
const MAX_UNIT_BYTES: usize = 8;

impl<'r> NumberMarks<'r> {
    /// Splits a text into a number and its marks; without a unit the number may be in any form, or none at all.
    ///
    /// Every string passes through here, so what begins like no number is not looked at further.
    #[inline]
    pub(super) fn split(raw: &'r [u8]) -> (&'r [u8], Self) {
        match raw {
            [b'0'..=b'9' | b'-' | b'+', .., last] if !last.is_ascii_digit() => Self::split_unit(raw),
            [b'v' | b'$' | b'#', rest @ ..] => (rest, Self { before: &raw[..1], after: &[] }),
            _ => (raw, Self::default()),
        }
    }

    #[inline(never)]
    fn split_unit(raw: &'r [u8]) -> (&'r [u8], Self) {
        let (digits, after) = raw.split_at(raw.len() - unit_length(raw));
        (digits, Self { before: &[], after })
    }
}

/// Returns the length of the unit at the end of a text that begins with a number, 0 if it has none.
fn unit_length(text: &[u8]) -> usize {
    let is_unit = |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii() || matches!(byte, b'%' | b'/');
    let letters = text.iter().rev().take(MAX_UNIT_BYTES + 1).take_while(|byte| is_unit(byte)).count();
    if letters == 0 || letters > MAX_UNIT_BYTES {
        return 0;
    }
    let length = letters + usize::from(text[..text.len() - letters].ends_with(b" "));
    let number = &text[..text.len() - length];
    let is_number = number.last().is_some_and(u8::is_ascii_digit)
        && number.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
    if is_number { length } else { 0 }
}

/// [`NumberMarks`] that are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptMarks {
    before: Box<[u8]>,
    after: Box<[u8]>,
}

impl KeptMarks {
    /// Returns the marks that are kept, or none.
    pub(crate) fn of(kept: &Option<Box<Self>>) -> NumberMarks<'_> {
        kept.as_ref()
            .map_or(NumberMarks::default(), |kept| NumberMarks { before: &kept.before, after: &kept.after })
    }

    /// Keeps marks, if there are any.
    pub(super) fn keep(marks: NumberMarks<'_>) -> Option<Box<Self>> {
        let is_marked = marks != NumberMarks::default();
        is_marked.then(|| Box::new(Self { before: marks.before.into(), after: marks.after.into() }))
    }
}

/// A number that is kept to be compared with others and shown as written.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptNumber {
    pub(crate) value: f64,
    exact: Option<Decimal>,
    raw: Vec<u8>,
    /// The offset of its first occurrence.
    pub(crate) at: u64,
    /// How many numbers equal it.
    pub(crate) count: u64,
}

impl KeptNumber {
    /// Keeps a number found at offset `at`.
    pub(crate) fn new(number: &Number<'_>, at: u64) -> Self {
        let mut kept = Self::default();
        kept.set(number, at);
        kept
    }

    #[inline]
    fn set(&mut self, number: &Number<'_>, at: u64) {
        (self.value, self.exact, self.at, self.count) = (number.value, number.exact, at, 1);
        self.raw.clear();
        self.raw.extend_from_slice(number.raw);
    }

    /// Keeps a number only to compare others with it.
    #[inline]
    fn set_value(&mut self, number: &Number<'_>) {
        (self.value, self.exact) = (number.value, number.exact);
        // An exact value is enough to compare.
        self.raw.clear();
        if number.exact.is_none() {
            self.raw.extend_from_slice(number.raw);
        }
    }

    fn number(&self) -> Number<'_> {
        Number { raw: &self.raw, value: self.value, exact: self.exact, integer: false }
    }

    /// Compares another number with this one, exactly.
    #[inline]
    pub(crate) fn compare(&self, other: &Number<'_>) -> Ordering {
        match other.value.total_cmp(&self.value) {
            // Different numbers may have the same nearest float. (And zero has two.)
            Ordering::Equal => self.compare_exactly(other),
            _ if other.value == self.value => self.compare_exactly(other),
            different => different,
        }
    }

    fn compare_exactly(&self, other: &Number<'_>) -> Ordering {
        if let (Some(ours), Some(theirs)) = (self.exact, other.exact) {
            return theirs.cmp(&ours);
        }
        match (Digits::read(numeric_part(other.raw)), Digits::read(numeric_part(&self.raw))) {
            (Some(theirs), Some(ours)) => theirs.compare(&ours),
            _ => Ordering::Equal,
        }
    }

    /// Returns the number as written.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }
}

/// Statistics over the numbers of one field.
#[derive(Debug, Clone, Default)]
pub(crate) struct NumberStats {
    pub(crate) count: u64,
    pub(crate) integers: u64,
    pub(crate) min: KeptNumber,
    pub(crate) max: KeptNumber,
    trend: Trend,
    last: KeptNumber,
    sum: Sum,
    sample: OrderedSample,
}

impl NumberStats {
    /// Counts one more number, found at offset `at`.
    #[inline]
    pub(crate) fn add(&mut self, number: &Number<'_>, at: u64) {
        if self.count == 0 {
            self.min.set(number, at);
            self.max.set(number, at);
        } else {
            self.trend.note(self.last.compare(number));
            match self.min.compare(number) {
                Ordering::Less => self.min.set(number, at),
                Ordering::Equal => self.min.count += 1,
                Ordering::Greater => {}
            }
            match self.max.compare(number) {
                Ordering::Greater => self.max.set(number, at),
                Ordering::Equal => self.max.count += 1,
                Ordering::Less => {}
            }
        }
        self.last.set_value(number);
        self.sample.add(number.value);
        self.count += 1;
        self.integers += u64::from(number.integer);
        self.sum.add(number);
    }

    /// Forgets the order of the numbers, since the last one added is the first in the data, at offset `at`.
    pub(crate) fn forget_order(&mut self, at: u64) {
        self.trend.forget();
        for extreme in [&mut self.min, &mut self.max] {
            if self.last.compare(&extreme.number()).is_eq() {
                extreme.at = at;
            }
        }
    }

    /// Adds the statistics of another field.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        for (ours, theirs, better) in
            [(&mut self.min, &other.min, Ordering::Less), (&mut self.max, &other.max, Ordering::Greater)]
        {
            match ours.compare(&theirs.number()) {
                Ordering::Equal => {
                    (ours.count, ours.at) = (ours.count + theirs.count, ours.at.min(theirs.at));
                }
                order if order == better => *ours = theirs.clone(),
                _ => {}
            }
        }
        self.trend.forget();
        self.count += other.count;
        self.integers += other.integers;
        self.sum.merge(&other.sum);
        self.sample.merge(&other.sample);
    }

    /// Returns the sum as text, and whether it is exact.
    pub(crate) fn sum(&self) -> (String, bool) {
        self.sum.text()
    }

    /// Returns the mean to six digits, and whether it is that of an exact sum.
    pub(crate) fn mean(&self) -> (String, bool) {
        self.sum.mean(self.count)
    }

    /// Returns the median to six digits, and whether it is exact rather than the median of a sample; `None` beyond the
    /// range of floats.
    pub(crate) fn median(&self) -> Option<(String, bool)> {
        let median = self.sample.median().filter(|median| median.is_finite())?;
        Some((crate::write::float(median), self.sample.is_complete()))
    }

    /// Returns values in order, one of each stretch of equal length; empty if the order is not known.
    pub(crate) fn course(&self) -> &[f64] {
        let finite = self.min.value.is_finite() && self.max.value.is_finite();
        if self.trend.is_known() && finite { self.sample.values() } else { &[] }
    }

    /// Returns whether not all numbers are equal.
    pub(crate) fn varies(&self) -> bool {
        self.min.compare(&self.max.number()).is_ne()
    }

    /// Returns whether each number is larger than the one before it.
    pub(crate) fn is_rising(&self) -> bool {
        self.trend.is_rising(self.count)
    }

    /// Returns whether each number is smaller than the one before it.
    pub(crate) fn is_falling(&self) -> bool {
        self.trend.is_falling(self.count)
    }

    /// Returns whether the numbers only ever rise or only ever fall.
    pub(crate) fn is_sorted(&self) -> bool {
        self.trend.is_sorted(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(numbers: &[&str]) -> NumberStats {
        let mut stats = NumberStats::default();
        for (at, raw) in numbers.iter().enumerate() {
            stats.add(&Number::parse(raw.as_bytes()).unwrap(), at as u64);
        }
        stats
    }

    #[test]
    fn numbers_agree_with_the_standard_parser() {
        for raw in [
            "0",
            "-0",
            "1.0",
            "0.1",
            "123456789.987654321",
            "9007199254740993",
            "1e3",
            "-2.5E-3",
            "0.000001",
            "1e400",
        ] {
            assert_eq!(Number::parse(raw.as_bytes()).unwrap().value, raw.parse::<f64>().unwrap(), "{raw}");
        }
        for raw in ["", "-", "1.2.3", "2024-01-01", "1e", "NaN", "0x10", "1,2", ".", "1e9999999999999999"] {
            assert!(Number::parse(raw.as_bytes()).is_none(), "{raw}");
        }
        assert_eq!(Number::parse_text(b"$9.99").unwrap().0.value, 9.99);
    }

    #[test]
    fn equal_numbers_have_one_hash() {
        let hash = |raw: &str| Number::parse(raw.as_bytes()).unwrap().hash();
        for equal in [["1", "1.0"], ["1e400", "10.0e399"], ["-0", "0.000"], ["1.5e3", "1500"]] {
            assert_eq!(hash(equal[0]), hash(equal[1]), "{equal:?}");
        }
        for different in
            [["1", "-1"], ["1e400", "1e401"], ["9007199254740993", "9007199254740992"], ["0.1", "1"]]
        {
            assert_ne!(hash(different[0]), hash(different[1]), "{different:?}");
        }
    }

    #[test]
    fn sums_are_exact_decimals_where_possible() {
        assert_eq!(stats(&["0.1", "0.2"]).sum(), ("0.3".into(), true));
        assert_eq!(stats(&["3", "-5"]).sum(), ("-2".into(), true));
        assert_eq!(stats(&["1", "-0.25", "-0.25"]).sum(), ("0.5".into(), true));
        assert_eq!(stats(&["18446744073709551616", "1"]).sum(), ("18446744073709551617".into(), true));
        assert_eq!(stats(&["1e-12", "1"]).sum(), ("1.000000000001".into(), true));
        assert_eq!(stats(&["1e-19", "1"]).sum(), ("1".into(), false));
        assert_eq!(stats(&["1.79e308", "1.79e308"]).mean(), ("1.79000e308".into(), false));
        let huge = "170141183460469231731687303715884105727";
        assert_eq!(stats(&[huge, huge]).sum(), ("3.40282e38".into(), false));
    }

    #[test]
    fn extremes_are_exact_and_as_written() {
        let numbers =
            stats(&["-9007199254740992", "-9007199254740993", "-9007199254740991", "-9007199254740991"]);
        assert_eq!((numbers.min.text(), numbers.min.at), ("-9007199254740993".into(), 1));
        assert_eq!(
            (numbers.max.text(), numbers.max.at, numbers.max.count),
            ("-9007199254740991".into(), 2, 2)
        );
        let numbers = stats(&["1e400", "2e400", "-1e500", "0"]);
        assert_eq!((numbers.min.text(), numbers.max.text()), ("-1e500".into(), "2e400".into()));
        assert!(stats(&["9007199254740993", "9007199254740994", "9007199254740995"]).is_rising());
        assert!(!stats(&["9007199254740993", "9007199254740992", "9007199254740994"]).is_rising());
        assert!(!stats(&["1", "1.0", "1e0"]).varies());
    }

    #[test]
    fn merging_compares_extremes() {
        let mut one = stats(&["1", "5"]);
        one.merge(&stats(&["0.5", "5.0", "3"]));
        assert_eq!((one.min.text(), one.max.text(), one.max.count), ("0.5".into(), "5".into(), 2));
        assert_eq!((one.sum(), one.count), (("14.5".into(), true), 5));
    }

    #[test]
    fn the_median_of_many_is_that_of_a_sample() {
        let numbers: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
        let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let (median, exact) = stats(&numbers).median().unwrap();
        assert!(!exact && (median.parse::<f64>().unwrap() - 5000.0).abs() < 100.0, "{median}");
        assert!(stats(&numbers).is_rising());
        assert_eq!(stats(&["3", "1", "2", "9"]).median(), Some(("2.5".into(), true)));
    }
}
