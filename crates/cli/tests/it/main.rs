//! The command line as a person meets it: output, messages and exit codes of the real binary.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod callers;
mod ceiling;
mod config;
mod contract;
mod demo;
mod doctor;
#[cfg(unix)]
mod examples;
#[cfg(target_os = "linux")]
mod faults;
mod files;
#[cfg(all(unix, feature = "gateway"))]
mod gateway;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_access;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_asked;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_credentials;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_failures;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_login;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_matrix;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_permission;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_places;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_reload;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_replicas;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_replicas_faults;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_seen;
#[cfg(all(unix, feature = "gateway"))]
mod gateway_tasks;
#[cfg(target_os = "linux")]
mod gateway_unused;
#[cfg(target_os = "linux")]
mod hostile;
mod http;
mod install;
mod kept;
mod large;
#[cfg(target_os = "linux")]
mod leaks;
mod monitor;
mod outcomes;
mod place;
mod references;
mod run;
mod save;
mod scan;
mod session;
mod shape;
mod soak;
mod stats;
mod store;
mod styles;
mod tiers;
mod whole;

use std::io::Write;
use std::process::{Command, Stdio};

/// What a run of the binary gave.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }
}

/// Runs `tidegate` with arguments and stdin through a pipe.
pub(crate) fn tidegate(arguments: &[&str], stdin: &[u8]) -> Outcome {
    tidegate_in(None, arguments, stdin)
}

/// Runs `tidegate` with a data folder of its own.
pub(crate) fn tidegate_in(home: Option<&std::path::Path>, arguments: &[&str], stdin: &[u8]) -> Outcome {
    let nowhere = std::path::Path::new("/nonexistent/tidegate");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(arguments)
        .env("COLUMNS", "100")
        .env("TIDEGATE_HOME", home.unwrap_or(nowhere))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = stdin.to_vec();
    let writer = std::thread::spawn(move || pipe.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // A command that refuses its arguments does not read stdin.
    let _ = writer.join().unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
