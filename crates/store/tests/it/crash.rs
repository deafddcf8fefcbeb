//! Processes that are killed while they write: acknowledged artifacts are complete, everything else is swept.
//!
//! The writers are this test binary again, started in processes of their own and killed at varying moments.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::source::Span;
use tidegate_store::{
    ArtifactId, ArtifactStore, Clock, FolderStore, Quotas, SqliteStore, StoreOptions, SystemClock, Usage,
    open,
};
use tidegate_testkit::clock::ManualClock;
use tidegate_testkit::contract::noise;

use crate::{owner, put};

const KIND: &str = "TIDEGATE_TEST_CRASH_KIND";
const FOLDER: &str = "TIDEGATE_TEST_CRASH_FOLDER";
const SEED: &str = "TIDEGATE_TEST_CRASH_SEED";

/// A backend whose processes can be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Folder,
}

impl Kind {
    fn open(self, folder: &Path, clock: Arc<dyn Clock>) -> Box<dyn ArtifactStore> {
        let quotas = Quotas { session_bytes: 64 << 30, owner_bytes: 64 << 30, store_bytes: 64 << 30 };
        match self {
            Self::Sqlite => Box::new(
                SqliteStore::open(&folder.join("artifacts.db"), StoreOptions::from(quotas).with_clock(clock))
                    .unwrap(),
            ),
            Self::Folder => Box::new(
                FolderStore::open(&folder.join("artifacts"), StoreOptions::from(quotas).with_clock(clock))
                    .unwrap(),
            ),
        }
    }
}

/// Not a test by itself: the process that is killed. It prints the id of each artifact after `put` has returned.
#[test]
#[ignore = "the tests below run it in its own process"]
fn writer() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let kind = if std::env::var(KIND).unwrap() == "Folder" { Kind::Folder } else { Kind::Sqlite };
    let store = kind.open(folder.as_ref(), Arc::new(SystemClock));
    for n in 0.. {
        // Small bodies, and some that take several transactions.
        let length =
            if n % 7 == 3 { 12_000_000 } else { 1000 + (seed as usize * 7919 + n * 104_729) % 400_000 };
        let bytes = noise(seed * 1000 + n as u64, length);
        // The second shares the bytes of the first.
        for _ in 0..2 {
            let kept = put(&*store, &bytes).unwrap();
            let mut stdout = std::io::stdout().lock();
            writeln!(stdout, "acknowledged {} {} {length}", kept.id, seed * 1000 + n as u64).unwrap();
            stdout.flush().unwrap();
        }
    }
}

fn spawn(kind: Kind, folder: &Path, seed: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "crash::writer", "--nocapture"])
        .env(KIND, format!("{kind:?}"))
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns what a killed writer had acknowledged: the id, the seed of the bytes and their length.
fn acknowledged(mut child: Child) -> Vec<(ArtifactId, u64, usize)> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines: Vec<String> = lines.map_while(Result::ok).collect();
    child.wait().unwrap();
    let parts = lines.iter().filter_map(|line| line.split_once("acknowledged "));
    parts
        .filter_map(|(_, rest)| {
            let mut parts = rest.split(' ');
            let id = ArtifactId::parse(parts.next()?)?;
            Some((id, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
        })
        .collect()
}

#[test]
fn nothing_acknowledged_is_lost_when_writers_to_sqlite_are_killed() {
    kill_writers(Kind::Sqlite);
}

#[test]
fn nothing_acknowledged_is_lost_when_writers_to_a_folder_are_killed() {
    kill_writers(Kind::Folder);
}

fn kill_writers(kind: Kind) {
    const KILLS: u64 = 156;
    let folder = tempfile::tempdir().unwrap();
    kind.open(folder.path(), Arc::new(SystemClock));
    let mut known = BTreeMap::new();
    let mut seed = 0;
    while seed < KILLS {
        let children: Vec<Child> = (0..3).map(|n| spawn(kind, folder.path(), seed + n)).collect();
        seed += 3;
        for (n, mut child) in children.into_iter().enumerate() {
            // Varied enough that over all kills every phase of a write is hit.
            std::thread::sleep(Duration::from_millis(5 + (seed * 37 + n as u64 * 61) % 140));
            child.kill().unwrap();
            for (id, seed, length) in acknowledged(child) {
                known.insert(id, (seed, length));
            }
        }
    }
    assert!(known.len() > 100, "too few artifacts were written: {}", known.len());
    let store = kind.open(folder.path(), Arc::new(SystemClock));
    for (id, (seed, length)) in &known {
        let source = open(&*store, &owner(), id).unwrap();
        let bytes = Span::whole(&source).read(&source).unwrap();
        assert!(bytes == noise(*seed, *length), "{id} is damaged");
    }
    let listed = store.list(&owner(), 1_000_000).unwrap();
    for artifact in &listed {
        let source = open(&*store, &owner(), &artifact.id).unwrap();
        assert_eq!(
            Span::whole(&source).read(&source).unwrap().len() as u64,
            artifact.bytes,
            "no artifact is incomplete"
        );
    }
    drop(store);
    // Unfinished bodies are swept when they are old.
    let clock = Arc::new(ManualClock::default());
    let later = kind.open(folder.path(), clock.clone());
    clock.advance(Duration::from_secs(100 * 365 * 24 * 3600));
    later.sweep().unwrap();
    assert_eq!(later.usage().unwrap(), Usage::default(), "nothing is left over");
    if kind == Kind::Folder {
        let files = std::fs::read_dir(folder.path().join("artifacts")).unwrap();
        let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        assert_eq!(names, ["store.lock"], "no draft and no link is left over");
    }
    assert!(!known.is_empty(), "{KILLS} kills, and nothing was acknowledged");
}

/// Several processes may create the store at the same time.
#[test]
fn several_processes_start_at_once() {
    for (round, kind) in (0..).zip([Kind::Sqlite, Kind::Folder].repeat(5)) {
        let folder = tempfile::tempdir().unwrap();
        let mut children: Vec<Child> = (0..6).map(|n| spawn(kind, folder.path(), round * 10 + n)).collect();
        for child in &mut children {
            let mut first = String::new();
            BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
            assert!(!first.is_empty(), "each process could write");
        }
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
