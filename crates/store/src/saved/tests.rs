//! Saved files: under one name, in a folder that is private, for as long as their result.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Barrier;

use super::*;
use crate::artifact::{Owner, StoreKind};
use crate::id::ArtifactId;

fn from(artifact: &ArtifactId) -> SavedFrom {
    SavedFrom {
        owner: Owner::new("local:1"),
        artifact: artifact.clone(),
        kept_in: StoreKind::Home,
        expires: Millis(1000),
    }
}

struct Fixture {
    home: tempfile::TempDir,
    id: ArtifactId,
}

impl Fixture {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), id: ArtifactId::random() }
    }

    fn home(&self) -> Home {
        Home::open(Some(self.home.path().to_owned())).unwrap()
    }

    fn open(&self) -> SavedFolder {
        SavedFolder::open(&self.home()).unwrap()
    }

    fn save(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, SaveError> {
        let folder = self.open();
        let mut file = folder.create(FileName::parse(name).unwrap())?;
        file.write_all(bytes)?;
        file.finish(&from(&self.id))
    }

    /// Everything in a folder below the data folder.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.home.path().join(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn now() -> Millis {
    use crate::clock::{Clock, SystemClock};
    SystemClock.now()
}

#[test]
fn a_file_is_private_and_nothing_replaces_it() {
    let fixture = Fixture::new();
    let path = fixture.save("a.csv", b"one").unwrap();
    assert_eq!(path, std::path::absolute(fixture.home.path().join("saved/a.csv")).unwrap());
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let refused = fixture.save("a.csv", b"two").unwrap_err();
    assert_eq!(refused.to_string(), "\"a.csv\" exists; choose another name");
    assert_eq!(std::fs::read(&path).unwrap(), b"one");
    assert_eq!(
        (fixture.names("saved"), fixture.names("saved/.index").len()),
        (vec![".index".into(), "a.csv".into()], 1)
    );
}

#[test]
fn a_link_is_neither_followed_nor_replaced() {
    let fixture = Fixture::new();
    fixture.save("a.csv", b"one").unwrap();
    let target = fixture.home.path().join("target");
    for (name, exists) in [("dangling", false), ("b.csv", true)] {
        symlink(&target, fixture.home.path().join("saved").join(name)).unwrap();
        assert!(matches!(fixture.save(name, b"x"), Err(SaveError::Exists { .. })), "{name}");
        assert_eq!(target.exists(), exists && target.exists());
        std::fs::write(&target, "theirs").unwrap();
    }
    assert_eq!(std::fs::read(&target).unwrap(), b"theirs");
}

#[test]
fn a_folder_that_is_not_ours_alone_is_refused() {
    for index in [false, true] {
        let name = if index { "saved/.index" } else { "saved" };
        let refused = |prepare: &dyn Fn(&Path)| {
            let fixture = Fixture::new();
            if index {
                let saved = fixture.home.path().join("saved");
                std::fs::create_dir(&saved).unwrap();
                std::fs::set_permissions(&saved, PermissionsExt::from_mode(0o700)).unwrap();
            }
            prepare(&fixture.home.path().join(name));
            assert!(SavedFolder::existing(fixture.home.path()).is_none(), "nor swept");
            let error = SavedFolder::open(&fixture.home()).unwrap_err();
            std::error::Error::source(&error).unwrap().to_string()
        };
        let elsewhere = tempfile::tempdir().unwrap();
        let linked = refused(&|path| symlink(elsewhere.path(), path).unwrap());
        assert!(linked.ends_with("is a link, or not a folder"), "{linked}");
        let file = refused(&|path| std::fs::write(path, "x").unwrap());
        assert!(file.ends_with("is a link, or not a folder"), "{file}");
        for bits in [0o750, 0o701, 0o777] {
            let open = refused(&|path| {
                std::fs::create_dir(path).unwrap();
                std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).unwrap();
            });
            assert!(open.contains(&format!("(mode {bits:o})")), "{open}");
        }
        assert!(std::fs::read_dir(elsewhere.path()).unwrap().next().is_none());
    }
}

#[test]
fn of_two_at_once_exactly_one_gets_the_name() {
    const WRITERS: usize = 8;
    let fixture = Fixture::new();
    for round in 0..20 {
        let barrier = Barrier::new(WRITERS);
        let name = format!("{round}.txt");
        let saved: Vec<bool> = std::thread::scope(|scope| {
            let write = |number: usize| {
                let (fixture, barrier, name) = (&fixture, &barrier, &name);
                scope.spawn(move || {
                    let folder = fixture.open();
                    // All of them begin before any has the name.
                    let mut file = folder.create(FileName::parse(name).unwrap()).unwrap();
                    file.write_all(number.to_string().as_bytes()).unwrap();
                    barrier.wait();
                    match file.finish(&from(&fixture.id)) {
                        Ok(path) => std::fs::read(path).unwrap() == number.to_string().as_bytes(),
                        Err(SaveError::Exists { .. }) => false,
                        Err(error) => panic!("{error}"),
                    }
                })
            };
            let writers: Vec<_> = (0..WRITERS).map(write).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        assert_eq!(saved.iter().filter(|saved| **saved).count(), 1);
    }
    assert_eq!((fixture.names("saved").len(), fixture.names("saved/.index").len()), (21, 20));
}

#[test]
fn files_are_removed_with_their_result() {
    let fixture = Fixture::new();
    let (kept, gone) = (fixture.save("kept", b"x").unwrap(), ArtifactId::random());
    let fixture = Fixture { id: gone.clone(), ..fixture };
    let removed = fixture.save("gone", b"x").unwrap();
    let replaced = fixture.save("replaced", b"x").unwrap();
    std::fs::write(fixture.home.path().join("saved/mine.txt"), "mine").unwrap();
    // Another file of the same name is not the one that was saved.
    let other = fixture.home.path().join("saved/other");
    std::fs::write(&other, "mine").unwrap();
    std::fs::rename(&other, &replaced).unwrap();
    let folder = SavedFolder::existing(fixture.home.path()).unwrap();
    assert_eq!(folder.sweep(now(), |_| true), 0, "everything is kept");
    assert!(removed.exists());
    assert_eq!(folder.sweep(now(), |from| from.artifact != gone), 1);
    assert!(kept.exists() && !removed.exists());
    assert_eq!(fixture.names("saved"), [".index", "kept", "mine.txt", "replaced"]);
    assert_eq!(fixture.names("saved/.index").len(), 1);
    assert_eq!(folder.sweep(now(), |_| false), 1);
    assert_eq!(fixture.names("saved"), [".index", "mine.txt", "replaced"]);
}

#[test]
fn files_of_killed_processes_are_removed_after_an_hour() {
    let fixture = Fixture::new();
    let path = fixture.save("a", b"x").unwrap();
    std::fs::remove_file(path).unwrap();
    let folder = fixture.open();
    let mut left = folder.create(FileName::parse("b").unwrap()).unwrap();
    left.write_all(b"part").unwrap();
    std::mem::forget(left);
    std::mem::forget(NewFile::create(&folder.index, FileAccess::Private).unwrap());
    let later = |minutes: u64| now().after(Duration::from_secs(minutes * 60));
    folder.sweep(later(59), |_| true);
    assert_eq!((fixture.names("saved").len(), fixture.names("saved/.index").len()), (2, 2));
    folder.sweep(later(61), |_| true);
    assert_eq!((fixture.names("saved"), fixture.names("saved/.index").len()), (vec![".index".into()], 0));
}

#[test]
fn a_record_that_is_not_ours_leads_to_nothing() {
    let fixture = Fixture::new();
    let path = fixture.save("a", b"x").unwrap();
    let (index, outside) = (path.with_file_name(".index"), fixture.home.path().join("outside"));
    std::fs::write(&outside, "theirs").unwrap();
    let number = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&outside).unwrap());
    let record = format!(
        r#"{{"name":"../outside","file":{number},"owner":"x","artifact":"{}","kept_in":"home","expires":1}}"#,
        fixture.id
    );
    std::fs::write(index.join("forged"), record).unwrap();
    std::fs::write(index.join("garbage"), "{").unwrap();
    symlink(&outside, index.join("link")).unwrap();
    std::fs::create_dir(index.join("folder")).unwrap();
    assert_eq!(fixture.open().sweep(now(), |_| false), 1);
    assert!(outside.exists());
}
