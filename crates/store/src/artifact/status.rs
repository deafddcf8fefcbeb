//! What a store reports: its state, the progress of a change of its key, what a sweep removed.

use serde::{Deserialize, Serialize};

use crate::clock::Millis;
use crate::id::ArtifactId;
use crate::key::KeyId;

/// The state of a store, for those who look after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreStatus {
    /// What it holds, including expired artifacts that were not swept yet.
    pub usage: Usage,
    /// Number of expired artifacts.
    pub expired: u64,
    /// When the oldest artifact was stored.
    pub oldest: Option<Millis>,
    /// Number of bodies, files or objects that nothing refers to; a sweep deletes them once it is certain that nobody is
    /// writing them.
    pub orphans: u64,
    /// Why large results cannot be stored although small ones can: the object store does not work.
    pub problem: Option<String>,
    /// The version of the schema, where the store has one.
    pub schema: Option<i64>,
    /// The key that new results are sealed with.
    pub key: Option<KeyId>,
    /// Whether the key is being changed.
    pub is_rekeying: bool,
}

/// How far a change of the key has come, in stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RekeyProgress {
    /// What is sealed with the new key.
    pub done: u64,
    /// What is to be sealed.
    pub total: u64,
}

/// What a change of the key has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rekeyed {
    /// Number of bodies that were sealed with the new key.
    pub bodies: u64,
    /// Artifacts that are damaged, and so could not be sealed. As long as there are any, the previous key stays in use.
    pub damaged: Vec<ArtifactId>,
}

/// The kind of store that holds a result: only a store of that kind can tell that the result is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// The store of a data folder.
    Home,
    /// Files of their own kind in the data folder.
    Files,
    /// The memory of a process.
    Memory,
    /// A store that several machines share.
    Remote,
}

/// What a sweep removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Expired artifacts.
    pub artifacts: u64,
    /// Bodies that no artifact refers to any more, or that were never finished.
    pub bodies: u64,
    /// Bytes by which the store became smaller.
    pub freed_bytes: u64,
}

/// How much a store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Number of artifacts.
    pub artifacts: u64,
    /// Stored bytes of all bodies.
    pub stored_bytes: u64,
}
