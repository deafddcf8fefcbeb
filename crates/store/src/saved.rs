//! Files that were saved from kept results: the folder `saved` in the data folder.
//!
//! Only its user can open the folder (0700); one that is a link, belongs to somebody else or is open to others is refused.
//! A file is created under one flat name, and never replaces another. A record in `saved/.index` says which result it was
//! saved from, so that it is removed with the result. The record is written before the file gets its name, and holds the
//! number of the file: nothing but the file that was saved is ever removed.

mod record;

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, mkdirat, open, openat, statat, unlinkat,
};
use rustix::io::Errno;

pub use record::SavedFrom;

use crate::clock::Millis;
use crate::file_name::FileName;
use crate::home::Home;
use crate::new_file::{Existing, FileAccess, NewFile, is_temporary};
use record::Record;

/// The name of the folder in the data folder.
const FOLDER: &str = "saved";
/// The name of the folder with the records.
const INDEX: &str = ".index";
/// How old a temporary file, or a record without its file, is when its writer is taken for dead.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);

/// Why a file could not be saved. Nothing was written then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The folder for saved files cannot be used.
    #[error("cannot save to {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why it cannot be used.
        #[source]
        source: io::Error,
    },
    /// There is a file of this name.
    #[error("{name:?} exists; choose another name")]
    Exists {
        /// The name.
        name: String,
    },
    /// The file cannot be written.
    #[error("the file cannot be written")]
    Write(#[from] io::Error),
}

/// The folder for saved files.
#[derive(Debug)]
pub struct SavedFolder {
    folder: OwnedFd,
    index: OwnedFd,
    path: PathBuf,
}

/// A file that is being saved; dropped before it is finished, it is removed.
#[derive(Debug)]
pub struct SavedFile<'f> {
    folder: &'f SavedFolder,
    name: FileName,
    file: NewFile,
}

impl SavedFolder {
    /// Opens the folder of a data folder, and creates it if needed.
    ///
    /// # Errors
    ///
    /// [`SaveError::Folder`] if it cannot be created, or is not private.
    pub fn open(home: &Home) -> Result<Self, SaveError> {
        let path = std::path::absolute(home.path().join(FOLDER)).unwrap_or_else(|_| home.path().join(FOLDER));
        let folders = open_folder(home.path()).and_then(|home| {
            create_folder(&home, FOLDER)?;
            let folder = open_private(&home, FOLDER)?;
            create_folder(&folder, INDEX)?;
            let index = open_private(&folder, INDEX)?;
            Ok((folder, index))
        });
        match folders {
            Ok((folder, index)) => Ok(Self { folder, index, path }),
            Err(source) => Err(SaveError::Folder { path, source }),
        }
    }

    /// Opens the folder of a data folder to sweep it; `None` if there is none, or none that is ours.
    pub fn existing(home: &Path) -> Option<Self> {
        let folder = open_private(open_folder(home).ok()?, FOLDER).ok()?;
        let index = open_private(&folder, INDEX).ok()?;
        Some(Self { folder, index, path: home.join(FOLDER) })
    }

    /// Begins a file.
    ///
    /// # Errors
    ///
    /// [`SaveError::Exists`] if the name is in use, or the folder cannot be written.
    pub fn create(&self, name: FileName) -> Result<SavedFile<'_>, SaveError> {
        match stat(&self.folder, name.as_str()) {
            Ok(_) => return Err(SaveError::Exists { name: name.as_str().to_owned() }),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(SaveError::Write(error.into())),
        }
        let file = NewFile::create(&self.folder, FileAccess::Private)?;
        Ok(SavedFile { folder: self, name, file })
    }

    /// Removes the files whose result is not kept any more, and what killed processes have left. Returns how many files
    /// were removed.
    pub fn sweep(&self, now: Millis, is_kept: impl Fn(&SavedFrom) -> bool) -> u64 {
        let mut removed = 0;
        for entry in entries(&self.index) {
            if is_temporary(&entry) {
                remove_abandoned(&self.index, &entry, now);
            } else if let Some(record) = Record::read(&self.index, &entry) {
                removed += self.sweep_file(&entry, &record, now, &is_kept);
            }
        }
        for entry in entries(&self.folder).filter(|entry| is_temporary(entry)) {
            remove_abandoned(&self.folder, &entry, now);
        }
        removed
    }

    /// Removes the file of a record, and the record, if its time has come.
    fn sweep_file(
        &self,
        entry: &str,
        record: &Record,
        now: Millis,
        is_kept: &impl Fn(&SavedFrom) -> bool,
    ) -> u64 {
        let found = stat(&self.folder, record.name.as_str());
        let is_there = found.is_ok_and(|found| is_file(&found) && found.st_ino == record.file);
        if is_kept(&record.from) {
            if !is_there {
                // Its user has removed it, or its writer was killed before it had its name.
                remove_abandoned(&self.index, entry, now);
            }
            return 0;
        }
        if is_there && unlinkat(&self.folder, record.name.as_str(), AtFlags::empty()).is_err() {
            return 0;
        }
        let _ = unlinkat(&self.index, entry, AtFlags::empty());
        u64::from(is_there)
    }
}

impl SavedFile<'_> {
    /// Gives the file its name, once all of it is on disk; returns its path.
    ///
    /// # Errors
    ///
    /// [`SaveError::Exists`] if another file got the name meanwhile, or the file cannot be written.
    pub fn finish(mut self, from: &SavedFrom) -> Result<PathBuf, SaveError> {
        let number = self.file.sync()?;
        let Self { folder, name, file } = self;
        let record = Record { name: name.clone(), file: number, from: from.clone() };
        let entry = record.write(&folder.index)?;
        match file.finish(OsStr::new(name.as_str()), Existing::Keep) {
            Ok(()) => Ok(folder.path.join(name.as_str())),
            Err(error) => {
                let _ = unlinkat(&folder.index, &*entry, AtFlags::empty());
                Err(match error.kind() {
                    io::ErrorKind::AlreadyExists => SaveError::Exists { name: name.as_str().to_owned() },
                    _ => SaveError::Write(error),
                })
            }
        }
    }
}

impl Write for SavedFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

fn create_folder(parent: impl AsFd, name: &str) -> io::Result<()> {
    match mkdirat(parent, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder that is this user's alone, and is not a link.
fn open_private(parent: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(parent, name, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR => io::Error::other(format!("{name} is a link, or not a folder")),
        error => error.into(),
    })?;
    let (found, user) = (fstat(&folder)?, rustix::process::geteuid());
    if found.st_uid != user.as_raw() {
        return Err(io::Error::other(format!("{name} belongs to another user")));
    }
    let mode = Mode::from_raw_mode(found.st_mode);
    if mode.intersects(Mode::RWXG | Mode::RWXO) {
        let mode = mode.as_raw_mode() & 0o777;
        return Err(io::Error::other(format!("others can use {name} (mode {mode:o}); it must be 700")));
    }
    Ok(folder)
}

/// Returns what is known of an entry of a folder; of a link, not of what it leads to.
fn stat(folder: &OwnedFd, name: &str) -> Result<Stat, Errno> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_file(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
}

/// Returns the names in a folder, except those that are no text.
fn entries(folder: &OwnedFd) -> impl Iterator<Item = String> + use<> {
    let entries = Dir::read_from(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    names.filter(|name| name != "." && name != "..").collect::<Vec<_>>().into_iter()
}

/// Removes a file of which its writer must be dead, because of its age.
fn remove_abandoned(folder: &OwnedFd, name: &str, now: Millis) {
    let Ok(found) = stat(folder, name) else { return };
    let written = Millis(found.st_mtime.saturating_mul(1000));
    if is_file(&found) && now.since(written) > ABANDONED_AFTER {
        let _ = unlinkat(folder, name, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests;
