//! Faults between a process and its servers: nothing acknowledged is lost, nothing is visible by half, and nobody sees
//! another owner's bytes.
//!
//! A proxy cuts the connection to PostgreSQL at a chosen statement, before or after the server sees it; another injures the
//! answers of the object store. `./check` stores 1,000 results, one in twenty with a fault; `./check long` stores 10,000.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tidegate_core::source::Span;
use tidegate_store::{
    ArtifactId, ArtifactStore, Description, NewArtifact, Owner, PostgresOptions, PostgresStore, Quotas,
    Session, StoreError, SystemClock, open,
};
use tidegate_testkit::contract::noise;
use tidegate_testkit::faults::{Cut, ObjectFault, ObjectProxy, PostgresProxy};
use tidegate_testkit::servers::{self, PostgresServer};

const HOUR: Duration = Duration::from_secs(3600);
/// The environment variable with the number of results to store under faults.
const PUTS_VARIABLE: &str = "TIDEGATE_FAULT_PUTS";

/// A store behind proxies.
struct FaultyStore {
    server: &'static PostgresServer,
    postgres: PostgresProxy,
    objects: ObjectProxy,
    options: PostgresOptions,
    store: PostgresStore,
}

/// Returns the options of a new store; `None` if there are no servers.
fn new_options() -> Option<PostgresOptions> {
    let server = servers::postgres()?;
    Some(PostgresOptions { objects: Some(servers::objects()?.new_prefix()), ..server.new_store() })
}

impl FaultyStore {
    /// Connects to a new store through new proxies; `None` if there are no servers.
    fn new() -> Option<Self> {
        Self::before(&new_options()?)
    }

    /// Connects to a store through new proxies.
    fn before(store: &PostgresOptions) -> Option<Self> {
        let (server, object_server) = (servers::postgres()?, servers::objects()?);
        let (postgres, objects) =
            (PostgresProxy::start(server.port()), ObjectProxy::start(object_server.port()));
        let mut options = behind(store, server.port(), postgres.port());
        if let Some(prefix) = &mut options.objects {
            prefix.endpoint = Some(format!("http://127.0.0.1:{}", objects.port()));
        }
        let store = connect(&options);
        Some(Self { server, postgres, objects, options, store })
    }

    /// Returns the faults that happened so far.
    fn faults(&self) -> u64 {
        self.postgres.cuts() + self.objects.faults()
    }

    fn heal(&self) {
        self.postgres.heal();
        self.objects.heal();
    }

    /// Checks the counters of the quotas, and that no chunk is without a body, against the rows themselves.
    fn check_tables(&self) {
        let schema = &self.options.schema;
        let differences = self.server.sql(&format!(
            "SET search_path TO {schema};
             SELECT 'store', stored, (SELECT coalesce(sum(stored), 0) FROM body), artifacts, (SELECT count(*) FROM artifact)
             FROM quota_use WHERE scope = 0 AND (stored, artifacts) IS DISTINCT FROM
                ((SELECT coalesce(sum(stored), 0) FROM body), (SELECT count(*) FROM artifact));
             SELECT 'owner', owner FROM quota_use q WHERE scope = 1 AND (stored, artifacts) IS DISTINCT FROM
                ((SELECT coalesce(sum(stored), 0) FROM body b WHERE b.owner = q.owner),
                 (SELECT count(*) FROM artifact a WHERE a.owner = q.owner));
             SELECT 'session', owner, session FROM quota_use q WHERE scope = 2 AND stored IS DISTINCT FROM
                (SELECT coalesce(sum(stored), 0) FROM body b WHERE b.owner = q.owner AND
                    (NOT visible AND b.session = q.session OR EXISTS
                     (SELECT 1 FROM artifact a WHERE a.body = b.id AND a.session = q.session)));
             SELECT 'unused', id FROM body b WHERE visible AND NOT EXISTS (SELECT 1 FROM artifact a WHERE a.body = b.id);
             SELECT 'claimed', object FROM orphan JOIN body USING (object)"
        ));
        assert_eq!(differences.trim(), "", "what is counted is what is there");
    }
}

fn connect(options: &PostgresOptions) -> PostgresStore {
    PostgresStore::connect(options, Quotas::default(), Arc::new(SystemClock)).unwrap()
}

/// Returns options that reach the server through another port.
fn behind(options: &PostgresOptions, server: u16, proxy: u16) -> PostgresOptions {
    let url = options.url.replacen(&format!(":{server}/"), &format!(":{proxy}/"), 1);
    PostgresOptions { url, ..options.clone() }
}

fn put(store: &PostgresStore, owner: &Owner, bytes: &[u8]) -> (ArtifactId, Result<(), StoreError>) {
    let session = Session::new("one");
    let new = NewArtifact::new(owner, &session, "tool", HOUR);
    let stored = store.put(&new, &bytes, &|| Ok(Description::default()));
    (new.id.clone(), stored.map(drop))
}

fn read(store: &PostgresStore, owner: &Owner, id: &ArtifactId) -> Result<Vec<u8>, StoreError> {
    let source = open(store, owner, id)?;
    Span::whole(&source).read(&source).map_err(StoreError::Source)
}

/// A body that says whose it is and which one.
fn body(owner: &Owner, number: u64, length: usize) -> Vec<u8> {
    let mut bytes = format!("{owner} {number} ").into_bytes();
    let seed = number * 31 + owner.as_str().len() as u64;
    bytes.extend(noise(seed, length.saturating_sub(bytes.len())));
    bytes
}

/// Runs something with a cut at each of its statements, before and after the server sees it.
fn cut_everywhere(faulty: &FaultyStore, work: impl Fn(&str)) {
    // Once whole: connections exist and statements are prepared.
    work("whole");
    for cut in [Cut::Before, Cut::After] {
        for statement in 0.. {
            let cuts = faulty.postgres.cuts();
            faulty.postgres.cut_after(statement, cut);
            work(&format!("cut {cut:?} statement {statement}"));
            faulty.postgres.heal();
            if faulty.postgres.cuts() == cuts {
                assert!(statement > 2, "there were statements to cut");
                break;
            }
        }
    }
    faulty.check_tables();
}

#[test]
fn a_put_survives_a_cut_at_every_statement() {
    let Some(faulty) = FaultyStore::new() else { return };
    let owner = Owner::new("local:1");
    for length in [5_000, 400_000] {
        let number = AtomicU64::new(length as u64);
        cut_everywhere(&faulty, |when| {
            let bytes = body(&owner, number.fetch_add(1, Ordering::SeqCst), length);
            let (id, stored) = put(&faulty.store, &owner, &bytes);
            stored.unwrap_or_else(|error| panic!("{when}: {error:?}"));
            assert!(read(&faulty.store, &owner, &id).unwrap() == bytes, "{when}");
        });
    }
}

#[test]
fn a_put_in_many_batches_survives_a_cut_at_every_statement() {
    let Some(faulty) = FaultyStore::new() else { return };
    // Without an object store, so that it is written as unfinished rows.
    let options = PostgresOptions { objects: None, ..faulty.options.clone() };
    let (store, owner, number) = (connect(&options), Owner::new("local:1"), AtomicU64::new(0));
    cut_everywhere(&faulty, |when| {
        // It compresses well: the number of batches matters, not their size.
        let line = format!("{} of many lines\n", number.fetch_add(1, Ordering::SeqCst));
        let bytes = line.repeat(8_500_000 / line.len()).into_bytes();
        let (id, stored) = put(&store, &owner, &bytes);
        stored.unwrap_or_else(|error| panic!("{when}: {error:?}"));
        assert!(read(&store, &owner, &id).unwrap() == bytes, "{when}");
        store.delete(&owner, &id).unwrap();
    });
}

#[test]
fn equal_bytes_deletion_touch_and_sweep_survive_a_cut_at_every_statement() {
    let Some(faulty) = FaultyStore::new() else { return };
    let owner = Owner::new("local:1");
    let bytes = body(&owner, 1, 50_000);
    let (first, stored) = put(&faulty.store, &owner, &bytes);
    stored.unwrap();
    cut_everywhere(&faulty, |when| {
        let (id, stored) = put(&faulty.store, &owner, &bytes);
        stored.unwrap_or_else(|error| panic!("{when}: {error:?}"));
        faulty.store.touch(&owner, &id, 2 * HOUR).unwrap();
        faulty.store.sweep().unwrap();
        faulty.store.delete(&owner, &id).unwrap_or_else(|error| panic!("{when}: {error:?}"));
        assert!(matches!(read(&faulty.store, &owner, &id), Err(StoreError::NotFound)), "{when}");
    });
    assert!(read(&faulty.store, &owner, &first).unwrap() == bytes);
    assert_eq!(faulty.store.usage().unwrap().artifacts, 1);
}

#[test]
fn every_fault_of_the_object_store_is_survived() {
    let Some(faulty) = FaultyStore::new() else { return };
    let (owner, mut number) = (Owner::new("local:1"), 0);
    for fault in ObjectFault::ALL {
        for count in [1, 2] {
            number += 1;
            let bytes = body(&owner, number, 500_000);
            faulty.objects.injure(vec![fault; count]);
            let (id, stored) = put(&faulty.store, &owner, &bytes);
            stored.unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
            faulty.heal();
            // A process that has nothing in memory.
            let other = connect(&PostgresOptions { cache_bytes: 0, ..faulty.options.clone() });
            faulty.objects.injure(vec![fault; count]);
            assert!(read(&other, &owner, &id).unwrap() == bytes, "{fault:?}");
            faulty.heal();
        }
    }
    assert!(faulty.objects.faults() >= 20, "{} faults", faulty.objects.faults());
    faulty.check_tables();
}

/// A body of two parts where a part has one megabyte, because it is packed in batches of 8 MB.
const TWO_PARTS: usize = 9_000_000;

/// Returns a store in which objects are uploaded in small parts, and requests time out soon.
fn store_with_parts() -> Option<FaultyStore> {
    let mut options = new_options()?;
    options.retry_timeout = Duration::from_secs(3);
    let objects = options.objects.as_mut()?;
    (objects.part_bytes, objects.request_timeout) = (Some(1 << 20), Some(Duration::from_secs(2)));
    FaultyStore::before(&options)
}

#[test]
fn an_upload_in_parts_survives_a_fault_of_every_request() {
    let Some(faulty) = store_with_parts() else { return };
    let owner = Owner::new("local:1");
    let mut number = 0;
    for fault in ObjectFault::ALL.into_iter().chain([ObjectFault::Silence]) {
        // Begin, two parts, complete.
        for request in 0..4 {
            number += 1;
            let bytes = body(&owner, number, TWO_PARTS);
            let faults = faulty.objects.faults();
            faulty.objects.injure_after(request, fault);
            let (id, stored) = put(&faulty.store, &owner, &bytes);
            stored.unwrap_or_else(|error| panic!("{fault:?} of request {request}: {error:?}"));
            assert_eq!(faulty.objects.faults(), faults + 1, "{fault:?} of request {request}");
            faulty.heal();
            assert!(read(&faulty.store, &owner, &id).unwrap() == bytes, "{fault:?} of request {request}");
            faulty.store.delete(&owner, &id).unwrap();
        }
    }
    faulty.check_tables();
    assert_eq!(faulty.store.status().unwrap().orphans, 0);
}

#[test]
fn parts_that_a_killed_process_leaves_are_swept() {
    let Some(faulty) = store_with_parts() else { return };
    let owner = Owner::new("local:1");
    // The parts are written, and then nothing can be reached: neither completing the upload nor removing it.
    faulty.objects.injure_after(3, ObjectFault::Error);
    faulty.objects.go_on_with(ObjectFault::Cut);
    let (_, stored) = put(&faulty.store, &owner, &body(&owner, 1, TWO_PARTS));
    assert!(matches!(stored, Err(StoreError::Unusable(_))), "{stored:?}");
    faulty.heal();
    assert_eq!(faulty.store.status().unwrap().orphans, 1);
    let aborted = || faulty.objects.requests_with("DELETE", "uploadId=");
    let before = aborted();
    faulty.server.sql(&format!("UPDATE {}.orphan SET since = 0", faulty.options.schema));
    assert_eq!(faulty.store.sweep().unwrap().bodies, 1);
    assert_eq!((aborted(), faulty.store.status().unwrap().orphans), (before + 1, 0));
}

#[test]
fn an_object_that_cannot_be_removed_does_not_hold_up_the_others() {
    let Some(faulty) = FaultyStore::new() else { return };
    let options = PostgresOptions { retry_timeout: Duration::from_millis(100), ..faulty.options.clone() };
    let (store, owner) = (connect(&options), Owner::new("local:1"));
    put(&store, &owner, &body(&owner, 1, 400_000)).1.unwrap();
    faulty.server.sql(&format!(
        "SET search_path TO {};
         INSERT INTO orphan SELECT object, 1 FROM body;
         INSERT INTO orphan SELECT object || n, 2 FROM body, generate_series(1, 5) n;
         DELETE FROM artifact; DELETE FROM chunk; DELETE FROM body; UPDATE quota_use SET stored = 0, artifacts = 0",
        options.schema
    ));
    faulty.objects.injure(vec![ObjectFault::Error; 30]);
    assert!(store.sweep().is_err(), "the object store is out of reach");
    faulty.heal();
    assert_eq!(store.sweep().unwrap().bodies, 3, "those that were not tried");
    assert_eq!(store.status().unwrap().orphans, 3, "the others are tried again in an hour");
}

#[test]
fn what_needs_no_object_goes_on_without_the_object_store() {
    let Some(faulty) = FaultyStore::new() else { return };
    let owner = Owner::new("local:1");
    faulty.objects.injure(vec![ObjectFault::Silence; 100_000]);
    // A process that starts meanwhile.
    let began = std::time::Instant::now();
    let options = PostgresOptions { retry_timeout: Duration::from_millis(300), ..faulty.options.clone() };
    let store = connect(&options);
    let bytes = body(&owner, 1, 50_000);
    let (id, stored) = put(&store, &owner, &bytes);
    stored.unwrap();
    assert!(read(&store, &owner, &id).unwrap() == bytes);
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    assert!(store.status().unwrap().objects_problem.is_some());
    faulty.heal();
    put(&store, &owner, &body(&owner, 2, 500_000)).1.unwrap();
    assert_eq!(store.status().unwrap().objects_problem, None);
}

#[test]
fn connections_that_went_silent_cost_one_timeout() {
    let Some(faulty) = FaultyStore::new() else { return };
    let options = PostgresOptions {
        statement_timeout: Duration::from_millis(500),
        retry_timeout: Duration::from_secs(2),
        ..faulty.options.clone()
    };
    let (store, owner) = (connect(&options), Owner::new("local:1"));
    // Several connections are open.
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (store, owner) = (&store, &owner);
            scope.spawn(move || put(store, owner, &body(owner, number, 5_000)).1.unwrap());
        }
    });
    faulty.postgres.silence();
    let began = std::time::Instant::now();
    let (id, stored) = put(&store, &owner, &body(&owner, 7, 5_000));
    stored.unwrap();
    assert!(read(&store, &owner, &id).is_ok());
    let took = began.elapsed();
    assert!(took < Duration::from_secs(9), "{took:?}: one timeout of 5.5 s, and nothing more");
    faulty.check_tables();
}

#[test]
fn a_connection_that_was_not_used_for_long_is_not_used_again() {
    let Some(faulty) = FaultyStore::new() else { return };
    let options = PostgresOptions { idle_timeout: Duration::from_millis(200), ..faulty.options.clone() };
    let (store, owner) = (connect(&options), Owner::new("local:1"));
    put(&store, &owner, &body(&owner, 1, 5_000)).1.unwrap();
    faulty.postgres.silence();
    std::thread::sleep(Duration::from_millis(500));
    let began = std::time::Instant::now();
    put(&store, &owner, &body(&owner, 2, 5_000)).1.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn wrong_bytes_are_an_error_and_never_data() {
    let Some(faulty) = FaultyStore::new() else { return };
    let owner = Owner::new("local:1");
    let bytes = body(&owner, 1, 500_000);
    let (id, stored) = put(&faulty.store, &owner, &bytes);
    stored.unwrap();
    faulty.objects.injure(vec![ObjectFault::Wrong; 1000]);
    // A process that has nothing in memory.
    let other =
        connect(&PostgresOptions { retry_timeout: Duration::from_millis(100), ..faulty.options.clone() });
    let opened = other.open(&owner, &id).unwrap();
    let chunk = other.read_chunk(&opened, 0);
    assert!(matches!(chunk, Err(StoreError::Damaged { .. })), "{chunk:?}");
    faulty.heal();
    assert!(read(&faulty.store, &owner, &id).unwrap() == bytes);
}

#[test]
fn a_server_that_stays_away_is_an_error_in_time() {
    let Some(faulty) = FaultyStore::new() else { return };
    let options = PostgresOptions { retry_timeout: Duration::from_millis(300), ..faulty.options.clone() };
    let (store, owner) = (connect(&options), Owner::new("local:1"));
    faulty.objects.injure(vec![ObjectFault::Cut; 100_000]);
    let (id, stored) = put(&store, &owner, &body(&owner, 1, 500_000));
    assert!(matches!(stored, Err(StoreError::Unusable(_))), "{stored:?}");
    faulty.heal();
    assert!(matches!(read(&store, &owner, &id), Err(StoreError::NotFound)));
    let (id, stored) = put(&store, &owner, &body(&owner, 1, 500_000));
    stored.unwrap();
    assert!(read(&store, &owner, &id).is_ok());
    faulty.check_tables();
}

/// What a writer did: acknowledged or not, a result is either whole or not there.
struct Attempt {
    owner: Owner,
    id: ArtifactId,
    number: u64,
    length: usize,
    acknowledged: bool,
}

/// One put in so many has a fault.
const PUTS_PER_FAULT: u64 = 20;
/// Every put sends more statements than this.
const LEAST_STATEMENTS: u64 = 9;

/// Stores results in a thread that has proxies of its own: exactly one in [`PUTS_PER_FAULT`] meets a fault, of the database
/// and of the object store in turn.
fn write_under_faults(faulty: &FaultyStore, thread: u64, count: u64) -> Vec<Attempt> {
    let mut random = noise(thread + 77, 16 * count as usize).into_iter();
    let mut next = |below: u64| u64::from(random.next().unwrap_or(0)) % below;
    let mut attempts = Vec::new();
    for number in 0..count {
        let owner = Owner::new(format!("local:{}", next(3)));
        // The last of each twenty: then connections exist and statements are prepared, and a cut hits a statement of the put.
        let fault = (number % PUTS_PER_FAULT == PUTS_PER_FAULT - 1).then_some(number / PUTS_PER_FAULT);
        let is_of_objects = fault.is_some_and(|fault| fault % 2 == 1);
        let length = match is_of_objects || next(10) == 0 {
            true => 270_000 + 1000 * next(200) as usize,
            false => 50 + 200 * next(250) as usize,
        };
        match fault {
            Some(_) if is_of_objects => faulty.objects.injure([ObjectFault::ALL[next(7) as usize]]),
            Some(_) => faulty
                .postgres
                .cut_after(next(LEAST_STATEMENTS), if next(2) == 0 { Cut::Before } else { Cut::After }),
            None => {}
        }
        let number = thread * 1_000_000 + number;
        let before = faulty.faults();
        let (id, stored) = put(&faulty.store, &owner, &body(&owner, number, length));
        assert_eq!(faulty.faults() - before, u64::from(fault.is_some()), "the fault of put {number}");
        attempts.push(Attempt { owner, id, number, length, acknowledged: stored.is_ok() });
    }
    attempts
}

/// Checks every attempt, and everything that the owners can see.
fn check_attempts(store: &PostgresStore, attempts: &[Attempt]) {
    let acknowledged = attempts.iter().filter(|attempt| attempt.acknowledged).count();
    assert!(acknowledged * 100 >= attempts.len() * 95, "{acknowledged} of {} were stored", attempts.len());
    let mut visible = 0;
    for Attempt { owner, id, number, length, acknowledged } in attempts {
        match read(store, owner, id) {
            Ok(bytes) => {
                assert!(bytes == body(owner, *number, *length), "it is whole, and the owner's own");
                visible += 1;
            }
            Err(StoreError::NotFound) if !acknowledged => {}
            Err(error) => panic!("an acknowledged result is lost: {error:?}"),
        }
        let stranger = Owner::new("local:9");
        assert!(matches!(store.open(&stranger, id), Err(StoreError::NotFound)));
    }
    assert_eq!(store.list_all(usize::MAX).unwrap().len(), visible, "nothing else is visible");
}

#[test]
fn nothing_acknowledged_is_lost_under_faults() {
    let Some(options) = new_options() else { return };
    let puts: u64 = std::env::var(PUTS_VARIABLE).ok().and_then(|puts| puts.parse().ok()).unwrap_or(1000);
    let rigs = [(); 4].map(|()| FaultyStore::before(&options).unwrap());
    let began = std::time::Instant::now();
    let attempts: Vec<Attempt> = std::thread::scope(|scope| {
        let threads = [0, 1, 2, 3].map(|thread| {
            let faulty = &rigs[thread];
            scope.spawn(move || write_under_faults(faulty, thread as u64, puts / 4))
        });
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let faults: u64 = rigs.iter().map(FaultyStore::faults).sum();
    assert_eq!(faults, 4 * (puts / 4 / PUTS_PER_FAULT), "every fault happened");
    let refused = attempts.iter().filter(|attempt| !attempt.acknowledged).count();
    let (results, took) = (attempts.len(), began.elapsed());
    report(&format!("{results} results with {faults} faults in {took:.0?}, {refused} refused"));
    check_attempts(&rigs[0].store, &attempts);
    rigs[0].check_tables();
}

#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn report(figures: &str) {
    eprintln!("{figures}");
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_restarts() {
    let (Some(mut server), Some(objects)) = (PostgresServer::start(), servers::objects()) else { return };
    let options = PostgresOptions {
        retry_timeout: Duration::from_secs(60),
        objects: Some(objects.new_prefix()),
        ..server.new_store()
    };
    let (store, is_over) = (connect(&options), AtomicBool::new(false));
    let attempts: Vec<Attempt> = std::thread::scope(|scope| {
        let (store, is_over) = (&store, &is_over);
        let threads = [0, 1, 2, 3].map(|thread: u64| {
            scope.spawn(move || {
                let (owner, mut attempts) = (Owner::new(format!("local:{thread}")), Vec::new());
                while !is_over.load(Ordering::SeqCst) {
                    let number = thread * 1_000_000 + attempts.len() as u64;
                    // Rows and objects in turn.
                    let length = if number.is_multiple_of(2) { 20_000 } else { 300_000 };
                    let (id, stored) = put(store, &owner, &body(&owner, number, length));
                    let acknowledged = stored.is_ok();
                    attempts.push(Attempt { owner: owner.clone(), id, number, length, acknowledged });
                }
                attempts
            })
        });
        for _ in 0..2 {
            std::thread::sleep(Duration::from_millis(700));
            server.crash_and_restart();
        }
        std::thread::sleep(Duration::from_millis(500));
        is_over.store(true, Ordering::SeqCst);
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(attempts.len() > 20, "{} results", attempts.len());
    check_attempts(&store, &attempts);
}
