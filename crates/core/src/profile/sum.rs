//! The sum of many numbers, exact for as long as decimals can be.
//!
//! Every number that a [`Decimal`] holds is added exactly; only the others, and what no longer fits, are added as
//! floats, and then the sum is marked as rounded.

use super::decimal::{Decimal, FRACTION_UNIT, WideFloat};
use super::number::Number;

/// A running sum.
#[derive(Debug, Clone, Default)]
pub(super) struct Sum {
    whole: i128,
    /// The fractions of all terms; far from overflow, since each is below one.
    fraction: i128,
    /// The sum of what decimals cannot hold.
    rounded: Option<WideFloat>,
}

impl Sum {
    #[inline]
    pub(super) fn add(&mut self, number: &Number<'_>) {
        match number.exact {
            Some(exact) => self.add_exact(exact.whole, i128::from(exact.fraction)),
            None => self.add_rounded(number.wide()),
        }
    }

    #[inline]
    fn add_exact(&mut self, whole: i128, fraction: i128) {
        match self.whole.checked_add(whole) {
            Some(sum) => (self.whole, self.fraction) = (sum, self.fraction + fraction),
            None => {
                let term =
                    WideFloat::new(whole as f64).add(WideFloat::new(fraction as f64 / FRACTION_UNIT as f64));
                self.add_rounded(term);
            }
        }
    }

    #[cold]
    fn add_rounded(&mut self, term: WideFloat) {
        self.rounded = Some(self.rounded.unwrap_or_default().add(term));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.add_exact(other.whole, other.fraction);
        if let Some(rounded) = other.rounded {
            self.add_rounded(rounded);
        }
    }

    /// Returns the exact part of the sum; `None` if not even a decimal holds it.
    fn exact(&self) -> Option<Decimal> {
        let unit = i128::from(FRACTION_UNIT);
        let mut whole = self.whole.checked_add(self.fraction / unit)?;
        let mut fraction = self.fraction % unit;
        if whole > 0 && fraction < 0 {
            (whole, fraction) = (whole - 1, fraction + unit);
        } else if whole < 0 && fraction > 0 {
            (whole, fraction) = (whole + 1, fraction - unit);
        }
        Some(Decimal { whole, fraction: fraction as i64 })
    }

    fn wide(&self) -> WideFloat {
        let exact = self.exact().map_or(self.whole as f64, Decimal::to_float);
        WideFloat::new(exact).add(self.rounded.unwrap_or_default())
    }

    /// Returns the sum as text, and whether it is exact.
    pub(super) fn text(&self) -> (String, bool) {
        match (self.exact(), self.rounded) {
            (Some(exact), None) => (exact.to_string(), true),
            _ => (self.wide().to_string(), false),
        }
    }

    /// Returns the sum divided by a count to six digits, and whether the sum is exact.
    pub(super) fn mean(&self, count: u64) -> (String, bool) {
        (self.wide().divided_by(count.max(1)).to_string(), self.rounded.is_none() && self.exact().is_some())
    }
}
