//! The store in a folder: several processes, full and read-only disks, damage, leftovers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::source::Span;
use tidegate_store::{
    Artifact, ArtifactId, ArtifactStore, Description, FolderStore, Millis, NewArtifact, Quotas, Session,
    StoreError, StoreOptions, Swept, Usage, folder_health, open,
};
use tidegate_testkit::clock::ManualClock;
use tidegate_testkit::contract::noise;

use crate::faults::SmallDisk;
use crate::{owner, put};

fn folder_store(folder: &Path) -> FolderStore {
    FolderStore::open(folder, Quotas::default()).unwrap()
}

fn read(store: &FolderStore, id: &ArtifactId) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let source = open(store, &owner(), id)?;
    Ok(Span::whole(&source).read(&source)?)
}

/// Stores bytes with an outline.
fn put_outlined(store: &FolderStore, bytes: &[u8]) -> Artifact {
    let (owner, session) = (owner(), Session::new("one"));
    let new = NewArtifact::new(&owner, &session, "tool", Duration::from_secs(3600));
    let describe = || Ok(Description { outline: noise(1, 5000), ..Description::default() });
    store.put(&new, &bytes, &describe).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn several_stores_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let quotas = Quotas { store_bytes: 500_000, ..Quotas::default() };
    let stores = [0, 1].map(|_| FolderStore::open(folder.path(), quotas).unwrap());
    let kept = put(&stores[0], &noise(1, 300_000)).unwrap();
    assert_eq!(read(&stores[1], &kept.id).unwrap(), noise(1, 300_000));
    // The other one knows of it when it checks the quota, and when it stores the same bytes.
    assert!(matches!(put(&stores[1], &noise(2, 300_000)), Err(StoreError::QuotaFull { scope: "store", .. })));
    let shared = put(&stores[1], &noise(1, 300_000)).unwrap();
    stores[1].delete(&owner(), &kept.id).unwrap();
    assert_eq!(read(&stores[0], &shared.id).unwrap(), noise(1, 300_000));
    stores[0].delete(&owner(), &shared.id).unwrap();
    put(&stores[1], &noise(2, 300_000)).unwrap();
    assert_eq!(stores[0].list(&owner(), 10).unwrap(), stores[1].list(&owner(), 10).unwrap());
}

#[test]
fn a_sweep_sees_what_another_store_extended() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let stores = [0, 1].map(|_| {
        FolderStore::open(folder.path(), StoreOptions::from(Quotas::default()).with_clock(clock.clone()))
            .unwrap()
    });
    let kept = put(&stores[0], b"kept").unwrap();
    assert_eq!(stores[1].list(&owner(), 10).unwrap(), std::slice::from_ref(&kept));
    let touched = stores[1].touch(&owner(), &kept.id, Duration::from_secs(7200)).unwrap();
    clock.advance(Duration::from_secs(3601));
    assert_eq!(stores[0].sweep().unwrap().artifacts, 0);
    let reopened =
        FolderStore::open(folder.path(), StoreOptions::from(Quotas::default()).with_clock(clock.clone()))
            .unwrap();
    assert_eq!(reopened.list(&owner(), 10).unwrap(), [touched]);
    clock.advance(Duration::from_secs(3600));
    assert_eq!(stores[0].sweep().unwrap().artifacts, 1);
    assert_eq!(reopened.usage().unwrap(), Usage::default());
}

#[test]
fn only_leftovers_are_swept() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder_store(folder.path());
    let bytes = noise(3, 200_000);
    let (one, two) = (put(&store, &bytes).unwrap(), put(&store, &bytes).unwrap());
    let (id, draft) = (ArtifactId::random(), ArtifactId::random());
    let link = folder.path().join(format!("{id}.body"));
    fs::hard_link(folder.path().join(format!("{}.artifact", one.id)), &link).unwrap();
    fs::write(folder.path().join(format!("{draft}.draft")), "half").unwrap();
    let foreign = folder.path().join("notes.txt");
    fs::write(&foreign, "not ours").unwrap();
    // A draft that is being written stays, and is stored.
    let (owner, session) = (owner(), Session::new("one"));
    let new = NewArtifact::new(&owner, &session, "tool", Duration::from_secs(3600));
    let describe = || {
        let swept = folder_store(folder.path()).sweep()?;
        assert_eq!((swept.artifacts, swept.bodies), (0, 2));
        Ok(Description::default())
    };
    let three = store.put(&new, &noise(4, 1000), &describe).unwrap();
    assert!(foreign.exists() && !link.exists());
    for (artifact, bytes) in [(&one, &bytes), (&two, &bytes), (&three, &noise(4, 1000))] {
        assert_eq!(read(&store, &artifact.id).unwrap(), *bytes);
    }
}

/// Sets the format in the label of an artifact, as a later version may do, and adds a field that this one does not know.
pub(crate) fn set_format(folder: &Path, artifact: &Artifact, format: u32) {
    let path = folder.join(format!("{}.artifact", artifact.id));
    let bytes = fs::read(&path).unwrap();
    let footer = bytes.len() - 20;
    let size = u32::from_le_bytes(bytes[footer..footer + 4].try_into().unwrap()) as usize;
    let mut label: serde_json::Value = serde_json::from_slice(&bytes[footer - size..footer]).unwrap();
    label["format"] = format.into();
    label["later"] = "a field".into();
    let label = serde_json::to_vec(&label).unwrap();
    let (length, hash) = ((label.len() as u32).to_le_bytes(), blake3::hash(&label));
    let changed = [&bytes[..footer - size], &label, &length, &hash.as_bytes()[..16]].concat();
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, changed).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
}

fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    files(folder).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// An older program refuses a folder in which a newer one stored something, and deletes nothing of it, neither when it opens the
/// folder nor while it has it open.
#[test]
fn files_of_a_newer_program_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let options = || StoreOptions::from(Quotas::default()).with_clock(clock.clone());
    let running = FolderStore::open(folder.path(), options()).unwrap();
    let bytes = noise(8, 200_000);
    let writer = FolderStore::open(folder.path(), options()).unwrap();
    let (old, new) = (put_outlined(&writer, &bytes), put_outlined(&writer, &bytes));
    set_format(folder.path(), &new, 7);
    let before = contents(folder.path());
    assert_eq!(
        before.len(),
        4,
        "two artifacts, the link of the second to the chunks of the first, and the lock"
    );

    let Err(refused) = FolderStore::open(folder.path(), options()) else { panic!("it was opened") };
    assert!(matches!(refused, StoreError::NewerFormat { format: 7, known: 1 }), "{refused}");
    assert!(refused.to_string().contains("update tidegate"), "{refused}");
    let health = folder_health(folder.path(), Millis(0));
    assert!(matches!(health, Err(StoreError::NewerFormat { .. })), "not damaged: {health:?}");
    // A program that runs meanwhile still reads what it knows, also after everything has expired; it changes nothing.
    assert_eq!(read(&running, &old.id).unwrap(), bytes);
    for _ in 0..2 {
        assert!(matches!(running.sweep(), Err(StoreError::NewerFormat { .. })));
        assert!(matches!(put(&running, b"more"), Err(StoreError::NewerFormat { .. })));
        assert!(matches!(running.list(&owner(), 10), Err(StoreError::NewerFormat { .. })));
        assert!(matches!(running.open(&owner(), &new.id), Err(StoreError::NewerFormat { .. })));
        clock.advance(Duration::from_secs(7200));
    }
    assert!(contents(folder.path()) == before, "every byte is as it was");

    // The program that knows the format finds everything; nothing has expired for a clock that was not moved.
    set_format(folder.path(), &new, 1);
    let known = FolderStore::open(
        folder.path(),
        StoreOptions::from(Quotas::default()).with_clock(Arc::new(ManualClock::default())),
    )
    .unwrap();
    assert_eq!(read(&known, &new.id).unwrap(), bytes);
}

/// The link of a file whose label cannot be read is no leftover: the file may be readable the next time.
#[test]
fn the_link_of_an_unreadable_file_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder_store(folder.path());
    let bytes = noise(9, 200_000);
    let (_, linked) = (put_outlined(&store, &bytes), put_outlined(&store, &bytes));
    let path = folder.path().join(format!("{}.artifact", linked.id));
    let intact = fs::read(&path).unwrap();
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let write = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    write(&intact[..intact.len() - 1]);
    assert_eq!(folder_store(folder.path()).sweep().unwrap(), Swept::default());
    write(&intact);
    assert_eq!(read(&folder_store(folder.path()), &linked.id).unwrap(), bytes);
}

/// Whichever byte of a file is flipped, and wherever it is cut: reading gives the right bytes or an error.
#[test]
fn damage_is_an_error_and_never_wrong_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder_store(folder.path());
    let bytes = noise(5, 300_000);
    let kept = [put_outlined(&store, &bytes), put_outlined(&store, &bytes)];
    let other = put(&store, b"other").unwrap();
    let intact: Vec<(PathBuf, Vec<u8>)> =
        files(folder.path()).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    let mut errors = 0;
    let mut check = |path: &Path, damaged: &[u8]| {
        fs::write(path, damaged).unwrap();
        let store = folder_store(folder.path());
        for artifact in &kept {
            match open(&store, &owner(), &artifact.id) {
                Ok(source) => {
                    assert!(source.outline() == noise(1, 5000), "a wrong outline");
                    assert_eq!(source.artifact(), artifact, "a wrong label");
                    match Span::whole(&source).read(&source) {
                        Ok(read) => assert!(read == bytes, "wrong bytes"),
                        Err(_) => errors += 1,
                    }
                }
                Err(_) => errors += 1,
            }
        }
        store.list(&owner(), 10).unwrap();
        if !path.ends_with(format!("{}.artifact", other.id)) {
            assert_eq!(read(&store, &other.id).unwrap(), b"other", "others are not affected");
        }
    };
    for (path, content) in &intact {
        let step = (content.len() / 60).max(1);
        // Every byte of the end, where the label is, and some of the rest.
        let positions = (0..content.len()).filter(|at| at % step == 0 || at + 60 > content.len());
        for at in positions {
            let mut damaged = content.clone();
            damaged[at] ^= 0x41;
            // The modification time is restored, because only the bytes are damaged.
            let time = fs::metadata(path).unwrap().modified().unwrap();
            check(path, &damaged);
            check(path, &content[..at]);
            fs::write(path, content).unwrap();
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        }
    }
    assert!(errors > 200, "damage is detected: {errors} errors");
    assert_eq!(read(&folder_store(folder.path()), &kept[1].id).unwrap(), bytes);
}

/// Storing the same bytes again must not refer to a damaged file: it is repaired.
#[test]
fn storing_again_repairs_damaged_files() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder_store(folder.path());
    let bytes = noise(7, 300_000);
    let mut kept = vec![put_outlined(&store, &bytes), put_outlined(&store, &bytes)];
    for _ in 0..2 {
        for path in files(folder.path()).iter().filter(|path| fs::metadata(path).unwrap().len() > 200_000) {
            let mut damaged = fs::read(path).unwrap();
            // Some are names of the same file.
            damaged[100_000] = damaged[100_000].wrapping_add(1);
            fs::write(path, damaged).unwrap();
        }
        assert!(kept.iter().all(|artifact| read(&store, &artifact.id).is_err()));
        kept.push(put_outlined(&store, &bytes));
        for artifact in &kept {
            assert_eq!(read(&store, &artifact.id).unwrap(), bytes);
        }
        let mut listed = store.list(&owner(), 10).unwrap();
        listed.sort_by_key(|artifact| artifact.id.clone());
        kept.sort_by_key(|artifact| artifact.id.clone());
        assert_eq!(listed, kept);
    }
    for artifact in kept {
        store.delete(&owner(), &artifact.id).unwrap();
    }
    assert_eq!(files(folder.path()), [folder.path().join("store.lock")]);
}

#[test]
fn a_full_disk_refuses_and_recovers() {
    // Needs permission to mount; the other tests in this file need no full disk.
    let Some(disk) = SmallDisk::mount(3) else { return };
    let store = folder_store(&disk.path().join("artifacts"));
    let mut kept = Vec::new();
    let error = loop {
        match put(&store, &noise(kept.len() as u64, 400_000)) {
            Ok(artifact) => kept.push(artifact),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::DiskFull), "{error:?}");
    assert!(kept.len() > 3);
    for (seed, artifact) in kept.iter().enumerate() {
        assert_eq!(read(&store, &artifact.id).unwrap(), noise(seed as u64, 400_000));
    }
    assert_eq!(store.list(&owner(), 100).unwrap().len(), kept.len());
    for artifact in kept.drain(..2) {
        store.delete(&owner(), &artifact.id).unwrap();
    }
    put(&store, &noise(99, 400_000)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("artifacts");
    let kept = put(&folder_store(&path), b"kept").unwrap();
    let lock = path.join("store.lock");
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    fs::remove_file(&lock).unwrap();
    // A folder in place of the file simulates a disk that cannot be written, even by root.
    fs::create_dir(&lock).unwrap();
    mode(&path, 0o500);
    let store = folder_store(&path);
    assert_eq!(read(&store, &kept.id).unwrap(), b"kept");
    assert_eq!(store.list(&owner(), 10).unwrap().len(), 1);
    assert!(matches!(put(&store, b"more"), Err(StoreError::ReadOnly(_))));
    assert!(!store.is_current(), "it is worth opening again");
    mode(&path, 0o700);
    fs::remove_dir(&lock).unwrap();
    let store = folder_store(&path);
    put(&store, b"more").unwrap();
    assert!(store.is_current());
    fs::rename(&path, folder.path().join("moved")).unwrap();
    assert!(!store.is_current());
    assert!(put(&store, b"lost").is_err());
}

/// While another process holds the lock, artifacts can be read; storing waits.
#[test]
fn a_locked_folder_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder_store(folder.path());
    let kept = put(&store, b"kept").unwrap();
    let other = fs::File::open(folder.path().join("store.lock")).unwrap();
    other.lock().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| put(&store, b"more"));
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(read(&store, &kept.id).unwrap(), b"kept");
        assert_eq!(store.list(&owner(), 10).unwrap().len(), 1);
        assert_eq!(folder_store(folder.path()).usage().unwrap().artifacts, 1);
        assert!(!waiting.is_finished());
        other.unlock().unwrap();
        waiting.join().unwrap().unwrap();
    });
}
