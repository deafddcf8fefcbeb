//! What is special about the shared backend: who may connect, its migrations, row level security, damage, what is left
//! behind, and callers that are asynchronous.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::source::Span;
use tidegate_store::{
    ArtifactStore, Call, Clock, Description, Ledger, Millis, NewArtifact, Owner, PostgresOptions,
    PostgresStore, Quotas, Session, StoreError, SystemClock, Usage, migrate, open, schema_version,
};
use tidegate_testkit::clock::ManualClock;
use tidegate_testkit::contract::noise;
use tidegate_testkit::servers::{self, PostgresServer};

use crate::{owner, put};

/// Connects to a new store; `None` if there is no server.
fn new_store() -> Option<(&'static PostgresServer, PostgresOptions, PostgresStore)> {
    let server = servers::postgres()?;
    let options = server.new_store();
    let store = connect(&options).unwrap();
    Some((server, options, store))
}

fn connect(options: &PostgresOptions) -> Result<PostgresStore, StoreError> {
    PostgresStore::connect(options, Quotas::default(), Arc::new(SystemClock))
}

/// Returns an error and its causes.
fn message(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", message(source)),
        None => error.to_string(),
    }
}

fn refusal(options: &PostgresOptions) -> String {
    match connect(options) {
        Err(error) => message(&error),
        Ok(_) => panic!("it must be refused"),
    }
}

#[test]
fn roles_that_bypass_row_level_security_are_refused() {
    let Some(server) = servers::postgres() else { return };
    let superuser = PostgresOptions { url: server.superuser_address(), ..server.new_store() };
    assert!(refusal(&superuser).contains("postgres is a superuser"), "{}", refusal(&superuser));
    server.sql(
        "DO $$ BEGIN CREATE ROLE bypasser LOGIN BYPASSRLS; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
    );
    let url = server.address().replacen("//tidegate@", "//bypasser@", 1);
    let bypasser = PostgresOptions { url, ..server.new_store() };
    assert!(refusal(&bypasser).contains("bypasser has BYPASSRLS"), "{}", refusal(&bypasser));
    assert!(migrate(&bypasser).is_err());
}

#[test]
fn an_address_is_never_repeated_in_an_error() {
    let wrong = PostgresOptions::new("postgres://me:pass-word-1@127.0.0.1:nonsense/x");
    assert!(!refusal(&wrong).contains("pass-word-1"), "{}", refusal(&wrong));
    assert!(!format!("{wrong:?}").contains("pass-word-1"));
    let unreachable = PostgresOptions::new("postgres://me:pass-word-1@127.0.0.1:1/x?sslmode=disable");
    assert!(!refusal(&unreachable).contains("pass-word-1"), "{}", refusal(&unreachable));
}

#[test]
fn tables_are_migrated_once_whoever_comes_first() {
    let Some(server) = servers::postgres() else { return };
    let options = server.new_store();
    assert_eq!(schema_version(&options).unwrap(), 0);
    let unmigrated = PostgresOptions { migrate: false, ..options.clone() };
    assert!(refusal(&unmigrated).contains("tidegate store migrate"), "{}", refusal(&unmigrated));
    let ran: u32 = std::thread::scope(|scope| {
        let threads = [(); 6].map(|()| scope.spawn(|| migrate(&options).unwrap()));
        threads.into_iter().map(|thread| u32::from(thread.join().unwrap().0 == 0)).sum()
    });
    assert_eq!(ran, 1, "one of them ran the migrations");
    assert!(schema_version(&options).unwrap() >= 1);
    connect(&unmigrated).unwrap();
}

#[test]
fn a_newer_schema_is_refused() {
    let Some((server, options, store)) = new_store() else { return };
    drop(store);
    server.sql(&format!("UPDATE {}.schema_version SET version = version + 1", options.schema));
    for migrate in [true, false] {
        let refused = refusal(&PostgresOptions { migrate, ..options.clone() });
        assert!(refused.contains("update tidegate"), "{refused}");
    }
}

#[test]
fn the_tables_show_no_rows_without_an_owner() {
    let Some((server, options, store)) = new_store() else { return };
    put(&store, &noise(1, 100_000)).unwrap();
    let (other, session) = (Owner::new("local:2"), Session::new("one"));
    let new = NewArtifact::new(&other, &session, "tool", Duration::from_secs(3600));
    store.put(&new, &noise(2, 100_000), &|| Ok(Description::default())).unwrap();
    store.ledger().unwrap().note(call("local:1", 1));
    let schema = &options.schema;
    for table in ["artifact", "body", "chunk", "quota_use WHERE scope > 0"] {
        let counted = |settings: &str| {
            server.sql_as_role(&format!("BEGIN; {settings} SELECT count(*) FROM {schema}.{table}")).unwrap()
        };
        assert_eq!(counted(""), "0", "{table}");
        assert_eq!(counted("SET LOCAL tidegate.owner = '';"), "0", "{table}");
        let mine = counted("SET LOCAL tidegate.owner = 'local:1';").parse::<u32>().unwrap();
        let all = counted("SET LOCAL tidegate.all_owners = 'on';").parse::<u32>().unwrap();
        assert!(mine > 0 && all == 2 * mine, "{table}: {mine} of {all}");
    }
    // Writing a row of another owner is refused as well, though this role owns the tables.
    let forged = format!(
        "BEGIN; SET LOCAL tidegate.owner = 'local:2';
         UPDATE {schema}.artifact SET owner = 'local:1' WHERE owner = 'local:2'"
    );
    assert!(server.sql_as_role(&forged).unwrap_err().contains("row-level security"));
}

fn call(owner: &str, at: i64) -> Call {
    Call {
        at: Millis(at),
        client: "client".into(),
        server: "server".into(),
        tool: "tool".into(),
        step: "overview".into(),
        raw_bytes: 10,
        raw_tokens: 5,
        sent_bytes: 4,
        sent_tokens: 2,
        added_micros: 1,
        artifact: None,
        session: None,
        view: None,
        stored_bytes: 0,
        counted: None,
        budget_tokens: 0,
        owner: (!owner.is_empty()).then(|| owner.to_owned()),
    }
}

#[test]
fn the_ledger_is_by_owner() {
    let Some((_, options, store)) = new_store() else { return };
    let ledger = store.ledger().unwrap();
    let calls: Vec<Call> =
        (0..30).map(|at| call(["local:1", "local:2", ""][at as usize % 3], 1000 - at)).collect();
    calls.iter().cloned().for_each(|call| ledger.note(call));
    ledger.flush();
    let mut sorted = calls.clone();
    sorted.sort_by_key(|call| call.at);
    assert_eq!(ledger.calls(Millis(0), 100).unwrap(), sorted);
    assert_eq!(ledger.calls(Millis(990), 5).unwrap(), sorted[19..24]);
    let of = |owner: &str| ledger.calls_of(&Owner::new(owner), Millis(0), 100).unwrap();
    assert!(of("local:1").iter().all(|call| call.owner.as_deref() == Some("local:1")));
    assert_eq!((of("local:1").len(), of("local:2").len(), of("local:3").len()), (10, 10, 0));
    // Another process reads what this one wrote; what is too old is deleted some time later.
    drop(ledger);
    let again = connect(&options).unwrap().ledger().unwrap();
    assert_eq!(again.calls(Millis(0), 100).unwrap().len(), 30);
    again.note(call("local:1", 200 * 24 * 3600 * 1000));
    assert_eq!(again.calls(Millis(0), 100).unwrap().len(), 1);
}

#[test]
fn a_damaged_chunk_is_an_error_and_storing_it_again_repairs_it() {
    let Some((server, options, store)) = new_store() else { return };
    for length in [50_000, 300_000] {
        let bytes = noise(length as u64, length);
        let kept = put(&store, &bytes).unwrap();
        let damage =
            format!("UPDATE {}.chunk SET data = set_byte(data, 20, get_byte(data, 20) # 1)", options.schema);
        server.sql(&damage);
        // A process that has nothing in memory.
        let other = connect(&options).unwrap();
        let opened = other.open(&owner(), &kept.id).unwrap();
        let read = other.read_chunk(&opened, 0);
        assert!(matches!(read, Err(StoreError::Damaged { .. })), "{read:?}");
        let again = put(&store, &bytes).unwrap();
        for id in [kept.id, again.id] {
            let source = open(&store, &owner(), &id).unwrap();
            assert!(Span::whole(&source).read(&source).unwrap() == bytes);
        }
    }
}

#[test]
fn unfinished_bodies_are_swept() {
    let Some(server) = servers::postgres() else { return };
    let (options, clock) = (server.new_store(), Arc::new(ManualClock::default()));
    let store = PostgresStore::connect(&options, Quotas::default(), clock.clone()).unwrap();
    put(&store, &noise(1, 20_000_000)).unwrap();
    let used = store.usage().unwrap();
    // What a process leaves that is killed between two batches.
    server.sql(&format!(
        "SET search_path TO {0};
         INSERT INTO body (owner, session, hash, bytes, stored, visible, created) VALUES ('local:1', 'one', 'x', 9, 500, false, 0);
         INSERT INTO chunk SELECT id, 0, 'local:1', 'x', 'x', 0, 1 FROM body WHERE NOT visible;
         UPDATE quota_use SET stored = stored + 500", options.schema));
    assert_eq!(store.status().unwrap().unfinished, 1);
    let swept = store.sweep().unwrap();
    assert_eq!((swept.artifacts, swept.bodies), (0, 1));
    assert_eq!(store.usage().unwrap(), used);
    clock.advance(Duration::from_secs(7200));
    store.sweep().unwrap();
    assert_eq!(store.usage().unwrap(), Usage::default());
    let left = server.sql(&format!("SELECT count(*) FROM {0}.chunk", options.schema));
    assert_eq!(left.trim(), "0");
}

/// Begins a transaction that runs a statement and holds its locks until the connection is dropped.
fn lock(server: &PostgresServer, statement: &str) -> (tokio::runtime::Runtime, tokio_postgres::Client) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let client = runtime.block_on(async {
        let address = server.superuser_address();
        let (client, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&format!("BEGIN; {statement}")).await.unwrap();
        client
    });
    (runtime, client)
}

#[test]
fn a_deletion_that_takes_long_keeps_nobody_from_storing() {
    let Some((server, options, store)) = new_store() else { return };
    let kept = put(&store, &noise(1, 100_000)).unwrap();
    let (runtime, client) = lock(server, &format!("SELECT 1 FROM {}.chunk FOR UPDATE", options.schema));
    std::thread::scope(|scope| {
        let deletion = scope.spawn(|| store.delete(&owner(), &kept.id));
        std::thread::sleep(Duration::from_millis(500));
        let began = std::time::Instant::now();
        let (other, session) = (Owner::new("local:2"), Session::new("one"));
        let new = NewArtifact::new(&other, &session, "tool", Duration::from_secs(3600));
        store.put(&new, &noise(2, 10_000), &|| Ok(Description::default())).unwrap();
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert!(!deletion.is_finished(), "the deletion waits for the chunks");
        runtime.block_on(client.batch_execute("ROLLBACK")).unwrap();
        deletion.join().unwrap().unwrap();
    });
    assert_eq!(store.usage().unwrap().artifacts, 1);
}

#[test]
fn a_sweep_that_takes_too_long_goes_on_in_smaller_steps() {
    let Some(server) = servers::postgres() else { return };
    let options = PostgresOptions { statement_timeout: Duration::from_millis(1500), ..server.new_store() };
    let clock = Arc::new(ManualClock::default());
    let store = PostgresStore::connect(&options, Quotas::default(), clock.clone()).unwrap();
    (0..16).for_each(|number| drop(put(&store, &noise(number, 1000)).unwrap()));
    // Deleting all of them takes 3.2 s.
    server.sql(&format!(
        "SET search_path TO {0};
         CREATE FUNCTION {0}.slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.2); RETURN OLD; END';
         CREATE TRIGGER slow BEFORE DELETE ON chunk FOR EACH ROW EXECUTE FUNCTION {0}.slow()",
        options.schema
    ));
    clock.advance(Duration::from_secs(7200));
    assert_eq!(store.sweep().unwrap().artifacts, 16);
    assert_eq!(store.usage().unwrap(), Usage::default());
}

#[test]
fn owners_and_sessions_that_have_nothing_left_are_forgotten() {
    let Some(server) = servers::postgres() else { return };
    let (options, clock) = (server.new_store(), Arc::new(ManualClock::default()));
    let store = PostgresStore::connect(&options, Quotas::default(), clock.clone()).unwrap();
    put(&store, b"bytes").unwrap();
    let rows = || server.sql(&format!("SELECT count(*) FROM {}.quota_use", options.schema)).trim().to_owned();
    store.sweep().unwrap();
    assert_eq!(rows(), "3", "the store, the owner and the session");
    clock.advance(Duration::from_secs(7200));
    store.sweep().unwrap();
    assert_eq!(rows(), "1", "the store");
    put(&store, b"bytes").unwrap();
    assert_eq!(rows(), "3");
}

/// The clock of a machine on which it is two days later.
struct ClockAhead;

const TWO_DAYS: Duration = Duration::from_secs(2 * 86_400);

impl Clock for ClockAhead {
    fn now(&self) -> Millis {
        SystemClock.now().after(TWO_DAYS)
    }

    fn is_of_machine(&self) -> bool {
        true
    }
}

#[test]
fn a_machine_whose_clock_is_ahead_deletes_nothing_early() {
    let Some((_, options, store)) = new_store() else { return };
    let ahead = PostgresStore::connect(&options, Quotas::default(), Arc::new(ClockAhead)).unwrap();
    let kept = put(&store, &noise(1, 1000)).unwrap();
    assert_eq!(ahead.sweep().unwrap().artifacts, 0, "it expires in an hour");
    // Each sees the times of its own clock.
    let seen = ahead.open(&owner(), &kept.id).unwrap().artifact;
    let difference = seen.expires.since(kept.expires);
    let minute = Duration::from_secs(60);
    assert!(difference > TWO_DAYS - minute && difference < TWO_DAYS + minute, "{difference:?}");
    // What it stores expires when it should.
    let theirs = put(&ahead, &noise(2, 1000)).unwrap();
    let left = theirs.expires.since(ClockAhead.now());
    assert!(left > Duration::from_secs(3500) && left <= Duration::from_secs(3600), "{left:?}");
    let seen = store.open(&owner(), &theirs.id).unwrap().artifact;
    assert!(seen.expires.since(kept.expires) < minute, "an hour from now on each machine");
    assert_eq!(ahead.list(&owner(), 10).unwrap().len(), 2);
    let touched = ahead.touch(&owner(), &kept.id, TWO_DAYS).unwrap();
    assert!(touched.expires.since(ClockAhead.now().after(TWO_DAYS)) < minute);
}

#[test]
fn a_migration_may_take_longer_than_a_statement() {
    let Some(server) = servers::postgres() else { return };
    let options = PostgresOptions { statement_timeout: Duration::from_millis(200), ..server.new_store() };
    // Another process migrates.
    let digest = i32::from_le_bytes(blake3_beginning(&options.schema));
    let statement = format!("SELECT pg_advisory_xact_lock({}, {digest})", 0x7469_6465);
    let (runtime, client) = lock(server, &statement);
    std::thread::scope(|scope| {
        let migration = scope.spawn(|| migrate(&options));
        std::thread::sleep(Duration::from_secs(6));
        assert!(!migration.is_finished(), "it waits");
        runtime.block_on(client.batch_execute("ROLLBACK")).unwrap();
        migration.join().unwrap().unwrap();
    });
    assert!(schema_version(&options).unwrap() > 1);
}

/// Returns the first four bytes of the hash of a text.
fn blake3_beginning(text: &str) -> [u8; 4] {
    tidegate_store::body_hash(&text.as_bytes()).unwrap()[..4].try_into().unwrap()
}

#[test]
fn status_tells_what_a_store_holds() {
    let Some((_, _, store)) = new_store() else { return };
    let empty = store.status().unwrap();
    assert_eq!((empty.artifacts, empty.oldest, empty.owners), (0, None, 0));
    assert_eq!(empty.schema, empty.expected_schema);
    let kept = put(&store, &noise(1, 50_000)).unwrap();
    put(&store, &noise(2, 50_000)).unwrap();
    let status = store.status().unwrap();
    assert_eq!((status.artifacts, status.expired, status.owners), (2, 0, 1));
    assert_eq!(status.oldest, Some(kept.created));
    assert_eq!(status.stored_bytes, store.usage().unwrap().stored_bytes);
    assert!(status.table_bytes > 100_000 && status.server.starts_with("PostgreSQL"));
}

#[test]
fn it_can_be_used_inside_another_runtime() {
    let Some((_, _, store)) = new_store() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async move {
        let kept = put(&store, b"from a task").unwrap();
        assert_eq!(store.open(&owner(), &kept.id).unwrap().artifact.bytes, 11);
        drop(store);
    });
}

#[test]
fn a_new_result_is_read_from_memory() {
    let Some((server, options, store)) = new_store() else { return };
    let bytes = noise(1, 200_000);
    let kept = put(&store, &bytes).unwrap();
    server.sql(&format!("DELETE FROM {}.chunk", options.schema));
    let source = open(&store, &owner(), &kept.id).unwrap();
    assert!(Span::whole(&source).read(&source).unwrap() == bytes);
}

#[test]
fn a_small_result_arrives_when_it_is_opened() {
    let Some((server, options, store)) = new_store() else { return };
    let bytes = noise(1, 100_000);
    let kept = put(&store, &bytes).unwrap();
    let other = connect(&options).unwrap();
    let opened = other.open(&owner(), &kept.id).unwrap();
    server.sql(&format!("DELETE FROM {}.chunk", options.schema));
    assert!(other.read_chunk(&opened, 1).unwrap() == bytes[65_536..]);
    // What is known of it is only used while it is there.
    other.open(&owner(), &kept.id).unwrap();
    store.delete(&owner(), &kept.id).unwrap();
    assert!(matches!(other.open(&owner(), &kept.id), Err(StoreError::NotFound)));
}

#[test]
fn an_artifact_that_is_opened_again_is_the_same() {
    let Some((_, _, store)) = new_store() else { return };
    let (owner, session) = (owner(), Session::new("one"));
    for length in [0, 100, 300_000] {
        let new = NewArtifact::new(&owner, &session, "tool", Duration::from_secs(3600));
        let describe = || Ok(Description { outline: b"outline".to_vec(), ..Description::default() });
        store.put(&new, &noise(1, length), &describe).unwrap();
        let [first, again] = [(); 2].map(|()| store.open(&owner, &new.id).unwrap());
        assert_eq!((first.artifact, first.outline), (again.artifact, again.outline));
    }
}

#[test]
fn a_chunk_that_was_read_is_served_from_memory() {
    let Some((server, options, store)) = new_store() else { return };
    let bytes = noise(1, 200_000);
    let kept = put(&store, &bytes).unwrap();
    let store = connect(&options).unwrap();
    let opened = store.open(&owner(), &kept.id).unwrap();
    store.read_chunk(&opened, 0).unwrap();
    server.sql(&format!("DELETE FROM {}.chunk", options.schema));
    assert!(store.read_chunk(&opened, 0).unwrap() == bytes[..65_536]);
    assert!(matches!(store.read_chunk(&opened, 3), Err(StoreError::NotFound)));
    let uncached = PostgresOptions { cache_bytes: 0, ..options };
    let other = connect(&uncached).unwrap();
    let opened = other.open(&owner(), &kept.id).unwrap();
    assert!(matches!(other.read_chunk(&opened, 0), Err(StoreError::NotFound)));
}

#[cfg(feature = "objects")]
mod with_objects {
    use super::*;

    fn store_with_objects()
    -> Option<(&'static PostgresServer, PostgresOptions, PostgresStore, Arc<ManualClock>)> {
        let server = servers::postgres()?;
        let options =
            PostgresOptions { objects: Some(servers::objects()?.new_prefix()), ..server.new_store() };
        let clock = Arc::new(ManualClock::default());
        let store = PostgresStore::connect(&options, Quotas::default(), clock.clone()).unwrap();
        Some((server, options, store, clock))
    }

    #[test]
    fn large_bodies_are_objects_and_small_ones_rows() {
        let Some((server, options, store, clock)) = store_with_objects() else { return };
        put(&store, &noise(1, 256 * 1024)).unwrap();
        let large = put(&store, &noise(2, 256 * 1024 + 1)).unwrap();
        let count = |condition: &str| {
            server
                .sql(&format!("SELECT count(*) FROM {}.body WHERE {condition}", options.schema))
                .trim()
                .to_owned()
        };
        assert_eq!((count("object IS NULL").as_str(), count("object IS NOT NULL").as_str()), ("1", "1"));
        let rows =
            server.sql(&format!("SELECT count(*) FROM {}.chunk WHERE data IS NOT NULL", options.schema));
        assert_eq!(rows.trim(), "4", "the chunks of the small body");
        assert_eq!(store.status().unwrap().orphans, 0);
        assert!(store.status().unwrap().objects.unwrap().starts_with("s3://"));
        // A process without the object store says so.
        let without = PostgresOptions { objects: None, ..options };
        let without = PostgresStore::connect(&without, Quotas::default(), clock).unwrap();
        let opened = without.open(&owner(), &large.id).unwrap();
        assert!(matches!(without.read_chunk(&opened, 0), Err(StoreError::Unusable(_))));
    }

    #[test]
    fn an_object_of_many_parts_comes_back() {
        let Some((_, _, store, _)) = store_with_objects() else { return };
        let bytes = noise(3, 50_000_000);
        let kept = put(&store, &bytes).unwrap();
        let source = open(&store, &owner(), &kept.id).unwrap();
        assert!(Span::whole(&source).read(&source).unwrap() == bytes);
    }

    #[test]
    fn objects_are_removed_with_their_artifacts_and_orphans_are_swept() {
        let Some((server, options, store, clock)) = store_with_objects() else { return };
        let kept = put(&store, &noise(4, 400_000)).unwrap();
        store.delete(&owner(), &kept.id).unwrap();
        assert_eq!(store.status().unwrap().orphans, 0);
        // What a process leaves that is killed after it wrote an object.
        let kept = put(&store, &noise(5, 400_000)).unwrap();
        server.sql(&format!(
            "SET search_path TO {0}; INSERT INTO orphan SELECT object, {1} FROM body;
             DELETE FROM artifact; DELETE FROM chunk; DELETE FROM body; UPDATE quota_use SET stored = 0, artifacts = 0",
            options.schema, kept.created.0));
        assert_eq!(store.sweep().unwrap().bodies, 0, "it may still be written");
        assert_eq!(store.status().unwrap().orphans, 1);
        clock.advance(Duration::from_secs(2 * 3600));
        assert_eq!(store.sweep().unwrap().bodies, 1);
        assert_eq!(store.status().unwrap().orphans, 0);
    }

    #[test]
    fn a_missing_object_is_an_error_and_storing_it_again_repairs_it() {
        let Some((server, options, store, clock)) = store_with_objects() else { return };
        let bytes = noise(6, 600_000);
        let kept = put(&store, &bytes).unwrap();
        server
            .sql(&format!("SET search_path TO {0}; UPDATE body SET object = object || 'x'", options.schema));
        let other = PostgresStore::connect(&options, Quotas::default(), clock.clone()).unwrap();
        let opened = other.open(&owner(), &kept.id).unwrap();
        assert!(other.read_chunk(&opened, 0).is_err());
        let again = put(&store, &bytes).unwrap();
        for id in [kept.id, again.id] {
            let source = open(&store, &owner(), &id).unwrap();
            assert!(Span::whole(&source).read(&source).unwrap() == bytes);
        }
        clock.advance(Duration::from_secs(2 * 3600));
        store.sweep().unwrap();
        assert_eq!(store.usage().unwrap(), Usage::default());
    }
}
