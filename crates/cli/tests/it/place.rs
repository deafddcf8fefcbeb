//! A folder for a test, the data folder in it, and what is left of the processes that were started there.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use tidegate_testkit::hostile::Mode;

use crate::session::{Session, handle};
use crate::tidegate_in;

/// A folder for a test, with a data folder in it.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn start(&self, flags: &[&str]) -> Session {
        Session::start(&self.home(), flags).greeted("somebody")
    }

    pub(crate) fn configure(&self, text: &str) {
        std::fs::write(self.folder.path().join("tidegate.toml"), text).unwrap();
    }

    /// What is in the command line of every process that is started here.
    pub(crate) fn mark(&self) -> String {
        self.folder.path().to_str().unwrap().to_owned()
    }

    /// Starts `tidegate run` in front of the hostile server, and greets it.
    pub(crate) fn hostile(&self, mode: Mode, flags: &[&str]) -> Session {
        self.hostile_in(&self.home(), mode, flags)
    }

    pub(crate) fn hostile_in(&self, home: &Path, mode: Mode, flags: &[&str]) -> Session {
        let program = hostile_program();
        let server = [program.to_str().unwrap(), mode.name(), &self.mark()];
        Session::command(home, flags, &[], &server).greeted("somebody")
    }

    /// Ends a session; nothing that was started for it is left. Returns the exit code and what was said on stderr.
    pub(crate) fn end(&self, session: Session) -> (i32, String) {
        let ended = session.end();
        self.assert_empty();
        ended
    }

    /// No process that was started here is left, or at least none is within a moment.
    pub(crate) fn assert_empty(&self) {
        let started = Instant::now();
        while processes(&self.mark()) > 0 {
            assert!(
                started.elapsed() < Duration::from_secs(6),
                "{} processes are left",
                processes(&self.mark())
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The bytes of a kept result.
    pub(crate) fn export(&self, name: &str) -> Vec<u8> {
        let exported = tidegate_in(Some(&self.home()), &["export", name], b"");
        assert_eq!(exported.code, 0, "{}", exported.stderr);
        exported.stdout
    }

    /// The complete text of an answer, whether it was kept or crossed.
    pub(crate) fn complete(&self, text: String) -> String {
        if !text.contains("Complete result: \"") {
            return text;
        }
        let result: Value = serde_json::from_slice(&self.export(&handle(&text))).unwrap();
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

/// The hostile server, which is built with the tests as an example of this package.
pub(crate) fn hostile_program() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_tidegate")).with_file_name("examples").join("hostile");
    assert!(
        program.is_file(),
        "{} is not there; it is built by `cargo test -p tidegate` without --test, or by `cargo build -p tidegate --examples`",
        program.display()
    );
    program
}

/// How many processes have a mark in their command line.
pub(crate) fn processes(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(mark)
        })
        .count()
}
