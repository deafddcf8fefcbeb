//! The gateway that serves now. A reload puts another one in its place, built from the new configuration.
//!
//! Calls that are on their way end on the gateway that began them. To the new one, sessions are those of another replica:
//! their tokens are all it needs.

use std::sync::{Arc, PoisonError, RwLock};

use super::Gateway;

/// A new configuration has neither keys nor issuers, although the one that serves has.
#[derive(Debug, thiserror::Error)]
#[error("the configuration no longer says who may call the gateway")]
pub struct Unprotected;

/// The gateway that serves now.
pub struct RunningGateway(RwLock<Arc<Gateway>>);

impl RunningGateway {
    /// Returns a gateway that begins to serve once it is started.
    pub fn new(gateway: Gateway) -> Self {
        Self(RwLock::new(Arc::new(gateway)))
    }

    /// Returns the gateway that serves now.
    pub(in crate::http) fn current(&self) -> Arc<Gateway> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another gateway in the place of the one that serves. Call it within the runtime that serves.
    ///
    /// # Errors
    ///
    /// Anybody may call the new one, but not the one that serves: other machines may reach its address.
    pub fn replace(&self, gateway: Gateway) -> Result<(), Unprotected> {
        if self.current().is_protected() && !gateway.is_protected() {
            return Err(Unprotected);
        }
        let new = Arc::new(gateway);
        new.start();
        let old = {
            let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, new)
        };
        // Clients that listen connect again, to the new one.
        old.hang_up();
        Ok(())
    }

    /// Writes what is left for the ledger, when nothing is served any more.
    pub fn finish(&self) {
        self.current().finish_background();
    }
}
