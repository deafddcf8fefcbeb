//! A file that a command writes: [`NewFile`], with the errors of the command line.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tidegate_store::{Existing, FileAccess, NewFile};

use crate::error::CommandError;

/// A file that is being written.
pub(crate) struct OutputFile {
    path: PathBuf,
    is_forced: bool,
    file: NewFile,
}

impl OutputFile {
    /// Begins a file; with `is_forced`, finishing it replaces an existing file.
    pub(crate) fn create(path: &Path, is_forced: bool) -> Result<Self, CommandError> {
        Self::create_for(path, is_forced, FileAccess::Umask)
    }

    /// Begins a new file that only its user can read.
    pub(crate) fn create_private(path: &Path) -> Result<Self, CommandError> {
        Self::create_for(path, false, FileAccess::Private)
    }

    fn create_for(path: &Path, is_forced: bool, access: FileAccess) -> Result<Self, CommandError> {
        match std::fs::symlink_metadata(path) {
            Ok(_) if !is_forced => return Err(exists(path)),
            Ok(found) if !found.is_file() => {
                return Err(CommandError::bad_input(format!("{} is not a regular file", path.display())));
            }
            _ => {}
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = NewFile::create_in(folder, access).map_err(|error| cannot_write(path, &error))?;
        Ok(Self { path: path.to_owned(), is_forced, file })
    }

    /// Returns the error for a file that cannot be written.
    pub(crate) fn failed(&self, error: &io::Error) -> CommandError {
        cannot_write(&self.path, error)
    }

    /// Writes the file to disk and then gives it its name.
    pub(crate) fn finish(self) -> Result<(), CommandError> {
        let Self { path, is_forced, file } = self;
        let existing = if is_forced { Existing::Replace } else { Existing::Keep };
        match file.finish(path.file_name().unwrap_or_default(), existing) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
            Err(error) => Err(cannot_write(&path, &error)),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
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

    #[test]
    fn a_file_that_exists_stays_unless_forced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let unforced = OutputFile::create(&path, false).unwrap();
        std::fs::write(&path, "theirs").unwrap();
        assert!(
            unforced.finish().unwrap_err().to_string().contains("exists"),
            "created by somebody else meanwhile"
        );
        assert!(OutputFile::create(&path, false).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        let mut forced = OutputFile::create(&path, true).unwrap();
        forced.write_all(b"ours").unwrap();
        forced.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"ours");
        assert!(OutputFile::create(folder.path(), true).is_err(), "a folder");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
