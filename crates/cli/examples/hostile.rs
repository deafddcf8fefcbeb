//! The hostile upstream of the tests as a program: `hostile MODE`.

use std::process::ExitCode;

use tidegate_testkit::hostile::{Mode, run};

fn main() -> ExitCode {
    let mode = std::env::args().nth(1).and_then(|name| Mode::parse(&name));
    mode.map_or(ExitCode::from(2), run)
}
