//! An estimate of how many distinct values a field has, in fixed memory.
//!
//! [`DistinctValues`](super::distinct_values::DistinctValues) switches to it when a field has too many distinct values to
//! keep the hashes of all. The sketch sees only hashes, so that the same values give the same estimate on every run.

const REGISTERS_LOG2: u32 = 11;
const REGISTERS: usize = 1 << REGISTERS_LOG2;

/// A HyperLogLog sketch: estimates the number of distinct values to within about three percent, in 2 KB.
#[derive(Debug, Clone)]
pub(super) struct DistinctSketch {
    registers: [u8; REGISTERS],
}

impl Default for DistinctSketch {
    fn default() -> Self {
        Self { registers: [0; REGISTERS] }
    }
}

impl DistinctSketch {
    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        let hash = spread(hash);
        let register = (hash >> (64 - REGISTERS_LOG2)) as usize;
        let rank = ((hash << REGISTERS_LOG2) | 1).leading_zeros() as u8 + 1;
        let held = &mut self.registers[register];
        *held = (*held).max(rank);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *ours = (*ours).max(*theirs);
        }
    }

    pub(super) fn estimate(&self) -> u64 {
        let count = REGISTERS as f64;
        // Builds 2^-rank from its exponent bits.
        let power = |rank: u8| f64::from_bits(u64::from(1023 - u16::from(rank)) << 52);
        let sum: f64 = self.registers.iter().map(|&rank| power(rank)).sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / sum;
        let empty = self.registers.iter().filter(|&&rank| rank == 0).count();
        let estimate = if raw < 2.5 * count && empty > 0 { count * (count / empty as f64).ln() } else { raw };
        estimate.round() as u64
    }
}

/// Spreads a hash over all bits evenly; the estimate depends on each of them.
#[inline]
fn spread(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}
