//! The contract suite on every backend. The suite itself is in `testkit::contract`.

use std::sync::Mutex;

use tidegate_store::{FolderStore, MemoryStore, SqliteStore};
use tidegate_testkit::contract::contract;

#[test]
fn sqlite_in_memory() {
    contract(&|quotas, clock| Box::new(SqliteStore::ephemeral_with(quotas, clock).unwrap()));
}

#[test]
fn sqlite_in_a_file() {
    let folders = Mutex::new(Vec::new());
    contract(&|quotas, clock| {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_with(&folder.path().join("artifacts.db"), quotas, clock).unwrap();
        folders.lock().unwrap().push(folder);
        Box::new(store)
    });
}

#[test]
fn folder_of_files() {
    let folders = Mutex::new(Vec::new());
    contract(&|quotas, clock| {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderStore::open_with(&folder.path().join("artifacts"), quotas, clock).unwrap();
        folders.lock().unwrap().push(folder);
        Box::new(store)
    });
}

#[test]
fn memory() {
    contract(&|quotas, clock| Box::new(MemoryStore::new_with(quotas, clock)));
}
