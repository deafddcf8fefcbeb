//! "Does it fit?" for a 4 KB result, where the byte bounds do not decide: ours, which reads the result and counts
//! its text, against the bare count of the text by `bpe-openai`. The ratio of the two is what counts.
//!
//! `cargo bench -p tidegate-core --bench fits`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tidegate_core::budget::Budget;
use tidegate_core::measure::{Meter, fits, fits_by_length};
use tidegate_core::payload::Payload;
use tidegate_testkit::{make, sample};

fn bench(criterion: &mut Criterion) {
    let text = sample::issues(8);
    let result = make::text_result(&text);
    let source = result.as_slice();
    let (budget, meter) = (Budget::of_tokens(Budget::LINE_TOKENS), Meter::default());
    let theirs = bpe_openai::o200k_base();
    let normalized = theirs.normalize(text.as_str());
    let limit = usize::try_from(budget.tokens.0).expect("a small budget");
    let mut group = criterion.benchmark_group(format!("a result of {} bytes", result.len()));
    group.bench_function("tidegate: does it fit", |bencher| {
        bencher.iter(|| {
            let source = black_box(&source);
            fits_by_length(source, &budget, &meter).unwrap_or_else(|| {
                let payload = Payload::read(source).expect("a result");
                fits(&payload, &budget, &meter).expect("memory can be read")
            })
        });
    });
    group.bench_function("bpe-openai: count_till_limit of its text", |bencher| {
        bencher.iter(|| theirs.count_till_limit(black_box(&normalized), limit));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
