//! Output: the only file that prints. Data goes to stdout, everything else to stderr.

mod table;

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate_config::Heading;
use tidegate_core::{Tokens, visible};
use tidegate_store::{Clock, SystemClock};

use crate::error::CommandError;
pub(crate) use table::table;

/// What messages on stderr begin with.
const NAME: &str = "tidegate: ";

/// Prints data to stdout.
pub(crate) fn data(bytes: &[u8]) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        // The reader of a pipe may stop early, as head does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(CommandError::failed(format!("cannot write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Prints a JSON value to stdout.
pub(crate) fn json(value: &serde_json::Value) -> Result<(), CommandError> {
    data(format!("{value:#}\n").as_bytes())
}

/// Formats rows as CSV.
pub(crate) fn csv(rows: &[Vec<String>]) -> String {
    let cell = |cell: &String| match cell.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// Formats a number with thousands separators.
pub(crate) fn grouped(number: u64) -> String {
    Tokens(number).to_string()
}

/// Formats a count with its noun: `1 file`, `2 files`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Formats a size with the largest suitable unit; 1 KB is 1,024 bytes.
pub(crate) fn bytes(count: u64) -> String {
    let units = [("GB", 1_u64 << 30), ("MB", 1 << 20), ("KB", 1 << 10)];
    match units.into_iter().find(|(_, size)| count >= *size) {
        None if count == 1 => "1 byte".into(),
        None => format!("{count} bytes"),
        Some((unit, size)) => {
            let number = format!("{:.1}", count as f64 / size as f64);
            format!("{} {unit}", number.strip_suffix(".0").unwrap_or(&number))
        }
    }
}

/// Escapes characters of a foreign name that a terminal would obey; an empty name becomes `-`.
pub(crate) fn printable(name: &str) -> String {
    if name.is_empty() { "-".into() } else { visible::line(name) }
}

/// Quotes a word for a shell, if needed.
pub(crate) fn quoted(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref().to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Returns the heading of a tool's section in `tidegate.toml`, with its brackets.
pub(crate) fn tool_section(server: &str, tool: &str) -> String {
    format!("[{}]", Heading::Tools { server: server.to_owned(), pattern: tool.to_owned() })
}

/// A progress bar on one line of stderr.
pub(crate) struct Progress {
    is_shown: bool,
}

impl Progress {
    /// Returns a bar that is shown only if stderr is a terminal.
    pub(crate) fn new() -> Self {
        Self { is_shown: io::stderr().is_terminal() }
    }

    /// Shows how many steps are done, and the current one.
    pub(crate) fn step(&self, done: usize, total: usize, step: &str) {
        if self.is_shown {
            let line = progress_line(done, total, step);
            let _ = write!(io::stderr(), "\r\x1b[K{line}");
        }
    }
}

impl Progress {
    /// Shows how many bytes are done.
    pub(crate) fn bytes(&self, done: u64, total: u64, step: &str) {
        // Few enough steps for a bar that counts in kilobytes.
        let kilobytes = |bytes: u64| usize::try_from(bytes.div_ceil(1024)).unwrap_or(usize::MAX);
        self.step(kilobytes(done), kilobytes(total), &format!("KB {step}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Formats the bar, short enough for a narrow terminal.
fn progress_line(done: usize, total: usize, step: &str) -> String {
    const CELLS: usize = 20;
    let filled = (done * CELLS).checked_div(total).unwrap_or(0).min(CELLS);
    let step: String = step.chars().take(40).collect();
    format!("[{}{}] {done}/{total} {step}", "=".repeat(filled), " ".repeat(CELLS - filled))
}

/// Whether lines on stderr are JSON objects, as for a program that collects logs. Whoever sets it serves until the process ends.
static LOGS_JSON: AtomicBool = AtomicBool::new(false);

/// Sets whether lines on stderr are JSON objects.
#[cfg(feature = "gateway")]
pub(crate) fn log_json(is_json: bool) {
    LOGS_JSON.store(is_json, Ordering::Relaxed);
}

/// Prints a line to stderr.
pub(crate) fn note(line: &str) {
    log("info", line, None);
}

/// Prints a line about something that is wrong to stderr.
pub(crate) fn warn(line: &str) {
    log("warn", line, None);
}

/// Prints a line of the log to stderr; as text it is the line alone.
pub(crate) fn log(level: &str, line: &str, upstream: Option<&str>) {
    let written = match LOGS_JSON.load(Ordering::Relaxed) {
        true => json_line(&SystemClock.now().to_string(), level, line, upstream),
        false => line.to_owned(),
    };
    // If stderr is closed, there is nowhere to report it.
    let _ = writeln!(io::stderr(), "{written}");
}

fn json_line(time: &str, level: &str, line: &str, upstream: Option<&str>) -> String {
    let [time, level, message] =
        [time, level, line.strip_prefix(NAME).unwrap_or(line).trim()].map(serde_json::Value::from);
    let upstream = upstream.map(|name| format!(",\"upstream\":{}", serde_json::Value::from(name)));
    let upstream = upstream.unwrap_or_default();
    format!("{{\"time\":{time},\"level\":{level},\"message\":{message}{upstream}}}")
}

/// Returns whether to use colour on stdout: it is a capable terminal, and `NO_COLOR` is not set.
pub(crate) fn is_coloured() -> bool {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdout().is_terminal() && !is_unwanted && !is_dumb
}

/// Returns whether the user can be asked.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the user on stderr; anything but yes is no.
pub(crate) fn ask(question: &str) -> bool {
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Asks for a secret on stderr, and does not show what is typed.
#[cfg(all(unix, feature = "gateway"))]
pub(crate) fn ask_secret(question: &str) -> io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    let stdin = io::stdin();
    let shown = tcgetattr(&stdin)?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    write!(io::stderr(), "{question}")?;
    tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    let mut line = String::new();
    let read = stdin.read_line(&mut line);
    tcsetattr(&stdin, OptionalActions::Now, &shown)?;
    // The end of the line was not shown either.
    writeln!(io::stderr())?;
    read.map(|_| line)
}

/// Other systems show what is typed.
#[cfg(all(not(unix), feature = "gateway"))]
pub(crate) fn ask_secret(_: &str) -> io::Result<String> {
    Err(io::Error::other("what is typed here would be shown; pipe it in, as in: type token | tidegate ..."))
}

/// Prints an error and returns its exit code.
pub(crate) fn fail(error: &CommandError) -> ExitCode {
    log("error", &format!("{NAME}{error}"), None);
    ExitCode::from(error.kind.exit_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_quoting() {
        assert_eq!(quoted("/a/b-1.db"), "/a/b-1.db");
        assert_eq!(quoted("/it's here"), r"'/it'\''s here'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn lines_of_a_log_are_objects() {
        let line = |text, upstream| json_line("2026-11-19T06:00:00Z", "warn", text, upstream);
        assert_eq!(
            line("tidegate: it says \"no\"\nand more", Some("one")),
            r#"{"time":"2026-11-19T06:00:00Z","level":"warn","message":"it says \"no\"\nand more","upstream":"one"}"#
        );
        assert_eq!(
            line("plain", None),
            r#"{"time":"2026-11-19T06:00:00Z","level":"warn","message":"plain"}"#
        );
    }

    #[test]
    fn sizes() {
        let sizes = [0, 1, 1023, 1024, 3 << 10, 10_239, 10 << 20, (4 << 30) - 1, 4 << 30];
        let words = ["0 bytes", "1 byte", "1023 bytes", "1 KB", "3 KB", "10 KB", "10 MB", "4 GB", "4 GB"];
        assert_eq!(sizes.map(bytes), words);
    }

    #[test]
    fn csv_quoting() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let text = csv(&[row(["a", "b,c", ""]), row(["say \"x\"", "two\nlines", "1"])]);
        assert_eq!(text, "a,\"b,c\",\n\"say \"\"x\"\"\",\"two\nlines\",1\n");
    }

    #[test]
    fn progress() {
        assert_eq!(progress_line(0, 4, "start"), format!("[{}] 0/4 start", " ".repeat(20)));
        assert_eq!(
            progress_line(1, 4, "a tool"),
            format!("[{}{}] 1/4 a tool", "=".repeat(5), " ".repeat(15))
        );
        assert_eq!(
            progress_line(4, 4, &"x".repeat(99)),
            format!("[{}] 4/4 {}", "=".repeat(20), "x".repeat(40))
        );
        assert_eq!(progress_line(0, 0, "list").len(), 22 + " 0/0 list".len());
    }
}
