//! What callers may do, which can change while the server runs. It is asked at every call, whenever tools are listed, and
//! whenever a token is redeemed, so a tier that drops takes what it gave with it.

use std::sync::{Arc, PoisonError, RwLock};

use tidegate_sdk::{Permission, Tier};

/// The tier of all callers. A clone is the same one.
#[derive(Debug, Clone)]
pub struct Access(Arc<RwLock<Tier>>);

impl Access {
    /// Allows a tier.
    pub fn new(tier: Tier) -> Self {
        Self(Arc::new(RwLock::new(tier)))
    }

    /// Allows another tier from now on.
    pub fn set(&self, tier: Tier) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = tier;
    }
}

impl Permission for Access {
    fn tier_of(&self, _caller: &str) -> Tier {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}
