//! The one file that prints.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::error::CommandError;

/// Prints data to stdout.
pub(crate) fn data(bytes: &[u8]) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        // A reader that has seen enough is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(CommandError::failed(format!("cannot write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Prints a line for a person to stderr.
pub(crate) fn note(line: &str) {
    // Nothing can be done about a stderr that is gone.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints a failure and returns its exit code.
pub(crate) fn fail(error: &CommandError) -> ExitCode {
    note(&format!("tidegate: {error}"));
    ExitCode::from(error.kind.exit_code())
}
