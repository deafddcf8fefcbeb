//! What the stores and ledgers need of the file system beyond the standard library: reading at an offset, locks with a
//! time limit, durable folders, and telling a file from another at the same path.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::StoreError;

/// The pause before trying again to lock a file that another process has locked.
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// Locks a file for this process alone, waiting for another process for a limited time.
pub(crate) fn lock_within(file: &File, timeout: Duration) -> Result<(), StoreError> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if started.elapsed() < timeout => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => return Err(StoreError::Busy),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

/// Reads exactly `count` bytes at an offset. Several threads may do so at once with one file.
pub(crate) fn read_at(file: &File, offset: u64, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    #[cfg(unix)]
    std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, offset)?;
    #[cfg(windows)]
    read_exact(&mut bytes, |buffer, done| {
        std::os::windows::fs::FileExt::seek_read(file, buffer, offset + done)
    })?;
    Ok(bytes)
}

/// Fills a buffer by reads that may be short; each is told how many bytes were read before it.
#[cfg(any(windows, test))]
fn read_exact(bytes: &mut [u8], mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match read(&mut bytes[done..], done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Makes the names of a folder durable, where the platform does that separately.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Returns what distinguishes a file from another at the same path: device and inode.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Returns what distinguishes a file from another at the same path, which is not known here.
#[cfg(not(unix))]
pub(crate) fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_reads_are_continued() {
        let whole: Vec<u8> = (0..10).collect();
        let read = |count: usize, step: usize| {
            let mut bytes = vec![0; count];
            let short = |buffer: &mut [u8], done: u64| {
                let rest = &whole[(done as usize).min(whole.len())..];
                let size = step.min(buffer.len()).min(rest.len());
                buffer[..size].copy_from_slice(&rest[..size]);
                Ok(size)
            };
            read_exact(&mut bytes, short).map(|()| bytes)
        };
        assert_eq!(read(10, 3).unwrap(), whole);
        assert_eq!(read(7, 100).unwrap(), whole[..7]);
        assert_eq!(read(11, 4).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
