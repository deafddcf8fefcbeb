//! Shapes the same table in every notation, and compares the speed with that of JSON: each should be at least 0.3 times as
//! fast, in bytes of its own text per second.
//!
//! All notations take turns, and the fastest turn of each counts, so noise of the machine affects all alike.
//!
//! `cargo bench -p tidegate-core --bench notations`
//!
//! With the name of a notation it shapes a table in that notation once, for a profiler:
//! `valgrind --tool=callgrind --toggle-collect=notations::time target/release/deps/notations-* Yaml`

#![expect(clippy::print_stdout, reason = "a bench prints what it found")]
#![expect(clippy::disallowed_types, reason = "a bench has a clock")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::measure::Meter;
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Fill, Request, shape};
use tidegate_testkit::make;
use tidegate_testkit::tables::{RandomTable, TableNotation};

/// How often each notation is measured.
const ROUNDS: usize = 15;

fn main() {
    let table = RandomTable::new(7, 40_000);
    if let Some(notation) = named_notation() {
        let result = make::text_result(&table.write(notation));
        time(&result);
        println!("{notation:?}: {} bytes", result.len());
        return;
    }
    let mut notations: Vec<(TableNotation, Vec<u8>, Duration)> = TableNotation::ALL
        .into_iter()
        .map(|notation| (notation, make::text_result(&table.write(notation)), Duration::MAX))
        .collect();
    for _ in 0..ROUNDS {
        for (_, result, fastest) in &mut notations {
            *fastest = (*fastest).min(time(result));
        }
    }
    let rate = |result: &[u8], time: Duration| result.len() as f64 / f64::from(1 << 20) / time.as_secs_f64();
    let json = notations.first().map_or(1.0, |(_, result, time)| rate(result, *time));
    println!("| notation | MiB | ms | MiB/s | to JSON |\n|---|---:|---:|---:|---:|");
    for (notation, result, time) in &notations {
        let rate = rate(result, *time);
        println!(
            "| {notation:?} | {:.1} | {:.1} | {rate:.1} | {:.2}x |",
            result.len() as f64 / f64::from(1 << 20),
            time.as_secs_f64() * 1e3,
            rate / json
        );
    }
}

/// Returns the notation that the command line names, if it names one.
fn named_notation() -> Option<TableNotation> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    TableNotation::ALL.into_iter().find(|notation| names.contains(&format!("{notation:?}")))
}

/// Returns how long it takes to shape a result.
#[inline(never)]
fn time(result: &[u8]) -> Duration {
    let request = Request {
        tool: "list_rows",
        arguments: None,
        handle: Handle::kept("list_rows-3f9c2kq7m0xw", "kept 24 h"),
        budget: Budget::default(),
        meter: Meter::default(),
        fill: Fill::Useful,
    };
    let start = Instant::now();
    let source = black_box(result);
    let payload = Payload::read(&source).expect("a result");
    black_box(shape(&payload, &request).expect("memory can be read"));
    start.elapsed()
}
