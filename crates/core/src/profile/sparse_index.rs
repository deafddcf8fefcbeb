//! A sparse index of the elements of one container or the lines of one text.
//!
//! It is filled during the one pass over the data and kept beside a stored result; it never holds more than
//! [`MAX_INDEX_ENTRIES`] offsets, however many elements there are.

use serde::{Deserialize, Serialize};

/// The maximum number of offsets held; when they are reached, every second one is dropped.
const MAX_INDEX_ENTRIES: usize = 2048;

/// The offsets of every `stride`-th element of one container: a short scan from one of them finds any element.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq)]
pub(crate) struct SparseIndex {
    offsets: Vec<u64>,
    stride: u64,
    pub(crate) count: u64,
}

impl SparseIndex {
    /// Adds the next element.
    #[inline]
    pub(crate) fn push(&mut self, offset: u64) {
        self.stride = self.stride.max(1);
        if self.count.is_multiple_of(self.stride) {
            if self.offsets.len() == MAX_INDEX_ENTRIES {
                self.offsets = self.offsets.iter().copied().step_by(2).collect();
                self.stride *= 2;
            }
            if self.count.is_multiple_of(self.stride) {
                self.offsets.push(offset);
            }
        }
        self.count += 1;
    }

    /// Returns the number and the offset of the last indexed element at or before element `index`.
    pub(crate) fn before(&self, index: u64) -> Option<(u64, u64)> {
        let slot = (index / self.stride.max(1)).min(self.offsets.len().checked_sub(1)? as u64);
        Some((slot * self.stride, self.offsets[slot as usize]))
    }

    /// Returns the number and the offset of the last indexed element that begins at or before `offset`.
    pub(crate) fn at_or_before(&self, offset: u64) -> Option<(u64, u64)> {
        let after = self.offsets.partition_point(|&start| start <= offset);
        let slot = after.checked_sub(1)?;
        Some((slot as u64 * self.stride, self.offsets[slot]))
    }
}
