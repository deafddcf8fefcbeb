//! The cost of HTTP through tidegate: `cargo bench -p tidegate --bench http`.
//!
//! Measures a call of 1 KB over HTTP to a stdio server, and compares it with the unavoidable cost: the same call to a Rust
//! server that speaks HTTP (direct), plus one relay hop, which is `cat | server | cat` minus the server alone: the kernel
//! waking one more process. All variants run in turns, and the results are ratios of medians. Then measures the memory of
//! 1,000 idle sessions. This program is its own server.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints what it found")]

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

const CALLS: usize = 3000;
const CALLS_PER_TURN: usize = 100;
const IDLE_SESSIONS: usize = 1000;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("serve-http") => serve_http(),
        Some("serve-stdio") => serve_stdio(),
        _ => compare(),
    }
}

fn compare() {
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    let mut direct = spawn(&[this, "serve-http"], false);
    let direct_port: u16 = first_line(direct.stdout.take().unwrap()).trim().parse().unwrap();
    let tidegate = env!("CARGO_BIN_EXE_tidegate");
    let mut bridge =
        spawn(&[tidegate, "run", "--ephemeral", "--http", "127.0.0.1:0", "--", this, "serve-stdio"], true);
    let bridge_port = port_of(&mut bridge);
    let url = format!("http://127.0.0.1:{direct_port}/mcp");
    let mut reverse = spawn(&[tidegate, "run", "--ephemeral", "--http", "127.0.0.1:0", "--url", &url], true);
    let reverse_port = port_of(&mut reverse);
    let mut alone = Pipe::to(spawn(&[this, "serve-stdio"], false));
    let mut relayed = Pipe::to(spawn(&["sh", "-c", &format!("cat | '{this}' serve-stdio | cat")], false));

    let (mut to_direct, mut to_bridge, mut to_reverse) =
        (Connection::to(direct_port), Connection::to(bridge_port), Connection::to(reverse_port));
    let mut times: [Vec<Duration>; 5] = Default::default();
    for call in 0..CALLS * times.len() {
        // Each variant gets several calls in a row, as a client makes them: the first call after a pause wakes a process.
        let turn = call / CALLS_PER_TURN % times.len();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{call},"method":"tools/call","params":{{"name":"echo","arguments":{{"x":"{}"}},{META}}}}}"#,
            "y".repeat(1024)
        );
        let time = match turn {
            0 => timed(|| to_direct.post(&body)),
            1 => timed(|| alone.call(&body)),
            2 => timed(|| relayed.call(&body)),
            3 => timed(|| to_bridge.post(&body)),
            _ => timed(|| to_reverse.post(&body)),
        };
        times[turn].push(time);
    }
    let [direct_time, alone_time, relayed_time, bridged, reversed] = times.map(median);
    let hop = relayed_time.saturating_sub(alone_time);
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("a call of 1 KB, median of {CALLS}:");
    println!("  direct HTTP            {:8.1} us", micros(direct_time));
    println!("  direct stdio           {:8.1} us", micros(alone_time));
    println!("  cat | server | cat     {:8.1} us: a hop is {:.1} us", micros(relayed_time), micros(hop));
    println!(
        "  HTTP to stdio          {:8.1} us, {:.2}x direct and a hop",
        micros(bridged),
        micros(bridged) / micros(direct_time + hop)
    );
    println!(
        "  HTTP to HTTP           {:8.1} us, {:.2}x twice direct",
        micros(reversed),
        micros(reversed) / (2.0 * micros(direct_time))
    );

    let before = resident(&reverse);
    let idle: Vec<Connection> = (0..IDLE_SESSIONS)
        .map(|number| {
            let mut connection = Connection::to(reverse_port);
            connection.post(&format!(
                r#"{{"jsonrpc":"2.0","id":{number},"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"bench","version":"1"}}}}}}"#
            ));
            connection
        })
        .collect();
    println!("{} idle sessions: {} MB, before them {before} MB", idle.len(), resident(&reverse));
    for mut child in [direct, bridge, reverse, alone.child, relayed.child] {
        let _ = Command::new("kill").arg(child.id().to_string()).status();
        let _ = child.wait();
    }
}

fn spawn(command: &[&str], listens: bool) -> Child {
    Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(if listens { Stdio::piped() } else { Stdio::inherit() })
        .spawn()
        .unwrap()
}

fn first_line(output: impl Read) -> String {
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    line
}

fn port_of(child: &mut Child) -> u16 {
    let line = first_line(child.stderr.take().unwrap());
    line.trim().trim_end_matches("/mcp").rsplit(':').next().unwrap().parse().unwrap()
}

fn timed<T>(run: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    run();
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.drain(..times.len() / 10);
    times.sort_unstable();
    times[times.len() / 2]
}

fn resident(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default().to_owned();
    line.split_ascii_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) / 1000
}

/// A stdio server.
struct Pipe {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Pipe {
    fn to(mut child: Child) -> Self {
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn call(&mut self, body: &str) -> usize {
        let line = format!("{body}\n");
        self.child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        self.output.read_until(b'\n', &mut Vec::new()).unwrap()
    }
}

struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
}

impl Connection {
    fn to(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), host: format!("127.0.0.1:{port}") }
    }

    fn post(&mut self, body: &str) -> Vec<u8> {
        let modern = if body.contains("tools/call") {
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"
        } else {
            ""
        };
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n{modern}Content-Length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        read_message(&mut self.stream).unwrap()
    }
}

/// Reads the head and body of one message.
fn read_message(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
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
fn answer(message: &[u8]) -> String {
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

fn serve_stdio() {
    let mut stdout = std::io::stdout().lock();
    let mut stdin = std::io::stdin().lock();
    let mut line = Vec::new();
    while stdin.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        let reply = format!("{}\n", answer(&line));
        stdout.write_all(reply.as_bytes()).unwrap();
        stdout.flush().unwrap();
        line.clear();
    }
}

/// A typical Rust server: hyper on one thread.
fn serve_http() {
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
