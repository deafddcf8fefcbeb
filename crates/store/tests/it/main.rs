//! Tests of the backends: the contract, crashes, full disks, damage, privacy, files of earlier versions; and of the ledgers.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]

mod compatibility;
mod contract;
mod crash;
mod encryption;
mod faults;
mod folder;
#[cfg(feature = "objects")]
mod gateway;
mod home_store;
mod ledger;
mod lines;
#[cfg(feature = "objects")]
mod postgres;
#[cfg(feature = "objects")]
mod postgres_faults;
#[cfg(feature = "objects")]
mod postgres_processes;
mod privacy;
#[cfg(feature = "objects")]
mod replica;
mod sqlite;

use std::path::Path;
use std::time::Duration;

use tidegate_store::{ArtifactStore, Description, NewArtifact, Owner, Quotas, Session, SqliteStore};

/// Opens the store of a folder.
pub(crate) fn store_in(folder: &Path) -> SqliteStore {
    SqliteStore::open(&folder.join("artifacts.db"), Quotas::default()).unwrap()
}

/// The owner that these tests use.
pub(crate) fn owner() -> Owner {
    Owner::new("local:1")
}

/// Stores bytes for an hour.
pub(crate) fn put(
    store: &dyn ArtifactStore,
    bytes: &[u8],
) -> Result<tidegate_store::Artifact, tidegate_store::StoreError> {
    let (owner, session) = (owner(), Session::new("one"));
    let new = NewArtifact::new(&owner, &session, "tool", Duration::from_secs(3600));
    store.put(&new, &bytes, &|| Ok(Description::default()))
}
