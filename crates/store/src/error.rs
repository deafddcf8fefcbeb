//! Errors of the store. A message never contains anything that was stored.
//!
//! The gate turns these errors into answers for the model, and decides by their kind whether to try again: see
//! `gate/error.rs` and `gate/user_store.rs`.

use std::sync::Arc;

use crate::clock::Millis;
use crate::key::KeyMismatch;

/// Why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// This owner has no artifact with this id.
    #[error("there is no such result")]
    NotFound,
    /// The artifact has expired.
    #[error("the result has expired")]
    Expired {
        /// When it expired.
        at: Millis,
    },
    /// Other bytes are stored under the name that was chosen; nothing was stored.
    #[error("another result is stored under this name")]
    Taken,
    /// A quota would be exceeded; nothing was stored.
    #[error("the {scope} quota is full: {used} of {limit} bytes are in use")]
    QuotaFull {
        /// Which quota: `session`, `owner` or `store`.
        scope: &'static str,
        /// Stored bytes in use.
        used: u64,
        /// Stored bytes allowed.
        limit: u64,
    },
    /// The disk is full; nothing was stored.
    #[error("the disk is full")]
    DiskFull,
    /// Another process has kept the store locked for too long; nothing was stored.
    #[error("another process holds the store")]
    Busy,
    /// The store can be read but not written; the source says why.
    #[error("the store can only be read")]
    ReadOnly(#[source] Arc<StoreError>),
    /// The store cannot be used, and the memory that stands in for it is full.
    #[error("the memory that stands in for the store is full")]
    MemoryFull(#[source] Box<StoreError>),
    /// The database file is damaged.
    #[error("the file of the store is damaged; move artifacts.db away to begin a new one")]
    DamagedFile,
    /// A newer program wrote the store, in a format that this one does not know. Nothing was changed.
    #[error(
        "the store was written by a newer tidegate (format {format}; this one knows {known}); update tidegate, or set TIDEGATE_HOME to another folder"
    )]
    NewerFormat {
        /// The format of the file.
        format: i64,
        /// The newest format that this program knows.
        known: i64,
    },
    /// The bytes on disk are not those that were stored.
    #[error("the stored result is damaged ({what})")]
    Damaged {
        /// Which part is damaged.
        what: &'static str,
    },
    /// The configured keys do not fit the store.
    #[error(transparent)]
    Key(#[from] KeyMismatch),
    /// The result to be stored could not be read.
    #[error("the result could not be read")]
    Source(#[source] std::io::Error),
    /// The store cannot be opened or used.
    #[error("the store cannot be used")]
    Unusable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Returns whether the file of the store is at fault, so that opening it again may help: somebody may have replaced or
    /// repaired it.
    pub fn is_file_error(&self) -> bool {
        matches!(self, Self::DamagedFile | Self::NewerFormat { .. } | Self::Unusable(_) | Self::Key(_))
    }

    /// Returns the error of a store that a result was read from, if that is why the result could not be read.
    pub(crate) fn of_source(self) -> Self {
        match self {
            Self::Source(source) => source.downcast().unwrap_or_else(Self::Source),
            other => other,
        }
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Unusable(Box::new(error)),
        }
    }
}

#[cfg(feature = "sqlite")]
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::DiskFull,
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                Self::DamagedFile
            }
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => Self::Busy,
            _ => Self::Unusable(Box::new(error)),
        }
    }
}
