//! A sample of the numbers of a field, in their order, in bounded memory.
//!
//! All numbers are kept until there are [`MAX_SAMPLE_VALUES`]. From then on the sample has one number of each block of
//! consecutive ones, at a place in the block that a fixed hash chooses: evenly spaced places would see only one phase
//! of data with a period. Blocks double in length when the sample is full.

use crate::hash;

/// The maximum number of values in a sample; an even number. The median of at least half as many is within five
/// percent of the true one in rank.
const MAX_SAMPLE_VALUES: usize = 4096;

/// One value of each block of consecutive values.
#[derive(Debug, Clone, Default)]
pub(super) struct OrderedSample {
    values: Vec<f64>,
    /// How many values were added.
    seen: u64,
    /// The binary logarithm of the length of a block.
    block_log2: u32,
    /// The place of the value to keep in the current block.
    chosen: u64,
}

impl OrderedSample {
    #[inline]
    pub(super) fn add(&mut self, value: f64) {
        self.add_repeated(value, 1);
    }

    /// Adds a value that stands for `count` consecutive ones.
    #[inline]
    fn add_repeated(&mut self, value: f64, mut count: u64) {
        while count > 0 {
            if self.seen & ((1 << self.block_log2) - 1) == 0 {
                self.begin_block();
            }
            let block = 1u64 << self.block_log2;
            let place = self.seen & (block - 1);
            let step = count.min(block - place);
            if (place..place + step).contains(&self.chosen) {
                self.values.push(value);
            }
            self.seen += step;
            count -= step;
        }
    }

    #[inline]
    fn begin_block(&mut self) {
        if self.values.len() >= MAX_SAMPLE_VALUES {
            self.thin();
        }
        if self.block_log2 > 0 {
            self.chosen = hash::mix(self.seen ^ 0x5eed) & ((1 << self.block_log2) - 1);
        }
    }

    /// Keeps one value of each two blocks, which become one.
    #[cold]
    fn thin(&mut self) {
        let kept = self.values.len() / 2;
        for pair in 0..kept {
            let second = hash::mix((pair as u64) << 8 | u64::from(self.block_log2)) & 1;
            self.values[pair] = self.values[2 * pair + second as usize];
        }
        self.values.truncate(kept);
        self.block_log2 += 1;
        // After values of other samples were added, the last block may be incomplete.
        self.seen = (kept as u64) << self.block_log2;
    }

    /// Adds the values of another sample after these.
    pub(super) fn merge(&mut self, other: &Self) {
        let (mut coarse, fine) = if self.block_log2 >= other.block_log2 {
            (std::mem::take(self), other)
        } else {
            (other.clone(), &*self)
        };
        fine.values.iter().for_each(|&value| coarse.add_repeated(value, 1 << fine.block_log2));
        *self = coarse;
    }

    /// Returns whether the sample has all values.
    pub(super) fn is_complete(&self) -> bool {
        self.block_log2 == 0
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the median.
    pub(super) fn median(&self) -> Option<f64> {
        let mut values = self.values.clone();
        let middle = values.len() / 2;
        if values.is_empty() {
            return None;
        }
        let (below, median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
        let median = *median;
        let even = below.len() == self.values.len() - middle;
        match below.iter().copied().max_by(f64::total_cmp).filter(|_| even) {
            Some(before) => Some(f64::midpoint(before, median)),
            None => Some(median),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: impl Iterator<Item = f64>) -> OrderedSample {
        let mut sample = OrderedSample::default();
        values.for_each(|value| sample.add(value));
        sample
    }

    #[test]
    fn few_values_give_an_exact_median() {
        assert_eq!(sample([3.0, 1.0, 2.0].into_iter()).median(), Some(2.0));
        assert_eq!(sample([3.0, 1.0, 2.0, 9.0].into_iter()).median(), Some(2.5));
        assert_eq!(sample([f64::MAX, f64::MAX].into_iter()).median(), Some(f64::MAX));
        assert_eq!(sample(std::iter::empty()).median(), None);
    }

    #[test]
    fn a_period_is_sampled_in_all_its_phases() {
        for period in [2u32, 3, 4, 8, 16, 64, 128, 1000, 1024] {
            let sample = sample((0..200_000u32).map(|index| f64::from(index % period)));
            assert!(!sample.is_complete() && sample.values().len() <= MAX_SAMPLE_VALUES);
            let (median, expected) = (sample.median().unwrap(), f64::from(period - 1) / 2.0);
            assert!((median - expected).abs() <= (f64::from(period) / 20.0).max(0.5), "{period}: {median}");
        }
    }

    #[test]
    fn merged_samples_keep_their_weight() {
        let mut large = sample((0..100_000).map(f64::from));
        for _ in 0..1000 {
            large.merge(&sample((0..10).map(|_| 1e6)));
        }
        let high = large.values().iter().filter(|&&value| value == 1e6).count() as f64;
        let share = high / large.values().len() as f64;
        assert!((0.07..0.11).contains(&share), "{share} of a true share of 0.09");
    }
}
