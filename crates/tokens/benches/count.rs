//! Token counts of this crate and of `bpe-openai` in one run: on a noisy machine only the ratio means something.
//!
//! `cargo bench -p tidegate-tokens`

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tidegate_tokens::Encoding;

/// Returns 4 KB of rows: a size at which the byte bounds do not decide whether a result fits.
fn rows() -> String {
    let mut text = String::from("[");
    for row in 0.. {
        text.push_str(&format!(
            "{{\"id\":{},\"title\":\"fix crash on empty config\",\"state\":\"open\",\"author\":\"user{}\"}},",
            4200 + row * 7,
            row * 31 % 97
        ));
        if text.len() > 4096 {
            return text;
        }
    }
    unreachable!("the loop ends by returning");
}

fn prose() -> String {
    let text = include_str!("../src/lib.rs").repeat(4);
    text.chars().take(16_384).collect()
}

fn bench(criterion: &mut Criterion) {
    for (name, text) in [("rows 4 KB", rows()), ("code and prose 16 KB", prose())] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        let theirs = bpe_openai::o200k_base();
        let normalized = theirs.normalize(text.as_str());
        group.bench_function("tidegate count_up_to", |bencher| {
            bencher.iter(|| Encoding::O200k.count_up_to(black_box(&text), 20_000));
        });
        group.bench_function("bpe-openai count_till_limit", |bencher| {
            bencher.iter(|| theirs.count_till_limit(black_box(&normalized), 20_000));
        });
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
