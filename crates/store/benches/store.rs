//! Storing and reading, each compared with the least work that could do it: the ratios matter, not the times.
//!
//! `cargo bench -p tidegate-store`

mod page;

use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use tidegate_core::source::{Source, Span};
use tidegate_store::{
    ArtifactId, ArtifactStore, CHUNK_BYTES, Description, FolderStore, NewArtifact, Owner, Quotas, Session,
    SqliteStore, open,
};
use tidegate_testkit::{make, sample};

fn store() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(&folder.path().join("artifacts.db"), Quotas::default()).expect("a store");
    (folder, store)
}

/// Storing 1 MB durably, against compressing it and writing it to a file that is synced and renamed.
fn put(criterion: &mut Criterion) {
    let (folder, store) = store();
    let (owner, session) = (Owner::new("local:1"), Session::new("one"));
    let mut body = make::text_result(&sample::issues(2100));
    body.truncate(1 << 20);
    let mut group = criterion.benchmark_group("1 MB durably");
    group.sample_size(60).measurement_time(Duration::from_secs(6));
    let mut number = 0u64;
    group.bench_function("tidegate: put", |bencher| {
        bencher.iter(|| {
            // A different body each time, since equal ones are stored once.
            number += 1;
            body[100..108].copy_from_slice(&number.to_le_bytes());
            let new = NewArtifact::new(&owner, &session, "tool", Duration::from_secs(600));
            let kept = store
                .put(&new, &body.as_slice(), &|| Ok(Description::default()))
                .expect("the disk has space");
            store.delete(&owner, &kept.id).expect("the artifact exists");
        });
    });
    group.bench_function("compress, write, sync, rename, sync the folder", |bencher| {
        bencher.iter(|| {
            let packed = zstd::bulk::compress(&body, 1).expect("memory");
            write_plain(folder.path(), "new", &packed);
        });
    });
    group.finish();
}

/// How much longer the store in a folder takes for 100 KB than a plain file that is written, synced and renamed, each
/// measured right after the other.
#[expect(clippy::print_stdout, reason = "the ratio is what this is run for")]
fn folder(_: &mut Criterion) {
    const ROUNDS: usize = 200;
    let folder = tempfile::tempdir().expect("a folder");
    let store = FolderStore::open(&folder.path().join("artifacts"), Quotas::default()).expect("a store");
    let (owner, session) = (Owner::new("local:1"), Session::new("one"));
    let mut body = make::text_result(&sample::issues(220));
    body.truncate(100_000);
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..ROUNDS {
        body[100..108].copy_from_slice(&number.to_le_bytes());
        let began = Instant::now();
        let new = NewArtifact::new(&owner, &session, "tool", Duration::from_secs(600));
        store.put(&new, &body.as_slice(), &|| Ok(Description::default())).expect("the disk has space");
        times[0].push(began.elapsed());
        let began = Instant::now();
        write_plain(folder.path(), &format!("{number}"), &body);
        times[1].push(began.elapsed());
    }
    let [put, plain] = times.map(|mut times| {
        times.sort();
        times[ROUNDS / 2]
    });
    let ratio = put.as_secs_f64() / plain.as_secs_f64();
    println!(
        "100 KB durably, median of {ROUNDS}: folder store {put:?}, plain file {plain:?}, ratio {ratio:.2}"
    );
    assert!(ratio <= 2.0, "at most twice a plain file");
}

/// Writes a file, syncs it, gives it its final name and syncs the folder.
fn write_plain(folder: &Path, name: &str, bytes: &[u8]) {
    let (path, to) = (folder.join("new.tmp"), folder.join(name));
    let mut file = std::fs::File::create(&path).expect("a file");
    file.write_all(bytes).expect("the disk has space");
    file.sync_all().expect("the disk works");
    std::fs::rename(&path, &to).expect("the same folder");
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).expect("the disk works");
}

struct Kept {
    store: SqliteStore,
    _folder: tempfile::TempDir,
    id: ArtifactId,
}

impl Kept {
    fn new(records: usize) -> Self {
        let (folder, store) = store();
        let id = page::kept(&store, records);
        Self { store, _folder: folder, id }
    }

    fn page(&self, number: u64) -> u64 {
        page::page(&self.store, &self.id, number)
    }
}

/// A page of a 20 MB artifact, compared with only reading and decompressing its chunks; and late pages of a 200 MB
/// artifact, compared with its first.
fn read(criterion: &mut Criterion) {
    let kept = Kept::new(42_000);
    let mut group = criterion.benchmark_group("a page of 20 MB");
    group.bench_function("tidegate: page 2000", |bencher| bencher.iter(|| kept.page(black_box(2000))));
    let source = open(&kept.store, &page::owner(), &kept.id).expect("the artifact exists");
    let opened = kept.store.open(&page::owner(), &kept.id).expect("the artifact exists");
    let chunk = source.len() / 2 / CHUNK_BYTES;
    group.bench_function("its two chunks alone", |bencher| {
        bencher.iter(|| {
            (kept.store.read_chunk(&opened, black_box(chunk)), kept.store.read_chunk(&opened, chunk + 1))
        });
    });
    group.finish();
    let large = Kept::new(420_000);
    let mut group = criterion.benchmark_group("a page of 200 MB");
    group.sample_size(40);
    group.bench_function("page 1", |bencher| bencher.iter(|| large.page(black_box(1))));
    group.bench_function("page 1000", |bencher| bencher.iter(|| large.page(black_box(1000))));
    group.bench_function("page 40000", |bencher| bencher.iter(|| large.page(black_box(40_000))));
    let source = open(&large.store, &page::owner(), &large.id).expect("the artifact exists");
    assert!(Span::whole(&source).len() > 150_000_000);
    group.finish();
}

criterion_group!(benches, folder, put, read);
criterion_main!(benches);
