//! The server behind every path: its answers are prepared, so the path is measured and not the tool.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, IoSlice, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

const GREETING: &[u8] = br#","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"rows","version":"1"}}}"#;
const TOOLS: &[u8] = br#","result":{"tools":[{"name":"rows","inputSchema":{"type":"object"}}]}}"#;
const RESULT: &str = r#","result":{"content":[{"type":"text","text":""#;
/// The position of the number of the first record in its escaped text.
const SERIAL: usize = r#"[{\"id\":\"order-"#.len();

/// Prepared answers by their size, each without its id.
#[derive(Default)]
struct Answers {
    results: HashMap<usize, Vec<u8>>,
    serial: usize,
}

impl Answers {
    /// Returns the answer to a message in two parts; `None` for a notification.
    fn answer(&mut self, message: &[u8]) -> Option<(String, &[u8])> {
        let head = format!(r#"{{"jsonrpc":"2.0","id":{}"#, number_after(message, b"\"id\":")?);
        let is = |method: &str| {
            memchr::memmem::find(&message[..message.len().min(80)], method.as_bytes()).is_some()
        };
        if is("initialize") {
            return Some((head, GREETING));
        }
        if is("tools/list") {
            return Some((head, TOOLS));
        }
        let bytes = number_after(message, b"\"bytes\":").unwrap_or(0);
        self.serial += 1;
        let result = self.results.entry(bytes).or_insert_with(|| result_of(bytes));
        // Every result is different: equal results would be stored once.
        let at = RESULT.len() + SERIAL;
        result[at..at + 8].copy_from_slice(format!("{:08}", self.serial).as_bytes());
        Some((head, result))
    }
}

fn number_after(message: &[u8], key: &[u8]) -> Option<usize> {
    let after = &message[memchr::memmem::find(message, key)? + key.len()..];
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&after[..digits]).ok()?.parse().ok()
}

/// Returns a result whose text is JSON records of about a number of bytes, with escaped quotes.
fn result_of(bytes: usize) -> Vec<u8> {
    const NAMES: [&str; 7] =
        ["Ada Byron", "Grace Murray", "Edsger Maas", "Radia Perl", "Ken Thomas", "Mary Kay", "Jo Li"];
    const STATES: [&str; 5] = ["open", "paid", "shipped", "returned", "closed"];
    const WORDS: [&str; 9] =
        ["lamp", "chair", "cable", "desk", "shelf", "monitor", "stand", "keyboard", "hub"];
    let mut text = String::with_capacity(bytes + 256);
    let mut row = 0_usize;
    while text.len() < bytes {
        let noise = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let name = NAMES[noise % 7];
        let _ = write!(
            text,
            r#"{}{{"id":"order-{row:08}","customer":"{name}","state":"{}","total":{}.{:02},"items":{},"article":"{} {}","created_at":"2026-{:02}-{:02}T{:02}:{:02}:00Z","express":{}}}"#,
            if row == 0 { "[" } else { "," },
            STATES[noise / 7 % 5],
            noise % 900 + 5,
            noise / 11 % 100,
            noise % 6 + 1,
            WORDS[noise / 3 % 9],
            WORDS[noise / 29 % 9],
            noise % 12 + 1,
            noise / 5 % 28 + 1,
            noise / 13 % 24,
            noise / 17 % 60,
            noise.is_multiple_of(5),
        );
        row += 1;
    }
    text.push(']');
    format!(r#"{RESULT}{}"}}],"resultType":"complete"}}}}"#, text.replace('"', "\\\"")).into_bytes()
}

/// Serves over stdio.
pub(crate) fn serve_stdio() {
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned().unwrap());
    let mut input = io::stdin().lock();
    let (mut answers, mut line) = (Answers::default(), Vec::new());
    while input.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        if let Some((head, rest)) = answers.answer(&line) {
            let mut parts = [head.as_bytes(), rest, b"\n"].map(IoSlice::new);
            let mut parts = parts.as_mut_slice();
            while !parts.is_empty() {
                let Ok(written) = output.write_vectored(parts) else { return };
                IoSlice::advance_slices(&mut parts, written);
            }
        }
        line.clear();
    }
}

/// Serves over HTTP with hyper on one thread; prints its port first.
pub(crate) fn serve_http() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap().port());
        let answers = Arc::new(Mutex::new(Answers::default()));
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let answers = Arc::clone(&answers);
            let service = service_fn(move |request: Request<Incoming>| {
                let answers = Arc::clone(&answers);
                async move {
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    let mut answers = answers.lock().unwrap();
                    let answer = match answers.answer(&body) {
                        Some((head, rest)) => Bytes::from([head.as_bytes(), rest].concat()),
                        None => Bytes::new(),
                    };
                    let mut response = Response::new(Full::new(answer));
                    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                    Ok::<_, Infallible>(response)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
}
