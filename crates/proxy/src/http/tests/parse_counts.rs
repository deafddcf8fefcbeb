//! How often the head of a message is parsed: once per direction, whatever the transports.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{CALL, GUARD, INITIALIZE, MODERN_CALL, MODERN_HEADERS, link, post, run};
use crate::http::stdio_to_http::StdioToHttp;
use crate::http::{HttpToHttp, HttpToStdio, Remote};
use crate::message::count;

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":101,"result":{"content":[]}}"#;

/// A server on stdio that answers every request with an empty result.
const STDIO_SERVER: &str = r#"while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[]}}"
done"#;

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
    let command = ["sh", "-c", STDIO_SERVER].map(std::ffi::OsString::from).to_vec();
    let make = link();
    run(async {
        let front = Arc::new(HttpToStdio::new(GUARD.clone(), command, move || make.fresh(), |_| {}));
        let answer =
            |body: &str, headers: &[(&str, &str)]| Arc::clone(&front).answer(post(headers), body.into());
        let begun = answer(INITIALIZE, &[]).await;
        let session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        count::take();
        let legacy = answer(CALL, &[("mcp-session-id", &session)]).await;
        // On a busy machine the response may come as an event.
        let body = legacy.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(count::take(), 2, "legacy");
        assert!(String::from_utf8_lossy(&body).contains(ANSWER), "{body:?}");
        // The first call makes tidegate ask for the list of tools, which is a message of its own.
        answer(MODERN_CALL, &MODERN_HEADERS).await;
        count::take();
        let modern = answer(MODERN_CALL, &MODERN_HEADERS).await;
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
        let answer = messages.recv().await.unwrap().message.into_bytes().unwrap();
        assert_eq!((count::take(), answer), (2, ANSWER.as_bytes().to_vec()));
    });
}

#[test]
fn http_to_http() {
    let make = link();
    run(async {
        let remote = Remote::new(&http_server().await, HeaderMap::new()).unwrap();
        let front = Arc::new(HttpToHttp::new(remote, false, move || make.fresh()));
        for (body, headers) in [(CALL, &[][..]), (MODERN_CALL, &MODERN_HEADERS)] {
            count::take();
            let response = Arc::clone(&front).answer(post(headers), body.into()).await;
            let answer = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!((count::take(), &answer[..]), (2, ANSWER.as_bytes()));
        }
    });
}
