//! The upstream of the soak as a program.

use std::process::ExitCode;

fn main() -> ExitCode {
    tidegate_testkit::flaky::run()
}
