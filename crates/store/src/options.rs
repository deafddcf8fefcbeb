//! What a store in a file or a folder is opened with.

use std::sync::Arc;

use crate::artifact::Quotas;
use crate::clock::{Clock, SystemClock};
use crate::key::StoreKeys;

/// How a store is opened. [`Quotas`] alone stand for a store without a key that uses the clock of the system.
#[derive(Clone)]
pub struct StoreOptions {
    /// How much it may hold.
    pub quotas: Quotas,
    /// The clock by which artifacts expire.
    pub clock: Arc<dyn Clock>,
    /// The key that it is encrypted with. A new store is encrypted if there is one.
    pub keys: StoreKeys,
}

impl From<Quotas> for StoreOptions {
    fn from(quotas: Quotas) -> Self {
        Self { quotas, clock: Arc::new(SystemClock), keys: StoreKeys::default() }
    }
}

impl StoreOptions {
    /// Returns the options with the caller's clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Returns the options with a key.
    #[must_use]
    pub fn with_keys(self, keys: StoreKeys) -> Self {
        Self { keys, ..self }
    }
}
