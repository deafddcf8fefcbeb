//! Calls with references through every pairing of transports and both eras: the server receives values, never a reference,
//! and nothing at all of a call that is refused.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::{Caller, Gate, Setup, StoreLocation, ToolCall, UserStore};
use tidegate_query::{Limits, Queries, Worker};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{GUARD, INITIALIZE, MODERN_HEADERS, post, run};
use crate::http::stdio_to_http::StdioToHttp;
use crate::http::{Clients, HttpToHttp, HttpToStdio, Remote};
use crate::link::{Link, Mode, Resolution};
use crate::stdio::{self, ClientStreams};

const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const TOOLS: &str = r#"{"tools":[{"name":"send","inputSchema":{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"Text"},"count":{"type":"integer","x-mcp-header":"Count"},"any":{}}}}]}"#;
/// What the reference of [`arguments`] stands for.
const VALUE: &str = "line 7 of a text";

/// A conversation whose tools take references, and the name of a kept result.
fn link() -> (Link, String) {
    let gate = Gate::new(Setup {
        keep: Arc::new(UserStore::of_user(StoreLocation::Memory)),
        policies: Policies::of_defaults(Rules { references: Some(true), ..Rules::default() }),
        engines: Queries::new(Limits::default(), Worker::new("/nonexistent".into())),
        server: "test".into(),
    })
    .resolving_references();
    let lines: Vec<Value> =
        (0..2000).map(|line| json!({"n": line, "text": format!("line {line} of a text")})).collect();
    let result = json!({"content": [{"type": "text", "text": Value::from(lines).to_string()}]}).to_string();
    let called = ToolCall { tool: "list".into(), ..ToolCall::default() };
    let answer = gate.decide(&Caller::unknown(Vec::new()), &called, &result.as_bytes()).answer.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let name = answer.split("Complete result: \\\"").nth(1).unwrap().split('\\').next().unwrap().to_owned();
    let link =
        Link::new(Arc::new(gate), Caller::unknown(Vec::new()), Mode::Shape, Some(Duration::from_secs(60)));
    (link, name)
}

/// Lets the gate of a link see the list of tools.
fn list_tools(link: &Link) {
    let listing = link.fresh();
    let _ = listing.from_client(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_vec());
    let list = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{TOOLS}}}"#);
    assert!(listing.from_server(list.into_bytes()).forward.is_some());
}

fn call(id: u64, arguments: &str, is_modern: bool) -> String {
    let meta = if is_modern { META } else { "" };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"send","arguments":{arguments}{meta}}}}}"#
    )
}

/// Arguments with a reference that is resolved.
fn arguments(name: &str) -> String {
    format!(r#"{{"text":"result://{name}#/7/text","n":1.0}}"#)
}

fn resolved() -> String {
    format!(r#"{{"text":"{VALUE}","n":1.0}}"#)
}

/// Arguments that are refused.
const WRONG: &str = r#"{"text":"result://list-000000000000"}"#;

fn assert_refused(answer: &Value) {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("argument /text: no result is kept under") && text.ends_with("Nothing was run."),
        "{text}"
    );
}

/// The command of a server on stdio that writes every line it receives to a file.
fn stdio_server(folder: &Path) -> Vec<OsString> {
    let script = r#"while IFS= read -r line; do
  printf '%s\n' "$line" >> "$0"
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *\"id\":*tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1" ;;
    *\"id\":*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\n' "$id" ;;
  esac
done"#;
    let file = folder.join("received").into_os_string();
    vec!["sh".into(), "-c".into(), script.into(), file, TOOLS.into()]
}

/// The calls that a server on stdio received.
fn received_on_stdio(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("received")).unwrap_or_default();
    text.lines().filter(|line| line.contains("tools/call")).map(str::to_owned).collect()
}

/// What a server over HTTP received: headers and body of each request.
type Received = Arc<Mutex<Vec<(HeaderMap, String)>>>;

/// Starts a server that answers every request and records it.
async fn http_server() -> (Remote, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let received = Received::default();
    let recorded = Arc::clone(&received);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let recorded = Arc::clone(&recorded);
            let answer = service_fn(move |request: Request<Incoming>| {
                let recorded = Arc::clone(&recorded);
                async move {
                    let headers = request.headers().clone();
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
                    recorded.lock().unwrap().push((headers, String::from_utf8_lossy(&body).into_owned()));
                    let answer = match &message {
                        Value::Array(messages) => {
                            Value::from(messages.iter().map(answer_to).collect::<Vec<_>>())
                        }
                        message => answer_to(message),
                    };
                    let mut response = Response::new(Full::new(bytes::Bytes::from(answer.to_string())));
                    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
                    Ok::<_, Infallible>(response)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(connection), answer));
        }
    });
    (Remote::new(&format!("http://{address}/mcp"), HeaderMap::new()).unwrap(), received)
}

fn answer_to(message: &Value) -> Value {
    let result = match message["method"].as_str() {
        Some("tools/list") => serde_json::from_str(TOOLS).unwrap(),
        _ => json!({"content": []}),
    };
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

/// The calls that a server over HTTP received.
fn calls(received: &Received) -> Vec<(HeaderMap, String)> {
    let mut received = received.lock().unwrap();
    received.retain(|(_, body)| body.contains("tools/call"));
    std::mem::take(&mut received)
}

#[test]
fn stdio_to_stdio() {
    for is_modern in [false, true] {
        let (link, name) = link();
        let folder = tempfile::tempdir().unwrap();
        let file = |end: OwnedFd| File::from(end);
        let (input, to_proxy) = std::io::pipe().unwrap();
        let (from_proxy, output) = std::io::pipe().unwrap();
        let streams = ClientStreams { input: file(input.into()), output: file(output.into()) };
        let options = stdio::Options { command: stdio_server(folder.path()), program: GUARD.clone() };
        let (sender, events) = channel();
        let proxy =
            std::thread::spawn(move || stdio::run_between(streams, link, &options, sender, events).unwrap());
        let mut to_proxy = file(OwnedFd::from(to_proxy));
        let mut answers = BufReader::new(from_proxy).lines();
        let mut ask = |line: String| -> Value {
            writeln!(to_proxy, "{line}").unwrap();
            serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap()
        };
        let answer = ask(call(1, &arguments(&name), is_modern));
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}}));
        assert_refused(&ask(call(2, WRONG, is_modern)));
        assert_eq!(ask(call(3, "{}", is_modern))["id"], 3);
        drop(to_proxy);
        proxy.join().unwrap();
        let expected = [call(1, &resolved(), is_modern), call(3, "{}", is_modern)];
        assert_eq!(received_on_stdio(folder.path()), expected);
    }
}

#[test]
fn stdio_to_http() {
    for is_modern in [false, true] {
        let (link, name) = link();
        run(async {
            let (remote, received) = http_server().await;
            let (out, mut messages) = mpsc::channel(8);
            let proxy = Arc::new(StdioToHttp::new(link, remote, out, Arc::new(|_: &str| {})));
            let mut tasks = JoinSet::new();
            let list = format!(
                r#"{{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{{{}}}}}"#,
                META.trim_start_matches(',')
            );
            for line in [list, call(1, &arguments(&name), is_modern), call(2, WRONG, is_modern)] {
                Arc::clone(&proxy).take(line.into_bytes(), &mut tasks).await;
                let answer = messages.recv().await.unwrap().message.into_bytes().unwrap();
                let answer: Value = serde_json::from_slice(&answer).unwrap();
                match answer["id"].as_u64() {
                    Some(1) => assert_eq!(answer["result"], json!({"content": []})),
                    Some(2) => assert_refused(&answer),
                    _ => {}
                }
            }
            let calls = calls(&received);
            let [(headers, body)] = calls.as_slice() else { panic!("{calls:?}") };
            assert_eq!(body, &call(1, &resolved(), is_modern));
            let header = headers.get("mcp-param-text").map(|value| value.to_str().unwrap());
            assert_eq!(header, is_modern.then_some(VALUE));
        });
    }
}

#[test]
fn http_to_stdio() {
    for is_modern in [false, true] {
        let (make, name) = link();
        list_tools(&make);
        let folder = tempfile::tempdir().unwrap();
        let command = stdio_server(folder.path());
        run(async {
            let front = HttpToStdio::new(GUARD.clone(), command, move || make.fresh(), |_| {});
            let front = Arc::new(front.for_clients(Clients::Authenticated));
            let mut session = String::new();
            if !is_modern {
                let begun = Arc::clone(&front).answer(post(&[]), INITIALIZE.into()).await;
                session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
            }
            let ask = async |body: String, text: &str| {
                let modern =
                    MODERN_HEADERS.map(|(name, value)| (name, if value == "list" { "send" } else { value }));
                let with_text = [&modern[..], &[("mcp-param-text", text)]].concat();
                let legacy = [("mcp-session-id", session.as_str())];
                let headers = if is_modern { with_text.as_slice() } else { &legacy };
                let response = Arc::clone(&front).answer(post(headers), body.into()).await;
                let status = response.status().as_u16();
                let body = response.into_body().collect().await.unwrap().to_bytes();
                // On a busy machine the response may come as an event.
                let body = String::from_utf8_lossy(&body).into_owned();
                let start = body.find("{\"jsonrpc\"").unwrap_or_else(|| panic!("{body}"));
                let answer = serde_json::Deserializer::from_str(&body[start..]).into_iter::<Value>().next();
                (status, answer.unwrap().unwrap())
            };
            let text = format!("result://{name}#/7/text");
            let (status, answer) = ask(call(1, &arguments(&name), is_modern), &text).await;
            assert_eq!((status, &answer["result"]), (200, &json!({"content": []})), "{answer}");
            let (status, answer) = ask(call(2, WRONG, is_modern), "result://list-000000000000").await;
            assert_eq!(status, 200);
            assert_refused(&answer);
            if is_modern {
                let (status, answer) = ask(call(3, &arguments(&name), is_modern), VALUE).await;
                assert_eq!(
                    (status, &answer["error"]["code"]),
                    (400, &json!(-32020)),
                    "headers repeat what was written"
                );
            }
            front.end().await;
        });
        let received = received_on_stdio(folder.path());
        let [one] = received.as_slice() else { panic!("{received:?}") };
        let one: Value = serde_json::from_str(one).unwrap();
        assert_eq!(one["params"]["arguments"], serde_json::from_str::<Value>(&resolved()).unwrap());
    }
}

#[test]
fn http_to_http() {
    for (is_modern, is_listed) in [(false, true), (true, true), (true, false)] {
        let (make, name) = link();
        if is_listed {
            list_tools(&make);
        }
        run(async {
            let (remote, received) = http_server().await;
            let front = HttpToHttp::new(remote, false, move || make.fresh());
            let front = Arc::new(front.for_clients(Clients::Authenticated));
            let ask = async |body: String, text: &str| -> Value {
                let modern =
                    MODERN_HEADERS.map(|(name, value)| (name, if value == "list" { "send" } else { value }));
                let with_text =
                    [&modern[..], &[("mcp-param-text", text), ("mcp-param-other", "kept")]].concat();
                let legacy = [("mcp-session-id", "s")];
                let headers = if is_modern { with_text.as_slice() } else { &legacy };
                let response = Arc::clone(&front).answer(post(headers), body.into()).await;
                assert_eq!(response.status(), 200);
                serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
            };
            let text = format!("result://{name}#/7/text");
            assert_eq!(
                ask(call(1, &arguments(&name), is_modern), &text).await["result"],
                json!({"content": []})
            );
            assert_refused(&ask(call(2, WRONG, is_modern), "result://list-000000000000").await);
            let sent = calls(&received);
            let [(headers, body)] = sent.as_slice() else { panic!("{sent:?}") };
            assert_eq!(body, &call(1, &resolved(), is_modern));
            let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
            assert_eq!(header("mcp-param-text"), (is_modern && is_listed).then_some(VALUE));
            assert_eq!(header("mcp-param-other"), is_modern.then_some("kept"));
            if is_modern {
                // A value that a reference stands for has a header too, if the client could not send one.
                let count = format!(r#"{{"count":{{"$result":"{name}","path":"/7/n"}}}}"#);
                ask(call(4, &count, true), "x").await;
                let sent = calls(&received);
                let header = sent[0].0.get("mcp-param-count").map(|value| value.to_str().unwrap());
                assert_eq!(header, is_listed.then_some("7"));
            } else {
                let batch = format!(
                    "[{},{},{}]",
                    call(5, &arguments(&name), false),
                    call(6, "{}", false),
                    call(7, WRONG, false)
                );
                let answers = ask(batch, "").await;
                let mut ids: Vec<u64> =
                    answers.as_array().unwrap().iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
                ids.sort_unstable();
                assert_eq!(ids, [5, 6, 7], "{answers}");
                let sent = calls(&received);
                assert_eq!(sent[0].1, format!("[{},{}]", call(6, "{}", false), call(5, &resolved(), false)));
                assert_refused(&ask(call(8, WRONG, false), "").await);
            }
        });
    }
}

/// If the server ends while references are resolved, the call is answered once, as not sent.
#[test]
fn a_call_that_is_resolved_too_late_is_answered_once() {
    let (link, name) = link();
    let mut outcome = link.from_client(call(1, &arguments(&name), false).into_bytes());
    let answers = link.fail_resolving("the server ended");
    let answer: Value = serde_json::from_slice(&answers[0]).unwrap();
    let expected = "the server ended, so the call of send was not sent";
    assert_eq!((&answer["id"], &answer["error"]["message"]), (&json!(1), &json!(expected)));
    let resolution = link.resolve_call(outcome.resolve.remove(0));
    assert!(matches!(resolution, Resolution::Cancelled(_)) && !link.is_open());
    // If the server no longer reads, the call is answered too.
    let mut outcome = link.from_client(call(2, &arguments(&name), false).into_bytes());
    assert!(matches!(link.resolve_call(outcome.resolve.remove(0)), Resolution::Forward(_)));
    let answer = String::from_utf8(link.fail_unsent(b"2", "the server ended").unwrap()).unwrap();
    assert!(answer.contains(expected) && !link.is_open(), "{answer}");
}
