//! A server for the soak test: each call says which fault it wants, if any, and the server logs every call it executes, so
//! that a call that runs twice is noticed.
//!
//! `work {tag, rows, fault}` answers with `rows` records that carry the tag. The tag of each executed call is appended to
//! the file that `FLAKY_EXECUTED` names.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// The faults that a call can ask for, by name.
pub const FAULTS: [&str; 8] = ["noise", "half", "twice", "wrong", "progress", "stderr", "crash", "hang"];

const PROGRESS_NOTIFICATION: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"nobody\",\"progress\":1}}\n";

/// Runs the server until stdin ends.
pub fn run() -> ExitCode {
    let executed = std::env::var_os("FLAKY_EXECUTED")
        .and_then(|path| File::options().append(true).create(true).open(path).ok());
    let Some(executed) = executed else { return ExitCode::from(2) };
    let mut server = Server { executed, out: io::stdout().lock() };
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if server.answer(&line).is_none() {
            return ExitCode::from(3);
        }
    }
    ExitCode::SUCCESS
}

struct Server<'s> {
    executed: File,
    out: io::StdoutLock<'s>,
}

impl Server<'_> {
    /// Answers a request; `None` ends the server.
    fn answer(&mut self, line: &str) -> Option<()> {
        let Some(id) = number_after(line, "\"id\":") else { return Some(()) };
        if line.contains("\"initialize\"") {
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"flaky","version":"1"}}"#;
            return self.write(&response(id, result));
        }
        if line.contains("\"tools/list\"") {
            return self
                .write(&response(id, r#"{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}"#));
        }
        let (tag, rows) = (number_after(line, "\"tag\":")?, number_after(line, "\"rows\":")?.parse().ok()?);
        // Logged before anything can go wrong, and in one write, since several servers share the file.
        self.executed.write_all(format!("{tag}\n").as_bytes()).ok()?;
        let records: Vec<String> = (0..rows)
            .map(|row: usize| {
                format!(r#"{{\"tag\":{tag},\"row\":{row},\"note\":\"some words of row {row}\"}}"#)
            })
            .collect();
        let text = records.join(",");
        let result =
            format!(r#"{{"content":[{{"type":"text","text":"[{text}]"}}],"resultType":"complete"}}"#);
        let fault = FAULTS.into_iter().find(|fault| line.contains(&format!("\"{fault}\"")));
        self.answer_with_fault(fault.unwrap_or_default(), id, &result)
    }

    fn answer_with_fault(&mut self, fault: &str, id: &str, result: &str) -> Option<()> {
        let answer = response(id, result);
        let half = answer.len() / 2;
        match fault {
            "noise" => self.write(&format!("listening on nothing\n{{\"level\":\"info\"}}\n\n{answer}")),
            "half" => {
                self.write(&answer[..half])?;
                thread::sleep(Duration::from_millis(2));
                self.write(&answer[half..])
            }
            "twice" => self.write(&format!("{answer}{answer}")),
            "wrong" => self.write(&format!("{}{answer}", response("987654321987", result))),
            "progress" => self.write(&format!("{}{answer}", PROGRESS_NOTIFICATION.repeat(20))),
            "stderr" => {
                let _ = io::stderr().write_all(&vec![b'e'; 100_000]);
                self.write(&answer)
            }
            "crash" => {
                self.write(&answer[..half])?;
                None
            }
            "hang" => Some(()),
            _ => self.write(&answer),
        }
    }

    fn write(&mut self, text: &str) -> Option<()> {
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).ok()
    }
}

fn response(id: &str, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")
}

/// Returns the digits after a name.
fn number_after<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let rest = line.split_once(name)?.1;
    Some(&rest[..rest.find(|byte: char| !byte.is_ascii_digit()).unwrap_or(rest.len())])
}
