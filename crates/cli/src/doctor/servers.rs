//! Wrapped servers: starts each as its client does, initializes it, and lists its tools.
//!
//! The only difference is that results are kept in memory, so that nothing is left behind.

mod tools;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tidegate_clients::install::FoundServer;
use tidegate_clients::{Launch, LaunchContext, LaunchError, launch};

use super::check::Check;
use super::clients::{filter_flags, subject, with_server};
use super::configuration::Configuration;
use super::stderr_tail::StderrTail;
use crate::error::{CommandError, ErrorKind};
use crate::mcp_client::McpClient;
use crate::system::SystemPaths;
use crate::ui::Progress;

/// Servers started at the same time.
const MAX_CONCURRENT_SERVERS: usize = 4;

/// Whether to start servers.
pub(super) enum Start {
    /// Do not, for this reason.
    No(&'static str),
    /// Start them, with this timeout for each answer.
    WithTimeout(Duration),
}

/// A wrapped server.
pub(super) struct Server<'f> {
    found: &'f FoundServer,
    subject: String,
    file: String,
    /// Whether the user has agreed to run it.
    is_trusted: bool,
}

impl<'f> Server<'f> {
    pub(super) fn new(found: &'f FoundServer, paths: &SystemPaths, is_trusted: bool) -> Self {
        Self { found, subject: subject(found, paths), file: paths.short(&found.file), is_trusted }
    }

    /// Returns the checks of the server.
    fn checks(&self, configuration: &Configuration, start: &Start, paths: &SystemPaths) -> Vec<Check> {
        let checks = match self.prepare(paths) {
            Err(check) => vec![*check],
            Ok(_) if !self.is_trusted => vec![self.untrusted()],
            Ok(launch) => match start {
                Start::No(why) => vec![Check::note(&self.subject, format!("wrapped; not started: {why}"))],
                Start::WithTimeout(timeout) => match self.visit(&launch, *timeout) {
                    Ok(tools) => tools::checks(&self.subject, self.found, &launch, &tools, configuration),
                    Err(check) => vec![*check],
                },
            },
        };
        checks.into_iter().map(|check| with_server(check, self.found)).collect()
    }

    /// Returns how the client starts it, if that is possible here.
    fn prepare(&self, paths: &SystemPaths) -> Result<Launch, Box<Check>> {
        let current = paths.folders.projects.first().map_or(Path::new(""), PathBuf::as_path);
        let variable = |name: &str| std::env::var(name).ok();
        let surroundings = LaunchContext { home: &paths.folders.home, current, variable: &variable };
        let launch = launch(self.found, surroundings).map_err(|error| self.cannot(&error))?;
        if let Some(folder) = launch.folder.as_ref().filter(|folder| !folder.is_dir()) {
            let text = format!("wrapped; not started: its folder {} does not exist", paths.short(folder));
            return Err(Box::new(Check::note(&self.subject, text)));
        }
        let program = launch.words.first().map_or("", String::as_str);
        if !exists(program, &launch) {
            let text = match program.contains(['/', '\\']) {
                true => format!("wrapped, but {program} does not exist"),
                false => format!("wrapped, but `{program}` is not on the PATH"),
            };
            let flags = filter_flags(self.found);
            return Err(Box::new(
                Check::failure(&self.subject, text)
                    .fix(format!("restore it, or: tidegate uninstall {flags} && tidegate install {flags}")),
            ));
        }
        Ok(launch)
    }

    /// Returns the check of a server whose entry the user did not write.
    fn untrusted(&self) -> Check {
        let text = format!("wrapped; not started: tidegate install did not write its entry in {}", self.file);
        Check::note(&self.subject, text)
            .fix(format!("check its command; to start it: tidegate doctor {}", filter_flags(self.found)))
    }

    fn cannot(&self, error: &LaunchError) -> Box<Check> {
        let title = self.found.client.title;
        Box::new(match error {
            LaunchError::Unset(name) => {
                Check::warning(&self.subject, format!("wrapped; not started: {error}"))
                    .fix(format!("set {name} where {title} is started, and here to check the server"))
            }
            LaunchError::Asked(_) => Check::note(&self.subject, format!("wrapped; not started: {error}")),
            other => Check::failure(&self.subject, other.to_string()).fix(format!("see {}", self.file)),
        })
    }

    /// Starts it and returns its tools.
    fn visit(&self, launch: &Launch, timeout: Duration) -> Result<Vec<Value>, Box<Check>> {
        let cannot = |why: String| Box::new(Check::failure(&self.subject, format!("does not start: {why}")));
        let (stderr, writer) = StderrTail::open().map_err(|error| cannot(error.to_string()))?;
        let mut command = command(launch);
        command.stderr(writer);
        let started = Instant::now();
        let outcome = McpClient::start(command, self.found.client.client_info_name, timeout)
            .and_then(|mut client| client.tools(timeout));
        outcome.map_err(|error| self.failed(&error, started.elapsed() >= timeout, stderr))
    }

    fn failed(&self, error: &CommandError, has_timed_out: bool, stderr: StderrTail) -> Box<Check> {
        let lines = stderr.lines();
        let fix = match (has_timed_out, lines.is_empty()) {
            (true, true) => {
                "check whether it waits for a login, a download or an answer; --timeout 2m waits longer"
                    .to_owned()
            }
            (true, false) => {
                "see its output above: on stdout it must write only messages; --timeout 2m waits longer"
                    .to_owned()
            }
            (false, false) => format!("correct what it reports, in {} or where it is installed", self.file),
            (false, true) if error.kind == ErrorKind::Failed => {
                format!("correct what it reports, in {}", self.file)
            }
            (false, true) => format!("run its command from {} in a terminal to see why", self.file),
        };
        let text = if has_timed_out { error.to_string() } else { format!("does not start: {error}") };
        Box::new(Check::failure(&self.subject, text).quote(lines).fix(fix))
    }
}

/// Checks every server, a few at a time; returns the checks in the order of the servers.
pub(super) fn checks(
    servers: &[Server<'_>],
    configuration: &Configuration,
    start: &Start,
    paths: &SystemPaths,
) -> Vec<Vec<Check>> {
    let progress = Progress::new();
    let next = AtomicUsize::new(0);
    let (sender, done) = channel();
    let mut all: Vec<Vec<Check>> = servers.iter().map(|_| Vec::new()).collect();
    thread::scope(|scope| {
        for _ in 0..MAX_CONCURRENT_SERVERS.min(servers.len()) {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                while let Some((index, server)) = take(next, servers) {
                    // The receiver outlives this thread.
                    let _ = sender.send((index, server.checks(configuration, start, paths)));
                }
            });
        }
        drop(sender);
        progress.step(0, servers.len(), "servers checked");
        for (number, (index, checks)) in done.into_iter().enumerate() {
            all[index] = checks;
            progress.step(number + 1, servers.len(), "servers checked");
        }
    });
    all
}

fn take<'s, 'f>(next: &AtomicUsize, servers: &'s [Server<'f>]) -> Option<(usize, &'s Server<'f>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    servers.get(index).map(|server| (index, server))
}

fn command(launch: &Launch) -> Command {
    let program = launch.words.first().map_or("", String::as_str);
    let mut command = Command::new(program);
    command.args(launch.words.iter().skip(1));
    if let Some(passed) = &launch.passed {
        command.env_clear();
        command.envs(passed.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    }
    command.envs(launch.variables.iter().map(|(name, value)| (name, value)));
    command.env("TIDEGATE_EPHEMERAL", "1");
    if let Some(folder) = &launch.folder {
        command.current_dir(folder);
    }
    command
}

/// Returns whether the client can find a program.
fn exists(program: &str, launch: &Launch) -> bool {
    if program.contains(['/', '\\']) {
        return launch
            .folder
            .as_ref()
            .map_or_else(|| PathBuf::from(program), |folder| folder.join(program))
            .is_file();
    }
    let own = launch.variables.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.into());
    let folders: std::ffi::OsString = own.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&folders)
        .any(|folder| folder.join(&name).is_file() || folder.join(program).is_file())
}
