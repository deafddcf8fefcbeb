//! How much memory tidegate uses while it stores and shapes a large result.

use crate::paths::{Path, Programs};
use crate::turns::settle;

const MEGABYTES: [usize; 5] = [1, 5, 10, 50, 250];
const MIB: f64 = 1024.0 * 1024.0;

/// Prints the peak above idle, for each size in a process of its own, because a process reuses the memory of earlier
/// results.
pub(crate) fn table(programs: &Programs) {
    println!(
        "\n| shaped and stored | idle MiB | peak above idle MiB | of the payload |\n|---|---:|---:|---:|"
    );
    for megabytes in MEGABYTES {
        eprintln!("memory: a result of {megabytes} MB");
        let mut path = programs.run();
        // The tokenizer, the store and the like are loaded once and not counted.
        (0..3).for_each(|_| path.call(100 << 10));
        settle(path.process());
        let idle = status(&path, "VmRSS:");
        // Resets the peak that the kernel records, if it allows that.
        let _ = std::fs::write(format!("/proc/{}/clear_refs", path.process()), "5");
        path.call(megabytes << 20);
        let above = status(&path, "VmHWM:").saturating_sub(idle) as f64;
        let payload = (megabytes << 20) as f64;
        println!(
            "| {megabytes} MB | {:.1} | {:.1} | {:.2}x |",
            idle as f64 / MIB,
            above / MIB,
            above / payload
        );
    }
}

/// Returns a line of the status of a process, in bytes; 0 if it is missing.
fn status(path: &Path, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", path.process())).unwrap_or_default();
    let found = status.lines().find_map(|found| found.strip_prefix(line));
    found.and_then(|found| found.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Returns the CPU time of a process, in clock ticks.
pub(crate) fn used_ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program may contain spaces; the numbers follow it.
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.split_ascii_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}
