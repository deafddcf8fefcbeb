//! The system side of Unix: a guard process, signals and `poll`.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{self, ChildStdin, Command, ExitStatus};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::signal::unix::{SignalKind, signal};

use crate::guard;

/// How long the writer of a pipe waits for room before it looks whether it still has something to write.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Returns the command that starts a server under its guard, in a process group of its own.
pub(crate) fn server_command(program: &Path, command: &[OsString]) -> Command {
    let mut start = Command::new(program);
    start.arg(guard::SUBCOMMAND).arg(process::id().to_string()).args(command).process_group(0);
    start
}

/// Returns the same command for tokio.
pub(crate) fn async_command(program: &Path, command: &[OsString]) -> tokio::process::Command {
    server_command(program, command).into()
}

/// A server with everything that it started: its guard ends all of it.
#[derive(Debug)]
pub(crate) struct ProcessTree(Option<Pid>);

impl ProcessTree {
    /// Takes a server that [`server_command`] started.
    pub(crate) fn of(child: &process::Child) -> Self {
        Self::of_id(Some(child.id()))
    }

    /// Takes a server that [`async_command`] started.
    pub(crate) fn of_async(child: &tokio::process::Child) -> Self {
        Self::of_id(child.id())
    }

    fn of_id(id: Option<u32>) -> Self {
        Self(id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    /// Ends all of it: the guard asks first, and kills what is left.
    pub(crate) fn end(&self) {
        if let Some(guard) = self.0 {
            // A guard that is gone has ended everything.
            let _ = kill_process(guard, Signal::TERM);
        }
    }
}

/// Returns the signal that ended a process.
pub(crate) fn exit_signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Returns whether a file may be run.
pub(crate) fn is_executable(file: &Metadata) -> bool {
    file.permissions().mode() & 0o111 != 0
}

/// Calls back for every signal that tells this process to end.
pub(crate) fn on_end_signal(mut told: impl FnMut() + Send + 'static) {
    // If they cannot be caught, they end the process at once, and the guard ends the server.
    if let Ok(mut signals) = Signals::new([SIGTERM, SIGINT]) {
        thread::spawn(move || signals.forever().for_each(|_| told()));
    }
}

/// Waits for SIGTERM or SIGINT.
pub(crate) async fn end_signal() {
    let (Ok(mut term), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Returns how many files this process may have open, if there is a limit.
pub(crate) fn max_open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Lowers the priority of the calling thread.
pub(crate) fn lower_thread_priority() {
    // On Linux this concerns the calling thread alone. If it is refused, the thread competes like any other.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 19);
}

/// Reads from a position of a file.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

/// Returns standard input without the lock and the buffer of the standard library.
pub(crate) fn duplicate_stdin() -> io::Result<File> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// Returns standard output without the lock and the buffer of the standard library.
pub(crate) fn duplicate_stdout() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// Returns whether the other end of a stream is still open for reading.
pub(crate) fn has_reader(output: &File) -> bool {
    let mut handles = [PollFd::new(output, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut handles, Some(&now)).is_err()
        || !handles[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// The input of a server, which is written without waiting.
#[derive(Debug)]
pub(crate) struct ServerPipe(ChildStdin);

impl ServerPipe {
    /// Takes over the pipe.
    pub(crate) fn new(pipe: ChildStdin) -> Self {
        // The flag belongs to this end of the pipe, which nobody shares. If it cannot be set, a full pipe blocks.
        let _ = rustix::io::ioctl_fionbio(pipe.as_fd(), true);
        Self(pipe)
    }

    /// Writes as much as the pipe takes; returns how much.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < bytes.len() {
            match rustix::io::write(&self.0, &bytes[written..]) {
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(written)
    }

    /// Returns a handle that waits for room. While it exists, the input does not end.
    pub(crate) fn room(&self) -> Option<PipeRoom> {
        self.0.as_fd().try_clone_to_owned().ok().map(PipeRoom)
    }
}

/// Waits until a pipe takes more.
#[derive(Debug)]
pub(crate) struct PipeRoom(OwnedFd);

impl PipeRoom {
    /// Waits for a while.
    pub(crate) fn wait(&self) {
        let mut handles = [PollFd::new(&self.0, PollFlags::OUT)];
        if poll(&mut handles, Some(&POLL_INTERVAL)).is_err() {
            thread::sleep(Duration::from_millis(10));
        }
    }
}
