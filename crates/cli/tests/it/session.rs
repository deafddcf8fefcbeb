//! A client that speaks raw lines to `tidegate run`, so that every byte on the wire can be looked at.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn upstream() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/upstream.py")
}

/// One run of the proxy.
pub(crate) struct Session {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    next_id: u64,
    /// Every line that was sent.
    pub(crate) sent: Vec<String>,
    /// Sent with every request; modern clients say who they are there.
    pub(crate) meta: Option<Value>,
}

impl Session {
    /// Starts `tidegate run` with flags in front of the scripted upstream.
    pub(crate) fn start(home: &Path, flags: &[&str]) -> Self {
        Self::start_with(home, flags, &[])
    }

    pub(crate) fn start_with(home: &Path, flags: &[&str], environment: &[(&str, &str)]) -> Self {
        let server = upstream();
        Self::command(home, flags, environment, &["python3", "-S", server.to_str().unwrap()])
    }

    /// Starts `tidegate run` with flags that name a server which is not a command.
    pub(crate) fn remote(home: &Path, flags: &[&str]) -> Self {
        Self::command(home, flags, &[], &[])
    }

    pub(crate) fn command(
        home: &Path,
        flags: &[&str],
        environment: &[(&str, &str)],
        server: &[&str],
    ) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.arg("run").args(flags).args((!server.is_empty()).then_some("--")).args(server);
        command.envs(environment.iter().copied());
        Self::of(command, home)
    }

    /// Starts one of the example servers, which have the gate inside.
    pub(crate) fn example(home: &Path, name: &str, arguments: &[&str]) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_tidegate")).with_file_name(name);
        assert!(program.is_file(), "{} is not there; it is built with --workspace", program.display());
        let mut command = Command::new(program);
        command.args(arguments);
        Self::of(command, home)
    }

    pub(crate) fn of(mut command: Command, home: &Path) -> Self {
        let mut child = command
            .env("TIDEGATE_HOME", home)
            .env("XDG_CONFIG_HOME", home)
            .current_dir(home.parent().unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, next_id: 1, sent: Vec::new(), meta: None }
    }

    /// Greets the server as a client of this name.
    pub(crate) fn greeted(mut self, client: &str) -> Self {
        self.request(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}),
        );
        self
    }

    pub(crate) fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
        self.sent.push(line.to_owned());
    }

    /// Returns the next line, without its end; `None` once there are no more.
    pub(crate) fn line(&mut self) -> Option<Vec<u8>> {
        self.line_within(PATIENCE)
    }

    pub(crate) fn line_within(&mut self, patience: Duration) -> Option<Vec<u8>> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Some(line.trim_ascii_end().to_vec()),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line came"),
        }
    }

    /// Returns the next message.
    pub(crate) fn message(&mut self) -> Value {
        let line = self.line().unwrap();
        serde_json::from_slice(&line).unwrap()
    }

    /// Whether nothing more has come, so far.
    pub(crate) fn is_silent(&mut self) -> bool {
        std::thread::sleep(Duration::from_millis(200));
        self.lines.try_recv().is_err()
    }

    /// Sends a request without waiting for its answer; returns its id.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    /// Sends a request and returns its answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let message = self.message();
        assert_eq!(message["id"], id, "{message}");
        message
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))["result"].take()
    }

    /// Calls a tool and returns the text of its first block.
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments)["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Calls `rows` and returns the name under which the result is kept.
    pub(crate) fn keep_rows(&mut self, count: u64) -> String {
        handle(&self.text("rows", json!({"n": count})))
    }

    /// The most memory that the proxy has taken so far, in MiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    /// Closes the client's side, and returns the exit code and what was said on stderr.
    pub(crate) fn end(mut self) -> (i32, String) {
        self.stdin = None;
        self.ended()
    }

    /// Waits for the proxy to end, and returns the exit code and what was said on stderr.
    pub(crate) fn ended(self) -> (i32, String) {
        let output = self.child.wait_with_output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The name of the result in an overview.
pub(crate) fn handle(text: &str) -> String {
    let (_, rest) = text.split_once("Complete result: \"").unwrap_or_else(|| panic!("no handle: {text}"));
    rest.split('"').next().unwrap().to_owned()
}
