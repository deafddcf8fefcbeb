//! What a relay adds to a call: `cargo bench -p tidegate-proxy`. docs/performance.md explains how to read the results.
//!
//! The same calls go to the same server directly, through `cat` (the cost of one more hop), through a typed relay on rmcp,
//! and through tidegate; `BENCH_BEFORE=PATH` adds the tidegate at a path, to compare two builds. All of these run at the
//! same time and take turns, so the noise of the machine affects each alike: only ratios within one run mean anything. This
//! program also plays the servers and the relay on rmcp; the client reads and writes bytes by hand, so it costs as little as
//! a client can.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a bench prints what it found"
)]

mod client;
mod memory;
mod paths;
mod queries;
mod report;
mod server;
mod turns;
mod typed;

use std::path::PathBuf;
use std::process::Command;

use paths::Programs;
use turns::{SIZES, in_flight, in_turns};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("serve-stdio") => server::serve_stdio(),
        Some("serve-http") => server::serve_http(),
        Some("typed") => typed::relay(&arguments[2]),
        _ => compare(&arguments[1..]),
    }
}

/// Measures what the arguments name, `stdio`, `http`, `queries` or `memory`, or everything; `flight` is a part of `stdio`.
fn compare(arguments: &[String]) {
    let folder = tempfile::tempdir().unwrap();
    let before = std::env::var("BENCH_BEFORE").ok();
    let programs = Programs { this: this(), tidegate: tidegate(), before, folder: folder.path().to_owned() };
    // Cargo adds options of its own.
    let named: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |part: &str| named.is_empty() || named.iter().any(|named| *named == part);
    if is_wanted("stdio") {
        let mut paths = paths::over_stdio(&programs);
        let times = SIZES.each_ref().map(|size| in_turns("stdio", size, &mut paths));
        let rates = in_flight("stdio", &mut paths);
        report::table("stdio", &paths, &times, &rates, paths::CAT);
        report::bars(&times, &rates);
    }
    if named.iter().any(|named| *named == "flight") {
        let mut paths = paths::over_stdio(&programs);
        let rates = in_flight("stdio", &mut paths);
        report::rates(&paths, &rates);
    }
    if is_wanted("http") {
        let mut paths = paths::over_http(&programs);
        let times = SIZES.each_ref().map(|size| in_turns("HTTP", size, &mut paths));
        let rates = in_flight("HTTP", &mut paths);
        report::table("HTTP", &paths, &times, &rates, paths::DIRECT);
    }
    if is_wanted("queries") {
        queries::table(&programs);
    }
    if is_wanted("memory") {
        memory::table(&programs);
    }
}

fn this() -> String {
    std::env::current_exe().unwrap().into_os_string().into_string().unwrap()
}

/// Builds tidegate and returns its path: this program is in the folder `deps` beside it.
fn tidegate() -> String {
    eprintln!("building tidegate");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built =
        Command::new(cargo).args(["build", "--release", "--quiet", "-p", "tidegate"]).status().unwrap();
    assert!(built.success(), "tidegate could not be built");
    let folder: PathBuf = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().into();
    folder.join("tidegate").into_os_string().into_string().unwrap()
}
