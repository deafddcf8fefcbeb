//! The one file that prints.

use std::io::{self, IsTerminal, Write};
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

/// Prints a JSON value to stdout.
pub(crate) fn json(value: &serde_json::Value) -> Result<(), CommandError> {
    data(format!("{value:#}\n").as_bytes())
}

/// Lays rows out in columns; those named are aligned to the right.
pub(crate) fn table<const N: usize>(rows: &[[String; N]], right: &[usize]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            if right.contains(&column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// Prints a line for a person to stderr.
pub(crate) fn note(line: &str) {
    // Nothing can be done about a stderr that is gone.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Tells whether there is a person to ask.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a person on stderr whether to go on; anything but yes is no.
pub(crate) fn ask(question: &str) -> bool {
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Prints a failure and returns its exit code.
pub(crate) fn fail(error: &CommandError) -> ExitCode {
    note(&format!("tidegate: {error}"));
    ExitCode::from(error.kind.exit_code())
}
