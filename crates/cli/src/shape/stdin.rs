//! stdin as a source: a redirected file is read in place, anything else into memory.

use std::fs::File;
use std::io::{self, Read};

use tidegate_core::source::Source;

use crate::error::CommandError;

/// The bytes of stdin.
pub(super) enum Stdin {
    /// A redirected file.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix tells it from a pipe here"))]
    File { file: File, length: u64 },
    /// Anything else, such as the content of a pipe.
    Memory(Vec<u8>),
}

impl Stdin {
    /// Opens stdin, and reads it whole unless it is a file.
    pub(super) fn open() -> Result<Self, CommandError> {
        let unreadable = |error: io::Error| CommandError::bad_input(format!("cannot read stdin: {error}"));
        if let Some(file) = Self::redirected_file().map_err(unreadable)? {
            return Ok(file);
        }
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(Self::Memory(bytes))
    }

    #[cfg(unix)]
    fn redirected_file() -> io::Result<Option<Self>> {
        use std::io::Seek;
        use std::os::fd::AsFd;

        let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let metadata = file.metadata()?;
        let is_unread_file = metadata.is_file() && file.stream_position()? == 0;
        Ok(is_unread_file.then(|| Self::File { length: metadata.len(), file }))
    }

    #[cfg(not(unix))]
    fn redirected_file() -> io::Result<Option<Self>> {
        Ok(None)
    }
}

impl Source for Stdin {
    fn len(&self) -> u64 {
        match self {
            Self::File { length, .. } => *length,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            Self::File { file, .. } => std::os::unix::fs::FileExt::read_at(file, buffer, offset),
            #[cfg(not(unix))]
            Self::File { .. } => Err(io::ErrorKind::Unsupported.into()),
            Self::Memory(bytes) => bytes.as_slice().read_at(offset, buffer),
        }
    }

    fn as_slice(&self) -> Option<&[u8]> {
        match self {
            Self::File { .. } => None,
            Self::Memory(bytes) => Some(bytes),
        }
    }
}
