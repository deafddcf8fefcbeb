//! A long series of entries, and an evenly spaced sample of it for a summary.
//!
//! Invariant: a sample holds references to entries of the series, in order and without repetition.

/// An ordered series of entries, such as satellite states over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series<T>(Vec<T>);

impl<T> Series<T> {
    /// Returns a series of these entries.
    pub fn new(entries: Vec<T>) -> Self {
        Self(entries)
    }

    /// Returns all entries.
    pub fn entries(&self) -> &[T] {
        &self.0
    }

    /// Converts the series into its entries.
    pub fn into_entries(self) -> Vec<T> {
        self.0
    }

    /// Returns at most `count` evenly spaced entries in order, always including the first and the last.
    ///
    /// A series of at most `count` entries is returned whole. A count of one returns the first entry.
    ///
    /// ```
    /// use tidegate_sdk::series::Series;
    ///
    /// let minutes = Series::new((0..=1440).collect());
    /// assert_eq!(minutes.sample(5), [&0, &360, &720, &1080, &1440]);
    /// ```
    pub fn sample(&self, count: usize) -> Vec<&T> {
        sample_indices(self.0.len(), count).filter_map(|index| self.0.get(index)).collect()
    }
}

/// Returns the positions of a sample, rounded to the nearest. They are distinct: the exact ones are at least 1 apart.
fn sample_indices(length: usize, count: usize) -> impl Iterator<Item = usize> {
    let count = count.min(length);
    let (last, gaps) = (length.saturating_sub(1) as u128, count.saturating_sub(1).max(1) as u128);
    (0..count).map(move |step| usize::try_from((step as u128 * last + gaps / 2) / gaps).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_day_of_minutes_becomes_twelve() {
        let day = Series::new((0..1440).collect::<Vec<u32>>());
        let sample = day.sample(12);
        assert_eq!((sample.len(), *sample[0], *sample[11]), (12, 0, 1439));
    }

    #[test]
    fn a_short_series_is_returned_whole() {
        let three = Series::new(vec!['a', 'b', 'c']);
        assert_eq!(three.sample(3), [&'a', &'b', &'c']);
        assert_eq!(three.sample(usize::MAX), [&'a', &'b', &'c']);
        assert_eq!((three.sample(2), three.sample(1)), (vec![&'a', &'c'], vec![&'a']));
        assert!(three.sample(0).is_empty() && Series::<u8>::new(vec![]).sample(5).is_empty());
    }

    proptest! {
        #![proptest_config(tidegate_testkit::cases(256))]

        #[test]
        fn a_sample_is_a_subset_of_the_series(bits in prop::collection::vec(any::<u64>(), 0..300), count in 0usize..40) {
            let series = Series::new(bits.iter().map(|bits| f64::from_bits(*bits)).collect());
            let indices: Vec<usize> = sample_indices(bits.len(), count).collect();
            prop_assert_eq!(indices.len(), count.min(bits.len()));
            prop_assert!(indices.windows(2).all(|pair| pair[0] < pair[1]));
            // Bit for bit, NaN included.
            let sample: Vec<u64> = series.sample(count).into_iter().map(|entry| entry.to_bits()).collect();
            let expected: Vec<u64> = indices.iter().map(|index| bits[*index]).collect();
            prop_assert_eq!(&sample, &expected);
            if count >= 2 {
                prop_assert_eq!((sample.first(), sample.last()), (bits.first(), bits.last()));
            }
        }

        #[test]
        fn entries_are_evenly_spaced(length in 2usize..5000, count in 2usize..60) {
            let indices: Vec<usize> = sample_indices(length, count).collect();
            let gaps: Vec<usize> = indices.windows(2).map(|pair| pair[1] - pair[0]).collect();
            prop_assert!(gaps.iter().max().unwrap() - gaps.iter().min().unwrap() <= 1);
        }
    }
}
