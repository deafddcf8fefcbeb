//! Several processes on one store: quotas are exact, and one sweeps while others store.
//!
//! The processes are this test binary again.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidegate_store::{
    ArtifactStore, Description, NewArtifact, Owner, PostgresOptions, PostgresStore, Quotas, Session,
    StoreError, SystemClock,
};
use tidegate_testkit::contract::noise;
use tidegate_testkit::servers;

const SCHEMA: &str = "TIDEGATE_TEST_SCHEMA";
const ADDRESS: &str = "TIDEGATE_TEST_ADDRESS";
const NUMBER: &str = "TIDEGATE_TEST_NUMBER";

const PROCESSES: u64 = 4;
const WRITERS: u64 = 16;
const PUTS: u64 = 6;
const QUOTAS: Quotas = Quotas { session_bytes: 1_500_000, owner_bytes: 2_500_000, store_bytes: 4_000_000 };

fn connect(url: String, schema: String) -> PostgresStore {
    let options = PostgresOptions { schema, ..PostgresOptions::new(url) };
    PostgresStore::connect(&options, QUOTAS, Arc::new(SystemClock)).unwrap()
}

fn owner(number: u64) -> Owner {
    Owner::new(format!("owner:{}", number % 2))
}

fn session(number: u64) -> Session {
    Session::new(format!("session:{}", number % 4))
}

/// Not a test by itself: one of the processes. It prints the bytes that it stored for each writer.
#[test]
#[ignore = "the test below runs it in its own process"]
fn writer() {
    let Ok(schema) = std::env::var(SCHEMA) else { return };
    let process: u64 = std::env::var(NUMBER).unwrap().parse().unwrap();
    let store = connect(std::env::var(ADDRESS).unwrap(), schema);
    std::thread::scope(|scope| {
        for thread in 0..WRITERS {
            let store = &store;
            scope.spawn(move || write(store, process * WRITERS + thread));
        }
    });
}

/// Stores what fits, deletes some of it again, and prints what is left.
fn write(store: &PostgresStore, writer: u64) {
    let (owner, session, stored) = (owner(writer), session(writer), AtomicU64::new(0));
    let mut kept = Vec::new();
    for number in 0..PUTS {
        let new = NewArtifact::new(&owner, &session, "tool", Duration::from_secs(3600));
        let bytes = noise(writer * 1000 + number, 30_000);
        match store.put(&new, &bytes, &|| Ok(Description::default())) {
            Ok(artifact) => kept.push(artifact),
            Err(StoreError::QuotaFull { used, limit, .. }) => assert!(used <= limit),
            Err(error) => panic!("{error:?}"),
        }
        if number == PUTS / 2
            && let Some(deleted) = kept.pop()
        {
            store.delete(&owner, &deleted.id).unwrap();
        }
    }
    stored.fetch_add(kept.iter().map(|artifact| artifact.stored_bytes).sum(), Ordering::SeqCst);
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "stored {writer} {}", stored.into_inner()).unwrap();
}

fn spawn(address: &str, schema: &str, number: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "postgres_processes::writer", "--nocapture"])
        .env(ADDRESS, address)
        .env(SCHEMA, schema)
        .env(NUMBER, number.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn quotas_are_exact_with_64_writers_in_4_processes() {
    let Some(server) = servers::postgres() else { return };
    let options = server.new_store();
    let store = connect(options.url.clone(), options.schema.clone());
    let children: Vec<Child> =
        (0..PROCESSES).map(|number| spawn(&options.url, &options.schema, number)).collect();
    let (mut by_owner, mut by_session) = ([0; 2], [0; 4]);
    let mut writers = 0;
    for mut child in children {
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            let Some((_, rest)) = line.split_once("stored ") else { continue };
            let (writer, bytes) = rest.split_once(' ').unwrap();
            let (writer, bytes): (usize, u64) = (writer.parse().unwrap(), bytes.parse().unwrap());
            by_owner[writer % 2] += bytes;
            by_session[writer % 4] += bytes;
            writers += 1;
        }
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(writers, PROCESSES * WRITERS);
    // A writer of session 0 or 2 is of owner 0, one of 1 or 3 of owner 1.
    let counted = |condition: &str| -> u64 {
        let sql = format!("SELECT stored FROM {}.quota_use WHERE {condition}", options.schema);
        server.sql(&sql).trim().parse().unwrap()
    };
    for (number, stored) in by_owner.iter().enumerate() {
        assert_eq!(counted(&format!("scope = 1 AND owner = 'owner:{number}'")), *stored);
        assert!(*stored <= QUOTAS.owner_bytes);
    }
    for (number, stored) in by_session.iter().enumerate() {
        let owner = number % 2;
        let of = format!("scope = 2 AND owner = 'owner:{owner}' AND session = 'session:{number}'");
        assert_eq!(counted(&of), *stored);
        assert!(*stored <= QUOTAS.session_bytes);
    }
    let all: u64 = by_owner.iter().sum();
    assert_eq!((store.usage().unwrap().stored_bytes, counted("scope = 0")), (all, all));
    let rows = server.sql(&format!("SELECT coalesce(sum(stored), 0) FROM {}.body", options.schema));
    assert_eq!(rows.trim().parse::<u64>().unwrap(), all);
    assert!(
        all <= QUOTAS.store_bytes && all > QUOTAS.store_bytes - 1_000_000,
        "{all} bytes: the quotas were reached"
    );
}
