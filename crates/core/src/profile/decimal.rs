//! Decimal numbers as written: exact values, exact comparison, and a float of any magnitude.
//!
//! A float holds about sixteen digits and ends at 1.8e308; data has longer numbers and larger ones. Comparing and
//! adding here is exact for every number whose whole part fits 128 bits and whose fraction has at most
//! [`FRACTION_DIGITS`] digits; any other number is still compared exactly, digit by digit.

use std::cmp::Ordering;
use std::fmt;

use crate::write;

/// The number of decimal places of a [`Decimal`].
pub(crate) const FRACTION_DIGITS: usize = 18;
/// Ten to the power of [`FRACTION_DIGITS`].
pub(super) const FRACTION_UNIT: i64 = 1_000_000_000_000_000_000;
/// The maximum number of digits of an exponent; a text with a longer one is not counted as a number.
const MAX_EXPONENT_DIGITS: usize = 15;

/// A decimal number: its whole part, and its fraction in units of ten to the power of -[`FRACTION_DIGITS`].
///
/// Both parts have the sign of the number, so that the derived order is the numeric one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Decimal {
    pub(super) whole: i128,
    pub(super) fraction: i64,
}

impl Decimal {
    /// Returns the nearest float.
    pub(super) fn to_float(self) -> f64 {
        self.whole as f64 + self.fraction as f64 / FRACTION_UNIT as f64
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.whole < 0 || self.fraction < 0 { "-" } else { "" };
        write!(formatter, "{sign}{}", self.whole.unsigned_abs())?;
        let fraction = format!("{:0width$}", self.fraction.unsigned_abs(), width = FRACTION_DIGITS);
        match fraction.trim_end_matches('0') {
            "" => Ok(()),
            digits => write!(formatter, ".{digits}"),
        }
    }
}

/// The digits and the exponent of a number as written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digits<'r> {
    pub(super) negative: bool,
    /// The digits before and after the point.
    whole: &'r [u8],
    fraction: &'r [u8],
    exponent: i64,
}

impl<'r> Digits<'r> {
    /// Reads a number: a sign, digits, a fraction, an exponent; `None` for anything else.
    pub(super) fn read(raw: &'r [u8]) -> Option<Self> {
        let (negative, rest) = match raw.split_first()? {
            (b'-', rest) => (true, rest),
            (b'+', rest) => (false, rest),
            _ => (false, raw),
        };
        let (whole, rest) = split_digits(rest);
        let (fraction, rest) = match rest.split_first() {
            Some((b'.', rest)) => split_digits(rest),
            _ => (&rest[..0], rest),
        };
        let exponent = match rest.split_first() {
            None => 0,
            Some((b'e' | b'E', rest)) => read_exponent(rest)?,
            Some(_) => return None,
        };
        (!whole.is_empty()).then_some(Self { negative, whole, fraction, exponent })
    }

    fn digit(&self, index: usize) -> u8 {
        let digit = match self.whole.get(index) {
            Some(digit) => Some(digit),
            None => self.fraction.get(index - self.whole.len()),
        };
        digit.map_or(0, |digit| digit - b'0')
    }

    fn len(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    /// Returns the index of the first digit that is not zero; `None` for zero.
    fn first(&self) -> Option<usize> {
        (0..self.len()).find(|&index| self.digit(index) != 0)
    }

    /// Returns the digits from the first to the last that is not zero.
    pub(super) fn significant(&self) -> impl Iterator<Item = u8> + '_ {
        let first = self.first().unwrap_or(self.len());
        let last = (first..self.len()).rev().find(|&index| self.digit(index) != 0).map_or(first, |at| at + 1);
        (first..last).map(|index| self.digit(index))
    }

    /// Returns the power of ten of the first digit that is not zero; `None` for zero.
    pub(super) fn magnitude(&self) -> Option<i64> {
        Some(self.whole.len() as i64 - 1 - self.first()? as i64 + self.exponent)
    }

    /// Returns the exact value, if a [`Decimal`] can hold it.
    pub(super) fn exact(&self) -> Option<Decimal> {
        let Some(first) = self.first() else { return Some(Decimal::default()) };
        let point = self.whole.len() as i64 + self.exponent;
        let last = (first..self.len()).rev().find(|&index| self.digit(index) != 0)? as i64;
        // The largest whole part has 39 digits.
        if point - first as i64 > 39 || last >= point + FRACTION_DIGITS as i64 {
            return None;
        }
        let digit = |index: i64| i128::from(usize::try_from(index).map_or(0, |index| self.digit(index)));
        let sign = if self.negative { -1 } else { 1 };
        let whole = (first as i64..point)
            .try_fold(0i128, |whole, index| whole.checked_mul(10)?.checked_add(sign * digit(index)))?;
        let fraction = (point..point + FRACTION_DIGITS as i64)
            .fold(0i128, |part, index| part * 10 + sign * digit(index));
        Some(Decimal { whole, fraction: fraction as i64 })
    }

    /// Compares two numbers exactly.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let sign = |digits: &Self| match digits.magnitude() {
            None => 0,
            Some(_) if digits.negative => -1,
            Some(_) => 1,
        };
        let signs = sign(self).cmp(&sign(other));
        if signs.is_ne() || sign(self) == 0 {
            return signs;
        }
        let sizes = self.magnitude().cmp(&other.magnitude());
        let sizes = sizes.then_with(|| self.significant().cmp(other.significant()));
        if self.negative { sizes.reverse() } else { sizes }
    }
}

fn split_digits(raw: &[u8]) -> (&[u8], &[u8]) {
    raw.split_at(raw.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

fn read_exponent(raw: &[u8]) -> Option<i64> {
    let (negative, digits) = match raw.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, raw),
    };
    if digits.is_empty() || digits.len() > MAX_EXPONENT_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some(if negative { -value } else { value })
}

/// A float of any magnitude: `mantissa` times ten to the power of `exponent`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WideFloat {
    mantissa: f64,
    exponent: i64,
}

impl WideFloat {
    pub(super) fn new(value: f64) -> Self {
        Self { mantissa: value, exponent: 0 }.normalised()
    }

    /// Returns the number to about sixteen digits.
    pub(super) fn of(digits: &Digits<'_>) -> Self {
        let Some(exponent) = digits.magnitude() else { return Self::default() };
        let leading = digits.significant().take(17).enumerate();
        let size: f64 = leading.map(|(place, digit)| f64::from(digit) / 10f64.powi(place as i32)).sum();
        Self { mantissa: if digits.negative { -size } else { size }, exponent }.normalised()
    }

    fn normalised(self) -> Self {
        if self.mantissa == 0.0 || !self.mantissa.is_finite() {
            return Self { exponent: 0, ..self };
        }
        let shift = self.mantissa.abs().log10().floor() as i32;
        // Two steps, since ten to the power of -308 and below is not a normal float.
        let mantissa = self.mantissa / 10f64.powi(shift / 2) / 10f64.powi(shift - shift / 2);
        Self { mantissa, exponent: self.exponent + i64::from(shift) }
    }

    pub(super) fn add(self, other: Self) -> Self {
        if self.mantissa == 0.0 {
            return other;
        }
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let distance = large.exponent - small.exponent;
        if distance > 40 {
            return large;
        }
        let mantissa = large.mantissa + small.mantissa / 10f64.powi(distance as i32);
        Self { mantissa, ..large }.normalised()
    }

    pub(super) fn divided_by(self, count: u64) -> Self {
        Self { mantissa: self.mantissa / count as f64, ..self }.normalised()
    }
}

impl fmt::Display for WideFloat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if (-5..15).contains(&self.exponent) {
            return formatter.write_str(&write::float(self.mantissa * 10f64.powi(self.exponent as i32)));
        }
        // Rounding may carry into one more digit, which moves the exponent.
        let text = format!("{:.5e}", self.mantissa);
        let (mantissa, carry) = text.split_once('e').unwrap_or((&text, "0"));
        write!(formatter, "{mantissa}e{}", self.exponent + carry.parse::<i64>().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> Digits<'_> {
        Digits::read(raw.as_bytes()).unwrap()
    }

    #[test]
    fn decimals_are_written_exactly_and_normalized() {
        for (raw, exact) in [
            ("0", "0"),
            ("-0.0", "0"),
            ("12.50", "12.5"),
            ("-0.000000000000000001", "-0.000000000000000001"),
            ("1e3", "1000"),
            ("-2.5E-3", "-0.0025"),
            ("6.02e23", "602000000000000000000000"),
            ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
            ("000123", "123"),
        ] {
            assert_eq!(read(raw).exact().unwrap().to_string(), exact, "{raw}");
        }
        for raw in ["1e-19", "1e39", "170141183460469231731687303715884105728", "1e999999999", "1e-999999999"]
        {
            assert_eq!(read(raw).exact(), None, "{raw}");
        }
    }

    #[test]
    fn comparing_is_exact() {
        let rising = [
            "-1e400",
            "-9007199254740993",
            "-9007199254740992",
            "-1.5",
            "-1.25",
            "-1e-400",
            "0",
            "1e-401",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "1e399",
            "1e400",
            "1.0000000000000000000001e400",
            "2e400",
        ];
        for (at, one) in rising.iter().enumerate() {
            for (other_at, other) in rising.iter().enumerate() {
                assert_eq!(read(one).compare(&read(other)), at.cmp(&other_at), "{one} {other}");
            }
        }
        assert!(read("10e-1").compare(&read("1.000")).is_eq() && read("-0").compare(&read("0e9")).is_eq());
    }

    #[test]
    fn floats_beyond_the_range_of_a_float() {
        let sum = WideFloat::of(&read("1.79e308")).add(WideFloat::of(&read("1.79e308")));
        assert_eq!(sum.to_string(), "3.58000e308");
        assert_eq!(sum.divided_by(2).to_string(), "1.79000e308");
        assert_eq!(WideFloat::of(&read("-1e400")).add(WideFloat::new(1.0)).to_string(), "-1.00000e400");
        assert_eq!(WideFloat::new(15.429).to_string(), "15.429");
        assert_eq!(WideFloat::new(5e-320).add(WideFloat::new(5e-320)).to_string(), "9.99989e-320");
        assert_eq!(WideFloat::of(&read("9.9999999e99")).to_string(), "1.00000e100");
    }
}
