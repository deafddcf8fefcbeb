//! What the benches of HTTP share: a client, a server, and processes that listen.

use std::convert::Infallible;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Returns a call of 1 KB.
pub(crate) fn call_of_1_kb(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"x":"{}"}},{META}}}}}"#,
        "y".repeat(1024)
    )
}

pub(crate) fn spawn(command: &[&str], listens: bool) -> Child {
    Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(if listens { Stdio::piped() } else { Stdio::inherit() })
        .spawn()
        .unwrap()
}

pub(crate) fn first_line(output: impl Read) -> String {
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    line
}

pub(crate) fn port_of(child: &mut Child) -> u16 {
    let line = first_line(child.stderr.take().unwrap());
    line.trim().trim_end_matches("/mcp").rsplit(':').next().unwrap().parse().unwrap()
}

pub(crate) fn timed<T>(run: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    run();
    started.elapsed()
}

pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.drain(..times.len() / 10);
    times.sort_unstable();
    times[times.len() / 2]
}

pub(crate) fn resident(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default().to_owned();
    line.split_ascii_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) / 1000
}

pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
    /// More headers, each with its line end.
    headers: String,
}

impl Connection {
    pub(crate) fn to(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), host: format!("127.0.0.1:{port}"), headers: String::new() }
    }

    /// Sends every request with another header.
    #[allow(dead_code, reason = "each bench uses a part")]
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers += &format!("{name}: {value}\r\n");
        self
    }

    pub(crate) fn post(&mut self, body: &str) -> Vec<u8> {
        let modern = if body.contains("tools/call") {
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"
        } else {
            ""
        };
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n{modern}{}Content-Length: {}\r\n\r\n{body}",
            self.host,
            self.headers,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        read_message(&mut self.stream).unwrap()
    }
}

/// Reads the head and body of one message.
pub(crate) fn read_message(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim_end().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

/// Returns the answer to a message: its id, and a result of 1 KB.
pub(crate) fn answer(message: &[u8]) -> String {
    let message = String::from_utf8_lossy(message);
    let id: String =
        message.split("\"id\":").nth(1).unwrap_or("0").chars().take_while(char::is_ascii_digit).collect();
    let text: String = (0..12)
        .map(|row| {
            format!("row {row}: state open, author ada, a title of some words, created 2026-11-{row:02}\\n")
        })
        .collect();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}],"resultType":"complete"}}}}"#
    )
}

/// A typical Rust server: hyper on one thread.
pub(crate) fn serve_http() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap().port());
        let sessions = Arc::new(AtomicUsize::new(0));
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let sessions = Arc::clone(&sessions);
            let service = service_fn(move |request: Request<Incoming>| {
                let sessions = Arc::clone(&sessions);
                async move {
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    let mut response = Response::new(Full::new(Bytes::from(answer(&body))));
                    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                    if memchr::memmem::find(&body, b"initialize").is_some() {
                        let session = format!("s{}", sessions.fetch_add(1, Ordering::Relaxed));
                        response.headers_mut().insert("mcp-session-id", session.parse().unwrap());
                    }
                    Ok::<_, Infallible>(response)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
}
