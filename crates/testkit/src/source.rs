//! A source with short reads and no slice in memory, as a file may be: results must not depend on that.
//!
//! The laws are checked with it as well, and so is the contract of the stores.

use std::io;

use tidegate_core::source::Source;

/// Bytes of which each read returns at most half of what was asked for.
#[derive(Debug)]
pub struct ShortReadSource(pub Vec<u8>);

impl Source for ShortReadSource {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let half = buffer.len().div_ceil(2);
        self.0.as_slice().read_at(offset, &mut buffer[..half])
    }
}
