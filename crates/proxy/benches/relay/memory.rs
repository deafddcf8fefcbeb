//! What a large result takes of tidegate's memory while it is stored and shaped.

use crate::paths::{Path, Programs};
use crate::turns::settle;

const MEGABYTES: [usize; 5] = [1, 5, 10, 50, 250];
const MIB: f64 = 1024.0 * 1024.0;

/// Prints the peak above idle, for each size in a process of its own: memory that an earlier result left behind would
/// be used again.
pub(crate) fn table(programs: &Programs) {
    println!(
        "\n| shaped and stored | idle MiB | peak above idle MiB | of the payload |\n|---|---:|---:|---:|"
    );
    for megabytes in MEGABYTES {
        eprintln!("memory: a result of {megabytes} MB");
        let mut path = programs.run();
        // What is loaded once, such as the tokenizer and the store, is no part of a result.
        (0..3).for_each(|_| path.call(100 << 10));
        settle(path.process());
        let idle = status(&path, "VmRSS:");
        // Lets the kernel forget the peak so far, where it allows that.
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

/// Reads a line of what the kernel says of a process, in bytes; 0 where it says nothing.
fn status(path: &Path, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", path.process())).unwrap_or_default();
    let found = status.lines().find_map(|found| found.strip_prefix(line));
    found.and_then(|found| found.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Returns how long a process has worked, in ticks of the kernel.
pub(crate) fn used_ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program may hold spaces; what counts stands after it.
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.split_ascii_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}
