//! The memory that stands in for a store that cannot be used.
//!
//! A result that cannot be stored is still the answer to a call that ran and must not run again. So it is kept here while the
//! process lives, up to one limit for all callers of the process. Results are not moved to the store once that works again,
//! because their cursors and tokens are sealed with a key that ends with the process.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tidegate_core::source::Source;
use tidegate_store::{
    Artifact, ArtifactId, Clearance, Clock, Description, NewArtifact, Owner, Quotas, StoreError,
};

use super::Opened;

/// The maximum number of compressed bytes that a process keeps in memory while its store cannot be used.
pub const MAX_MEMORY_BYTES: u64 = 64 << 20;

/// The memory of this process.
static OF_PROCESS: LazyLock<Arc<StandIn>> = LazyLock::new(|| Arc::new(StandIn::with_limit(MAX_MEMORY_BYTES)));

/// Results in memory, opened when the first one is put there.
pub(super) struct StandIn {
    max_bytes: u64,
    opened: Mutex<Option<Arc<Opened>>>,
}

impl StandIn {
    /// Returns the memory that all stores of this process share.
    pub(super) fn of_process() -> Arc<Self> {
        Arc::clone(&OF_PROCESS)
    }

    /// Returns memory with a limit of its own.
    pub(super) fn with_limit(max_bytes: u64) -> Self {
        Self { max_bytes, opened: Mutex::new(None) }
    }

    fn opened(&self) -> Option<Arc<Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn open(&self, clock: &Arc<dyn Clock>) -> Result<Arc<Opened>, StoreError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = opened.as_ref() {
            return Ok(Arc::clone(opened));
        }
        let limit = self.max_bytes;
        let quotas = Quotas { session_bytes: limit, owner_bytes: limit, store_bytes: limit };
        let new = Arc::new(Opened::in_memory(quotas, Arc::clone(clock))?);
        *opened = Some(Arc::clone(&new));
        Ok(new)
    }

    /// Keeps a result that could not be stored because of `why`.
    pub(super) fn put(
        &self,
        new: &NewArtifact<'_>,
        body: &dyn Source,
        describe: &dyn Fn() -> Result<Description, StoreError>,
        clock: &Arc<dyn Clock>,
        why: StoreError,
    ) -> Result<(Artifact, Arc<Opened>), StoreError> {
        let Ok(opened) = self.open(clock) else { return Err(why) };
        match opened.store.put(new, body, describe) {
            Ok(artifact) => Ok((artifact, opened)),
            Err(StoreError::QuotaFull { .. }) => Err(StoreError::MemoryFull(Box::new(why))),
            Err(StoreError::Source(error)) => Err(StoreError::Source(error)),
            Err(_) => Err(why),
        }
    }

    /// Returns the store in memory if it holds a result of an owner.
    pub(super) fn holding(&self, owner: &Owner, id: &ArtifactId) -> Option<Arc<Opened>> {
        let opened = self.opened()?;
        match opened.store.open(owner, id) {
            Ok(_) | Err(StoreError::Expired { .. }) => Some(opened),
            Err(_) => None,
        }
    }

    /// Lists the newest results that a clearance covers.
    pub(super) fn list(&self, clearance: Clearance<'_>, limit: usize) -> Vec<Artifact> {
        self.opened().and_then(|opened| opened.store.list_with(clearance, limit).ok()).unwrap_or_default()
    }

    /// Deletes expired results.
    pub(super) fn sweep(&self) {
        if let Some(opened) = self.opened() {
            // The next sweep tries again.
            let _ = opened.store.sweep();
        }
    }
}
