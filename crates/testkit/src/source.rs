//! A source that is not in memory and reads short, as a file may: the engine must not notice.

use std::io;

use tidegate_core::source::Source;

/// Bytes that are handed out a few at a time.
#[derive(Debug)]
pub struct Elsewhere(pub Vec<u8>);

impl Source for Elsewhere {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let half = buffer.len().div_ceil(2);
        self.0.as_slice().read_at(offset, &mut buffer[..half])
    }
}
