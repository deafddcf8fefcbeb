//! Measures what comparing a repeated call adds to shaping and storing its result. Compare only the ratios of one run.
//!
//! Equal results may cost 10 % more, and changed ones twice as much.
//!
//! `cargo bench -p tidegate-gate --bench repeat`

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::{Caller, Gate, Setup, StoreLocation, ToolCall, UserStore};
use tidegate_query::{Limits, Queries, Worker};
use tidegate_testkit::{make, sample};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often each case is measured.
const ROUNDS: usize = 21;

fn gate(compare: bool) -> Gate {
    Gate::new(Setup {
        keep: Arc::new(UserStore::of_user(StoreLocation::Memory)),
        policies: Policies::of_defaults(Rules { compare: Some(compare), ..Rules::default() }),
        engines: Queries::new(Limits::default(), Worker::new("tidegate".into())),
        server: "bench".into(),
    })
}

/// Returns how long a gate takes to shape and store a result.
fn time(gate: &Gate, caller: &Caller, result: &[u8]) -> Duration {
    let called = ToolCall { tool: "list_issues".into(), ..ToolCall::default() };
    let started = Instant::now();
    let decision = gate.decide(caller, &called, &result);
    assert!(decision.answer.is_some(), "it is shaped");
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

/// Returns a result in which five records differ in every round.
fn changed(rows: &[String], round: usize) -> Vec<u8> {
    let mut rows = rows.to_vec();
    for at in 0..5 {
        let row = (round * 31 + at * 17) % rows.len();
        rows[row] = rows[row].replacen("\"title\":\"", &format!("\"title\":\"{round} "), 1);
    }
    make::text_result(&format!("[{}]", rows.join(",")))
}

fn main() {
    let caller = Caller::unknown(Vec::new());
    println!(
        "| result | compared with | without, ms | with, ms | more | at most |\n|---|---|---:|---:|---:|---:|"
    );
    for (name, count) in [("200 KB", 400), ("1 MB", 2000), ("7 MB", 14_000)] {
        let rows: Vec<serde_json::Value> = serde_json::from_str(&sample::issues(count)).expect("JSON");
        let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        for (with, limit) in [("equal bytes", 0.1), ("five changed records", 1.0)] {
            let (off, on) = (gate(false), gate(true));
            let (mut without, mut compared) = (Vec::new(), Vec::new());
            for round in 0..ROUNDS {
                let result = changed(&rows, if limit < 1.0 { 0 } else { round });
                let times = [time(&off, &caller, &result), time(&on, &caller, &result)];
                // The first round has nothing to compare with.
                if round > 0 {
                    without.push(times[0]);
                    compared.push(times[1]);
                }
            }
            let (without, compared) = (median(without), median(compared));
            println!(
                "| {name} | {with} | {:.1} | {:.1} | {:+.2}x | {limit:.1}x |",
                without * 1e3,
                compared * 1e3,
                compared / without - 1.0
            );
        }
    }
}
