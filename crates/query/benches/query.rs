//! jq and SQL over 50,000 records, against the command lines of the same engines on the same JSON. The ratios are what
//! counts. `jaq` (cargo install jaq) and `sqlite3` must be on the path; what is missing is left out and said.
//!
//! `cargo bench -p tidegate-query`

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::{Dataset, EngineProgram, Engines, ResultWindow};
use tidegate_query::{Limits, Queries, Worker};
use tidegate_testkit::{make, sample};

const PROGRAM: &str = "[.[] | select(.state == \"closed\") | .comments] | add";
const QUERY: &str = "select state, count(*), sum(comments) from t group by 1";
const SQLITE: &str =
    "create table t as select json_extract(value, '$.number') number, json_extract(value, '$.title') title,
    json_extract(value, '$.state') state, json_extract(value, '$.severity') severity,
    json_extract(value, '$.author') author, json_extract(value, '$.author.login') login,
    json_extract(value, '$.comments') comments, json_extract(value, '$.labels') labels,
    json_extract(value, '$.created_at') created_at, json_extract(value, '$.body') body
    from json_each(readfile('FILE')); ";

fn on_path(program: &str) -> bool {
    let quiet = || Stdio::null();
    let found = Command::new(program).arg("--version").stdout(quiet()).stderr(quiet()).status().is_ok();
    if !found {
        // Said, so that a missing line is not taken for a fast one.
        let _ = writeln!(std::io::stderr(), "left out: {program} is not on the path");
    }
    found
}

fn bench(criterion: &mut Criterion) {
    let json = sample::issues(50_000);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("issues.json");
    std::fs::write(&file, &json).expect("room");
    let result = make::text_result(&json);
    let source = result.as_slice();
    let outline = Outline::read(&Payload::read(&source).expect("a result")).expect("memory");
    let limits = Limits { time: Duration::from_secs(60), ..Limits::default() };
    let engines = Queries::new(limits, Worker::new(env!("CARGO_BIN_EXE_query-worker").into()));
    let data = Dataset::new(&source, &outline);
    let window = ResultWindow { skip: 0, bytes: 10_000 };

    let mut group = criterion.benchmark_group("jq over 50,000 records");
    group.sample_size(15).measurement_time(Duration::from_secs(10));
    group.bench_function("tidegate", |bencher| {
        bencher.iter(|| engines.run(&data, EngineProgram::Jq(PROGRAM), window).expect("an answer"));
    });
    if on_path("jaq") {
        group.bench_function("jaq", |bencher| {
            bencher
                .iter(|| Command::new("jaq").args(["-c", PROGRAM]).arg(&file).output().expect("an answer"));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("sql over 50,000 records");
    group.sample_size(15).measurement_time(Duration::from_secs(12));
    group.bench_function("tidegate", |bencher| {
        bencher.iter(|| engines.run(&data, EngineProgram::Sql(QUERY), window).expect("an answer"));
    });
    if on_path("sqlite3") {
        let script = format!("{}{QUERY};", SQLITE.replace("FILE", &file.display().to_string()));
        group.bench_function("sqlite3 with json_each", |bencher| {
            bencher.iter(|| Command::new("sqlite3").args([":memory:", &script]).output().expect("an answer"));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
