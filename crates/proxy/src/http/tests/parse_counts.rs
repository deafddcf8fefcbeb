//! How often the head of a message is parsed: once per direction, whatever the transports.

use std::convert::Infallible;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::link;
use crate::http::body::Body;
use crate::http::stdio_to_http::StdioToHttp;
use crate::http::{HttpToHttp, HttpToStdio, Remote};
use crate::message::count;

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list"}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":6,"method":"initialize","params":{}}"#;
const MODERN_CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;

/// A server on stdio that answers every request with an empty result.
const STDIO_SERVER: &str = r#"while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[]}}"
done"#;

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

/// Starts an HTTP server that answers every request with [`ANSWER`]; returns its address.
async fn http_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let answer = service_fn(|request: Request<Incoming>| async move {
                let _ = request.into_body().collect().await;
                let mut response = Response::new(Full::new(Bytes::from_static(ANSWER.as_bytes())));
                response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
                Ok::<_, Infallible>(response)
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(connection), answer));
        }
    });
    format!("http://{address}/mcp")
}

fn post(body: &'static str, headers: &[(&'static str, &str)]) -> Request<Full<Bytes>> {
    let mut request = Request::post("/mcp")
        .header(ACCEPT, "application/json, text/event-stream")
        .header(CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap()
}

async fn parts_of(request: Request<Full<Bytes>>) -> (Parts, Vec<u8>) {
    let (parts, body) = request.into_parts();
    (parts, body.collect().await.unwrap().to_bytes().to_vec())
}

async fn answer_stdio(front: &Arc<HttpToStdio>, request: Request<Full<Bytes>>) -> Response<Body> {
    let (parts, body) = parts_of(request).await;
    Arc::clone(front).answer(parts, body).await
}

/// Writes a program that starts the command it is given, in place of the guard.
fn program(folder: &Path) -> std::path::PathBuf {
    let program = folder.join("guard");
    std::fs::write(&program, "#!/bin/sh\nshift 2\nexec \"$@\"\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn stdio_to_stdio() {
    let (link, mut out) = (link(), Vec::new());
    count::take();
    link.pass_to_server(CALL.as_bytes(), &mut out);
    assert_eq!(count::take(), 1, "client");
    out.clear();
    link.pass_to_client(ANSWER.as_bytes(), &mut out);
    assert_eq!((count::take(), out), (1, format!("{ANSWER}\n").into_bytes()), "server");
}

#[test]
fn http_to_stdio() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path());
    let command = ["sh", "-c", STDIO_SERVER].map(std::ffi::OsString::from).to_vec();
    let make = link();
    run(async {
        let front = Arc::new(HttpToStdio::new(program, command, move || make.fresh(), |_| {}));
        let begun = answer_stdio(&front, post(INITIALIZE, &[])).await;
        let session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        count::take();
        let legacy = answer_stdio(&front, post(CALL, &[("mcp-session-id", &session)])).await;
        // On a busy machine the response may come as an event.
        let body = legacy.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(count::take(), 2, "legacy");
        assert!(String::from_utf8_lossy(&body).contains(ANSWER), "{body:?}");
        let headers =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "list")];
        // The first call makes tidegate ask for the list of tools, which is a message of its own.
        answer_stdio(&front, post(MODERN_CALL, &headers)).await;
        count::take();
        let modern = answer_stdio(&front, post(MODERN_CALL, &headers)).await;
        let body = modern.into_body().collect().await.unwrap().to_bytes();
        assert_eq!((count::take(), &body[..]), (2, ANSWER.as_bytes()), "modern");
        front.end().await;
    });
}

#[test]
fn stdio_to_http() {
    run(async {
        let remote = Remote::new(&http_server().await, HeaderMap::new()).unwrap();
        let (out, mut messages) = mpsc::channel(4);
        let proxy = Arc::new(StdioToHttp::new(link(), remote, out, Arc::new(|_: &str| {})));
        let mut tasks = JoinSet::new();
        count::take();
        proxy.take(CALL.as_bytes().to_vec(), &mut tasks).await;
        let answer = messages.recv().await.unwrap().into_bytes().unwrap();
        assert_eq!((count::take(), answer), (2, ANSWER.as_bytes().to_vec()));
    });
}

#[test]
fn http_to_http() {
    let make = link();
    run(async {
        let remote = Remote::new(&http_server().await, HeaderMap::new()).unwrap();
        let front = Arc::new(HttpToHttp::new(remote, false, move || make.fresh()));
        for (body, headers) in [
            (CALL, &[][..]),
            (
                MODERN_CALL,
                &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "list")],
            ),
        ] {
            count::take();
            let (parts, body) = parts_of(post(body, headers)).await;
            let response = Arc::clone(&front).answer(parts, body).await;
            let answer = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!((count::take(), &answer[..]), (2, ANSWER.as_bytes()));
        }
    });
}
