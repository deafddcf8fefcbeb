//! The paths that are compared: what is started for each, and how it is called.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::client::{Client, Lines, Posts};

/// The index of each path over stdio in its list; over HTTP only the first is the same.
pub(crate) const DIRECT: usize = 0;
pub(crate) const CAT: usize = 1;
pub(crate) const TYPED: usize = 2;
pub(crate) const RUN: usize = 4;

/// An overview is at most this long here, and a large result that is forwarded whole is longer.
const OVERVIEW: usize = 32 * 1024;

/// The programs that the paths start.
pub(crate) struct Programs {
    pub(crate) this: String,
    pub(crate) tidegate: String,
    /// Another tidegate to compare with, such as the one before a change.
    pub(crate) before: Option<String>,
    /// The folder for what tidegate stores.
    pub(crate) folder: PathBuf,
}

/// One way from the client to the server.
pub(crate) struct Path {
    pub(crate) name: &'static str,
    pub(crate) client: Box<dyn Client>,
    /// Whether results over the budget are stored and answered with an overview.
    shapes: bool,
    /// Dropped last: it usually ends by itself once its client is gone.
    running: Running,
}

impl Path {
    /// Makes one call and checks its answer.
    pub(crate) fn call(&mut self, bytes: usize) {
        self.client.send(bytes);
        let answer = self.client.receive();
        let shaped = self.shapes && bytes > OVERVIEW;
        let (least, most) = if shaped { (500, OVERVIEW) } else { (bytes, bytes * 2) };
        assert!((least..=most).contains(&answer.len()), "{}: {}", self.name, shown(answer));
        if shaped {
            assert!(memchr::memmem::find(answer, b"kept").is_some(), "{}: {}", self.name, shown(answer));
        }
    }

    /// The process that the client is connected to.
    pub(crate) fn process(&self) -> u32 {
        self.running.0.id()
    }
}

fn shown(answer: &[u8]) -> String {
    format!("{} bytes: {}", answer.len(), String::from_utf8_lossy(&answer[..answer.len().min(400)]))
}

/// A process that is ended with its path.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Errors mean that it has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Programs {
    /// Returns `tidegate run` with a data folder of its own and no other configuration.
    fn tidegate(&self, arguments: &[&str]) -> Command {
        self.program(&self.tidegate, arguments)
    }

    fn program(&self, tidegate: &str, arguments: &[&str]) -> Command {
        let folder = tempfile::tempdir_in(&self.folder).unwrap().keep();
        let mut command = Command::new(tidegate);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEGATE_"))
        {
            command.env_remove(name);
        }
        command.arg("run").args(arguments).current_dir(&folder);
        command.env("TIDEGATE_HOME", folder.join("data")).env("XDG_CONFIG_HOME", &folder);
        // Escaped quotes make 250 MB of text larger on the wire.
        command.env("TIDEGATE_MAX_RESULT_BYTES", (1_u64 << 30).to_string());
        command
    }

    fn this(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.this);
        command.args(arguments);
        command
    }

    /// Returns the command for `tidegate run` in front of the server, over stdio.
    pub(crate) fn run_command(&self) -> Command {
        self.tidegate(&["--", &self.this, "serve-stdio"])
    }

    /// Starts `tidegate run` in front of the server, over stdio.
    pub(crate) fn run(&self) -> Path {
        let command = self.run_command();
        lines("tidegate run: passes at 1 KB, above shaped and stored", true, command)
    }
}

/// Starts the paths over stdio.
pub(crate) fn over_stdio(programs: &Programs) -> Vec<Path> {
    let this = &programs.this;
    let mut cat = Command::new("sh");
    cat.args(["-c", &format!("cat | '{this}' serve-stdio | cat")]);
    let observe = programs.tidegate(&["--observe", "--", this, "serve-stdio"]);
    let mut paths = vec![
        lines("direct", false, programs.this(&["serve-stdio"])),
        lines("cat \\| server \\| cat", false, cat),
        lines("typed relay on rmcp 3.8", false, programs.this(&["typed", this])),
        lines("tidegate run --observe", false, observe),
        programs.run(),
    ];
    let before = programs.before.as_ref();
    let before = before.map(|before| programs.program(before, &["--", this, "serve-stdio"]));
    paths.extend(before.map(|before| lines("the other tidegate run", true, before)));
    paths
}

/// Starts the paths over HTTP.
pub(crate) fn over_http(programs: &Programs) -> Vec<Path> {
    let mut direct = start(programs.this(&["serve-http"]).stdout(Stdio::piped()));
    let port = port_in(direct.0.stdout.take().unwrap());
    let direct = Path { name: "direct", client: Box::new(Posts::to(port)), shapes: false, running: direct };
    let url = format!("http://127.0.0.1:{port}/mcp");
    let (server, listen) = (["--", &programs.this, "serve-stdio"], ["--http", "127.0.0.1:0"]);
    let front = |name, observe: &[&str], rest: &[&str]| {
        let mut command = programs.tidegate(&[observe, &listen, rest].concat());
        let mut running = start(command.stderr(Stdio::piped()));
        let port = port_in(running.0.stderr.take().unwrap());
        Path { name, client: Box::new(Posts::to(port)), shapes: observe.is_empty(), running }
    };
    vec![
        direct,
        front("HTTP to HTTP, --observe", &["--observe"], &["--url", &url]),
        front("HTTP to HTTP: passes at 1 KB, above shaped and stored", &[], &["--url", &url]),
        front("HTTP to stdio, --observe", &["--observe"], &server),
        front("HTTP to stdio: passes at 1 KB, above shaped and stored", &[], &server),
    ]
}

fn lines(name: &'static str, shapes: bool, mut command: Command) -> Path {
    let mut running = start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
    let (input, output) = (running.0.stdin.take().unwrap(), running.0.stdout.take().unwrap());
    Path { name, client: Box::new(Lines::greet(input, output)), shapes, running }
}

fn start(command: &mut Command) -> Running {
    Running(command.spawn().unwrap())
}

/// Reads the port from the first line that a server writes.
fn port_in(output: impl Read) -> u16 {
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    line.trim().trim_end_matches("/mcp").rsplit(':').next().unwrap().parse().unwrap()
}
