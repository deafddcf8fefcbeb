//! Numbers: parsed from their text without rounding where possible, and statistics over many of them.
//!
//! Sums are exact decimals as long as every number has at most nine decimal places and no exponent; otherwise
//! they are compensated floating point and marked as rounded. Extremes are kept as offsets, so that they can be
//! shown as written.

/// A number read from its text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: f64,
    /// The value times ten to the ninth, where that is exact.
    scaled: Option<i128>,
    pub(crate) integer: bool,
}

const SCALE_DIGITS: usize = 9;
const POWERS: [u64; 19] = {
    let mut powers = [1u64; 19];
    let mut index = 1;
    while index < 19 {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

impl Number {
    /// Reads a number as JSON writes it; `None` for anything else, also for `NaN` and infinities.
    #[inline]
    pub(crate) fn parse(raw: &[u8]) -> Option<Self> {
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
                b'0'..=b'9' if length < 18 => {
                    mantissa = mantissa * 10 + u64::from(byte - b'0');
                    length += usize::from(mantissa != 0);
                    decimals += usize::from(point);
                }
                b'.' if !point && index + 1 < digits.len() => point = true,
                _ => return Self::parse_slowly(raw),
            }
        }
        if decimals > 18 {
            return Self::parse_slowly(raw);
        }
        // Both operands are exact below 2^53 and 10^22, so one division rounds correctly.
        let magnitude = if mantissa < 1 << 53 {
            mantissa as f64 / POWERS[decimals] as f64
        } else {
            return Self::parse_slowly(raw);
        };
        let scaled = (decimals <= SCALE_DIGITS).then(|| {
            let scaled = i128::from(mantissa) * i128::from(POWERS[SCALE_DIGITS - decimals]);
            if negative { -scaled } else { scaled }
        });
        Some(Self { value: if negative { -magnitude } else { magnitude }, scaled, integer: !point })
    }

    #[cold]
    fn parse_slowly(raw: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(raw).ok()?;
        let grammar = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        let value: f64 = if grammar { text.parse().ok()? } else { return None };
        let integer = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+'));
        let scaled = if integer {
            text.parse::<i128>().ok().and_then(|whole| whole.checked_mul(i128::from(POWERS[SCALE_DIGITS])))
        } else {
            None
        };
        value.is_finite().then_some(Self { value, scaled, integer })
    }
}

/// A sum that is exact as long as it can be.
#[derive(Debug, Clone, Copy)]
struct Sum {
    scaled: Option<i128>,
    float: f64,
    compensation: f64,
}

impl Default for Sum {
    fn default() -> Self {
        Self { scaled: Some(0), float: 0.0, compensation: 0.0 }
    }
}

impl Sum {
    #[inline]
    fn add(&mut self, number: &Number) {
        self.scaled = match (self.scaled, number.scaled) {
            (Some(sum), Some(term)) => sum.checked_add(term),
            _ => None,
        };
        self.add_float(number.value);
    }

    fn add_float(&mut self, value: f64) {
        let sum = self.float + value;
        self.compensation += if self.float.abs() >= value.abs() {
            (self.float - sum) + value
        } else {
            (value - sum) + self.float
        };
        self.float = sum;
    }

    fn merge(&mut self, other: &Self) {
        self.scaled = self.scaled.zip(other.scaled).and_then(|(one, two)| one.checked_add(two));
        self.add_float(other.float);
        self.compensation += other.compensation;
    }
}

/// The maximum number of values in the ordered sample.
const MAX_SAMPLE_VALUES: usize = 512;

/// Statistics over the numbers of one field.
#[derive(Debug, Clone, Default)]
pub(crate) struct NumberStats {
    pub(crate) count: u64,
    pub(crate) integers: u64,
    pub(crate) zeros: u64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The offsets of the first smallest and the first largest value.
    pub(crate) min_at: u64,
    pub(crate) max_at: u64,
    /// How often a value is larger, or smaller, than the one before it; shows whether the column is sorted.
    pub(crate) rises: u64,
    pub(crate) falls: u64,
    last: f64,
    sum: Sum,
    /// Every `stride`-th value in order.
    sample: Vec<f64>,
    stride: u64,
}

impl NumberStats {
    /// Counts one more number, found at offset `at`.
    #[inline]
    pub(crate) fn add(&mut self, number: &Number, at: u64) {
        let value = number.value;
        if self.count == 0 {
            (self.min, self.max, self.min_at, self.max_at) = (value, value, at, at);
            self.stride = 1;
        } else {
            if value < self.min {
                (self.min, self.min_at) = (value, at);
            }
            if value > self.max {
                (self.max, self.max_at) = (value, at);
            }
            self.rises += u64::from(value > self.last);
            self.falls += u64::from(value < self.last);
        }
        self.last = value;
        if self.count.is_multiple_of(self.stride) {
            if self.sample.len() == MAX_SAMPLE_VALUES {
                let mut index = 0;
                self.sample.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride *= 2;
            }
            if self.count.is_multiple_of(self.stride) {
                self.sample.push(value);
            }
        }
        self.count += 1;
        self.integers += u64::from(number.integer);
        self.zeros += u64::from(value == 0.0);
        self.sum.add(number);
    }

    /// Adds the statistics of another field, whose values come after these.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        if other.min < self.min {
            (self.min, self.min_at) = (other.min, other.min_at);
        }
        if other.max > self.max {
            (self.max, self.max_at) = (other.max, other.max_at);
        }
        self.count += other.count;
        self.integers += other.integers;
        self.zeros += other.zeros;
        self.rises += other.rises;
        self.falls += other.falls;
        self.sum.merge(&other.sum);
        self.sample.extend_from_slice(&other.sample);
        self.sample.truncate(2 * MAX_SAMPLE_VALUES);
    }

    /// Returns the sum as text, and whether it is exact.
    pub(crate) fn sum(&self) -> (String, bool) {
        match self.sum.scaled {
            Some(scaled) => (crate::write::scaled(scaled, SCALE_DIGITS), true),
            None => (crate::write::float(self.sum.float + self.sum.compensation), false),
        }
    }

    /// Returns the mean.
    pub(crate) fn mean(&self) -> f64 {
        (self.sum.float + self.sum.compensation) / self.count as f64
    }

    /// Returns the median, and whether it is exact rather than the median of a sample.
    pub(crate) fn median(&self) -> (f64, bool) {
        let mut sorted = self.sample.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let exact = self.stride <= 1 && sorted.len() as u64 == self.count;
        let median = match sorted.len() {
            0 => 0.0,
            length if length % 2 == 0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
            _ => sorted[middle],
        };
        (median, exact)
    }

    /// Returns evenly spaced values in order.
    pub(crate) fn sample(&self) -> &[f64] {
        &self.sample
    }

    /// Returns whether the values only ever rise or only ever fall.
    pub(crate) fn is_sorted(&self) -> bool {
        self.count > 2 && (self.falls == 0) != (self.rises == 0)
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
        for raw in
            ["0", "-0", "1.0", "0.1", "123456789.987654321", "9007199254740993", "1e3", "-2.5E-3", "0.000001"]
        {
            assert_eq!(Number::parse(raw.as_bytes()).unwrap().value, raw.parse::<f64>().unwrap(), "{raw}");
        }
        for raw in ["", "-", "1.2.3", "2024-01-01", "1e", "NaN", "0x10", "1,2", "."] {
            assert_eq!(Number::parse(raw.as_bytes()), None, "{raw}");
        }
        assert_eq!(Number::parse(b"1e400"), None, "no finite value");
    }

    #[test]
    fn sums_are_exact_decimals_where_possible() {
        assert_eq!(stats(&["0.1", "0.2"]).sum(), ("0.3".into(), true));
        assert_eq!(stats(&["3", "-5"]).sum(), ("-2".into(), true));
        assert_eq!(stats(&["18446744073709551616", "1"]).sum(), ("18446744073709551617".into(), true));
        assert!(!stats(&["1e-12", "1"]).sum().1);
    }

    #[test]
    fn the_median_of_many_is_that_of_a_sample() {
        let numbers: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
        let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let (median, exact) = stats(&numbers).median();
        assert!(!exact && (median - 5000.0).abs() < 100.0, "{median}");
        assert!(stats(&numbers).is_sorted());
        assert_eq!(stats(&["3", "1", "2", "9"]).median(), (2.5, true));
    }
}
