//! The contract suite on both forms of the embedded backend.
//!
//! The suite itself is in `testkit::contract`, and every further backend runs it as well.

use std::sync::Mutex;

use tidegate_store::SqliteStore;
use tidegate_testkit::contract::contract;

#[test]
fn in_memory() {
    contract(&|quotas, clock| Box::new(SqliteStore::ephemeral_with(quotas, clock).unwrap()));
}

#[test]
fn in_a_file() {
    let folders = Mutex::new(Vec::new());
    contract(&|quotas, clock| {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_with(&folder.path().join("artifacts.db"), quotas, clock).unwrap();
        folders.lock().unwrap().push(folder);
        Box::new(store)
    });
}
