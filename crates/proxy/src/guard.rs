//! The guard: a process between tidegate and a server that lets no process of the server outlive tidegate.
//!
//! A server is often a launcher that starts the real one, and some start browsers in process groups of their own. If
//! tidegate is killed, nobody else would end them. So a server runs under a guard, which is tidegate's own program. It adopts
//! the orphans of the server (on Linux), watches its parent, and ends everything below it: at once when the server has
//! exited, otherwise by the end of input, two seconds, SIGTERM, two seconds, SIGKILL. The server inherits the streams of the
//! guard, so its messages take no detour.

#[cfg(unix)]
mod unix;

use std::process::ExitStatus;
use std::time::Duration;

use crate::system;

#[cfg(unix)]
pub use unix::main;

/// The hidden subcommand under which the guard is started.
pub const SUBCOMMAND: &str = "__guard";
/// How long a server may take to end after each request to do so.
pub const GRACE: Duration = Duration::from_secs(2);
/// The exit code for a command that could not be started.
pub const NOT_STARTED: u8 = 127;

/// Windows needs no guard: a server is in a job (`system/windows.rs`).
#[cfg(not(unix))]
pub fn main(_: impl Iterator<Item = std::ffi::OsString>) -> u8 {
    NOT_STARTED
}

/// Returns the exit code of a process as a shell reports it.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| system::exit_signal(status).map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}

/// Says how a process ended, by its exit code: `ended with exit code 1`.
pub(crate) fn exit_text(code: u8) -> String {
    match code {
        129..=192 => format!("was killed by signal {}", code - 128),
        _ => format!("ended with exit code {code}"),
    }
}
