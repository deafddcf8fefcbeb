//! An MCP server over HTTP, without sessions, that counts how often it ran each call, and fails as a call says.
//!
//! Tool: `work {tag, caller, rows, fault}` answers with so many rows that name the call and its caller. Faults: `error`,
//! `failed` (a result that is an error), `drop` (closes the connection), `half` (closes it within the answer), `slow`.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_testkit::connections::listen;

/// How long a slow answer takes.
const SLOW: Duration = Duration::from_millis(400);

/// How often each call was run, by its tag.
type Runs = Arc<Mutex<HashMap<u64, u32>>>;

/// The server.
pub(super) struct CountingServer {
    pub(super) url: String,
    runs: Runs,
}

impl CountingServer {
    pub(super) fn start() -> Self {
        let runs = Runs::default();
        let counting = Arc::clone(&runs);
        // A client that is gone ends its connection only.
        let port = listen(move |stream| drop(serve(stream, &counting)));
        let url = format!("http://127.0.0.1:{port}/mcp");
        Self { url, runs }
    }

    /// Returns how often each call was run.
    pub(super) fn runs(&self) -> HashMap<u64, u32> {
        self.runs.lock().unwrap().clone()
    }
}

/// Returns the text of a result.
pub(super) fn rows(tag: u64, caller: u64, count: u64) -> String {
    let row =
        |row| json!({"tag": tag, "caller": caller, "row": row, "note": format!("{} ", tag ^ row).repeat(20)});
    Value::from((0..count).map(row).collect::<Vec<_>>()).to_string()
}

fn serve(stream: TcpStream, runs: &Runs) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let is_post = line.starts_with("POST");
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let answer = match (is_post, message.get("id")) {
            (false, _) => Answer::Status("405 Method Not Allowed"),
            (true, None) => Answer::Status("202 Accepted"),
            (true, Some(_)) => answer(&message, runs),
        };
        let stream = stream.get_mut();
        match answer {
            Answer::Status(status) => {
                stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes())?;
            }
            Answer::Message(message) => stream.write_all(&response(&message))?,
            Answer::Half(message) => {
                let response = response(&message);
                return stream.write_all(&response[..response.len() - 20]);
            }
            Answer::Closed => return Ok(()),
        }
    }
}

enum Answer {
    Status(&'static str),
    Message(Value),
    Half(Value),
    Closed,
}

fn response(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
    format!("{head}{}\r\n\r\n{body}", body.len()).into_bytes()
}

fn answer(message: &Value, runs: &Runs) -> Answer {
    let (id, params) = (&message["id"], &message["params"]);
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let error =
        |code: i64, text: &str| json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}});
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => Answer::Message(result(json!({
            "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "counting", "version": "1"}
        }))),
        "tools/list" => {
            Answer::Message(result(json!({"tools": [{"name": "work", "inputSchema": {"type": "object"}}]})))
        }
        "tools/call" => {
            let arguments = &params["arguments"];
            let number = |name: &str| arguments[name].as_u64().unwrap_or_default();
            let tag = number("tag");
            *runs.lock().unwrap().entry(tag).or_default() += 1;
            let text = |text: String| json!({"content": [{"type": "text", "text": text}]});
            let done = || result(text(rows(tag, number("caller"), number("rows"))));
            match arguments["fault"].as_str().unwrap_or_default() {
                "error" => Answer::Message(error(-32050, "as told")),
                "failed" => {
                    let mut failed = text("as told".to_owned());
                    failed["isError"] = json!(true);
                    Answer::Message(result(failed))
                }
                "drop" => Answer::Closed,
                "half" => Answer::Half(done()),
                "slow" => {
                    std::thread::sleep(SLOW);
                    Answer::Message(done())
                }
                _ => Answer::Message(done()),
            }
        }
        method => Answer::Message(error(-32601, method)),
    }
}
