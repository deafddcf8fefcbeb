//! A small MCP client: starts a server, greets it, lists and calls its tools.
//!
//! Lines are read by a thread of their own, so that a request can be given up. What else a server says meanwhile is left
//! out, and what it asks is answered: a ping with nothing, everything else with an error.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate_gate::raw;

use crate::error::CommandError;

/// Lines that wait to be looked at.
const WAITING: usize = 64;
/// Lines of what the server said on stderr that are remembered, and bytes of each.
const REMEMBERED: usize = 10;
const LINE: u64 = 4096;
/// How long a server may take to end.
const GRACE: Duration = Duration::from_secs(2);
/// Pages of a list that are read; a server may always name a next one.
const PAGES: usize = 200;

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server answered with an error, whose message this is.
    Refused(String),
    /// No answer came in time.
    Late,
    /// The server has ended; what it said last.
    Ended(String),
}

/// A client of one server.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    /// What was said on stderr, if it was not passed on.
    said: Option<JoinHandle<VecDeque<String>>>,
    next_id: u64,
}

impl Client {
    /// Starts a server and greets it as a client of this name; its stderr is as the command says.
    pub(crate) fn start(mut command: Command, name: &str, patience: Duration) -> Result<Self, CommandError> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(CommandError::out_of_reach)?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| CommandError::failed("the server has no output"))?;
        let (sender, lines) = sync_channel(WAITING);
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let said = child.stderr.take().map(|stderr| thread::spawn(move || remember(stderr)));
        let mut client = Self { child, stdin, lines, said, next_id: 0 };
        let info = json!({ "name": name, "version": env!("CARGO_PKG_VERSION") });
        let greeting = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        match client.request("initialize", &greeting, patience) {
            Ok(_) => {}
            Err(Failure::Refused(message)) => {
                let said = client.end();
                return Err(CommandError::out_of_reach(format!("{message}{said}")));
            }
            Err(why) => return Err(why.of("initialize")),
        }
        client
            .send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .map_err(|why| why.of("initialize"))?;
        Ok(client)
    }

    /// Returns the tools of the server.
    pub(crate) fn tools(&mut self, patience: Duration) -> Result<Vec<Value>, CommandError> {
        let mut tools = Vec::new();
        let mut params = json!({});
        for _ in 0..PAGES {
            let page = self.request("tools/list", &params, patience).map_err(|why| why.of("tools/list"))?;
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

    /// Calls a tool and returns its result as it came.
    pub(crate) fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        patience: Duration,
    ) -> Result<Vec<u8>, Failure> {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }), patience)
    }

    fn request(&mut self, method: &str, params: &Value, patience: Duration) -> Result<Vec<u8>, Failure> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let until = Instant::now() + patience;
        loop {
            let line = match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let params = json!({ "requestId": id, "reason": "timeout" });
                    // A server that is gone need not be told.
                    let _ = self.send(
                        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
                    );
                    return Err(Failure::Late);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Failure::Ended(self.end())),
            };
            let Some(whole) = raw::whole(&line) else { continue };
            let member = |name: &str| raw::member(&line, &whole, name).map(|place| &line[place]);
            match (member("method"), member("id")) {
                (Some(asked), Some(id)) => self.answer(asked, id)?,
                (None, Some(of)) if of == id.to_string().as_bytes() => {
                    return match (member("result"), member("error")) {
                        (Some(result), _) => Ok(result.to_vec()),
                        (None, error) => Err(Failure::Refused(message(error.unwrap_or_default()))),
                    };
                }
                _ => {}
            }
        }
    }

    /// Answers what the server asks.
    fn answer(&mut self, method: &[u8], id: &[u8]) -> Result<(), Failure> {
        let Ok(id) = serde_json::from_slice::<Value>(id) else { return Ok(()) };
        self.send(&match method {
            br#""ping""# => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
            _ => {
                let error = json!({ "code": -32601, "message": "this client only calls tools" });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        })
    }

    fn send(&mut self, message: &Value) -> Result<(), Failure> {
        let sent = self.stdin.as_mut().map(|stdin| writeln!(stdin, "{message}").and_then(|()| stdin.flush()));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(Failure::Ended(self.end())),
        }
    }

    /// Ends the server, and returns what it said last.
    fn end(&mut self) -> String {
        self.stdin = None;
        // Nobody reads on, so it must not wait for that.
        self.lines = sync_channel(1).1;
        // It ends by itself at the end of its input, unless it waits for something that nobody wants any more.
        let until = Instant::now() + GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        said.iter().map(|line| format!("\n  {line}")).collect()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end();
    }
}

impl Failure {
    /// Returns the failure of a command that needed an answer.
    pub(crate) fn of(self, method: &str) -> CommandError {
        match self {
            Self::Refused(message) => CommandError::failed(format!("{method} failed: {message}")),
            Self::Late => CommandError::out_of_reach(format!("the server did not answer {method} in time")),
            Self::Ended(said) => {
                CommandError::out_of_reach(format!("the server ended before it answered {method}{said}"))
            }
        }
    }
}

/// The message of an error.
fn message(error: &[u8]) -> String {
    let error: Value = serde_json::from_slice(error).unwrap_or_default();
    let message = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
    tidegate_core::visible::cut(&message, 300)
}

/// Returns the last lines of a stream.
fn remember(stream: impl Read) -> VecDeque<String> {
    let mut stream = BufReader::new(stream);
    let (mut said, mut line) = (VecDeque::new(), Vec::new());
    while (&mut stream).take(LINE).read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        if said.len() == REMEMBERED {
            said.pop_front();
        }
        said.push_back(tidegate_core::visible::line(&String::from_utf8_lossy(&line)));
        line.clear();
    }
    said
}
