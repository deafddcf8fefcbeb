//! How much tidegate delays the first answer of a server, and how much memory it takes while idle.
//!
//! `cargo bench -p tidegate --bench start` starts a server directly and behind `tidegate run`, in turns, initializes it and
//! lists its tools. The server is that of `tidegate demo`, so nothing else is needed. Both are measured in one run, so that
//! noise of the machine affects both.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints what it found")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 40;

fn main() {
    let program = env!("CARGO_BIN_EXE_tidegate");
    let direct = [program, "__demo-server"];
    let through = [program, "run", "--", program, "__demo-server"];
    let (mut without, mut with) = (Vec::new(), Vec::new());
    let mut resident = (0, 0);
    for _ in 0..RUNS {
        without.push(first_list(&direct, |_| {}));
        with.push(first_list(&through, |child| resident = resident_of(child)));
    }
    let (without, with) = (median(&mut without), median(&mut with));
    println!("first tools/list, median of {RUNS} runs each:");
    println!("  without tidegate {:7.2} ms", millis(without));
    println!(
        "  with tidegate    {:7.2} ms, {:.2} ms later",
        millis(with),
        millis(with.saturating_sub(without))
    );
    println!("memory while idle: {} MB, and {} MB for the guard of the server", resident.0, resident.1);
}

fn first_list(command: &[&str], idle: impl FnOnce(&Child)) -> Duration {
    let home = std::env::temp_dir().join("tidegate-bench-start");
    let started = Instant::now();
    let mut child = Command::new(command[0])
        .args(&command[1..])
        .env("TIDEGATE_HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    for request in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
        &format!("{initialized}\n{}", r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#),
    ] {
        writeln!(stdin, "{request}").unwrap();
        stdin.flush().unwrap();
        stdout.read_line(&mut String::new()).unwrap();
    }
    let took = started.elapsed();
    idle(&child);
    drop(stdin);
    child.wait().unwrap();
    took
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Returns the resident memory of a process and of its only child, in MB.
fn resident_of(child: &Child) -> (u64, u64) {
    let megabytes = |pid: &str| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default().to_owned();
        line.split_ascii_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) / 1000
    };
    let pid = child.id().to_string();
    let below = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    (megabytes(&pid), megabytes(below.trim()))
}
