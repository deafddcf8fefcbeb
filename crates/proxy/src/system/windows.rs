//! The system side of Windows: a job object instead of a guard, and a thread for each pipe.
//!
//! A job ends every process in it when its last handle is closed. tidegate holds the only handle of a server's job, so the
//! system ends the server however tidegate itself ends.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::windows::fs::FileExt;
use std::os::windows::io::{AsHandle, AsRawHandle, RawHandle};
use std::path::Path;
use std::process::{self, ChildStdin, Command, ExitStatus};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use win32job::{ExtendedLimitInfo, Job};

/// The maximum number of pieces of input that wait to be written to a pipe, and the size of each.
const MAX_WAITING_PIECES: usize = 16;
const PIECE_BYTES: usize = 64 * 1024;
const ROOM_INTERVAL: Duration = Duration::from_millis(5);

/// Returns the command that starts a server. It needs no guard.
pub(crate) fn server_command(_: &Path, command: &[OsString]) -> Command {
    let mut words = command.iter();
    let mut start = Command::new(words.next().map_or_else(Default::default, Clone::clone));
    start.args(words);
    start
}

/// Returns the same command for tokio.
pub(crate) fn async_command(program: &Path, command: &[OsString]) -> tokio::process::Command {
    server_command(program, command).into()
}

/// A server with everything that it started, in one job.
#[derive(Debug)]
pub(crate) struct ProcessTree(Mutex<Option<Job>>);

impl ProcessTree {
    /// Takes a server that [`server_command`] started.
    pub(crate) fn of(child: &process::Child) -> Self {
        Self::of_handle(Some(child.as_raw_handle()))
    }

    /// Takes a server that [`async_command`] started.
    pub(crate) fn of_async(child: &tokio::process::Child) -> Self {
        Self::of_handle(child.raw_handle())
    }

    fn of_handle(process: Option<RawHandle>) -> Self {
        let mut limits = ExtendedLimitInfo::new();
        limits.limit_kill_on_job_close();
        // If there is no job, the server ends when its input is closed.
        let job = Job::create_with_limit_info(&limits).ok();
        let job =
            job.filter(|job| process.is_some_and(|process| job.assign_process(process as isize).is_ok()));
        Self(Mutex::new(job))
    }

    /// Ends all processes of the job.
    pub(crate) fn end(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Windows has no signals that end a process.
pub(crate) fn exit_signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Whether a file may be run is decided by its name, when it is started.
pub(crate) fn is_executable(_: &Metadata) -> bool {
    true
}

/// Calls back on Ctrl-C. Without this handler, the system ends the process, and with it the job of the server.
pub(crate) fn on_end_signal(mut on_signal: impl FnMut() + Send + 'static) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Ok(runtime) = runtime {
        thread::spawn(move || {
            while runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                on_signal();
            }
        });
    }
}

/// Waits for Ctrl-C.
pub(crate) async fn end_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Windows has no limit that matters here.
pub(crate) fn max_open_files() -> Option<u64> {
    None
}

/// The priority of a thread cannot be lowered with safe code here.
pub(crate) fn lower_thread_priority() {}

/// Reads from a position of a file.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

/// Returns standard input without the lock and the buffer of the standard library.
pub(crate) fn duplicate_stdin() -> io::Result<File> {
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}

/// Returns standard output without the lock and the buffer of the standard library.
pub(crate) fn duplicate_stdout() -> io::Result<File> {
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

/// Always true: only the next write shows that the client is gone.
pub(crate) fn has_reader(_: &File) -> bool {
    true
}

/// The input of a server, which is written without waiting: a thread writes what was taken.
#[derive(Debug)]
pub(crate) struct ServerPipe(SyncSender<Vec<u8>>);

impl ServerPipe {
    /// Takes over the pipe.
    pub(crate) fn new(mut pipe: ChildStdin) -> Self {
        let (sender, pieces) = sync_channel::<Vec<u8>>(MAX_WAITING_PIECES);
        // The thread ends, and closes the pipe, when the server stops reading, or when the sender is gone and all is written.
        thread::spawn(move || pieces.into_iter().try_for_each(|piece| pipe.write_all(&piece)));
        Self(sender)
    }

    /// Takes as much as there is room for; returns how much.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        for piece in bytes.chunks(PIECE_BYTES) {
            match self.0.try_send(piece.to_vec()) {
                Ok(()) => written += piece.len(),
                Err(TrySendError::Full(_)) => break,
                Err(TrySendError::Disconnected(_)) => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
        Ok(written)
    }

    /// Returns a handle that waits for room.
    pub(crate) fn room(&self) -> Option<PipeRoom> {
        Some(PipeRoom)
    }
}

/// Waits until a pipe takes more.
#[derive(Debug)]
pub(crate) struct PipeRoom;

impl PipeRoom {
    /// Waits for a moment; if the queue is still full, the caller waits again.
    pub(crate) fn wait(&self) {
        thread::sleep(ROOM_INTERVAL);
    }
}
