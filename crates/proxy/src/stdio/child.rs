//! The process of the server, under its guard.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{self, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::thread;

use super::StartError;
use crate::guard;
use crate::system::{ProcessTree, is_executable, server_command};

/// The process of the server.
pub(super) struct Child {
    /// The name of the program, for messages.
    pub(super) name: String,
    guard: Option<process::Child>,
    tree: ProcessTree,
}

/// The streams of the server.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Child {
    /// Starts a command.
    pub(super) fn start(program: &Path, command: &[OsString]) -> Result<(Self, Pipes), StartError> {
        let name = command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Err(why) = check_program(command.first()) {
            return Err(StartError::NotThere { name, why });
        }
        let refused = |error| StartError::Refused(name.clone(), error);
        let mut guard = server_command(program, command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(refused)?;
        let tree = ProcessTree::of(&guard);
        let (stdin, stdout, stderr) = (guard.stdin.take(), guard.stdout.take(), guard.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(StartError::Refused(name, io::Error::other("its streams are missing")));
        };
        Ok((Self { name, guard: Some(guard), tree }, Pipes { stdin, stdout, stderr }))
    }

    /// Calls back with the exit code once the server has ended.
    pub(super) fn watch(&mut self, ended: impl FnOnce(u8) + Send + 'static) {
        let Some(mut guard) = self.guard.take() else { return };
        thread::spawn(move || ended(guard.wait().map_or(1, guard::exit_code)));
    }

    /// Ends the server and everything it started.
    pub(super) fn end(&self) {
        self.tree.end();
    }
}

/// Checks that a program can be found, so that the error names the mistake.
fn check_program(program: Option<&OsString>) -> Result<(), &'static str> {
    let Some(program) = program else { return Err("no command is given") };
    let path = Path::new(program);
    if path.components().count() > 1 {
        return match path.metadata() {
            Ok(meta) if meta.is_dir() => Err("it is a folder"),
            Ok(meta) if !is_executable(&meta) => Err("it is not executable; run chmod +x on it"),
            Ok(_) => Ok(()),
            Err(_) if program.to_string_lossy().contains(' ') => Err(QUOTED),
            Err(_) => Err("there is no such file"),
        };
    }
    let runs = |path: &Path| path.metadata().is_ok_and(|meta| meta.is_file() && is_executable(&meta));
    let folders = std::env::var_os("PATH").unwrap_or_default();
    // On Windows, the name may lack the ending of the program.
    let named = |folder: &Path| {
        ["", std::env::consts::EXE_SUFFIX, ".cmd", ".bat"].iter().any(|ending| {
            let mut name = program.clone();
            name.push(ending);
            (ending.is_empty() || cfg!(windows)) && runs(&folder.join(name))
        })
    };
    match std::env::split_paths(&folders).any(|folder| named(&folder)) {
        true => Ok(()),
        false if program.to_string_lossy().contains(' ') => Err(QUOTED),
        false => Err("there is no such program on the PATH"),
    }
}

const QUOTED: &str = "it looks like a whole command in one argument; remove the quotes around it";
