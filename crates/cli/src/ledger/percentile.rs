//! Percentiles by nearest rank: always a value that occurs, never an interpolated one.

/// Returns the smallest value that is at least as large as this percentage of the values. They must be sorted.
pub(crate) fn percentile(sorted: &[u64], percent: u64) -> Option<u64> {
    let rank = (sorted.len() as u64 * percent).div_ceil(100).max(1);
    sorted.get(usize::try_from(rank - 1).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, computed the slow way.
    fn naive(values: &[u64], percent: u64) -> Option<u64> {
        let is_enough = |bound: u64| {
            let below = values.iter().filter(|value| **value <= bound).count() as u64;
            below * 100 >= percent * values.len() as u64
        };
        values.iter().copied().filter(|value| is_enough(*value)).min()
    }

    proptest! {
        #[test]
        fn the_percentile_equals_its_definition(mut values in prop::collection::vec(0_u64..50, 0..200), percent in 1_u64..=100) {
            let expected = naive(&values, percent);
            values.sort_unstable();
            prop_assert_eq!(percentile(&values, percent), expected);
        }
    }

    #[test]
    fn percentiles_of_small_lists() {
        assert_eq!(percentile(&[], 50), None);
        assert_eq!(percentile(&[7], 99), Some(7));
        assert_eq!(percentile(&[1, 2, 3, 4], 50), Some(2));
        assert_eq!(percentile(&(1..=100).collect::<Vec<_>>(), 95), Some(95));
        assert_eq!(percentile(&[1, 2], 0), Some(1));
    }
}
