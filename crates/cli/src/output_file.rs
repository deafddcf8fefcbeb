//! A file that a command writes: it appears under its name only when it is complete, and replaces another only if forced.
//!
//! The bytes go to a temporary file beside it, which is renamed when all of them are on disk.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::error::CommandError;

/// How many bytes are written at a time.
const BUFFER_BYTES: usize = 256 * 1024;

/// A file that is being written.
pub(crate) struct OutputFile {
    path: PathBuf,
    is_forced: bool,
    writer: BufWriter<NamedTempFile>,
}

impl OutputFile {
    /// Starts a file; with `is_forced`, it replaces an existing file when it is finished.
    pub(crate) fn create(path: &Path, is_forced: bool) -> Result<Self, CommandError> {
        match std::fs::symlink_metadata(path) {
            Ok(_) if !is_forced => return Err(exists(path)),
            Ok(found) if !found.is_file() => {
                return Err(CommandError::bad_input(format!("{} is not a regular file", path.display())));
            }
            _ => {}
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = Builder::new();
        builder.prefix(".tidegate-").suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The umask decides, as for any file that a command writes.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).map_err(|error| cannot_write(path, &error))?;
        let writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self { path: path.to_owned(), is_forced, writer })
    }

    /// Returns the error for a file that cannot be written.
    pub(crate) fn failed(&self, error: &io::Error) -> CommandError {
        cannot_write(&self.path, error)
    }

    /// Flushes the file to disk, and gives it its name.
    pub(crate) fn finish(self) -> Result<(), CommandError> {
        let Self { path, is_forced, writer } = self;
        let file = writer.into_inner().map_err(|error| cannot_write(&path, error.error()))?;
        file.as_file().sync_all().map_err(|error| cannot_write(&path, &error))?;
        let named = if is_forced { file.persist(&path) } else { file.persist_noclobber(&path) };
        match named {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
            Err(error) => Err(cannot_write(&path, &error.error)),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn exists(path: &Path) -> CommandError {
    CommandError::bad_input(format!("{} exists", path.display())).hint("use --force to overwrite it")
}

fn cannot_write(path: &Path, error: &io::Error) -> CommandError {
    CommandError::failed(format!("cannot write {}: {error}", path.display()))
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
        let mut file = OutputFile::create(&path, false).unwrap();
        file.write_all(b"a,b\n").unwrap();
        assert!(!path.exists());
        file.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"a,b\n");
        let mut dropped = OutputFile::create(&folder.path().join("other"), false).unwrap();
        dropped.write_all(b"x").unwrap();
        drop(dropped);
        assert_eq!(names(folder.path()), ["out.csv"]);
    }

    #[test]
    fn an_existing_file_is_replaced_only_if_forced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let late = OutputFile::create(&path, false).unwrap();
        std::fs::write(&path, "theirs").unwrap();
        assert!(late.finish().unwrap_err().to_string().contains("exists"), "made meanwhile");
        assert!(OutputFile::create(&path, false).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        let mut forced = OutputFile::create(&path, true).unwrap();
        forced.write_all(b"ours").unwrap();
        forced.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"ours");
        assert!(OutputFile::create(folder.path(), true).is_err(), "a folder");
        assert_eq!(names(folder.path()), ["out"]);
    }
}
