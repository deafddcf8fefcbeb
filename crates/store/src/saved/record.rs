//! The record of a saved file: which file it is, and which result it was saved from.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use crate::artifact::{Owner, StoreKind};
use crate::clock::Millis;
use crate::file_name::FileName;
use crate::id::ArtifactId;
use crate::new_file::{Existing, FileAccess, NewFile};

/// The most bytes of a record.
const MAX_RECORD_BYTES: u64 = 4096;

/// The result that a file was saved from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedFrom {
    /// Who owns the result.
    pub owner: Owner,
    /// The result.
    pub artifact: ArtifactId,
    /// What holds it.
    pub kept_in: StoreKind,
    /// When it was to expire at the time.
    pub expires: Millis,
}

/// What is known of a saved file.
pub(super) struct Record {
    pub(super) name: FileName,
    /// The number of the file in its file system.
    pub(super) file: u64,
    pub(super) from: SavedFrom,
}

/// A record as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    name: FileName,
    file: u64,
    owner: String,
    artifact: String,
    kept_in: StoreKind,
    expires: Millis,
}

impl Record {
    /// Writes the record; returns its name.
    pub(super) fn write(&self, index: &OwnedFd) -> io::Result<String> {
        let entry = ArtifactId::random().to_string();
        let SavedFrom { owner, artifact, kept_in, expires } = &self.from;
        let written = Written {
            name: self.name.clone(),
            file: self.file,
            owner: owner.as_str().to_owned(),
            artifact: artifact.to_string(),
            kept_in: *kept_in,
            expires: *expires,
        };
        let mut file = NewFile::create(index, FileAccess::Private)?;
        file.write_all(&serde_json::to_vec(&written)?)?;
        file.finish(entry.as_ref(), Existing::Keep)?;
        Ok(entry)
    }

    /// Reads a record; `None` if it is none.
    pub(super) fn read(index: &OwnedFd, entry: &str) -> Option<Self> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(index, entry, flags, Mode::empty()).ok()?);
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MAX_RECORD_BYTES).read_to_end(&mut bytes).ok()?;
        let written: Written = serde_json::from_slice(&bytes).ok()?;
        let from = SavedFrom {
            owner: Owner::new(written.owner),
            artifact: ArtifactId::parse_bare(&written.artifact)?,
            kept_in: written.kept_in,
            expires: written.expires,
        };
        Some(Self { name: written.name, file: written.file, from })
    }
}
