//! Clients that misbehave over HTTP: each row is what a client sends, with the status that is promised for it by a front
//! for either kind of server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use hyper::header::HeaderMap;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::hostile::{healthy_http, healthy_stdio};
use super::{GUARD, MODERN_CALL, MODERN_HEADERS};
use crate::http::{Backend, HttpToHttp, HttpToStdio, Options, Remote, Safety, serve};
use crate::tests::link;

/// The headers of a call of a revision without sessions.
static HEADERS: LazyLock<String> = LazyLock::new(|| {
    let common = [("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")];
    let headers = common.iter().chain(&MODERN_HEADERS);
    headers.map(|(name, value)| format!("{name}: {value}\r\n")).collect()
});

/// The kind of server behind a listener.
#[derive(Debug, Clone, Copy)]
enum Behind {
    Stdio,
    Http,
}

/// Starts a listener in front of a server that answers every call.
fn listen(behind: Behind, address: &str) -> SocketAddr {
    let (sender, bound) = std::sync::mpsc::channel();
    let address = address.parse().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let make = link(Some(Duration::from_secs(60)));
        let ready = Box::new(move |address| sender.send(address).unwrap());
        runtime.block_on(async {
            let backend = match behind {
                Behind::Stdio => {
                    let front =
                        HttpToStdio::new(GUARD.clone(), healthy_stdio(), move || make.fresh(), |_| {});
                    Backend::Stdio(Arc::new(front))
                }
                Behind::Http => {
                    let remote = Remote::new(&healthy_http(), HeaderMap::new()).unwrap();
                    Backend::Http(Arc::new(HttpToHttp::new(remote, false, move || make.fresh())))
                }
            };
            serve(backend, Options { address, safety: Safety::default(), ready }).await.unwrap();
        });
    });
    bound.recv_timeout(Duration::from_secs(20)).unwrap()
}

/// Sends bytes and returns the status of the response; `None` if the connection is closed without one.
fn exchange(address: SocketAddr, bytes: &[u8]) -> Option<u16> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // A listener may refuse a request before it has read all of it.
    let _ = stream.write_all(bytes);
    status(&mut stream)
}

fn status(stream: &mut TcpStream) -> Option<u16> {
    let mut head = [0; 12];
    stream.read_exact(&mut head).ok()?;
    std::str::from_utf8(&head[9..]).ok()?.parse().ok()
}

fn request(address: SocketAddr, target: &str, headers: &str, body: &str) -> String {
    let (common, length) = (&*HEADERS, body.len());
    format!(
        "POST {target} HTTP/1.1\r\nHost: {address}\r\n{common}{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

/// What a client sends, and the status it gets.
fn rows(address: SocketAddr) -> Vec<(&'static str, String, Option<u16>)> {
    let call = |target: &str, headers: &str| request(address, target, headers, MODERN_CALL);
    let other_host = |host: &str| call("/mcp", "").replace(&format!("Host: {address}\r\n"), host);
    let method = |method: &str| call("/mcp", "").replacen("POST", method, 1);
    let long = "x".repeat(70 * 1024);
    let common = &*HEADERS;
    let without_length =
        |headers: &str| format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\n{common}{headers}\r\n");
    vec![
        ("a call", call("/mcp", ""), Some(200)),
        ("our own address as a target", call(&format!("http://{address}/mcp"), ""), Some(200)),
        ("another host as a target", call("http://evil.example/mcp", ""), Some(403)),
        ("another port as a target", call("http://127.0.0.1:1/mcp", ""), Some(403)),
        ("another scheme as a target", call(&format!("https://{address}/mcp"), ""), Some(403)),
        ("another path", call("/", ""), Some(404)),
        ("no Host", other_host(""), Some(403)),
        ("an empty Host", other_host("Host: \r\n"), Some(403)),
        ("another Host", other_host("Host: evil.example\r\n"), Some(403)),
        ("two Hosts", other_host(&format!("Host: {address}\r\nHost: {address}\r\n")), Some(403)),
        ("another Origin", call("/mcp", "Origin: http://evil.example\r\n"), Some(403)),
        ("the Origin null", call("/mcp", "Origin: null\r\n"), Some(403)),
        ("PUT", method("PUT"), Some(405)),
        ("OPTIONS", method("OPTIONS"), Some(405)),
        ("TRACE", method("TRACE"), Some(405)),
        ("a method that is none", method("P(ST"), Some(400)),
        ("a header above 64 KiB", call("/mcp", &format!("X-Long: {long}\r\n")), Some(431)),
        ("headers above 64 KiB", call("/mcp", &format!("X-Y: {}\r\n", &long[..700]).repeat(99)), Some(431)),
        ("1,000 headers", call("/mcp", &"X-Y: z\r\n".repeat(1000)), Some(431)),
        ("a target above 64 KiB", call(&format!("/{long}"), ""), Some(414)),
        ("a header without a colon", call("/mcp", "nonsense\r\n"), Some(400)),
        ("a NUL in a header", call("/mcp", "X-Y: a\0b\r\n"), Some(400)),
        ("a space before a colon", call("/mcp", "X-Y : z\r\n"), Some(400)),
        ("another version of HTTP", call("/mcp", "").replacen("HTTP/1.1", "HTTP/9.9", 1), Some(400)),
        ("no HTTP", "\u{16}\u{3}\u{1}hello\r\n\r\n".into(), Some(400)),
        ("two lengths", without_length("Content-Length: 2\r\nContent-Length: 3\r\n"), Some(400)),
        ("a negative length", without_length("Content-Length: -1\r\n"), Some(400)),
        ("an unknown coding", without_length("Transfer-Encoding: gzip\r\n"), Some(400)),
        (
            "a chunk of no size",
            format!("{}zz\r\n", without_length("Transfer-Encoding: chunked\r\n")),
            Some(400),
        ),
        (
            "a body above the limit",
            without_length("Content-Length: 5000000\r\n") + &"x".repeat(4 << 20) + &"y".repeat(9000),
            Some(413),
        ),
        ("half a body", without_length("Content-Length: 900\r\n") + "{", Some(408)),
        ("half a chunk", without_length("Transfer-Encoding: chunked\r\n") + "20\r\n{", Some(408)),
    ]
}

#[test]
fn every_request_is_answered_or_refused() {
    for behind in [Behind::Stdio, Behind::Http] {
        let address = listen(behind, "127.0.0.1:0");
        let rows = rows(address);
        std::thread::scope(|scope| {
            for (name, bytes, promised) in &rows {
                scope.spawn(move || {
                    assert_eq!(exchange(address, bytes.as_bytes()), *promised, "{name}, {behind:?}");
                });
            }
        });
        let call = request(address, "/mcp", "", MODERN_CALL);
        assert_eq!(exchange(address, call.as_bytes()), Some(200), "it still answers");
    }
}

#[test]
fn a_listener_answers_on_every_loopback_address() {
    let address = listen(Behind::Http, "127.0.0.2:0");
    assert_eq!(exchange(address, request(address, "/mcp", "", MODERN_CALL).as_bytes()), Some(200));
}

/// Requests whose bodies never end keep nobody else out, and are ended.
#[test]
fn half_sent_bodies_do_not_block_other_clients() {
    const HALF_SENT: usize = 1100;
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let needed = 4 * HALF_SENT as u64;
    if let Some(files) = getrlimit(Resource::Nofile).current.filter(|files| *files < needed) {
        let _ = writeln!(std::io::stderr(), "skipped: {files} open files are allowed, {needed} are needed");
        return;
    }
    let address = listen(Behind::Http, "127.0.0.1:0");
    let common = &*HEADERS;
    let half = format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\n{common}Content-Length: 900\r\n\r\n{{");
    let mut open: Vec<TcpStream> = Vec::new();
    for _ in 0..HALF_SENT {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(half.as_bytes()).unwrap();
        open.push(stream);
    }
    let started = Instant::now();
    assert_eq!(exchange(address, request(address, "/mcp", "", MODERN_CALL).as_bytes()), Some(200));
    assert!(started.elapsed() < Duration::from_secs(20), "nobody waits for them");
    let mut last = open.pop().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(status(&mut last), Some(408));
}
