//! What is kept, for whom, for how long, and where while the store cannot be used.

use std::path::PathBuf;

use tidegate_core::source::Span;
use tidegate_testkit::clock::ManualClock;

use super::*;
use crate::caller::CallerId;

/// Bytes of the memory of a test that lists what is there: the memory of the process has what other tests put there.
const OWN_MEMORY: u64 = 1 << 20;

fn stored(keep: &UserStore, ttl: Duration) -> ArtifactId {
    let new = keep.new_artifact("list", ttl);
    keep.put(&new, &b"{}".as_slice(), &|| Ok(Description::default())).unwrap().id
}

#[test]
fn a_result_expires_by_the_clock_of_the_keep() {
    let clock = Arc::new(ManualClock::default());
    let keep = UserStore::of_user(StoreLocation::Memory).with_clock(Arc::<ManualClock>::clone(&clock));
    let id = stored(&keep, Duration::from_secs(60));
    let opened = keep.open().unwrap();
    assert!(keep.stored(&opened, &id).is_ok());
    clock.advance(Duration::from_secs(61));
    assert!(matches!(keep.stored(&opened, &id).err(), Some(StoreError::Expired { .. })));
}

#[test]
fn a_name_is_taken_until_it_expires() {
    let clock = Arc::new(ManualClock::default());
    let keep = UserStore::of_user(StoreLocation::Memory).with_clock(Arc::<ManualClock>::clone(&clock));
    let id = ArtifactId::of_name(&keep.owner, "server", "trace", "t1");
    let hour = Duration::from_secs(3600);
    let put = |body: &[u8]| {
        let new = NewArtifact { id: id.clone(), ..keep.new_artifact("trace", hour) };
        keep.put_named(&new, body, &|| Ok(Description::default()))
    };
    let first = put(b"events").unwrap();
    clock.advance(hour / 2);
    let again = put(b"events").unwrap();
    assert!(again.id == first.id && again.expires > first.expires, "the same bytes live longer");
    assert!(matches!(put(b"others"), Err(StoreError::Taken)));
    clock.advance(hour);
    assert_eq!(put(b"others").unwrap().bytes, 6, "the name is free again");
}

#[test]
fn a_clock_that_is_set_ahead_deletes_nothing() {
    let day = Duration::from_secs(86_400);
    let clock = Arc::new(ManualClock::default());
    let keep = UserStore::of_user(StoreLocation::Memory).with_clock(Arc::<ManualClock>::clone(&clock));
    let id = stored(&keep, day);
    clock.set_ahead(2 * day);
    keep.sweep();
    let opened = keep.open().unwrap();
    assert!(keep.stored(&opened, &id).is_ok(), "no time has passed");
    let later = stored(&keep, day);
    clock.advance(day);
    keep.sweep();
    assert!(matches!(keep.stored(&opened, &id).err(), Some(StoreError::NotFound)), "its day is over");
    assert!(keep.stored(&opened, &later).is_ok(), "it expires by the clock that it was stored under");
}

#[test]
fn files_need_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let keep = UserStore::of_user(StoreLocation::Files(Some(folder.path().to_owned())));
    let id = stored(&keep, Duration::from_secs(60));
    assert!(keep.ledger().is_some());
    let opened = keep.open().unwrap();
    assert!(keep.stored(&opened, &id).is_ok());
    assert!(folder.path().join("artifacts").is_dir());
    for database in ["artifacts.db", "ledger.db"] {
        assert!(!folder.path().join(database).exists());
    }
    // A program with SQLite also reads the files.
    let other = UserStore::of_user(StoreLocation::Folder(Some(folder.path().to_owned())))
        .with_memory_limit(OWN_MEMORY);
    let opened = other.open().unwrap();
    assert!(other.stored(&opened, &id).is_ok());
    assert_eq!(other.list(10).len(), 1);
}

#[test]
fn nothing_is_opened_before_it_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let place = StoreLocation::Folder(Some(folder.path().join("data")));
    let keep = UserStore::of_user(place);
    keep.flush();
    keep.sweep();
    assert!(!folder.path().join("data").exists());
    stored(&keep, Duration::from_secs(60));
    assert!(folder.path().join("data").exists());
}

#[test]
fn a_ledger_that_cannot_be_opened_is_tried_again_later() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("data");
    // A file where the folder should be.
    std::fs::write(&home, "").unwrap();
    let clock = Arc::new(ManualClock::default());
    let keep = UserStore::of_user(StoreLocation::Folder(Some(home.clone())))
        .with_clock(Arc::<ManualClock>::clone(&clock));
    assert!(keep.ledger().is_none());
    std::fs::remove_file(&home).unwrap();
    assert!(keep.ledger().is_none(), "it is left alone for a while");
    clock.advance(LEDGER_RETRY);
    assert!(keep.ledger().is_some());
}

/// A place where no store can be opened, and the file in its way.
fn broken() -> (tempfile::TempDir, PathBuf, StoreLocation) {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("data");
    std::fs::write(&home, "").unwrap();
    (folder, home.clone(), StoreLocation::Folder(Some(home)))
}

fn kept(keep: &UserStore, body: &[u8]) -> Result<KeptArtifact, StoreError> {
    keep.keep(&keep.new_artifact("list", Duration::from_secs(60)), &body, &|| Ok(Description::default()))
}

#[test]
fn memory_stands_in_for_a_store_that_cannot_be_used() {
    let (_folder, home, place) = broken();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&reports);
    let report = Box::new(move |why: &str| told.lock().unwrap().push(why.to_owned()));
    let keep = UserStore::of_user(place.clone()).with_report(report).with_memory_limit(OWN_MEMORY);
    let in_memory = [kept(&keep, b"one"), kept(&keep, b"two")].map(|kept| kept.unwrap());
    for (kept, body) in in_memory.iter().zip([b"one", b"two"]) {
        assert!(kept.in_memory.is_some());
        let opened = keep.open_for(&kept.artifact.id).unwrap();
        let source = keep.stored(&opened, &kept.artifact.id).unwrap();
        assert_eq!(Span::whole(&source).read(&source).unwrap(), body);
    }
    assert_eq!(keep.list(10).len(), 2);
    assert_eq!(reports.lock().unwrap().len(), 1, "told once");
    let other = keep.of_principal(&Principal::Named(CallerId::new("ada").unwrap()), "server");
    assert!(other.list(10).is_empty() && other.open_for(&in_memory[0].artifact.id).is_err(), "not another's");
    // Once the store works, it is used, and what is in memory stays readable.
    std::fs::remove_file(&home).unwrap();
    let stored = kept(&keep, b"three").unwrap();
    assert!(stored.in_memory.is_none());
    assert_eq!(keep.list(10).len(), 3);
    for id in [&in_memory[0].artifact.id, &stored.artifact.id] {
        let opened = keep.open_for(id).unwrap();
        assert!(keep.stored(&opened, id).is_ok());
    }
    std::fs::remove_dir_all(&home).unwrap();
    std::fs::write(&home, "").unwrap();
    assert!(kept(&keep, b"four").unwrap().in_memory.is_some());
    assert_eq!(reports.lock().unwrap().len(), 2, "and again for the next failure");
}

#[test]
fn memory_is_bounded() {
    let (_folder, _, place) = broken();
    let keep = UserStore::of_user(place).with_memory_limit(1000);
    // Bytes that do not compress.
    let body = |from: u32| -> Vec<u8> {
        (from..from + 100).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
    };
    assert!(kept(&keep, &body(0)).is_ok() && kept(&keep, &body(1000)).is_ok());
    let error = kept(&keep, &body(2000)).err().unwrap();
    assert!(matches!(error, StoreError::MemoryFull(_)));
    assert!(
        causes(&error)
            .starts_with("the memory that stands in for the store is full: the store cannot be used")
    );
}

#[test]
fn every_principal_is_an_owner_of_its_own() {
    let keep = UserStore::of_user(StoreLocation::Memory).with_memory_limit(OWN_MEMORY);
    let named = |name: &str| Principal::Named(CallerId::new(name).unwrap());
    let all = [
        (Principal::User, "one"),
        (named("ada"), "one"),
        (named("ada"), "other"),
        (named("bob"), "one"),
        (Principal::Session("ada".into()), "one"),
        (Principal::Session("bob".into()), "one"),
        (Principal::Stateless, "one"),
        (Principal::Stateless, "other"),
    ];
    let keeps: Vec<UserStore> =
        all.iter().map(|(principal, server)| keep.of_principal(principal, server)).collect();
    let ids: Vec<ArtifactId> = keeps.iter().map(|keep| stored(keep, Duration::from_secs(60))).collect();
    for (reader, keep) in keeps.iter().enumerate() {
        assert!(!keep.owner.as_str().is_empty());
        let opened = keep.open().unwrap();
        for (owner, id) in ids.iter().enumerate() {
            assert_eq!(
                keep.stored(&opened, id).is_ok(),
                reader == owner,
                "{:?}, {:?}",
                all[reader],
                all[owner]
            );
        }
        let listed: Vec<ArtifactId> = keep.list(50).into_iter().map(|artifact| artifact.id).collect();
        let expected = if all[reader].0 == Principal::Stateless { &[][..] } else { &ids[reader..=reader] };
        assert_eq!(listed, expected);
    }
    assert_eq!((ids[0].as_str().len(), ids[6].as_str().len()), (12, 26));
    assert_eq!(keep.of_owner_of(&ids[3]).unwrap().owner, keeps[3].owner);
}

/// Tests of a store that several machines share.
#[cfg(feature = "objects")]
mod shared {
    use std::net::TcpListener;
    use std::sync::atomic::AtomicUsize;

    use tidegate_store::PostgresOptions;
    use tidegate_testkit::contract::noise;
    use tidegate_testkit::faults::{ObjectFault, ObjectProxy};
    use tidegate_testkit::servers;

    use super::*;

    fn keep(remote: RemoteStore) -> UserStore {
        let settings =
            StoreSettings { seal: Some(tidegate_store::SealKey::ephemeral()), ..Default::default() };
        UserStore::of_user(StoreLocation::Remote(Box::new(remote)))
            .with_settings(settings)
            .with_memory_limit(OWN_MEMORY)
    }

    /// Returns a database of its own; `None` if there is no server.
    fn database(name: &str) -> Option<String> {
        let server = servers::postgres()?;
        let name = format!("{name}_{}", std::process::id());
        server.sql(&format!("CREATE DATABASE {name} OWNER tidegate"));
        Some(server.address().replacen("/tidegate?", &format!("/{name}?"), 1))
    }

    #[test]
    fn a_store_that_cannot_be_reached_is_left_alone_for_a_while() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://me@{}/db?sslmode=disable", listener.local_addr().unwrap());
        let tried = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&tried);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
                drop(connection);
            }
        });
        let keep = keep(RemoteStore { url, objects: None, folder: None });
        let first = causes(&keep.open().err().unwrap());
        let tries = tried.load(Ordering::SeqCst);
        assert!(tries > 0);
        assert_eq!(causes(&keep.open().err().unwrap()), first);
        assert_eq!(tried.load(Ordering::SeqCst), tries, "nobody waits for a second attempt");
    }

    #[test]
    fn small_results_are_stored_while_the_object_store_is_away() {
        let (Some(url), Some(server)) = (database("outage"), servers::objects()) else { return };
        let (proxy, options) = (ObjectProxy::start(server.port()), server.new_prefix());
        let credentials = options.credentials.unwrap();
        let objects = RemoteObjects {
            url: options.url,
            endpoint: Some(format!("http://127.0.0.1:{}", proxy.port())),
            region: options.region,
            credentials: Some(RemoteCredentials {
                key_id: credentials.key_id,
                secret: credentials.secret,
                token: credentials.token,
            }),
        };
        let keep = keep(RemoteStore { url, objects: Some(objects), folder: None });
        let opened = keep.open().unwrap();
        proxy.injure(vec![ObjectFault::Error; 100_000]);
        let large = kept(&keep, &noise(1, 400_000)).unwrap();
        assert!(large.in_memory.is_some());
        let began = Instant::now();
        let small = kept(&keep, &noise(2, 10_000)).unwrap();
        assert!(
            small.in_memory.is_none() && began.elapsed() < Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
        assert!(Arc::ptr_eq(&opened, &keep.open().unwrap()), "it stays open");
        proxy.heal();
        assert!(kept(&keep, &noise(3, 400_000)).unwrap().in_memory.is_none());
    }

    #[test]
    fn results_and_ledger_of_a_process_share_connections() {
        let Some(url) = database("connections") else { return };
        let remote = RemoteStore { url: url.clone(), objects: None, folder: None };
        let keep = keep(remote.clone());
        stored(&keep, Duration::from_secs(60));
        assert!(keep.ledger().is_some());
        let gateway = remote.connect(&keep.shared.settings, Arc::new(SystemClock)).unwrap();
        let connections = || {
            let name = url.rsplit('/').next().unwrap().split('?').next().unwrap();
            let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'");
            servers::postgres().unwrap().sql(&sql).trim().to_owned()
        };
        assert_eq!(connections(), "1");
        // Another key is another store.
        let keys = tidegate_store::StoreKeys::of(tidegate_store::StoreKey::random());
        assert!(
            remote
                .connect(&StoreSettings { keys, ..keep.shared.settings.clone() }, Arc::new(SystemClock))
                .is_err()
        );
        drop((keep, gateway));
        let again = PostgresOptions::new(&url);
        assert!(tidegate_store::schema_version(&again).unwrap() > 0);
    }

    #[test]
    fn looking_at_a_store_creates_no_tables() {
        let Some(url) = database("looking") else { return };
        let remote = RemoteStore { url: url.clone(), objects: None, folder: None };
        let settings = StoreSettings { keep_schema: true, ..Default::default() };
        let error = remote.connect(&settings, Arc::new(SystemClock)).err().unwrap();
        assert!(causes(&error).contains("tidegate store migrate"), "{}", causes(&error));
        assert_eq!(tidegate_store::schema_version(&PostgresOptions::new(&url)).unwrap(), 0);
    }
}
