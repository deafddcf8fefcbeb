//! The new file of systems where files are named by their paths alone: Windows.
//!
//! A folder there is as private as the one above it, so a file in the user's folders is the user's alone without a mode.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{BUFFER_BYTES, Existing, FileAccess, temporary_name};

/// A file that is being written; dropped before it has its name, it is removed.
#[derive(Debug)]
pub struct NewFile {
    temporary: PathBuf,
    writer: BufWriter<File>,
}

impl NewFile {
    /// Begins a file in a folder.
    ///
    /// # Errors
    ///
    /// The folder does not exist or cannot be written.
    pub fn create_in(folder: &Path, _: FileAccess) -> io::Result<Self> {
        let temporary = folder.join(temporary_name());
        let file = File::options().write(true).create_new(true).open(&temporary)?;
        Ok(Self { temporary, writer: BufWriter::with_capacity(BUFFER_BYTES, file) })
    }

    /// Gives the file its name, once all bytes are on disk.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if a file that stays has the name; or the bytes cannot be written. The file is
    /// removed then.
    pub fn finish(mut self, name: &OsStr, existing: Existing) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        let path = self.temporary.with_file_name(name);
        match existing {
            Existing::Replace => fs::rename(&self.temporary, path),
            // Renaming would replace a file; a second name cannot. The first one is removed on drop.
            Existing::Keep => match fs::hard_link(&self.temporary, &path) {
                // The disk may have no links. Then a file that gets the name in this moment is replaced.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !path.exists() => {
                    fs::rename(&self.temporary, path)
                }
                linked => linked,
            },
        }
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
        let _ = fs::remove_file(&self.temporary);
    }
}
