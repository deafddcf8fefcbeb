//! A file that is never seen in part under its name, and never overwritten unasked.
//!
//! The bytes go to a temporary file in the same folder, which gets its name once all of them are on disk. Everything
//! happens through the open folder, so that nobody can put another folder in its place meanwhile, and no link is followed.
//! A process that is killed leaves at most the temporary file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, fstat, fsync, linkat, open, openat, renameat, unlinkat};

use crate::id::ArtifactId;

/// Bytes that are written at once.
const BUFFER_BYTES: usize = 256 * 1024;
/// The beginning of the name of a temporary file.
const TEMPORARY_PREFIX: &str = ".tidegate-";
/// The end of the name of a temporary file.
const TEMPORARY_SUFFIX: &str = ".part";

/// Who can read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// Its user alone.
    Private,
    /// As the umask says.
    Umask,
}

/// What happens to a file that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays; the new file is not kept.
    Keep,
    /// The new file replaces it.
    Replace,
}

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
        let temporary = format!("{TEMPORARY_PREFIX}{}{TEMPORARY_SUFFIX}", ArtifactId::random());
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

/// Returns whether a name is that of a temporary file.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let mut file = NewFile::create_in(folder.path(), FileAccess::Umask).unwrap();
        file.write_all(b"a,b\n").unwrap();
        assert!(!path.exists() && is_temporary(&names(folder.path())[0]));
        file.finish("out.csv".as_ref(), Existing::Keep).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"a,b\n");
        let mut dropped = NewFile::create_in(folder.path(), FileAccess::Private).unwrap();
        dropped.write_all(b"x").unwrap();
        drop(dropped);
        assert_eq!(names(folder.path()), ["out.csv"]);
    }

    #[test]
    fn a_file_that_exists_stays_unless_it_is_to_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        std::fs::write(&path, "theirs").unwrap();
        for (existing, left) in [(Existing::Keep, b"theirs".as_slice()), (Existing::Replace, b"ours")] {
            let mut file = NewFile::create_in(folder.path(), FileAccess::Private).unwrap();
            file.write_all(b"ours").unwrap();
            let kind = file.finish("out".as_ref(), existing).map_err(|error| error.kind());
            assert_eq!(kind.is_err(), existing == Existing::Keep);
            assert!(kind.is_ok() || kind == Err(io::ErrorKind::AlreadyExists));
            assert_eq!(std::fs::read(&path).unwrap(), left);
        }
        assert_eq!(names(folder.path()), ["out"]);
    }
}
