//! A small MCP client: starts a server, greets it, calls its tools.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::error::CommandError;

/// A client of one server.
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next_id: u64,
}

impl Client {
    /// Starts a server and greets it.
    pub(super) fn start(command: &[&str]) -> Result<Self, CommandError> {
        let set = std::env::vars_os().map(|(name, _)| name);
        let ours = set.filter(|name| name.to_string_lossy().starts_with("TIDEGATE_"));
        let mut program = Command::new(command[0]);
        // What is set for real servers is not meant for the demo.
        ours.for_each(|name| {
            program.env_remove(name);
        });
        let mut child = program
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(CommandError::out_of_reach)?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| CommandError::failed("the server has no output"))?;
        let mut client = Self { child, stdin, stdout: BufReader::new(stdout), next_id: 0 };
        let info = json!({ "name": "tidegate-demo", "version": env!("CARGO_PKG_VERSION") });
        client.request(
            "initialize",
            &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info }),
        )?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        client.request("tools/list", &json!({}))?;
        Ok(client)
    }

    /// Calls a tool and returns its result.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, CommandError> {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, CommandError> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).map_err(CommandError::out_of_reach)? == 0 {
                return Err(CommandError::out_of_reach(format!(
                    "the server ended before it answered {method}"
                )));
            }
            let mut message: Value = serde_json::from_str(&line).map_err(CommandError::failed)?;
            if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(CommandError::failed(format!("{method} failed: {error}"))),
                    None => Ok(message["result"].take()),
                };
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), CommandError> {
        let stdin = self.stdin.as_mut().ok_or_else(|| CommandError::failed("the server has no input"))?;
        writeln!(stdin, "{message}").and_then(|()| stdin.flush()).map_err(CommandError::out_of_reach)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stdin = None;
        // It ends by itself at the end of its input.
        let _ = self.child.wait();
    }
}
