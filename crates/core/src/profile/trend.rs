//! Whether the values of a field only rise or only fall, in the order in which they occur.

use std::cmp::Ordering;

/// How often a value is larger, or smaller, than the one before it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trend {
    rises: u64,
    falls: u64,
    /// Whether the order is not known, because the values of several fields were merged.
    is_unknown: bool,
}

impl Trend {
    /// Notes how a value compares with the one before it.
    #[inline]
    pub(super) fn note(&mut self, step: Ordering) {
        match step {
            Ordering::Less => self.falls += 1,
            Ordering::Greater => self.rises += 1,
            Ordering::Equal => {}
        }
    }

    /// Forgets the order of the values.
    pub(super) fn forget(&mut self) {
        self.is_unknown = true;
    }

    /// Returns whether the order is known.
    pub(super) fn is_known(self) -> bool {
        !self.is_unknown
    }

    /// Returns whether each of `count` values is larger than the one before it.
    pub(super) fn is_rising(self, count: u64) -> bool {
        self.is_known() && count > 2 && self.rises == count - 1
    }

    /// Returns whether each of `count` values is smaller than the one before it.
    pub(super) fn is_falling(self, count: u64) -> bool {
        self.is_known() && count > 2 && self.falls == count - 1
    }

    /// Returns whether `count` values only ever rise or only ever fall.
    pub(super) fn is_sorted(self, count: u64) -> bool {
        self.is_known() && count > 2 && (self.falls == 0) != (self.rises == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sorted() {
        let of = |values: &[u8]| {
            let mut trend = Trend::default();
            values.windows(2).for_each(|pair| trend.note(pair[1].cmp(&pair[0])));
            let count = values.len() as u64;
            (trend.is_rising(count), trend.is_falling(count), trend.is_sorted(count))
        };
        assert_eq!(of(&[1, 2, 3]), (true, false, true));
        assert_eq!(of(&[3, 2, 1]), (false, true, true));
        assert_eq!(of(&[1, 1, 2]), (false, false, true), "equal values do not break the order");
        assert_eq!(of(&[1, 3, 2]), (false, false, false));
        assert_eq!(of(&[1, 1, 1]), (false, false, false));
        assert_eq!(of(&[1, 2]), (false, false, false), "two values are no trend");
        let mut merged = Trend::default();
        (0..3).for_each(|_| merged.note(Ordering::Greater));
        merged.forget();
        assert!(!merged.is_sorted(4) && !merged.is_rising(4));
    }
}
