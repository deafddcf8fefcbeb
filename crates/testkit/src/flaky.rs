//! An upstream for long runs: it does what each call asks for, now and then something wrong, and writes down what it
//! executed, so that nothing can be run twice unnoticed.
//!
//! `work {tag, rows, fault}` answers with `rows` records that carry the tag. `FLAKY_EXECUTED` names the file that every
//! executed tag is appended to.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// The faults that a call can ask for.
pub const FAULTS: [&str; 8] = ["noise", "half", "twice", "wrong", "progress", "stderr", "crash", "hang"];

const PROGRESS: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"nobody\",\"progress\":1}}\n";

/// Runs the server until its input ends.
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
    /// Answers a request; `None` where the server ends.
    fn answer(&mut self, line: &str) -> Option<()> {
        let Some(id) = after(line, "\"id\":") else { return Some(()) };
        if line.contains("\"initialize\"") {
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"flaky","version":"1"}}"#;
            return self.write(&response(id, result));
        }
        if line.contains("\"tools/list\"") {
            return self
                .write(&response(id, r#"{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}"#));
        }
        let (tag, rows) = (after(line, "\"tag\":")?, after(line, "\"rows\":")?.parse().ok()?);
        // Written down before anything can go wrong, in one piece: several servers share the file.
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
        self.misbehave(fault.unwrap_or_default(), id, &result)
    }

    fn misbehave(&mut self, fault: &str, id: &str, result: &str) -> Option<()> {
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
            "progress" => self.write(&format!("{}{answer}", PROGRESS.repeat(20))),
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

/// The number after a name.
fn after<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let rest = line.split_once(name)?.1;
    Some(&rest[..rest.find(|byte: char| !byte.is_ascii_digit()).unwrap_or(rest.len())])
}
