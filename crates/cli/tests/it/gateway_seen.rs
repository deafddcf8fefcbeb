//! What whoever runs `tidegate gateway` can see of it: logs and traces.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::gateway::{Gateway, repeat, section};
use crate::gateway_access::{Caller, key};
use crate::http::{Connection, Remote, modern_headers};

#[test]
fn each_line_of_a_log_is_a_json_object() {
    let home = tempfile::tempdir().unwrap();
    let (ada, caller) = key(home.path(), "ada");
    let config = format!(
        "[gateway]\nlog_format = \"json\"\naudit_file = \"audit.jsonl\"\n{caller}{}[upstream.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n",
        section("one", "")
    );
    let gateway = Gateway::start(home.path(), &config);
    let mut ada = Caller::new(&gateway, &ada);
    let dead = ada.text("one__die", json!({"code": 3}));
    assert!(dead.contains("ended"), "{dead}");
    let lines = || -> Vec<Value> {
        let said = gateway.said.lock().unwrap().clone();
        said.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    };
    let has = |upstream: Value, level: &str, message: &str| {
        lines().iter().any(|line| {
            line["upstream"] == upstream
                && line["level"] == level
                && line["message"].as_str().unwrap().contains(message)
        })
    };
    assert!(has(Value::Null, "info", "listening on http://127.0.0.1:"), "{:?}", lines());
    repeat("the server that is gone has a line", || has(json!("gone"), "warn", "cannot be read"));
    repeat("so has what a server writes to stderr", || has(json!("one"), "info", "dying as told"));
    let started = std::process::Command::new("kill").args(["-HUP", &gateway.child.id().to_string()]).status();
    assert!(started.unwrap().success());
    repeat("the configuration is read again", || {
        has(Value::Null, "info", "the configuration was read again")
    });
    for line in lines() {
        assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
        assert!(!line["message"].as_str().unwrap().starts_with("tidegate: "), "{line}");
    }
    let audit = std::fs::read_to_string(home.path().join("audit.jsonl")).unwrap();
    let line: Value = serde_json::from_str(audit.lines().next().unwrap()).unwrap();
    assert_eq!((&line["event"], &line["caller"]), (&json!("request"), &json!("key:ada")), "{line}");
}

/// A collector of traces: its address, and the spans that it got.
fn collector() -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let spans: Arc<Mutex<Vec<Value>>> = Arc::default();
    let taken = Arc::clone(&spans);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = BufReader::new(stream);
            loop {
                let (mut length, mut line) = (0, String::new());
                while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                    if let Some((name, value)) = line.split_once(':')
                        && name.eq_ignore_ascii_case("content-length")
                    {
                        length = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                if length == 0 || stream.read_exact(&mut body).is_err() {
                    break;
                }
                let body: Value = serde_json::from_slice(&body).unwrap();
                let sent = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
                taken.lock().unwrap().extend(sent.iter().cloned());
                let answer =
                    b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}";
                stream.get_mut().write_all(answer).unwrap();
            }
        }
    });
    (address, spans)
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

#[test]
fn a_trace_goes_through_the_gateway() {
    let home = tempfile::tempdir().unwrap();
    let (remote, (endpoint, spans)) = (Remote::guarded(), collector());
    let config =
        section("one", "") + &format!("[upstream.far]\nurl = {:?}\nbearer_env = \"TOKEN\"\n", remote.url);
    let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("TOKEN", "valid-token")];
    let gateway = Gateway::start_in(home.path(), &config, &[], &environment);
    let mut connection = Connection::to(gateway.port);
    let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
    let mut call = |tool: &str, arguments: Value, meta: Option<&str>, header: Option<&str>| {
        let mut params = json!({"name": tool, "arguments": arguments, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}});
        if let Some(meta) = meta {
            params["_meta"]["traceparent"] = meta.into();
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let mut headers = modern_headers(tool).to_vec();
        headers.extend(header.map(|header| ("traceparent", header)));
        let answer = connection.post(&headers, &body.to_string()).json();
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let with = |tool: &str, number: usize| {
        let of_tool = || -> Vec<Value> {
            let name = format!("tools/call {tool}");
            spans.lock().unwrap().iter().filter(|span| span["name"] == name).cloned().collect()
        };
        repeat("the span arrives", || of_tool().len() > number);
        of_tool()[number].clone()
    };
    let sent_on = |span: &Value| {
        format!("00-{}-{}-01", span["traceId"].as_str().unwrap(), span["spanId"].as_str().unwrap())
    };
    let attribute = |span: &Value, key: &str| {
        let all = span["attributes"].as_array().unwrap();
        let value = &all.iter().find(|attribute| attribute["key"] == key).unwrap()["value"];
        value["stringValue"].as_str().or(value["intValue"].as_str()).unwrap().to_owned()
    };
    // From `_meta`.
    let seen: Value =
        serde_json::from_str(&call("far__headers", json!({"secret": "hidden"}), Some(&parent), None))
            .unwrap();
    let span = with("headers", 0);
    assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(TRACE), &json!("b7ad6b7169203331")));
    assert_eq!(seen["traceparent"], sent_on(&span), "the span of the gateway is the parent of the server's");
    assert_eq!(attribute(&span, "tidegate.server"), "far");
    assert_eq!(attribute(&span, "tidegate.outcome"), "answered");
    assert!(attribute(&span, "tidegate.request.bytes").parse::<u64>().unwrap() > 100);
    assert!(attribute(&span, "tidegate.response.bytes").parse::<u64>().unwrap() > 100);
    assert!(!span.to_string().contains("hidden"), "never arguments: {span}");
    // From the headers, and from nowhere.
    let seen: Value = serde_json::from_str(&call("far__headers", json!({}), None, Some(&parent))).unwrap();
    let span = with("headers", 1);
    assert_eq!(
        (&span["traceId"], seen["traceparent"].as_str()),
        (&json!(TRACE), Some(sent_on(&span).as_str()))
    );
    let seen: Value = serde_json::from_str(&call("far__headers", json!({}), None, None)).unwrap();
    let span = with("headers", 2);
    assert!(span.get("parentSpanId").is_none() && span["traceId"] != TRACE, "{span}");
    assert_eq!(seen["traceparent"], sent_on(&span));
    // A process has no headers.
    assert_eq!(call("one__echo", json!({"value": "here"}), Some(&parent), None), "here");
    assert_eq!(with("echo", 0)["traceId"], TRACE);
    let metrics = Connection::to(gateway.port).get("/metrics", &[]).text();
    assert!(metrics.contains("tidegate_spans_total{outcome=\"sent\"}"), "{metrics}");
}
