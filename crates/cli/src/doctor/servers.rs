//! Wrapped servers: each is started as its client does, greeted, and asked for its tools.
//!
//! Only what decides where results are kept is set otherwise: in memory, so that nothing is left of it.

mod tools;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tidegate_clients::install::Found;
use tidegate_clients::{Launch, LaunchError, Surroundings, launch};

use super::check::Check;
use super::clients::{chosen, named, subject};
use super::configuration::Configuration;
use super::said::Said;
use crate::client::Client;
use crate::error::{CommandError, Kind};
use crate::install::Names;
use crate::ui::Progress;

/// Servers that are started at the same time.
const AT_ONCE: usize = 4;

/// Whether and how servers are started.
pub(super) enum Start {
    /// Not, for this reason.
    No(&'static str),
    /// With so much time for each answer.
    Within(Duration),
}

/// A wrapped server.
pub(super) struct Server<'f> {
    found: &'f Found,
    subject: String,
    file: String,
    /// Whether somebody here has said that it may be run.
    is_known: bool,
}

impl<'f> Server<'f> {
    pub(super) fn new(found: &'f Found, names: &Names, is_known: bool) -> Self {
        Self { found, subject: subject(found, names), file: names.short(&found.file), is_known }
    }

    /// Looks at the server; `Err` where it cannot be started, or not from here.
    fn checks(&self, configuration: &Configuration, start: &Start, names: &Names) -> Vec<Check> {
        let checks = match self.prepare(names) {
            Err(check) => vec![*check],
            Ok(_) if !self.is_known => vec![self.unknown()],
            Ok(launch) => match start {
                Start::No(why) => vec![Check::note(&self.subject, format!("is wrapped; not started: {why}"))],
                Start::Within(patience) => match self.visit(&launch, *patience) {
                    Ok(tools) => tools::checks(&self.subject, self.found, &launch, &tools, configuration),
                    Err(check) => vec![*check],
                },
            },
        };
        checks.into_iter().map(|check| named(check, self.found)).collect()
    }

    /// Returns how it is started.
    fn prepare(&self, names: &Names) -> Result<Launch, Box<Check>> {
        let current = names.folders.projects.first().map_or(Path::new(""), PathBuf::as_path);
        let variable = |name: &str| std::env::var(name).ok();
        let surroundings = Surroundings { home: &names.folders.home, current, variable: &variable };
        let launch = launch(self.found, surroundings).map_err(|error| self.cannot(&error))?;
        if let Some(folder) = launch.folder.as_ref().filter(|folder| !folder.is_dir()) {
            let text = format!("is wrapped; not started: its folder {} is not there", names.short(folder));
            return Err(Box::new(Check::note(&self.subject, text)));
        }
        let program = launch.words.first().map_or("", String::as_str);
        if !is_there(program, &launch) {
            let text = format!("is wrapped by {program}, which is not there");
            let chosen = chosen(self.found);
            return Err(Box::new(Check::failure(&self.subject, text).fix(format!(
                "put it there again, or: tidegate uninstall {chosen} && tidegate install {chosen}"
            ))));
        }
        Ok(launch)
    }

    /// A server that nobody here has put there.
    fn unknown(&self) -> Check {
        let text =
            format!("is wrapped; not started: tidegate install did not write what {} says of it", self.file);
        Check::note(&self.subject, text).fix(format!(
            "see what it runs; if that is as it should be: tidegate doctor {}",
            chosen(self.found)
        ))
    }

    fn cannot(&self, error: &LaunchError) -> Box<Check> {
        let title = self.found.client.title;
        Box::new(match error {
            LaunchError::Unset(name) => {
                Check::warning(&self.subject, format!("is wrapped; not started: {error}"))
                    .fix(format!("set {name} where {title} is started, and here to have it looked at"))
            }
            LaunchError::Asked(_) => Check::note(&self.subject, format!("is wrapped; not started: {error}")),
            other => Check::failure(&self.subject, other.to_string()).fix(format!("see {}", self.file)),
        })
    }

    /// Starts it, and returns its tools.
    fn visit(&self, launch: &Launch, patience: Duration) -> Result<Vec<Value>, Box<Check>> {
        let cannot = |why: String| Box::new(Check::failure(&self.subject, format!("does not start: {why}")));
        let (said, writer) = Said::listen().map_err(|error| cannot(error.to_string()))?;
        let mut command = command(launch);
        command.stderr(writer);
        let began = Instant::now();
        let outcome = Client::start(command, self.found.client.greets_as, patience)
            .and_then(|mut client| client.tools(patience));
        outcome.map_err(|error| self.failed(&error, began.elapsed() >= patience, said))
    }

    fn failed(&self, error: &CommandError, late: bool, said: Said) -> Box<Check> {
        let lines = said.last();
        let fix = match (late, lines.is_empty()) {
            (true, true) => {
                "see whether it waits for a login, a download or a question; --timeout 2m waits longer".to_owned()
            }
            (true, false) => {
                "see what it says above: on stdio it must write nothing but messages; --timeout 2m waits longer".to_owned()
            }
            (false, false) => format!("put right what it says, in {} or where it is installed", self.file),
            // The server itself says why.
            (false, true) if error.kind == Kind::Failed => format!("put right what it says, in {}", self.file),
            (false, true) => format!("run its command, in {}, in a terminal to see what is wrong", self.file),
        };
        let text = if late { error.to_string() } else { format!("does not start: {error}") };
        Box::new(Check::failure(&self.subject, text).said(lines).fix(fix))
    }
}

/// Looks at every server, a few at a time; the checks come in the order of the servers.
pub(super) fn checks(
    servers: &[Server<'_>],
    configuration: &Configuration,
    start: &Start,
    names: &Names,
) -> Vec<Vec<Check>> {
    let progress = Progress::new();
    let next = AtomicUsize::new(0);
    let (sender, done) = channel();
    let mut all: Vec<Vec<Check>> = servers.iter().map(|_| Vec::new()).collect();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(servers.len()) {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                while let Some((index, server)) = take(next, servers) {
                    // Whoever receives is there as long as this runs.
                    let _ = sender.send((index, server.checks(configuration, start, names)));
                }
            });
        }
        drop(sender);
        progress.step(0, servers.len(), "servers looked at");
        for (number, (index, checks)) in done.into_iter().enumerate() {
            all[index] = checks;
            progress.step(number + 1, servers.len(), "servers looked at");
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

/// Tells whether a program can be found, as the client would find it.
fn is_there(program: &str, launch: &Launch) -> bool {
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
