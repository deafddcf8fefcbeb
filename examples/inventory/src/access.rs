//! The tier of the callers, which can change while the server runs.
//!
//! The gate asks for it on every call, when it lists tools, and whenever a continuation token is used. A lower tier
//! therefore takes effect at once, also for tokens issued before.

use std::sync::{Arc, PoisonError, RwLock};

use tidegate_sdk::{Permission, Tier};

/// The tier of all callers. Clones share it.
#[derive(Debug, Clone)]
pub struct Access(Arc<RwLock<Tier>>);

impl Access {
    /// Returns access with a tier.
    pub fn new(tier: Tier) -> Self {
        Self(Arc::new(RwLock::new(tier)))
    }

    /// Changes the tier.
    pub fn set(&self, tier: Tier) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = tier;
    }
}

impl Permission for Access {
    fn tier_of(&self, _caller: &str) -> Tier {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}
