//! Tables in the form of the documentation, and the limits that the ratios should stay within.

use std::time::Duration;

use crate::client::IN_FLIGHT;
use crate::paths::{CAT, DIRECT, Path, RUN, TYPED};
use crate::turns::SIZES;

/// The times of every path by size.
type Times = [Vec<Vec<Duration>>; SIZES.len()];

/// Returns a percentile of sorted times.
fn percentile(sorted: &[Duration], hundredth: usize) -> f64 {
    sorted[(sorted.len() * hundredth / 100).min(sorted.len() - 1)].as_secs_f64()
}

/// Prints the table of a transport: times, with their ratio to those of one path.
pub(crate) fn table(transport: &str, paths: &[Path], times: &Times, rates: &[f64], to: usize) {
    print!("\n| {transport} |");
    for size in &SIZES {
        let unit = if in_milliseconds(size.bytes) { "ms" } else { "us" };
        print!(" {} p50 {unit} | p99 {unit} |", size.name);
    }
    println!(" 1 KB, {IN_FLIGHT} in flight, calls/s |");
    println!("|---|{}", "---:|".repeat(SIZES.len() * 2 + 1));
    for (at, path) in paths.iter().enumerate() {
        print!("| {} |", path.name);
        for (size, times) in SIZES.iter().zip(times) {
            let unit = if in_milliseconds(size.bytes) { 1e3 } else { 1e6 };
            for hundredth in [50, 99] {
                let (time, least) = (percentile(&times[at], hundredth), percentile(&times[to], hundredth));
                print!(" {:.1} ({:.2}x) |", time * unit, time / least);
            }
        }
        println!(" {:.0} ({:.2}x) |", rates[at], rates[at] / rates[DIRECT]);
    }
    println!("\nTimes beside their ratio to \"{}\", calls/s beside theirs to \"direct\".", paths[to].name);
}

fn in_milliseconds(bytes: usize) -> bool {
    bytes >= 1 << 20
}

/// Prints the limits for the paths over stdio, and what was measured.
pub(crate) fn bars(times: &Times, rates: &[f64]) {
    let [small, _, large] = times;
    let ratio = |times: &[Vec<Duration>], hundredth: usize, to: usize| {
        percentile(&times[RUN], hundredth) / percentile(&times[to], hundredth)
    };
    println!("\n| bar | measured | at most |\n|---|---:|---:|");
    println!("| 1 KB passed, p50 to cat | {:.2}x | 1.25x |", ratio(small, 50, CAT));
    println!("| 1 KB passed, p99 to cat | {:.2}x | 1.5x |", ratio(small, 99, CAT));
    println!(
        "| 1 KB passed, {IN_FLIGHT} in flight, to direct | {:.2}x | at least 0.4x |",
        rates[RUN] / rates[DIRECT]
    );
    println!("| 10 MB shaped and stored, p50 to rmcp forwarding | {:.2}x | 1x |", ratio(large, 50, TYPED));
    println!("| 10 MB shaped and stored, p50 to cat | {:.2}x | aim: 4x |", ratio(large, 50, CAT));
}

/// Prints calls a second, and their ratio to direct.
pub(crate) fn rates(paths: &[Path], rates: &[f64]) {
    for (path, rate) in paths.iter().zip(rates) {
        println!("| {} | {rate:.0} ({:.2}x) |", path.name, rate / rates[DIRECT]);
    }
}
