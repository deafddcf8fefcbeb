//! The server loop: reads a line, answers it, and misbehaves as its mode says.
//!
//! The faults that affect every line are here, in `line`; those of one tool call are in `trouble.rs`.

use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use super::read::{at, inside, member};
use super::{Mode, payload};
use crate::make::quoted;

/// Set in the environment of the child process of a server.
const GRANDCHILD_VARIABLE: &str = "TIDEGATE_TEST_GRANDCHILD";
/// Longer than any test waits, but short enough that a process left by a failed test ends.
pub(super) const FOREVER: Duration = Duration::from_secs(300);

const TOOLS: [&str; 5] = ["echo", "big", "count", "heard", "trouble"];

pub(super) struct Server {
    pub(super) mode: Mode,
    /// Number of tool calls executed.
    executed: u64,
    heard: Vec<String>,
    /// The id of a call that waits for the client to answer a request of the server.
    pub(super) waiting: Option<String>,
    /// Whether the last line still lacks its newline.
    pub(super) unended: bool,
}

impl Server {
    pub(super) fn new(mode: Mode) -> Self {
        Self { mode, executed: 0, heard: Vec::new(), waiting: None, unended: false }
    }

    pub(super) fn run(mut self) -> ExitCode {
        if self.mode == Mode::NeverCloses {
            ignore_sigterm();
        }
        if std::env::var_os(GRANDCHILD_VARIABLE).is_some() {
            sleep(FOREVER);
            return ExitCode::SUCCESS;
        }
        if self.mode == Mode::NeverCloses {
            start_child();
        }
        for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if self.handle(&line).is_err() {
                // The client has closed stdout.
                break;
            }
            self.heard.push(line);
        }
        if self.mode == Mode::NeverCloses {
            sleep(FOREVER);
        }
        ExitCode::SUCCESS
    }

    fn handle(&mut self, line: &str) -> io::Result<()> {
        let (Some(id), method) = (member(line, "id"), member(line, "method").map(inside)) else {
            return Ok(());
        };
        match method {
            Some("initialize") => self.initialize(id, line),
            Some("tools/list") => self.answer(id, self.tools().as_bytes()),
            Some("tools/call") => self.call(id, line),
            Some("resources/list") if self.mode == Mode::OurScheme => {
                let list = r#"{"resources":[{"uri":"ax://trouble/000000000000","name":"trouble-000000000000"},{"uri":"ax://their/own","name":"own"}]}"#;
                self.answer(id, list.as_bytes())
            }
            Some("resources/read") if self.mode == Mode::OurScheme => {
                let uri = at(line, &["params", "uri"]).unwrap_or("\"\"");
                let contents = format!(r#"{{"contents":[{{"uri":{uri},"text":"theirs"}}]}}"#);
                self.answer(id, contents.as_bytes())
            }
            Some(_) => {
                let error = r#"{"code":-32601,"message":"Method not found"}"#;
                self.line(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).as_bytes())
            }
            None => match self.waiting.take() {
                Some(call_id) => {
                    let result = member(line, "result").map_or_else(|| "nothing".into(), quoted);
                    self.answer(&call_id, &payload::text(inside(&result)))
                }
                None => Ok(()),
            },
        }
    }

    fn initialize(&mut self, id: &str, line: &str) -> io::Result<()> {
        if let (Mode::AnswersEarly, Ok(id)) = (self.mode, id.parse::<u64>()) {
            for early in id + 1..id + 4 {
                self.answer(&early.to_string(), &payload::text("early"))?;
            }
        }
        let version = at(line, &["params", "protocolVersion"]).unwrap_or("\"2025-11-25\"");
        let resources = if self.mode == Mode::OurScheme { ",\"resources\":{}" } else { "" };
        let result = format!(
            r#"{{"protocolVersion":{version},"capabilities":{{"tools":{{}}{resources}}},"serverInfo":{{"name":"hostile","version":"1"}}}}"#
        );
        self.answer(id, result.as_bytes())?;
        if self.mode == Mode::ReadsNothing {
            sleep(FOREVER);
        }
        Ok(())
    }

    fn tools(&self) -> String {
        let ours = (self.mode == Mode::OurTool).then_some("result_query");
        let tool = |name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
        let tools: Vec<String> = TOOLS.into_iter().chain(ours).map(tool).collect();
        format!(r#"{{"tools":[{}]}}"#, tools.join(","))
    }

    fn call(&mut self, id: &str, line: &str) -> io::Result<()> {
        self.executed += 1;
        let argument = |name: &str| at(line, &["params", "arguments", name]);
        match at(line, &["params", "name"]).map(inside) {
            Some("echo") => self.answer(id, &payload::text(inside(argument("value").unwrap_or("\"\"")))),
            Some("big") => {
                let bytes = argument("bytes").and_then(|bytes| bytes.parse().ok()).unwrap_or(100_000);
                self.answer(id, &payload::big(bytes))
            }
            Some("count") => self.answer(id, &payload::text(&self.executed.to_string())),
            Some("heard") => {
                let lines = quoted(&self.heard.join("\n"));
                self.answer(id, &payload::text(inside(&lines)))
            }
            Some("trouble") if argument("small").is_some() => self.answer(id, &payload::small(self.mode)),
            Some("trouble") => self.trouble(id, inside(argument("text").unwrap_or("\"\""))),
            _ => self.answer(id, &payload::text("the upstream's own")),
        }
    }

    pub(super) fn answer(&mut self, id: &str, result: &[u8]) -> io::Result<()> {
        self.line(&message(id, result))?;
        if self.mode == Mode::DuplicateAnswers {
            self.line(&message(id, &payload::text("the second answer")))?;
        }
        Ok(())
    }

    /// Writes a line, with the faults of the mode.
    pub(super) fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if std::mem::take(&mut self.unended) {
            out.write_all(b"\n")?;
        }
        match self.mode {
            Mode::TextLogs => {
                out.write_all(b"Listening on stdio...\n\n\0\0\n[INFO] got a line\n{ not json }\n")?;
                out.write_all(&[line, b"\nanswered \xff\n"].concat())?;
            }
            Mode::JsonLogs => {
                out.write_all(
                    b"{\"level\":\"info\",\"id\":1}\n{}\n[]\n[1,{\"msg\":\"x\"}]\n\"text\"\n42\nnull\n",
                )?;
                out.write_all(
                    &[line, b"\n{\"jsonrpc\":\"2.0\"}\n{\"jsonrpc\":\"2.0\",\"id\":1}\n"].concat(),
                )?;
            }
            Mode::HalfLines => {
                in_pieces(&mut out, "a log l\u{ef}ne in pieces\n".as_bytes())?;
                in_pieces(&mut out, &[line, b"\n"].concat())?;
            }
            Mode::Bom => out.write_all(&[b"\xef\xbb\xbf", line, b"\n"].concat())?,
            Mode::CrLf => out.write_all(&[line, b"\r\n"].concat())?,
            Mode::LoneCr => {
                let line = String::from_utf8_lossy(line);
                let parts = line.replacen(",\"id\"", "\r,\r\"id\"", 1).replacen(
                    ",\"result\":",
                    ",\r\"result\":\r",
                    1,
                );
                out.write_all(format!("\r{parts}\r\n").as_bytes())?;
            }
            _ => out.write_all(&[line, b"\n"].concat())?,
        }
        out.flush()
    }
}

pub(super) fn message(id: &str, result: &[u8]) -> Vec<u8> {
    [format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#).as_bytes(), result, b"}"].concat()
}

/// Writes in a few pieces with a pause after each; a piece may end inside a character.
fn in_pieces(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    for piece in bytes.chunks(bytes.len().div_ceil(7)) {
        out.write_all(piece)?;
        out.flush()?;
        sleep(Duration::from_millis(3));
    }
    Ok(())
}

/// Ignores SIGTERM: catches it and does nothing.
fn ignore_sigterm() {
    let received = Arc::default();
    // If it cannot be caught, the process ends too early, and the test fails.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGTERM, received);
}

/// Starts this program again as a child, in its own process group and with the same streams.
fn start_child() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Ok(program) = std::env::current_exe() {
        let started =
            Command::new(program).args(arguments).env(GRANDCHILD_VARIABLE, "1").process_group(0).spawn();
        started.map(drop).unwrap_or_default();
    }
}
