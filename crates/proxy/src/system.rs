//! What the proxy needs of the operating system: starting and ending a server with everything that it started, signals, and
//! pipes that do not block.
//!
//! Everything that differs between systems is here, so that a port is one file. Both files have the same items. The one for
//! Windows is compiled by `./check long ports` and has never run.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{
    ProcessTree, ServerPipe, async_command, duplicate_stdin, duplicate_stdout, end_signal, exit_signal,
    has_reader, is_executable, lower_thread_priority, max_open_files, on_end_signal, read_at, server_command,
};
#[cfg(windows)]
pub(crate) use windows::{
    ProcessTree, ServerPipe, async_command, duplicate_stdin, duplicate_stdout, end_signal, exit_signal,
    has_reader, is_executable, lower_thread_priority, max_open_files, on_end_signal, read_at, server_command,
};
