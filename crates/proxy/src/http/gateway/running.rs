//! The gateway that serves now. A reload puts another one in its place, built from the new configuration.
//!
//! Calls that are on their way end on the gateway that began them. To the new one, sessions are those of another replica:
//! their tokens are all it needs.

use std::sync::{Arc, PoisonError, RwLock};

use super::Gateway;

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
    pub fn replace(&self, gateway: Gateway) {
        let new = Arc::new(gateway);
        new.start();
        let old = {
            let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, new)
        };
        // Clients that listen connect again, to the new one.
        old.hang_up();
    }

    /// Writes what is left for the ledger, when nothing is served any more.
    pub fn finish(&self) {
        self.current().finish_background();
    }
}
