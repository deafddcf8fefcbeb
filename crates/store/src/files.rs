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

/// Reads exactly `count` bytes at an offset.
pub(crate) fn read_at(file: &File, offset: u64, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    #[cfg(unix)]
    std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, offset)?;
    #[cfg(not(unix))]
    {
        use std::io::{Read, Seek};
        let mut file = file.try_clone()?;
        file.seek(io::SeekFrom::Start(offset))?;
        file.read_exact(&mut bytes)?;
    }
    Ok(bytes)
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
