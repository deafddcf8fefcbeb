//! What can go wrong in a store. A message never holds what was stored.

use std::sync::Arc;

use crate::clock::Millis;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No artifact of this owner has this name.
    #[error("there is no such result")]
    NotFound,
    /// The artifact's time is over.
    #[error("the result has expired")]
    Expired {
        /// When.
        at: Millis,
    },
    /// A quota would be exceeded; nothing was stored.
    #[error("the {scope} quota is full: {used} of {limit} bytes are in use")]
    QuotaFull {
        /// Whose quota: `session` or `store`.
        scope: &'static str,
        /// Stored bytes in use.
        used: u64,
        /// Stored bytes allowed.
        limit: u64,
    },
    /// The disk is full; nothing was stored.
    #[error("the disk is full")]
    DiskFull,
    /// Another process has held the store for too long; nothing was stored.
    #[error("another process holds the store")]
    Busy,
    /// What is kept can be read, but nothing can be stored.
    #[error("the store can only be read")]
    ReadOnly(#[source] Arc<StoreError>),
    /// The file of the store is not what was written.
    #[error("the file of the store is damaged; move artifacts.db away to begin a new one")]
    DamagedFile,
    /// The bytes on disk are not those that were stored.
    #[error("the stored result is damaged ({what})")]
    Damaged {
        /// What is wrong.
        what: &'static str,
    },
    /// The result that should be stored could not be read.
    #[error("the result could not be read")]
    Source(#[source] std::io::Error),
    /// The store itself could not be used.
    #[error("the store cannot be used")]
    Unusable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Returns whether the file may be another one, or be put right, by the time it is opened again.
    pub fn is_of_the_file(&self) -> bool {
        matches!(self, Self::DamagedFile | Self::Unusable(_))
    }
}

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
