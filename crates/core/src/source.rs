//! The bytes of a result, in memory or in a file that was spooled while the result arrived.
//!
//! Everything in this crate reads a result through [`Source`], front to back in blocks or from a known offset, so
//! that nothing needs the whole result in memory.

use std::io;

use serde::{Deserialize, Serialize};

/// The bytes of one result, readable at any offset.
pub trait Source {
    /// Returns the number of bytes.
    fn len(&self) -> u64;

    /// Reads bytes at `offset` into `buffer` and returns how many; zero only at the end.
    ///
    /// # Errors
    ///
    /// Returns whatever the medium reports. The engine passes it on and gives no partial answer.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Returns the bytes if they are in memory, which saves a copy.
    fn as_slice(&self) -> Option<&[u8]> {
        None
    }

    /// Returns the offset of the quote that ends the JSON string whose inside begins at `offset`, if it is known. Long
    /// strings are then passed over without being read.
    fn string_end(&self, _offset: u64) -> Option<u64> {
        None
    }

    /// Returns whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Source for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(<[u8]>::len(self));
        let count = buffer.len().min(<[u8]>::len(self) - start);
        buffer[..count].copy_from_slice(&self[start..start + count]);
        Ok(count)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        Some(self)
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buffer)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        (**self).as_slice()
    }

    fn string_end(&self, offset: u64) -> Option<u64> {
        (**self).string_end(offset)
    }
}

impl Source for Vec<u8> {
    fn len(&self) -> u64 {
        Self::len(self) as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, buffer)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// A part of a source, as a source of its own.
#[derive(Debug, Clone)]
pub struct Part<S> {
    source: S,
    span: Span,
}

impl<S: Source> Part<S> {
    /// Returns the part of a source at a span, cut at the end of the source.
    pub fn new(source: S, span: Span) -> Self {
        let end = span.end.min(source.len());
        Self { source, span: Span { start: span.start.min(end), end } }
    }
}

impl<S: Source> Source for Part<S> {
    fn len(&self) -> u64 {
        self.span.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.span.len().saturating_sub(offset);
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.source.read_at(self.span.start + offset, &mut buffer[..count])
    }

    fn as_slice(&self) -> Option<&[u8]> {
        let range = usize::try_from(self.span.start).ok()?..usize::try_from(self.span.end).ok()?;
        self.source.as_slice()?.get(range)
    }

    fn string_end(&self, offset: u64) -> Option<u64> {
        let end = self.source.string_end(self.span.start + offset)?;
        (end < self.span.end).then(|| end - self.span.start)
    }
}

/// A range of bytes of a source: `start` inclusive, `end` exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

impl Span {
    /// Returns the span of a whole source.
    pub fn whole(source: &dyn Source) -> Self {
        Self { start: 0, end: source.len() }
    }

    /// Returns the number of bytes.
    pub fn len(self) -> u64 {
        self.end - self.start
    }

    /// Returns whether the span is empty.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Reads the bytes of this span; for spans known to be small.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read.
    pub fn read(self, source: &dyn Source) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_into(source, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads the bytes of this span into `bytes`, replacing its content.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read.
    pub fn read_into(self, source: &dyn Source, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.resize(usize::try_from(self.len()).unwrap_or(0), 0);
        let mut filled = 0;
        while filled < bytes.len() {
            match source.read_at(self.start + filled as u64, &mut bytes[filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        Ok(())
    }
}
