//! What this process remembers of the artifacts that it opened last: outlines, and where chunks are in their objects. Opening one again
//! then transfers only what may have changed.
//!
//! The database still decides each time whether the artifact exists and who may read it. An artifact is recognized by the random
//! number of its `put`, by the digest of its body, which a change of the key replaces, and by its object, which a repair replaces.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::read::ChunkPlace;
use crate::artifact::Owner;
use crate::id::ArtifactId;

/// What is known of an artifact.
#[derive(Debug)]
pub(super) struct Known {
    /// The random number of its `put`.
    pub(super) put: i64,
    /// The digest of its body.
    pub(super) hash: [u8; 32],
    pub(super) object: Option<String>,
    pub(super) outline: Vec<u8>,
    pub(super) places: Option<Arc<[ChunkPlace]>>,
}

impl Known {
    fn len(&self) -> usize {
        let places = self.places.as_ref().map_or(0, |places| places.len());
        self.outline.len() + places * size_of::<ChunkPlace>()
    }
}

/// The artifacts that were opened last, up to a limit in bytes.
pub(super) struct KnownArtifacts {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Each artifact with the time of its last use.
    by_id: HashMap<(Owner, ArtifactId), (Arc<Known>, u64)>,
    bytes: usize,
    /// The number of uses so far, which serves as the time.
    time: u64,
}

impl KnownArtifacts {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    pub(super) fn get(&self, owner: &Owner, id: &ArtifactId) -> Option<Arc<Known>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.time += 1;
        let now = state.time;
        let (known, used) = state.by_id.get_mut(&(owner.clone(), id.clone()))?;
        *used = now;
        Some(Arc::clone(known))
    }

    pub(super) fn insert(&self, owner: &Owner, id: &ArtifactId, known: Arc<Known>) {
        if known.len() > self.limit {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.time += 1;
        let now = state.time;
        state.bytes += known.len();
        if let Some((replaced, _)) = state.by_id.insert((owner.clone(), id.clone()), (known, now)) {
            state.bytes -= replaced.len();
        }
        while state.bytes > self.limit {
            let oldest = state.by_id.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            let Some((removed, _)) = oldest.and_then(|key| state.by_id.remove(&key)) else { break };
            state.bytes -= removed.len();
        }
    }
}
