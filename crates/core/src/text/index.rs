//! Checkpoints of a text: offsets known both in the decoded text and in the source.
//!
//! A [`Feed`](super::feed::Feed) that runs from the beginning adds them as it goes. They are kept beside a stored
//! result, so their number is bounded: when there are too many, every second one is dropped.

use serde::{Deserialize, Serialize};

use super::feed::BLOCK_BYTES;

/// The maximum number of checkpoints of one text.
pub(super) const MAX_CHECKPOINTS: usize = 8 * 1024;

/// An offset known both in the decoded text and in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) decoded: u64,
    /// Which span of the text.
    pub(super) part: u32,
    /// The offset in the source.
    pub(super) raw: u64,
    /// The number of line feeds before it.
    pub(crate) lines: u64,
}

/// What a pass over a text learns about it; kept beside the result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TextIndex {
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// The minimum distance between two checkpoints.
    #[serde(skip)]
    distance: u64,
    /// The decoded length, once the whole text has been read.
    pub(crate) length: Option<u64>,
    /// The number of line feeds in the whole text.
    pub(crate) lines: u64,
}

impl TextIndex {
    /// Adds a checkpoint, unless there is one close before it.
    pub(super) fn add(&mut self, at: Checkpoint) {
        self.distance = self.distance.max(BLOCK_BYTES as u64 / 2);
        if self.checkpoints.last().is_some_and(|last| at.decoded < last.decoded + self.distance) {
            return;
        }
        if self.checkpoints.len() == MAX_CHECKPOINTS {
            self.checkpoints = self.checkpoints.iter().copied().step_by(2).collect();
            self.distance *= 2;
        }
        self.checkpoints.push(at);
    }
}
