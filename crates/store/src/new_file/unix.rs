//! The new file of Unix: everything happens through the open folder, so that nobody can put another folder in its place
//! meanwhile, and no link is followed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, fstat, fsync, linkat, open, openat, renameat, unlinkat};

use super::{BUFFER_BYTES, Existing, FileAccess, temporary_name};

/// A file that is being written; dropped before it has its name, it is removed.
#[derive(Debug)]
pub struct NewFile {
    folder: OwnedFd,
    temporary: String,
    writer: BufWriter<File>,
}

impl NewFile {
    /// Begins a file in an open folder.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub fn create(folder: impl AsFd, access: FileAccess) -> io::Result<Self> {
        let folder = folder.as_fd().try_clone_to_owned()?;
        let temporary = temporary_name();
        let mode = match access {
            FileAccess::Private => Mode::RUSR | Mode::WUSR,
            FileAccess::Umask => Mode::from_raw_mode(0o666),
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(&folder, &temporary, flags, mode)?);
        Ok(Self { folder, temporary, writer: BufWriter::with_capacity(BUFFER_BYTES, file) })
    }

    /// Begins a file in a folder.
    ///
    /// # Errors
    ///
    /// The folder does not exist or cannot be written.
    pub fn create_in(folder: &Path, access: FileAccess) -> io::Result<Self> {
        Self::create(open(folder, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?, access)
    }

    /// Waits until all bytes are on disk; returns the number of the file in its file system.
    ///
    /// # Errors
    ///
    /// The bytes cannot be written.
    pub fn sync(&mut self) -> io::Result<u64> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        Ok(fstat(self.writer.get_ref())?.st_ino)
    }

    /// Gives the file its name, once all bytes are on disk.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if a file that stays has the name; or the bytes cannot be written. The file is
    /// removed then.
    pub fn finish(mut self, name: &OsStr, existing: Existing) -> io::Result<()> {
        self.sync()?;
        match existing {
            Existing::Replace => renameat(&self.folder, &self.temporary, &self.folder, name)?,
            Existing::Keep => self.rename_without_replacing(name)?,
        }
        // The file has its name. If the folder cannot be synced, only a power failure could take the name away.
        let _ = fsync(&self.folder);
        Ok(())
    }

    fn rename_without_replacing(&self, name: &OsStr) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_vendor = "apple"))]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            use rustix::io::Errno;
            let (folder, flags) = (&self.folder, RenameFlags::NOREPLACE);
            match renameat_with(folder, &self.temporary, folder, name, flags) {
                // Some file systems cannot do that.
                Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP) => {}
                renamed => return Ok(renamed?),
            }
        }
        Ok(linkat(&self.folder, &self.temporary, &self.folder, name, AtFlags::empty())?)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // It is gone if it was renamed.
        let _ = unlinkat(&self.folder, &self.temporary, AtFlags::empty());
    }
}
