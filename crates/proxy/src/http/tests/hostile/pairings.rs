//! One call through each pairing of transports.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::Response;
use hyper::header::HeaderMap;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Row, Server, http_server, stdio_server};
use crate::http::body::Body;
use crate::http::stdio_to_http::StdioToHttp;
use crate::http::tests::{CALL, GUARD, INITIALIZE, MODERN_CALL, MODERN_HEADERS, post, run as on_one_thread};
use crate::http::{HttpToHttp, HttpToStdio, Remote};
use crate::stdio::{self, ClientStreams};
use crate::tests::link;

/// The transports of the client and of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pairing {
    StdioToStdio,
    HttpToStdio,
    StdioToHttp,
    HttpToHttp,
}

/// What a client got.
pub(super) struct Answers {
    /// The status, if the client uses HTTP.
    pub(super) status: Option<u16>,
    /// The responses with an id.
    pub(super) messages: Vec<Value>,
}

/// How long the first answer may take on a slow machine, whatever the timeout.
const PATIENCE: Duration = Duration::from_secs(50);
/// How long a second answer is waited for.
const PATIENCE_FOR_MORE: Duration = Duration::from_millis(100);
/// Makes the call of a row.
pub(super) fn run(row: &Row, timeout: Duration) -> Answers {
    let mut answers = match (&row.server, row.pairing) {
        (Server::Stdio(does), Pairing::StdioToStdio) => stdio_to_stdio(does, row.is_modern, timeout),
        (Server::Stdio(does), _) => on_one_thread(http_to_stdio(does, row.is_modern, timeout)),
        (Server::Http(steps), pairing) => {
            let remote = Remote::new(&http_server::start(steps), HeaderMap::new()).unwrap();
            match pairing {
                Pairing::HttpToHttp => on_one_thread(http_to_http(remote, row.is_modern, timeout)),
                _ => on_one_thread(stdio_to_http(remote, &[call(row.is_modern)], timeout)),
            }
        }
    };
    answers.messages.retain(|message| message["id"] == 101);
    answers
}

fn call(is_modern: bool) -> &'static str {
    if is_modern { MODERN_CALL } else { CALL }
}

/// Returns a message, or those of a batch, if they are responses.
pub(super) fn responses(message: &[u8]) -> Vec<Value> {
    let messages = match serde_json::from_str(&String::from_utf8_lossy(message)) {
        Ok(Value::Array(messages)) => messages,
        Ok(message) => vec![message],
        Err(_) => Vec::new(),
    };
    messages.into_iter().filter(|message| !message["id"].is_null() && message["method"].is_null()).collect()
}

pub(super) fn command(does: &str) -> Vec<std::ffi::OsString> {
    ["sh", "-c", &stdio_server::script(does)].map(std::ffi::OsString::from).to_vec()
}

fn stdio_to_stdio(does: &str, is_modern: bool, timeout: Duration) -> Answers {
    let file = |end: OwnedFd| File::from(end);
    let (input, to_proxy) = std::io::pipe().unwrap();
    let (from_proxy, output) = std::io::pipe().unwrap();
    let streams = ClientStreams { input: file(input.into()), output: file(output.into()) };
    let options = stdio::Options { command: command(does), program: GUARD.clone() };
    let (sender, events) = channel();
    let proxy = std::thread::spawn(move || {
        stdio::run_between(streams, link(Some(timeout)), &options, sender, events).unwrap()
    });
    let (lines, received) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from_proxy).split(b'\n').map_while(Result::ok) {
            let _ = lines.send(line);
        }
    });
    let mut to_proxy = file(OwnedFd::from(to_proxy));
    to_proxy.write_all(format!("{}\n", call(is_modern)).as_bytes()).unwrap();
    let (mut messages, until) = (Vec::<Value>::new(), Instant::now() + PATIENCE);
    while !messages.iter().any(|message| message["id"] == 101)
        && let Ok(line) = received.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        messages.extend(responses(&line));
    }
    while let Ok(line) = received.recv_timeout(PATIENCE_FOR_MORE) {
        messages.extend(responses(&line));
        if Instant::now() > until {
            break;
        }
    }
    drop(to_proxy);
    proxy.join().unwrap();
    received.try_iter().for_each(|line| messages.extend(responses(&line)));
    Answers { status: None, messages }
}

/// Sends lines to a server over HTTP, and waits for the answer to the last one.
pub(super) async fn stdio_to_http(remote: Remote, lines: &[&str], timeout: Duration) -> Answers {
    let (out, mut received) = mpsc::channel(64);
    let proxy = Arc::new(StdioToHttp::new(link(Some(timeout)), remote, out, Arc::new(|_: &str| {})));
    let mut tasks = JoinSet::new();
    for line in lines {
        Arc::clone(&proxy).take(format!("{line}\n").into_bytes(), &mut tasks).await;
    }
    let (mut messages, until) = (Vec::<Value>::new(), Instant::now() + PATIENCE);
    loop {
        let wait = match messages.iter().any(|message| message["id"] == 101) {
            false => until.saturating_duration_since(Instant::now()),
            true => PATIENCE_FOR_MORE,
        };
        let Ok(Some(message)) = tokio::time::timeout(wait, received.recv()).await else { break };
        messages.extend(responses(&message.message.into_bytes().unwrap()));
    }
    Answers { status: None, messages }
}

/// Reads a response: one message, or events.
pub(super) async fn read(response: Response<Body>) -> Answers {
    let status = Some(response.status().as_u16());
    let (mut body, mut bytes) = (response.into_body(), Vec::new());
    let until = tokio::time::Instant::now() + PATIENCE;
    while let Ok(Some(Ok(frame))) = tokio::time::timeout_at(until, body.frame()).await {
        bytes.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    let mut messages = responses(&bytes);
    let mut data = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        match line.strip_prefix(b"data:") {
            Some(line) => data.extend_from_slice(line),
            None => messages.extend(responses(&std::mem::take(&mut data))),
        }
    }
    Answers { status, messages }
}

async fn http_to_stdio(does: &str, is_modern: bool, timeout: Duration) -> Answers {
    let make = link(Some(timeout));
    let front = Arc::new(HttpToStdio::new(GUARD.clone(), command(does), move || make.fresh(), |_| {}));
    let mut headers = MODERN_HEADERS.to_vec();
    let session;
    if !is_modern {
        let begun = Arc::clone(&front).answer(post(&[]), INITIALIZE.into()).await;
        session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        headers = vec![("mcp-session-id", session.as_str())];
        let _ = read(begun).await;
    }
    let response = Arc::clone(&front).answer(post(&headers), call(is_modern).into()).await;
    let answers = read(response).await;
    front.end().await;
    answers
}

async fn http_to_http(remote: Remote, is_modern: bool, timeout: Duration) -> Answers {
    let make = link(Some(timeout));
    let front = Arc::new(HttpToHttp::new(remote, false, move || make.fresh()));
    let headers = if is_modern { &MODERN_HEADERS[..] } else { &[] };
    read(front.answer(post(headers), call(is_modern).into()).await).await
}
