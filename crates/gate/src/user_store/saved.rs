//! Saved files of kept results: which of them are to be removed.

use std::path::Path;
use std::sync::PoisonError;

use tidegate_store::{SavedFolder, SavedFrom, StoreError, StoreKind};

use super::{Opened, UserStore};

impl UserStore {
    /// Removes the saved files in a data folder whose result has expired or was removed, and what killed processes have left
    /// there. Returns how many files were removed.
    ///
    /// Only an open store of that folder can tell that a result is gone. A result in the memory of some process is gone when
    /// it was to expire.
    pub fn sweep_saved(&self, folder: &Path) -> u64 {
        let Some(saved) = SavedFolder::existing(folder) else { return 0 };
        let opened = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).opened.clone();
        let opened = opened.filter(|_| self.place().folder().as_deref() == Some(folder));
        let now = self.clock().certain_now();
        saved.sweep(now, |from| match (from.kept_in, &opened) {
            (StoreKind::Memory, _) => now < from.expires,
            (_, Some(opened)) => !opened.has_lost(from),
            (_, None) => true,
        })
    }
}

impl Opened {
    /// Returns whether it is certain that a result is gone.
    fn has_lost(&self, from: &SavedFrom) -> bool {
        // The store of a data folder reads files too, but not the other way round.
        let can_tell = self.kind == from.kept_in || self.kind == StoreKind::Home;
        can_tell
            && matches!(
                self.store.open(&from.owner, &from.artifact),
                Err(StoreError::NotFound | StoreError::Expired { .. })
            )
    }
}
