//! The gateway that currently serves. A reload replaces it by one that is built from the new configuration.
//!
//! Calls in flight finish on the gateway that began them. The new gateway restores sessions from their tokens, as it does those
//! of another replica. It knows which sessions have ended, and hands over what clients send for calls of the earlier ones.

use std::sync::{Arc, PoisonError, RwLock};

use super::Gateway;

/// The new configuration has neither keys nor issuers, but the current one has.
#[derive(Debug, thiserror::Error)]
#[error("the configuration no longer says who may call the gateway")]
pub struct Unprotected;

/// The gateway that currently serves.
pub struct RunningGateway(RwLock<Arc<Gateway>>);

impl RunningGateway {
    /// Holds a gateway, which serves once it is started.
    pub fn new(gateway: Gateway) -> Self {
        Self(RwLock::new(Arc::new(gateway)))
    }

    /// Returns the gateway that currently serves.
    pub(in crate::http) fn current(&self) -> Arc<Gateway> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the gateway that serves. Must be called within the runtime that serves.
    ///
    /// # Errors
    ///
    /// Anybody may call the new gateway, but not the current one, which other machines may reach.
    pub fn replace(&self, mut gateway: Gateway) -> Result<(), Unprotected> {
        if self.current().is_protected() && !gateway.is_protected() {
            return Err(Unprotected);
        }
        gateway.succeed(&self.current());
        let new = Arc::new(gateway);
        new.start();
        let later = Arc::downgrade(&new);
        let old = {
            let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, new)
        };
        let _ = old.later.set(later);
        // Clients that listen reconnect, and reach the new gateway.
        old.hang_up();
        Ok(())
    }

    /// Writes the remaining entries of the ledger. Call it after serving has ended.
    pub fn finish(&self) {
        self.current().finish_background();
    }
}
