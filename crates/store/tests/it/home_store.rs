//! A data folder with a database and files: what programs of either kind keep is read by whoever has SQLite.

use std::time::Duration;

use tidegate_core::source::Span;
use tidegate_store::{ArtifactStore, FolderStore, Home, HomeStore, Quotas, StoreError, open};

use crate::{owner, put};

mod with_files_beside_it {
    use tidegate_store::{FolderStore, Home, HomeStore, StoreOptions};
    use tidegate_testkit::contract::Made;

    tidegate_testkit::contract_tests!(|quotas, clock| {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(Some(folder.path().to_owned())).unwrap();
        FolderStore::open(&home.artifact_folder(), quotas).unwrap();
        Made::with(HomeStore::open(&home, StoreOptions::from(quotas).with_clock(clock)).unwrap(), folder)
    });
}

#[test]
fn files_of_other_programs_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(Some(folder.path().to_owned())).unwrap();
    let store = HomeStore::open(&home, Quotas::default()).unwrap();
    let first = put(&store, b"first").unwrap();
    assert!(!home.artifact_folder().exists(), "nothing is created for programs that do not exist");
    // The other program starts later.
    let files = FolderStore::open(&home.artifact_folder(), Quotas::default()).unwrap();
    std::thread::sleep(Duration::from_millis(2));
    let second = put(&files, b"second").unwrap();
    let source = open(&store, &owner(), &second.id).unwrap();
    assert_eq!(Span::whole(&source).read(&source).unwrap(), b"second");
    assert_eq!(store.list(&owner(), 10).unwrap(), [second.clone(), first.clone()]);
    assert_eq!(store.list(&owner(), 1).unwrap(), std::slice::from_ref(&second));
    assert_eq!(store.usage().unwrap().artifacts, 2);
    assert!(store.touch(&owner(), &second.id, Duration::from_secs(7200)).unwrap().expires > second.expires);
    store.delete(&owner(), &second.id).unwrap();
    assert!(matches!(store.delete(&owner(), &second.id), Err(StoreError::NotFound)));
    assert!(files.list(&owner(), 10).unwrap().is_empty());
    assert_eq!(store.list(&owner(), 10).unwrap(), [first]);
}

/// Files of a newer program: the database works, and asking for one of them says why it cannot be read.
#[test]
fn files_of_a_newer_program_do_not_stop_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(Some(folder.path().to_owned())).unwrap();
    let files = FolderStore::open(&home.artifact_folder(), Quotas::default()).unwrap();
    let newer = put(&files, b"newer").unwrap();
    crate::folder::set_format(&home.artifact_folder(), &newer, 2);
    drop(files);
    let store = HomeStore::open(&home, Quotas::default()).unwrap();
    let kept = put(&store, b"kept").unwrap();
    assert_eq!(store.list(&owner(), 10).unwrap(), std::slice::from_ref(&kept));
    assert!(open(&store, &owner(), &kept.id).is_ok());
    assert!(matches!(open(&store, &owner(), &newer.id), Err(StoreError::NewerFormat { .. })));
    assert!(matches!(store.owner_of(&newer.id), Err(StoreError::NewerFormat { .. })));
    store.sweep().unwrap();
    crate::folder::set_format(&home.artifact_folder(), &newer, 1);
    let source = open(&store, &owner(), &newer.id).unwrap();
    assert_eq!(Span::whole(&source).read(&source).unwrap(), b"newer");
}
