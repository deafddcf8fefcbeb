//! What can go wrong in a store. A message never holds what was stored.

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

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::DiskFull,
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                Self::Damaged { what: "the database file" }
            }
            _ => Self::Unusable(Box::new(error)),
        }
    }
}
