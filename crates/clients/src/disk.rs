//! Writes files atomically: after a crash at any moment the file has either its old or its new content.
//!
//! The new content goes into a temporary file in the same folder, which is synced and renamed over the old one. A symbolic
//! link stays and its target is replaced. Mode and owner are kept.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes files, one fallible step at a time; tests inject failures.
pub struct Disk {
    step: Box<dyn Fn(&'static str) -> io::Result<()>>,
}

impl Default for Disk {
    fn default() -> Self {
        Self::with(|_| Ok(()))
    }
}

impl Disk {
    /// Returns a disk that calls `step` with the name of each step before it, and fails if `step` does.
    pub fn with(step: impl Fn(&'static str) -> io::Result<()> + 'static) -> Self {
        Self { step: Box::new(step) }
    }

    fn step(&self, name: &'static str) -> io::Result<()> {
        (self.step)(name)
    }

    /// Replaces the content of an existing file.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let target = std::fs::canonicalize(path)?;
        let metadata = std::fs::metadata(&target)?;
        self.put(&target, bytes, |file| {
            keep_owner(file, &metadata)?;
            file.set_permissions(metadata.permissions())
        })
    }

    /// Writes a file of tidegate that only its user can read.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        self.put(path, bytes, |_| Ok(()))
    }

    /// Removes a file of tidegate; a missing file is not an error.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.step("remove")?;
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn put(&self, target: &Path, bytes: &[u8], finish: impl Fn(&File) -> io::Result<()>) -> io::Result<()> {
        let new = temporary_path(target)?;
        // A crash may have left one.
        self.remove(&new)?;
        let written = self.write_new(&new, bytes, finish).and_then(|()| {
            self.step("rename")?;
            std::fs::rename(&new, target)
        });
        if let Err(error) = written {
            // The first error is the one to report.
            let _ = self.remove(&new);
            return Err(error);
        }
        self.step("sync folder")?;
        sync_folder(target)
    }

    fn write_new(
        &self,
        new: &Path,
        bytes: &[u8],
        finish: impl Fn(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        self.step("create")?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(new)?;
        let (first, rest) = bytes.split_at(bytes.len() / 2);
        file.write_all(first)?;
        self.step("write")?;
        file.write_all(rest)?;
        finish(&file)?;
        self.step("sync")?;
        file.sync_all()
    }
}

/// Returns the path of the temporary file for a target.
fn temporary_path(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut new = std::ffi::OsString::from(".");
    new.push(name);
    new.push(".tidegate-new");
    Ok(target.with_file_name(new))
}

/// Creates a folder that only its user can read.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(unix)]
fn keep_owner(file: &File, old: &std::fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid()))
        .map_err(|error| io::Error::new(error.kind(), format!("cannot keep its owner: {error}")))
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &std::fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_folder(target: &Path) -> io::Result<()> {
    target.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
