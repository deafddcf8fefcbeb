//! A full disk and damaged files: an acknowledged artifact always exists, and wrong bytes are never returned.
//!
//! The small disk is a mounted tmpfs, or SQLite's page limit where mounting is not allowed.

use tidegate_core::source::Span;
use tidegate_store::{ArtifactStore, Quotas, SqliteStore, StoreError, open};
use tidegate_testkit::contract::noise;

use crate::{owner, put, store_in};

/// A file system of a few megabytes, if this machine allows mounting one.
pub(crate) struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    pub(crate) fn mount(megabytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let status = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=0700"), "tmpfs"])
            .arg(folder.path())
            .stderr(std::process::Stdio::null())
            .status();
        status.is_ok_and(|status| status.success()).then_some(Self(folder))
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.0.path()
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
        // Without permission to mount, SQLite's page limit stands in for the full disk.
        return a_full_file_refuses_and_recovers();
    };
    let store = store_in(disk.path());
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
            "stored artifacts stay readable"
        );
    }
    assert_eq!(
        store.list(&owner(), 100).unwrap().len(),
        kept.len(),
        "every listed artifact was acknowledged"
    );
    for artifact in kept.drain(..4) {
        store.delete(&owner(), &artifact.id).unwrap();
    }
    put(&store, &noise(99, 200_000)).unwrap();
}

/// The same with SQLite's page limit in place of a small disk.
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
fn a_full_file_is_a_full_disk() {
    a_full_file_refuses_and_recovers();
}

/// Storing the same bytes again must not refer to a damaged body: it is repaired.
#[test]
fn storing_again_repairs_a_damaged_body() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = noise(7, 300_000);
    let store = store_in(folder.path());
    let first = put(&store, &bytes).unwrap();
    let other = rusqlite::Connection::open(folder.path().join("artifacts.db")).unwrap();
    for damage in
        ["UPDATE chunk SET data = zeroblob(20) WHERE id & 3 = 1", "DELETE FROM chunk WHERE id & 3 = 2"]
    {
        assert!(other.execute(damage, []).unwrap() > 0);
        let again = put(&store, &bytes).unwrap();
        for artifact in [&first, &again] {
            let source = open(&store, &owner(), &artifact.id).unwrap();
            assert!(Span::whole(&source).read(&source).unwrap() == bytes, "{damage}");
        }
    }
}

/// While another process holds the write lock, artifacts can be read; storing fails after a timeout.
#[test]
fn a_locked_store_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let kept = put(&store, b"kept").unwrap();
    let other = rusqlite::Connection::open(folder.path().join("artifacts.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| put(&store, b"more"));
        std::thread::sleep(std::time::Duration::from_millis(200));
        let started = std::time::Instant::now();
        let source = open(&store, &owner(), &kept.id).unwrap();
        assert_eq!(Span::whole(&source).read(&source).unwrap(), b"kept");
        // Another process can open it, too.
        assert_eq!(store_in(folder.path()).list(&owner(), 10).unwrap().len(), 1);
        assert!(started.elapsed() < std::time::Duration::from_secs(2), "{:?}", started.elapsed());
        assert!(matches!(waiting.join().unwrap(), Err(StoreError::Busy)));
    });
    other.execute_batch("COMMIT").unwrap();
    put(&store, b"more").unwrap();
}

/// Whichever byte of the file is flipped, and wherever the file is cut: reading gives the right bytes or an error.
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
            let store = SqliteStore::open(&path, Quotas::default())?;
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
    assert!(errors > 150, "damage in the chunks is detected: {errors} errors, {unharmed} unharmed");
}

/// Every client starts a proxy of its own, and all of them may find no store at the same time.
#[test]
fn a_new_store_can_be_created_by_several_at_once() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("artifacts.db");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| SqliteStore::open(&path, Quotas::default()).unwrap());
            }
        });
    }
}
