//! Encryption at rest: the contract holds, nothing readable is on disk, only the right key opens a store, damage is an error,
//! and the key can be changed while the store is in use.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use rusqlite::{Connection, params};
use tidegate_core::source::Span;
use tidegate_store::{
    Artifact, ArtifactStore, CHUNK_BYTES, Description, FolderStore, NewArtifact, Owner, Quotas, SealKey,
    Session, SqliteStore, StoreError, StoreKey, StoreKeys, StoreOptions, SystemClock, folder_health, open,
};
#[cfg(feature = "objects")]
use tidegate_store::{PostgresOptions, PostgresStore};
use tidegate_testkit::contract::noise;
#[cfg(feature = "objects")]
use tidegate_testkit::servers;

const HOUR: Duration = Duration::from_secs(3600);
/// Stands in results, keys, arguments and outlines; nothing else contains it.
const CANARY: &str = "canary-7f3a91";

/// A backend whose stores can be opened again. One is kept in a folder, or is named in a file there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backend {
    Sqlite,
    Folder,
    #[cfg(feature = "objects")]
    Postgres,
    #[cfg(feature = "objects")]
    PostgresAndObjects,
}

/// The file in a folder that names the schema and the prefix of a shared store.
#[cfg(feature = "objects")]
const SHARED: &str = "shared";

impl Backend {
    /// Returns the backends whose servers are installed.
    fn all() -> Vec<Self> {
        let mut all = vec![Self::Sqlite, Self::Folder];
        #[cfg(feature = "objects")]
        {
            all.extend(servers::postgres().map(|_| Self::Postgres));
            all.extend(servers::postgres().and(servers::objects()).map(|_| Self::PostgresAndObjects));
        }
        all
    }

    #[cfg(feature = "objects")]
    fn options(self, folder: &Path) -> PostgresOptions {
        let mut options = servers::postgres().unwrap().new_store();
        options.objects =
            (self == Self::PostgresAndObjects).then(|| servers::objects().unwrap().new_prefix());
        let new = format!("{}\n{}", options.schema, options.objects.clone().unwrap_or_default().url);
        let path = folder.join(SHARED);
        let named = fs::read_to_string(&path).unwrap_or_else(|_| {
            fs::write(&path, &new).unwrap();
            new
        });
        let (schema, url) = named.split_once('\n').unwrap();
        options.schema = schema.to_owned();
        if let Some(objects) = &mut options.objects {
            objects.url = url.to_owned();
        }
        options
    }

    /// Returns where something readable of the canary is left.
    fn hits(self, folder: &Path) -> Vec<PathBuf> {
        #[cfg(feature = "objects")]
        if matches!(self, Self::Postgres | Self::PostgresAndObjects) {
            let schema = self.options(folder).schema;
            let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
            let tables = ["artifact", "body", "chunk", "call"];
            let found = |table: &&str| {
                let sql = format!(
                    "SELECT count(*) FROM {schema}.{table} t WHERE t::text LIKE '%{hex}%' OR t::text LIKE '%{CANARY}%'"
                );
                servers::postgres().unwrap().sql(&sql).trim() != "0"
            };
            return tables.iter().filter(|table| found(table)).map(PathBuf::from).collect();
        }
        hits(folder)
    }

    fn open(self, folder: &Path, keys: StoreKeys) -> Result<Box<dyn ArtifactStore>, StoreError> {
        let (quotas, clock) = (Quotas::default(), Arc::new(SystemClock));
        Ok(match self {
            #[cfg(feature = "objects")]
            Self::Postgres | Self::PostgresAndObjects => {
                let options = PostgresOptions { keys, ..self.options(folder) };
                Box::new(PostgresStore::connect(&options, quotas, clock)?)
            }
            Self::Sqlite => Box::new(SqliteStore::open(
                &folder.join("artifacts.db"),
                StoreOptions { quotas, clock, keys },
            )?),
            Self::Folder => {
                Box::new(FolderStore::open(&folder.join("artifacts"), StoreOptions { quotas, clock, keys })?)
            }
        })
    }
}

fn keyed(key: &StoreKey) -> StoreKeys {
    StoreKeys::of(key.clone())
}

/// The keys for changing from one to another.
fn changing(from: Option<&StoreKey>, to: &StoreKey) -> StoreKeys {
    StoreKeys { current: Some(to.clone()), previous: from.cloned(), from_plain: from.is_none() }
}

fn put(store: &dyn ArtifactStore, owner: &str, bytes: &[u8]) -> Artifact {
    let (owner, session) = (Owner::new(owner), Session::new("one"));
    let arguments = format!("{{\"token\":\"{CANARY}\"}}");
    let call = SealKey::ephemeral().call_digest(&[b"call"]);
    let new = NewArtifact {
        server: "github",
        arguments: Some(&arguments),
        call: Some(call),
        ..NewArtifact::new(&owner, &session, "tool", HOUR)
    };
    let outline = format!("outline of {CANARY}").into_bytes();
    let describe =
        || Ok(Description { outline: outline.clone(), kind: "json".into(), records: Some(3), tokens: 9 });
    store.put(&new, &bytes, &describe).unwrap()
}

fn read(store: &dyn ArtifactStore, owner: &str, artifact: &Artifact) -> Result<Vec<u8>, String> {
    let source = open(store, &Owner::new(owner), &artifact.id).map_err(|error| error.to_string())?;
    assert_eq!(source.outline(), format!("outline of {CANARY}").as_bytes());
    Span::whole(&source).read(&source).map_err(|error| error.to_string())
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns the files in which something readable of the canary is left.
fn hits(folder: &Path) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes())
    };
    files(folder).into_iter().filter(holds).collect()
}

/// A result that holds the canary where compression leaves it readable: in the middle of bytes that do not compress.
fn secret_body(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = noise(seed, length);
    let at = length / 2;
    bytes.splice(at..at, format!("{{\"{CANARY}\":\"{CANARY}\"}}").into_bytes());
    bytes
}

mod sqlite {
    use tidegate_store::{SqliteStore, StoreKey, StoreKeys, StoreOptions};
    use tidegate_testkit::contract::Made;

    tidegate_testkit::contract_tests!(|quotas, clock| {
        let folder = tempfile::tempdir().unwrap();
        let (path, keys) = (folder.path().join("artifacts"), StoreKeys::of(StoreKey::random()));
        Made::with(SqliteStore::open(&path, StoreOptions { quotas, clock, keys }).unwrap(), folder)
    });
}

mod folder {
    use tidegate_store::{FolderStore, StoreKey, StoreKeys, StoreOptions};
    use tidegate_testkit::contract::Made;

    tidegate_testkit::contract_tests!(|quotas, clock| {
        let folder = tempfile::tempdir().unwrap();
        let (path, keys) = (folder.path().join("artifacts"), StoreKeys::of(StoreKey::random()));
        Made::with(FolderStore::open(&path, StoreOptions { quotas, clock, keys }).unwrap(), folder)
    });
}

#[cfg(feature = "objects")]
mod postgres_and_objects {
    use tidegate_store::{PostgresOptions, PostgresStore, StoreKey, StoreKeys};
    use tidegate_testkit::contract::Made;
    use tidegate_testkit::servers;

    tidegate_testkit::contract_tests!(|quotas, clock| {
        let objects = Some(servers::objects()?.new_prefix());
        let keys = StoreKeys::of(StoreKey::random());
        let options = PostgresOptions { objects, keys, ..servers::postgres()?.new_store() };
        Made::alone(PostgresStore::connect(&options, quotas, clock).unwrap())
    });
}

#[test]
fn nothing_readable_is_on_disk() {
    for backend in Backend::all() {
        for is_encrypted in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let keys = if is_encrypted { StoreKeys::of(StoreKey::random()) } else { StoreKeys::default() };
            let store = backend.open(folder.path(), keys).unwrap();
            for (seed, length) in [(1, 40), (2, 3000), (3, 200_000), (4, 9_000_000)] {
                put(&*store, "local:1", &secret_body(seed, length));
            }
            // While it is open, so that the log of the database is there as well.
            assert_eq!(backend.hits(folder.path()).is_empty(), is_encrypted, "{backend:?}");
            drop(store);
            assert_eq!(backend.hits(folder.path()).is_empty(), is_encrypted, "{backend:?}");
        }
    }
}

#[test]
fn equal_bytes_of_two_owners_have_nothing_in_common() {
    let folder = tempfile::tempdir().unwrap();
    let store = Backend::Sqlite.open(folder.path(), StoreKeys::of(StoreKey::random())).unwrap();
    let body = secret_body(1, 500);
    for owner in ["local:1", "local:2"] {
        put(&*store, owner, &body);
    }
    let connection = Connection::open(folder.path().join("artifacts.db")).unwrap();
    for (column, table) in
        [("hash", "body"), ("data", "chunk"), ("outline", "artifact"), ("arguments", "artifact")]
    {
        let sql = format!("SELECT count(DISTINCT {column}) FROM {table}");
        assert_eq!(connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap(), 2, "{column}");
    }
    let hash: Vec<u8> = connection.query_row("SELECT hash FROM body LIMIT 1", [], |row| row.get(0)).unwrap();
    assert_ne!(hash, blake3_of(&body), "a digest that anybody could compute would reveal the bytes");
}

fn blake3_of(bytes: &[u8]) -> Vec<u8> {
    tidegate_store::body_hash(&bytes).unwrap().to_vec()
}

#[test]
fn only_the_right_key_opens_a_store() {
    for backend in Backend::all() {
        let (key, other) = (StoreKey::random(), StoreKey::random());
        let message = |folder: &Path, keys| match backend.open(folder, keys) {
            Ok(_) => "opened".to_owned(),
            Err(error) => error.to_string(),
        };
        let folder = tempfile::tempdir().unwrap();
        put(&*backend.open(folder.path(), keyed(&key)).unwrap(), "local:1", b"text");
        let missing = message(folder.path(), StoreKeys::default());
        assert!(
            missing
                .contains(&format!("is encrypted with the key {}, but no key is configured; set", key.id()))
        );
        let wrong = message(folder.path(), keyed(&other));
        assert!(wrong.contains(&format!(
            "the configured key is {}; configure the key {}",
            other.id(),
            key.id()
        )));
        assert_eq!(message(folder.path(), keyed(&key)), "opened");
        assert_eq!(
            message(folder.path(), changing(Some(&key), &other)),
            "opened",
            "before the key is changed"
        );

        let plain = tempfile::tempdir().unwrap();
        put(&*backend.open(plain.path(), StoreKeys::default()).unwrap(), "local:1", b"text");
        let not_encrypted = message(plain.path(), keyed(&key));
        assert!(
            not_encrypted.contains("run tidegate store rekey to encrypt it, or remove the key"),
            "{not_encrypted}"
        );
        assert_eq!(message(plain.path(), StoreKeys::default()), "opened");
        // A process that has opened a store before it was encrypted.
        let empty = tempfile::tempdir().unwrap();
        let before = backend.open(empty.path(), StoreKeys::default()).unwrap();
        put(&*backend.open(empty.path(), keyed(&key)).unwrap(), "local:1", b"text");
        let (owner, session) = (Owner::new("local:1"), Session::new("one"));
        let new = NewArtifact::new(&owner, &session, "tool", HOUR);
        let refused = before.put(&new, &b"more".as_slice(), &|| Ok(Description::default()));
        assert!(matches!(refused, Err(StoreError::Key(_))), "{refused:?}");
        assert!(hits(empty.path()).is_empty());
    }
}

/// Artifacts of two owners, with bodies of several chunks.
fn filled(store: &dyn ArtifactStore) -> Vec<(String, Artifact, Vec<u8>)> {
    let chunk = CHUNK_BYTES as usize;
    let mut kept = Vec::new();
    for (seed, owner, length) in [
        (1, "local:1", 0),
        (1, "local:1", 100),
        (2, "local:1", 3 * chunk),
        (2, "local:2", 3 * chunk),
        (3, "local:2", 2 * chunk + 9),
    ] {
        let bytes = noise(seed, length);
        kept.push((owner.to_owned(), put(store, owner, &bytes), bytes));
    }
    kept
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(300))]

    /// A bit that is flipped in a chunk, or two chunks of any bodies and owners that are swapped: an error, or the right bytes.
    #[test]
    fn damage_in_a_database_is_an_error(
        (one, two) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        bit in any::<prop::sample::Index>(),
        swaps in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = Backend::Sqlite.open(folder.path(), StoreKeys::of(StoreKey::random())).unwrap();
        let kept = filled(&*store);
        let connection = Connection::open(folder.path().join("artifacts.db")).unwrap();
        let chunks: Vec<(i64, Vec<u8>, Vec<u8>)> = connection
            .prepare("SELECT id, hash, data FROM chunk").unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
            .map(Result::unwrap).collect();
        let set = |id: i64, hash: &[u8], data: &[u8]| {
            connection.execute("UPDATE chunk SET hash = ?2, data = ?3 WHERE id = ?1", params![id, hash, data]).unwrap();
        };
        let (one, two) = (&chunks[one.index(chunks.len())], &chunks[two.index(chunks.len())]);
        match swaps {
            true => {
                set(one.0, &two.1, &two.2);
                set(two.0, &one.1, &one.2);
            }
            false => {
                let mut data = one.2.clone();
                let bit = bit.index(data.len() * 8);
                data[bit / 8] ^= 1 << (bit % 8);
                set(one.0, &one.1, &data);
            }
        }
        let mut errors = 0;
        for (owner, artifact, bytes) in &kept {
            match read(&*store, owner, artifact) {
                Ok(read) => prop_assert!(read == *bytes, "other bytes came back"),
                Err(_) => errors += 1,
            }
        }
        prop_assert_eq!(errors > 0, !swaps || one.0 != two.0);
    }

    /// The same for the files of a folder, and for whole bodies that are exchanged.
    #[test]
    fn damage_in_a_folder_is_an_error(
        (one, two) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        bit in any::<prop::sample::Index>(),
        swaps in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = Backend::Folder.open(folder.path(), StoreKeys::of(StoreKey::random())).unwrap();
        let kept = filled(&*store);
        let path = |at: usize| folder.path().join("artifacts").join(format!("{}.artifact", kept[at].1.id));
        let (one, two) = (one.index(kept.len()), two.index(kept.len()));
        let mut bytes = fs::read(path(one)).unwrap();
        match swaps {
            true => {
                let other = fs::read(path(two)).unwrap();
                fs::write(path(two), &bytes).unwrap();
                bytes = other;
            }
            false => {
                let bit = bit.index(bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
        fs::write(path(one), bytes).unwrap();
        for (owner, artifact, bytes) in &kept {
            if let Ok(source) = open(&*store, &Owner::new(owner.as_str()), &artifact.id)
                && let Ok(read) = Span::whole(&source).read(&source)
            {
                prop_assert!(read == *bytes, "other bytes came back");
            }
        }
    }
}

#[test]
fn an_artifact_that_is_made_to_refer_to_another_body_does_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let store = Backend::Sqlite.open(folder.path(), StoreKeys::of(StoreKey::random())).unwrap();
    let kept = filled(&*store);
    let connection = Connection::open(folder.path().join("artifacts.db")).unwrap();
    let body = |artifact: &Artifact| -> i64 {
        let sql = "SELECT body FROM artifact WHERE id = ?1";
        connection.query_row(sql, [artifact.id.as_str()], |row| row.get(0)).unwrap()
    };
    let (of_one, of_two) = (body(&kept[1].1), body(&kept[2].1));
    let refer = |artifact: &Artifact, body: i64| {
        connection
            .execute("UPDATE artifact SET body = ?2 WHERE id = ?1", params![artifact.id.as_str(), body])
            .unwrap();
    };
    refer(&kept[1].1, of_two);
    assert!(read(&*store, "local:1", &kept[1].1).is_err());
    refer(&kept[1].1, of_one);
    assert_eq!(read(&*store, "local:1", &kept[1].1).unwrap(), kept[1].2);
    connection.execute("UPDATE body SET bytes = 50 WHERE id = ?1", [of_one]).unwrap();
    assert!(read(&*store, "local:1", &kept[1].1).is_err(), "a body that was cut short");
    connection.execute("UPDATE body SET bytes = 0 WHERE id = ?1", [of_one]).unwrap();
    assert!(read(&*store, "local:1", &kept[1].1).is_err());
}

#[test]
fn the_key_can_be_changed() {
    for backend in Backend::all() {
        let folder = tempfile::tempdir().unwrap();
        let keys = [StoreKey::random(), StoreKey::random()];
        let plain = backend.open(folder.path(), StoreKeys::default()).unwrap();
        let mut kept = filled(&*plain);
        // Equal bytes of one owner share a body, before and after.
        kept.push(("local:2".into(), put(&*plain, "local:2", &kept[4].2), kept[4].2.clone()));
        kept.push((
            "local:1".into(),
            put(&*plain, "local:1", &secret_body(9, 9_000_000)),
            secret_body(9, 9_000_000),
        ));
        let usage = plain.usage().unwrap();
        let walked = plain.walk(None, 100).unwrap();
        drop(plain);
        assert!(!backend.hits(folder.path()).is_empty());
        for (from, to) in [(None, &keys[0]), (Some(&keys[0]), &keys[1])] {
            let store = backend.open(folder.path(), changing(from, to)).unwrap();
            let mut steps = Vec::new();
            let rekeyed = store.rekey(&mut |progress| steps.push(progress)).unwrap();
            assert!(rekeyed.damaged.is_empty() && rekeyed.bodies >= 5, "{rekeyed:?}");
            assert!(steps.is_sorted_by_key(|step| step.done) && steps.last().unwrap().done == steps[0].total);
            assert_eq!(store.key().unwrap(), Some(to.id()));
            assert_eq!(store.rekey(&mut |_| ()).unwrap().bodies, 0, "there is nothing left to do");
            drop(store);
            let store = backend.open(folder.path(), keyed(to)).unwrap();
            for (owner, artifact, bytes) in &kept {
                assert!(read(&*store, owner, artifact).unwrap() == *bytes, "{backend:?}");
            }
            let sealed = store.walk(None, 100).unwrap();
            let without_size = |mut stored: tidegate_store::StoredArtifact| {
                stored.artifact.stored_bytes = 0;
                stored
            };
            assert!(sealed.into_iter().map(without_size).eq(walked.clone().into_iter().map(without_size)));
            assert_eq!(store.usage().unwrap().artifacts, usage.artifacts);
            assert!(
                store.usage().unwrap().stored_bytes < usage.stored_bytes + 64 * 300,
                "shared bodies stay shared"
            );
            assert!(backend.hits(folder.path()).is_empty(), "{backend:?} {:?}", backend.hits(folder.path()));
            if let Some(from) = from {
                assert!(backend.open(folder.path(), keyed(from)).is_err());
            }
        }
        if backend == Backend::Folder {
            let health = folder_health(&folder.path().join("artifacts"), tidegate_store::Millis(0)).unwrap();
            assert_eq!(
                (health.usage.artifacts, health.damaged.len()),
                (usage.artifacts, 0),
                "without the key"
            );
        }
    }
}

#[test]
fn a_change_of_the_key_can_be_interrupted_anywhere() {
    for backend in Backend::all() {
        for from_plain in [true, false] {
            for stop_at in 0..8 {
                let folder = tempfile::tempdir().unwrap();
                let (old, new) = (StoreKey::random(), StoreKey::random());
                let before = if from_plain { StoreKeys::default() } else { keyed(&old) };
                let kept = filled(&*backend.open(folder.path(), before).unwrap());
                let keys = changing((!from_plain).then_some(&old), &new);
                let store = backend.open(folder.path(), keys.clone()).unwrap();
                let mut step = 0;
                let stopped = catch_unwind(AssertUnwindSafe(|| {
                    store.rekey(&mut |_| {
                        step += 1;
                        assert!(step <= stop_at, "stopped by the test");
                    })
                }));
                drop(store);
                let others = StoreKeys { from_plain: false, ..keys.clone() };
                let store =
                    backend.open(folder.path(), if stop_at == 0 { keys.clone() } else { others }).unwrap();
                for (owner, artifact, bytes) in &kept {
                    assert_eq!(read(&*store, owner, artifact).unwrap(), *bytes, "readable in between");
                }
                if stopped.is_err() && stop_at > 0 {
                    assert_eq!(store.key().unwrap(), Some(new.id()), "new results get the new key");
                }
                let more = put(&*store, "local:1", b"in between");
                store.rekey(&mut |_| ()).unwrap();
                let store = backend.open(folder.path(), keyed(&new)).unwrap();
                for (owner, artifact, bytes) in &kept {
                    assert_eq!(read(&*store, owner, artifact).unwrap(), *bytes);
                }
                assert_eq!(read(&*store, "local:1", &more).unwrap(), b"in between");
            }
        }
    }
}

#[test]
fn a_store_can_be_used_while_its_key_is_changed() {
    for backend in Backend::all() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (StoreKey::random(), StoreKey::random());
        let kept = filled(&*backend.open(folder.path(), keyed(&old)).unwrap());
        let keys = changing(Some(&old), &new);
        let is_done = AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            let other = backend.open(folder.path(), keys.clone()).unwrap();
            let (is_done, kept) = (&is_done, &kept);
            let user = scope.spawn(move || {
                let mut written = Vec::new();
                while !is_done.load(Ordering::Relaxed) || written.is_empty() {
                    for (owner, artifact, bytes) in kept {
                        assert_eq!(read(&*other, owner, artifact).unwrap(), *bytes);
                    }
                    let bytes = noise(1000 + written.len() as u64, 70_000);
                    written.push((put(&*other, "local:3", &bytes), bytes));
                    // The same bytes as before, whatever their key is now.
                    put(&*other, "local:1", &kept[2].2);
                }
                written
            });
            let store = backend.open(folder.path(), keys.clone()).unwrap();
            let rekeyed = store.rekey(&mut |_| std::thread::sleep(Duration::from_millis(20))).unwrap();
            assert!(rekeyed.damaged.is_empty());
            is_done.store(true, Ordering::Relaxed);
            user.join().unwrap()
        });
        let store = backend.open(folder.path(), keyed(&new)).unwrap();
        for (artifact, bytes) in &written {
            assert_eq!(read(&*store, "local:3", artifact).unwrap(), *bytes);
        }
    }
}

#[cfg(feature = "objects")]
#[test]
fn a_result_whose_object_is_missing_keeps_the_previous_key_in_use() {
    let backend = Backend::PostgresAndObjects;
    if !Backend::all().contains(&backend) {
        return;
    }
    let (folder, old, new) = (tempfile::tempdir().unwrap(), StoreKey::random(), StoreKey::random());
    let kept = put(&*backend.open(folder.path(), keyed(&old)).unwrap(), "local:1", &noise(1, 400_000));
    let schema = backend.options(folder.path()).schema;
    let rename = |suffix: &str| {
        let sql = format!("UPDATE {schema}.body SET object = rtrim(object, 'x') || '{suffix}'");
        servers::postgres().unwrap().sql(&sql);
    };
    rename("x");
    let store = backend.open(folder.path(), changing(Some(&old), &new)).unwrap();
    assert_eq!(store.rekey(&mut |_| ()).unwrap().damaged, std::slice::from_ref(&kept.id));
    assert!(store.status().unwrap().is_rekeying);
    rename("");
    assert!(store.rekey(&mut |_| ()).unwrap().damaged.is_empty());
    assert!(read(&*store, "local:1", &kept).unwrap() == noise(1, 400_000));
}

#[test]
fn a_damaged_result_keeps_the_previous_key_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (StoreKey::random(), StoreKey::random());
    let kept = filled(&*Backend::Sqlite.open(folder.path(), keyed(&old)).unwrap());
    let connection = Connection::open(folder.path().join("artifacts.db")).unwrap();
    let sql =
        "UPDATE chunk SET data = zeroblob(100) WHERE id >> 24 = (SELECT body FROM artifact WHERE id = ?1)";
    connection.execute(sql, [kept[2].1.id.as_str()]).unwrap();
    drop(connection);
    let store = Backend::Sqlite.open(folder.path(), changing(Some(&old), &new)).unwrap();
    assert_eq!(store.rekey(&mut |_| ()).unwrap().damaged, [kept[2].1.id.clone()]);
    let message = Backend::Sqlite.open(folder.path(), keyed(&new)).err().unwrap().to_string();
    assert!(message.contains(&format!("still encrypted with the key {}", old.id())), "{message}");
    store.delete(&Owner::new("local:1"), &kept[2].1.id).unwrap();
    assert!(store.rekey(&mut |_| ()).unwrap().damaged.is_empty());
    assert!(Backend::Sqlite.open(folder.path(), keyed(&new)).is_ok());
}

#[test]
fn repeated_calls_are_found_whatever_the_key() {
    for backend in Backend::all() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (StoreKey::random(), StoreKey::random());
        let call = SealKey::ephemeral().call_digest(&[b"list"]);
        let (owner, session) = (Owner::new("local:1"), Session::new("one"));
        let store = backend.open(folder.path(), keyed(&old)).unwrap();
        let of_call = NewArtifact { call: Some(call), ..NewArtifact::new(&owner, &session, "tool", HOUR) };
        let first = store.put(&of_call, &b"first".as_slice(), &|| Ok(Description::default())).unwrap();
        drop(store);
        let store = backend.open(folder.path(), changing(Some(&old), &new)).unwrap();
        for round in 0..2 {
            let found = store.last_of_call(&owner, &session, &call).unwrap().unwrap();
            assert_eq!(found.artifact.id, first.id, "{backend:?} {round}");
            assert!(store.matches(&owner, &found, &b"first".as_slice()).unwrap());
            assert!(!store.matches(&owner, &found, &b"other".as_slice()).unwrap());
            assert_eq!(store.walk(None, 9).unwrap()[0].call, Some(call), "it can be copied to another store");
            store.rekey(&mut |_| ()).unwrap();
        }
    }
}
