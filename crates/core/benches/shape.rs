//! Shaping 20 MB of records that sit as escaped text inside a JSON-RPC answer, against merely parsing the answer and
//! its inner text into `serde_json::Value`. The ratio of the two is what counts.
//!
//! `cargo bench -p tidegate-core --bench shape`

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::measure::Meter;
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Fill, Request, shape};
use tidegate_testkit::{make, sample};

fn bench(criterion: &mut Criterion) {
    let result = String::from_utf8(make::text_result(&sample::issues(42_000))).expect("text");
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{result}}}");
    let mut group = criterion.benchmark_group("20 MB of records inside an answer");
    group.throughput(Throughput::Bytes(answer.len() as u64));
    group.sample_size(20).measurement_time(Duration::from_secs(8));
    let request = Request {
        tool: "list_issues",
        arguments: None,
        handle: Handle::kept("list_issues-3f9c2kq7m0xw", "kept 24 h"),
        budget: Budget::default(),
        meter: Meter::default(),
        fill: Fill::Useful,
    };
    group.bench_function("tidegate: shape", |bencher| {
        bencher.iter(|| {
            let source = black_box(answer.as_bytes());
            let payload = Payload::read(&source).expect("a result");
            shape(&payload, &request).expect("memory can be read")
        });
    });
    group.bench_function("serde_json: Value of the answer and of its text", |bencher| {
        bencher.iter(|| {
            let outer: serde_json::Value = serde_json::from_str(black_box(&answer)).expect("JSON");
            let text = outer["result"]["content"][0]["text"].as_str().expect("text");
            let inner: serde_json::Value = serde_json::from_str(text).expect("JSON");
            (outer, inner)
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
