//! A full disk and damaged files: never a handle to nothing, never wrong bytes.

use tidegate_core::source::Span;
use tidegate_store::{ArtifactStore, StoreError, open};
use tidegate_testkit::contract::noise;

use crate::{owner, put, store_in};

/// A file system of a few megabytes, where this machine lets us mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(megabytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let status = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=0700"), "tmpfs"])
            .arg(folder.path())
            .stderr(std::process::Stdio::null())
            .status();
        status.is_ok_and(|status| status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_refuses_and_recovers() {
    let Some(disk) = SmallDisk::mount(9) else {
        // Not allowed to mount: the same through SQLite's own limit.
        return a_full_file_refuses_and_recovers();
    };
    let store = store_in(disk.0.path());
    let mut kept = Vec::new();
    let error = loop {
        match put(&store, &noise(kept.len() as u64, 400_000)) {
            Ok(artifact) => kept.push(artifact),
            Err(error) => break error,
        }
        assert!(kept.len() < 100, "the disk is small");
    };
    assert!(matches!(error, StoreError::DiskFull), "{error:?}");
    assert!(kept.len() > 3);
    for (seed, artifact) in kept.iter().enumerate() {
        let source = open(&store, &owner(), &artifact.id).unwrap();
        assert_eq!(
            Span::whole(&source).read(&source).unwrap(),
            noise(seed as u64, 400_000),
            "what was kept stays"
        );
    }
    assert_eq!(store.list(&owner(), 100).unwrap().len(), kept.len(), "no handle to nothing");
    for artifact in kept.drain(..4) {
        store.delete(&owner(), &artifact.id).unwrap();
    }
    put(&store, &noise(99, 200_000)).unwrap();
}

/// Where no file system can be mounted.
fn a_full_file_refuses_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    store.limit_pages(600);
    let mut kept = Vec::new();
    let error = loop {
        match put(&store, &noise(kept.len() as u64, 400_000)) {
            Ok(artifact) => kept.push(artifact),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::DiskFull), "{error:?}");
    store.limit_pages(100_000);
    put(&store, &noise(99, 200_000)).unwrap();
}

#[test]
fn the_same_through_the_page_limit() {
    a_full_file_refuses_and_recovers();
}

/// A byte flipped anywhere in the file, or the file cut anywhere: the bytes are right or there is an error.
#[test]
fn damage_is_an_error_and_never_wrong_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("artifacts.db");
    let bytes = noise(5, 700_000);
    let kept = {
        let store = store_in(folder.path());
        put(&store, &bytes).unwrap()
    };
    let intact = std::fs::read(&path).unwrap();
    let (mut errors, mut unharmed) = (0, 0);
    let mut check = |damaged: &[u8]| {
        std::fs::write(&path, damaged).unwrap();
        for side in ["artifacts.db-wal", "artifacts.db-shm"] {
            let _ = std::fs::remove_file(folder.path().join(side));
        }
        let read = || -> Result<Vec<u8>, Box<dyn std::error::Error>> {
            let store = tidegate_store::SqliteStore::open(&path, tidegate_store::Quotas::default())?;
            let source = open(&store, &owner(), &kept.id)?;
            Ok(Span::whole(&source).read(&source)?)
        };
        match read() {
            Ok(read) => {
                assert!(read == bytes, "wrong bytes");
                unharmed += 1;
            }
            Err(_) => errors += 1,
        }
    };
    for at in (0..intact.len()).step_by(intact.len() / 150) {
        let mut damaged = intact.clone();
        damaged[at] ^= 0x41;
        check(&damaged);
    }
    for length in (0..intact.len()).step_by(intact.len() / 40) {
        check(&intact[..length]);
    }
    assert!(errors > 150, "damage in the chunks is noticed: {errors} errors, {unharmed} unharmed");
}
