//! What the user sets about the store besides its place: the keys, the quotas, and the key that seals cursors.

use tidegate_store::{Quotas, SealKey, StoreKeys};

/// What the user sets about the store.
#[derive(Debug, Clone, Default)]
pub struct StoreSettings {
    /// The keys that the store is encrypted with.
    pub keys: StoreKeys,
    /// The quotas that are set.
    pub quotas: QuotaSettings,
    /// The key that seals cursors and tokens. Without one, a data folder has a key of its own; processes on several machines
    /// must have the same.
    pub seal: Option<SealKey>,
    /// The previous sealing key: cursors that it signed stay valid while the key is being replaced on all machines.
    pub previous_seal: Option<SealKey>,
    /// Whether the tables of a database are left as they are, as by commands that only look.
    pub keep_schema: bool,
}

/// The quotas that are set, in stored bytes; where one is not set, the default applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuotaSettings {
    /// For the whole store.
    pub store_bytes: Option<u64>,
    /// For one owner.
    pub owner_bytes: Option<u64>,
    /// For one session.
    pub session_bytes: Option<u64>,
}

impl QuotaSettings {
    /// Returns the quotas, with `defaults` where none is set.
    pub fn over(self, defaults: Quotas) -> Quotas {
        Quotas {
            session_bytes: self.session_bytes.unwrap_or(defaults.session_bytes),
            // An owner may use the whole store where nothing else is set.
            owner_bytes: self.owner_bytes.or(self.store_bytes).unwrap_or(defaults.owner_bytes),
            store_bytes: self.store_bytes.unwrap_or(defaults.store_bytes),
        }
    }
}
