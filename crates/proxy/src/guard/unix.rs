//! The guard as a Unix process.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getppid, kill_process, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{GRACE, NOT_STARTED, exit_code};

enum GuardEvent {
    ServerExited(ExitStatus),
    ParentGone,
    /// A signal asks the guard to end.
    Signalled,
}

/// Runs the guard; `arguments` are the parent's process id and the command. Returns the exit code.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> u8 {
    let parent = arguments.next().and_then(|text| text.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let (Some(parent), Some(program)) = (parent, arguments.next()) else { return NOT_STARTED };
    adopt_orphans();
    let (sender, events) = channel();
    watch_signals(sender.clone());
    let child = match Command::new(&program).args(arguments).process_group(0).spawn() {
        Ok(child) => child,
        Err(error) => {
            // The guard's stderr is the server's, which tidegate forwards.
            let _ = writeln!(io::stderr(), "tidegate: cannot start {}: {error}", program.to_string_lossy());
            return NOT_STARTED;
        }
    };
    let Some(child) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return NOT_STARTED };
    // The server's input has to end when tidegate closes its side, so the guard must not hold it open.
    if let Ok(nothing) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&nothing);
        let _ = rustix::stdio::dup2_stdout(&nothing);
    }
    watch_parent(parent, sender.clone());
    reap(child, sender);
    let status = wait_for_exit(child, &events);
    end_all(child, Duration::from_millis(200));
    status.map_or(0, exit_code)
}

/// Waits until the server has exited, or ends it when the guard has to end.
fn wait_for_exit(child: Pid, events: &Receiver<GuardEvent>) -> Option<ExitStatus> {
    let grace = match events.recv().ok()? {
        GuardEvent::ServerExited(status) => return Some(status),
        // The server has already seen the end of its input, and its output is no longer read. A signalled guard gives no
        // time, because the sender of the signal has already waited for the server.
        GuardEvent::ParentGone => GRACE / 2,
        GuardEvent::Signalled => Duration::ZERO,
    };
    let until = Instant::now() + grace;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        match events.recv_timeout(left) {
            Ok(GuardEvent::ServerExited(status)) => return Some(status),
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    end_all(child, GRACE);
    None
}

#[cfg(target_os = "linux")]
fn adopt_orphans() {
    // If this fails, orphans of the server are found by their process group alone.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() {}

fn watch_signals(sender: Sender<GuardEvent>) {
    if let Ok(mut signals) = Signals::new([SIGTERM, SIGINT, SIGHUP]) {
        thread::spawn(move || {
            for _ in signals.forever() {
                let _ = sender.send(GuardEvent::Signalled);
            }
        });
    }
}

fn watch_parent(parent: Pid, sender: Sender<GuardEvent>) {
    thread::spawn(move || {
        wait_for(parent);
        while getppid() == Some(parent) {
            thread::sleep(Duration::from_millis(100));
        }
        let _ = sender.send(GuardEvent::ParentGone);
    });
}

/// Sleeps until a process is gone, if the system can report that.
#[cfg(target_os = "linux")]
fn wait_for(process: Pid) {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{PidfdFlags, pidfd_open};
    if getppid() == Some(process)
        && let Ok(handle) = pidfd_open(process, PidfdFlags::empty())
    {
        let mut handles = [PollFd::new(&handle, PollFlags::IN)];
        while poll(&mut handles, None) == Err(rustix::io::Errno::INTR) {}
    }
}

#[cfg(not(target_os = "linux"))]
fn wait_for(_: Pid) {}

/// Reaps every process below the guard; adopted ones would stay as zombies otherwise.
fn reap(child: Pid, sender: Sender<GuardEvent>) {
    thread::spawn(move || {
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == child => {
                    let _ = sender.send(GuardEvent::ServerExited(ExitStatus::from_raw(status.as_raw())));
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                // No process is left below the guard.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    });
}

/// Ends every process below the guard: SIGTERM, and SIGKILL for those that are left after a while.
fn end_all(child: Pid, grace: Duration) {
    if is_alone(child) {
        return;
    }
    signal_all(child, Signal::TERM);
    let until = Instant::now() + grace;
    while Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
        if is_alone(child) {
            return;
        }
    }
    // Processes that were started meanwhile are found in the next round.
    for _ in 0..50 {
        signal_all(child, Signal::KILL);
        thread::sleep(Duration::from_millis(10));
        if is_alone(child) {
            return;
        }
    }
}

fn signal_all(child: Pid, signal: Signal) {
    // Errors mean that the process is gone already.
    let _ = kill_process_group(child, signal);
    for process in descendants(child) {
        let _ = kill_process(process, signal);
    }
}

/// Returns whether no process is below the guard. Because the guard adopts orphans, a process below it is below one of its
/// children. Listing all processes of the machine repeatedly would be slow when many servers end at once.
#[cfg(target_os = "linux")]
fn is_alone(_: Pid) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, look), Err(rustix::io::Errno::CHILD))
}

#[cfg(not(target_os = "linux"))]
fn is_alone(child: Pid) -> bool {
    descendants(child).is_empty()
}

/// Returns the processes below the guard, as the kernel lists them.
#[cfg(target_os = "linux")]
fn descendants(_: Pid) -> Vec<Pid> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name of the program is in parentheses and may contain anything.
        let mut rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
        let (state, parent) = (rest.next(), rest.next().and_then(|text| text.parse::<i32>().ok()));
        if let Some(parent) = parent.filter(|_| state != Some("Z")) {
            parents.push((pid, parent));
        }
    }
    let mut found = vec![rustix::process::getpid().as_raw_nonzero().get()];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

#[cfg(not(target_os = "linux"))]
fn descendants(child: Pid) -> Vec<Pid> {
    match rustix::process::test_kill_process_group(child) {
        Ok(()) => vec![child],
        Err(_) => Vec::new(),
    }
}
