//! Runs one jq program for the replay: a test cannot be its own worker.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(u8::from(!tidegate_query::worker::main()))
}
