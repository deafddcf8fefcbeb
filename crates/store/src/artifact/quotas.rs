//! How much may be stored, and how much is.

use crate::error::StoreError;

/// Limits on stored (compressed) bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Limit for one session of an owner.
    pub session_bytes: u64,
    /// Limit for one owner.
    pub owner_bytes: u64,
    /// Limit for the whole store.
    pub store_bytes: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        // One user is usually the only owner of a store, so that the store's limit is the owner's as well.
        Self {
            session_bytes: Self::DEFAULT_SESSION_BYTES,
            owner_bytes: Self::DEFAULT_STORE_BYTES,
            store_bytes: Self::DEFAULT_STORE_BYTES,
        }
    }
}

impl Quotas {
    /// Limit for one session where nothing else is set.
    pub const DEFAULT_SESSION_BYTES: u64 = 1 << 30;
    /// Limit for the whole store where nothing else is set.
    pub const DEFAULT_STORE_BYTES: u64 = 4 << 30;

    /// Fails if `size` more stored bytes would exceed a quota of which so many bytes are in use.
    pub(crate) fn check(&self, used: UsedBytes, size: u64) -> Result<(), StoreError> {
        // The widest first: where several are full, raising a narrower one would not help.
        let scopes = [
            ("store", used.store, self.store_bytes),
            ("owner", used.owner, self.owner_bytes),
            ("session", used.session, self.session_bytes),
        ];
        match scopes.into_iter().find(|(_, used, limit)| used.saturating_add(size) > *limit) {
            Some((scope, used, limit)) => Err(StoreError::QuotaFull { scope, used, limit }),
            None => Ok(()),
        }
    }
}

/// Stored bytes in use of each quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsedBytes {
    pub(crate) session: u64,
    pub(crate) owner: u64,
    pub(crate) store: u64,
}
