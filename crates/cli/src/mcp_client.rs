//! A small MCP client over stdio, for our own commands: starts a server, initializes it, lists and calls its tools.
//!
//! A thread reads the server's lines, so that a request can time out. Notifications are ignored; a ping from the server is
//! answered, every other request gets an error.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate_gate::raw;

use crate::error::CommandError;

/// The maximum number of lines that wait to be read.
const MAX_WAITING_LINES: usize = 64;
/// The maximum number of lines kept of the server's stderr, and of bytes in each.
const MAX_STDERR_LINES: usize = 10;
const MAX_STDERR_LINE_BYTES: u64 = 4096;
/// How long a server may take to exit.
const EXIT_GRACE: Duration = Duration::from_secs(2);
/// The maximum number of pages read of a list; the list of a broken server may never end.
const MAX_LIST_PAGES: usize = 200;

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// The server answered with an error; its message.
    Refused(String),
    /// No answer came in time.
    TimedOut,
    /// The server exited; its last lines on stderr.
    Exited(String),
}

/// A client of one server.
pub(crate) struct McpClient {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    /// The last lines of stderr, if it is piped.
    stderr: Option<JoinHandle<VecDeque<String>>>,
    next_id: u64,
}

impl McpClient {
    /// Starts a server and initializes it as a client with this name. The command decides where stderr goes.
    pub(crate) fn start(mut command: Command, name: &str, timeout: Duration) -> Result<Self, CommandError> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(CommandError::out_of_reach)?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| CommandError::failed("the server has no output"))?;
        let (sender, lines) = sync_channel(MAX_WAITING_LINES);
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let stderr = child.stderr.take().map(|stderr| thread::spawn(move || last_lines(stderr)));
        let mut client = Self { child, stdin, lines, stderr, next_id: 0 };
        let info = json!({ "name": name, "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        match client.request("initialize", &params, timeout) {
            Ok(_) => {}
            Err(RequestError::Refused(message)) => {
                let stderr = client.stop();
                return Err(CommandError::out_of_reach(format!("{message}{stderr}")));
            }
            Err(error) => return Err(error.during("initialize")),
        }
        client
            .send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .map_err(|error| error.during("initialize"))?;
        Ok(client)
    }

    /// Returns the tools of the server.
    pub(crate) fn tools(&mut self, timeout: Duration) -> Result<Vec<Value>, CommandError> {
        let mut tools = Vec::new();
        let mut params = json!({});
        for _ in 0..MAX_LIST_PAGES {
            let page =
                self.request("tools/list", &params, timeout).map_err(|error| error.during("tools/list"))?;
            let mut page: Value = serde_json::from_slice(&page).map_err(CommandError::failed)?;
            if let Value::Array(listed) = page["tools"].take() {
                tools.extend(listed);
            }
            match page["nextCursor"].take() {
                Value::Null => break,
                cursor => params = json!({ "cursor": cursor }),
            }
        }
        Ok(tools)
    }

    /// Calls a tool and returns the bytes of its result.
    pub(crate) fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        timeout: Duration,
    ) -> Result<Vec<u8>, RequestError> {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }), timeout)
    }

    fn request(&mut self, method: &str, params: &Value, timeout: Duration) -> Result<Vec<u8>, RequestError> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let deadline = Instant::now() + timeout;
        loop {
            let line = match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let params = json!({ "requestId": id, "reason": "timeout" });
                    // A server that has exited needs no cancellation.
                    let _ = self.send(
                        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
                    );
                    return Err(RequestError::TimedOut);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(RequestError::Exited(self.stop())),
            };
            let Some(whole) = raw::whole(&line) else { continue };
            let member = |name: &str| raw::member(&line, &whole, name).map(|place| &line[place]);
            match (member("method"), member("id")) {
                (Some(asked), Some(id)) => self.answer(asked, id)?,
                (None, Some(of)) if of == id.to_string().as_bytes() => {
                    return match (member("result"), member("error")) {
                        (Some(result), _) => Ok(result.to_vec()),
                        (None, error) => Err(RequestError::Refused(message(error.unwrap_or_default()))),
                    };
                }
                _ => {}
            }
        }
    }

    /// Answers a request from the server.
    fn answer(&mut self, method: &[u8], id: &[u8]) -> Result<(), RequestError> {
        let Ok(id) = serde_json::from_slice::<Value>(id) else { return Ok(()) };
        self.send(&match method {
            br#""ping""# => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
            _ => {
                let error = json!({ "code": -32601, "message": "this client only calls tools" });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        })
    }

    fn send(&mut self, message: &Value) -> Result<(), RequestError> {
        let sent = self.stdin.as_mut().map(|stdin| writeln!(stdin, "{message}").and_then(|()| stdin.flush()));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(RequestError::Exited(self.stop())),
        }
    }

    /// Stops the server and returns the last lines of its stderr.
    fn stop(&mut self) -> String {
        self.stdin = None;
        // Close the channel, so that the reading thread does not block on it.
        self.lines = sync_channel(1).1;
        // Most servers exit at the end of their input.
        let deadline = Instant::now() + EXIT_GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let lines = self.stderr.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        lines.iter().map(|line| format!("\n  {line}")).collect()
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        self.stop();
    }
}

impl RequestError {
    /// Returns the error for a command that needed the answer to this method or tool.
    pub(crate) fn during(self, method: &str) -> CommandError {
        match self {
            Self::Refused(message) => CommandError::failed(format!("{method} failed: {message}")),
            Self::TimedOut => {
                CommandError::out_of_reach(format!("the server did not answer {method} in time"))
            }
            Self::Exited(stderr) => {
                CommandError::out_of_reach(format!("the server exited before it answered {method}{stderr}"))
            }
        }
    }
}

/// Returns the message of a JSON-RPC error.
fn message(error: &[u8]) -> String {
    let error: Value = serde_json::from_slice(error).unwrap_or_default();
    let message = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
    tidegate_core::visible::cut(&message, 300)
}

/// Returns the last lines of a stream.
fn last_lines(stream: impl Read) -> VecDeque<String> {
    let mut stream = BufReader::new(stream);
    let (mut lines, mut line) = (VecDeque::new(), Vec::new());
    while (&mut stream).take(MAX_STDERR_LINE_BYTES).read_until(b'\n', &mut line).is_ok_and(|count| count > 0)
    {
        if lines.len() == MAX_STDERR_LINES {
            lines.pop_front();
        }
        lines.push_back(tidegate_core::visible::line(&String::from_utf8_lossy(&line)));
        line.clear();
    }
    lines
}
