//! The shared store, each operation beside the least work that could do it, in one run: the ratios matter, not the times.
//!
//! `cargo bench -p tidegate-store --bench shared` starts PostgreSQL and an object store, and stops them. With
//! `TIDEGATE_BENCH_ROWS=1000000` it also measures reads while a sweep goes through that many rows.

#![expect(clippy::print_stdout, reason = "the figures are what this is run for")]

mod page;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tidegate_store::{
    ArtifactId, ArtifactStore, CHUNK_BYTES, PlainUpload, PostgresOptions, PostgresStore, Quotas, SqliteStore,
    SystemClock,
};
use tidegate_testkit::servers::{self, PostgresServer};
use tidegate_testkit::{make, sample};

use page::{kept, owner, page, put};

/// A cache that holds the chunks of one page, and so none of a page that was read before: every page is read from the servers.
const COLD_CACHE_BYTES: usize = 100_000;

const QUOTAS: Quotas = Quotas { session_bytes: 1 << 40, owner_bytes: 1 << 40, store_bytes: 1 << 40 };

fn main() {
    let (Some(server), Some(objects)) = (servers::postgres(), servers::objects()) else { return };
    let options = PostgresOptions { objects: Some(objects.new_prefix()), ..server.new_store() };
    let store = connect(&options);
    put_100_kb(server, &store);
    put_10_mb(&options, &store);
    pages(server, &options);
    late_pages(&options);
    if let Some(rows) = std::env::var("TIDEGATE_BENCH_ROWS").ok().and_then(|rows| rows.parse().ok()) {
        reads_during_a_sweep(server, rows);
    }
}

fn connect(options: &PostgresOptions) -> PostgresStore {
    PostgresStore::connect(options, QUOTAS, Arc::new(SystemClock)).expect("the servers run")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ratio(what: &str, ours: Vec<Duration>, theirs: Vec<Duration>, bar: f64) {
    let (rounds, ours, theirs) = (ours.len(), median(ours), median(theirs));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("{what}, median of {rounds}: {ours:.2?} against {theirs:.2?}, ratio {ratio:.2} (at most {bar})");
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let done = work();
    (began.elapsed(), done)
}

/// A result of about so many bytes.
fn result(records: usize, bytes: usize) -> Vec<u8> {
    let mut body = make::text_result(&sample::issues(records));
    body.truncate(bytes);
    body
}

/// 100 KB, against inserting the same bytes into a table of two columns, with commit.
fn put_100_kb(server: &PostgresServer, store: &PostgresStore) {
    let mut body = result(220, 100_000);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let plain = runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(server.address(), tokio_postgres::NoTls).await.expect("the server runs");
        tokio::spawn(connection);
        client
            .batch_execute("CREATE TABLE plain (id TEXT PRIMARY KEY, body BYTEA)")
            .await
            .expect("a new table");
        let insert = client.prepare("INSERT INTO plain VALUES ($1, $2)").await.expect("a statement");
        (client, insert)
    });
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..200u64 {
        body[100..108].copy_from_slice(&number.to_le_bytes());
        times[0].push(timed(|| put(store, &body, b"")).0);
        let id = number.to_string();
        let insert = || runtime.block_on(plain.0.execute(&plain.1, &[&id, &body])).expect("the server runs");
        times[1].push(timed(insert).0);
    }
    let [ours, theirs] = times.map(|times| times[20..].to_vec());
    ratio("100 KB put on PostgreSQL, against a plain insert with commit", ours, theirs, 1.5);
}

/// 10 MB, against uploading the same bytes.
fn put_10_mb(options: &PostgresOptions, store: &PostgresStore) {
    let mut body = result(22_000, 10_000_000);
    let plain = PlainUpload::connect(options.objects.as_ref().expect("objects")).expect("the server runs");
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..15u64 {
        body[100..108].copy_from_slice(&number.to_le_bytes());
        times[0].push(timed(|| put(store, &body, b"")).0);
        let copy = body.clone();
        times[1].push(timed(|| plain.upload(copy).expect("the server runs")).0);
    }
    let [ours, theirs] = times;
    ratio("10 MB put on PostgreSQL and S3, against a plain upload", ours, theirs, 1.3);
}

/// Pages of 2 MB, each another one, against the same pages from SQLite. A round trip is what the least request for the same bytes
/// takes: a query for one row that has as many, and a range of an object that is as long. First without what was read before, so
/// that every chunk is read from the servers.
fn pages(server: &PostgresServer, options: &PostgresOptions) {
    let folder = tempfile::tempdir().expect("a folder");
    let sqlite = SqliteStore::open(&folder.path().join("artifacts.db"), QUOTAS).expect("a store");
    let with = |objects: bool, cache_bytes: usize| {
        let objects = options.objects.clone().filter(|_| objects);
        connect(&PostgresOptions { objects, cache_bytes, ..options.clone() })
    };
    let shared = [
        with(false, COLD_CACHE_BYTES),
        with(true, COLD_CACHE_BYTES),
        with(false, 16 << 20),
        with(true, 16 << 20),
    ];
    let mut stores: Vec<&dyn ArtifactStore> = vec![&sqlite];
    stores.extend(shared.iter().map(|store| store as &dyn ArtifactStore));
    // Of different sizes, so that they are different bodies.
    let ids: Vec<ArtifactId> =
        stores.iter().zip(4200..).map(|(store, records)| kept(*store, records)).collect();
    let plain = PlainUpload::connect(options.objects.as_ref().expect("objects")).expect("the server runs");
    let object = plain.upload(vec![7; 1_000_000]).expect("the server runs");
    // A page that is not cached takes two chunks.
    let artifact = shared[0].open(&owner(), &ids[1]).expect("it is stored").artifact;
    let two_chunks = 2 * artifact.stored_bytes / artifact.bytes.div_ceil(CHUNK_BYTES);
    let (mut times, mut trips) = (vec![Vec::new(); stores.len()], Vec::new());
    for number in (1..400).map(|step| step * 37 % 400 + 1) {
        for ((store, id), times) in stores.iter().zip(&ids).zip(&mut times) {
            times.push(timed(|| page(*store, id, number)).0);
        }
        trips.push(timed(|| plain.read(&object, 1000..1000 + two_chunks).expect("the server runs")).0);
    }
    let (trip, object_trip) = (round_trip(server, two_chunks), median(trips));
    println!("{two_chunks} bytes from PostgreSQL take {trip:.2?}, from the object store {object_trip:.2?}");
    let medians: Vec<Duration> = times.into_iter().map(median).collect();
    let names = [
        ("PostgreSQL", trip),
        ("PostgreSQL and S3", trip + object_trip),
        ("PostgreSQL, with its cache", trip),
        ("PostgreSQL and S3, with their cache", trip),
    ];
    for ((what, trips), time) in names.iter().zip(&medians[1..]) {
        let ratio = time.saturating_sub(*trips).as_secs_f64() / medians[0].as_secs_f64();
        println!(
            "a page of 2 MB from {what}: {time:.2?} against {:.2?} from SQLite, less {trips:.2?}, ratio {ratio:.2} (at most 1.5)",
            medians[0]
        );
    }
}

/// Returns what a query takes that returns one row with so many bytes.
fn round_trip(server: &PostgresServer, bytes: u64) -> Duration {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(server.address(), tokio_postgres::NoTls).await.expect("the server runs");
        tokio::spawn(connection);
        let create = "CREATE TABLE plain_page (id INTEGER PRIMARY KEY, body BYTEA);
                      ALTER TABLE plain_page ALTER COLUMN body SET STORAGE EXTERNAL";
        client.batch_execute(create).await.expect("a new table");
        let body = vec![7u8; bytes as usize];
        client.execute("INSERT INTO plain_page VALUES (1, $1)", &[&body]).await.expect("a new row");
        let query = client.prepare("SELECT body FROM plain_page WHERE id = $1").await.expect("a statement");
        let mut times = Vec::new();
        for _ in 0..200 {
            let began = Instant::now();
            let row = client.query_one(&query, &[&1i32]).await.expect("the server runs");
            assert_eq!(row.get::<_, &[u8]>(0).len() as u64, bytes);
            times.push(began.elapsed());
        }
        median(times)
    })
}

/// Page 1,000 of 200 MB, against page 1, both read from the servers.
fn late_pages(options: &PostgresOptions) {
    for (objects, what) in [(false, "PostgreSQL"), (true, "PostgreSQL and S3")] {
        let objects = options.objects.clone().filter(|_| objects);
        let store = connect(&PostgresOptions { objects, cache_bytes: COLD_CACHE_BYTES, ..options.clone() });
        let id = kept(&store, if what.contains("S3") { 420_000 } else { 420_001 });
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..60 {
            times[0].push(timed(|| page(&store, &id, 1000)).0);
            times[1].push(timed(|| page(&store, &id, 1)).0);
        }
        let [late, early] = times;
        ratio(&format!("page 1,000 of 200 MB on {what}, against page 1"), late, early, 1.5);
    }
}

/// The slowest of a hundred reads while a sweep goes through expired rows, against without.
fn reads_during_a_sweep(server: &PostgresServer, rows: u64) {
    let options = server.new_store();
    let (store, sweeper) = (connect(&options), connect(&options));
    let ids: Vec<ArtifactId> =
        (0..50u64).map(|number| put(&store, &result(200 + number as usize, 60_000), b"")).collect();
    let schema = &options.schema;
    println!("inserting {rows} rows that have expired");
    server.sql(&format!(
        "SET search_path TO {schema};
         INSERT INTO body (owner, session, hash, bytes, stored, visible, created)
            SELECT 'local:2', 'one', decode(md5(n::text), 'hex'), 10, 10, true, 0 FROM generate_series(1, {rows}) n;
         INSERT INTO artifact (id, owner, session, body, tool, kind, tokens, outline, created, expires, server, arguments, put)
            SELECT lpad(to_hex(id), 12, '0'), owner, session, id, 'tool', '', 1, '', 0, 1, '', '', 0 FROM body WHERE owner = 'local:2';
         INSERT INTO quota_use VALUES (2, 'local:2', 'one', {rows}, 10 * {rows}), (1, 'local:2', '', {rows}, 10 * {rows});
         UPDATE quota_use SET artifacts = artifacts + {rows}, stored = stored + 10 * {rows} WHERE scope = 0;
         ANALYZE"
    ));
    let read = |number: usize| timed(|| store.open(&owner(), &ids[number % ids.len()]).expect("it exists")).0;
    let p99 = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() * 99 / 100]
    };
    let quiet = p99((0..3000).map(read).collect());
    let is_over = AtomicBool::new(false);
    let (during, (took, swept)) = std::thread::scope(|scope| {
        let sweep = scope.spawn(|| {
            let swept = timed(|| sweeper.sweep().expect("the server runs"));
            is_over.store(true, Ordering::SeqCst);
            swept
        });
        let mut times = Vec::new();
        while !is_over.load(Ordering::SeqCst) {
            times.push(read(times.len()));
        }
        (times, sweep.join().expect("it ends"))
    });
    let (reads, busy) = (during.len(), p99(during));
    let ratio = busy.as_secs_f64() / quiet.as_secs_f64();
    println!(
        "{reads} reads while {} artifacts were swept in {took:.0?}: p99 {busy:.2?} against {quiet:.2?}, ratio {ratio:.2} (at most 3)",
        swept.artifacts
    );
}
