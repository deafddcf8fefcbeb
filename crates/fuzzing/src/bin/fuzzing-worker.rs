//! Runs one jq program for the replay; a test binary cannot run as the worker itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(u8::from(!tidegate_query::worker::main()))
}
