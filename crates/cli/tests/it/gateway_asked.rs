//! A server without sessions that asks clients with sessions, through `tidegate gateway`.

use std::path::Path;

use serde_json::{Value, json};

use crate::gateway::{Client, Gateway, repeat};
use crate::http::{Connection, call};

fn stateless() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stateless.py");
    format!("[upstream.one]\ncommand = \"python3\"\nargs = [\"-S\", {:?}]\n", script.to_str().unwrap())
}

/// Begins a session of a client with capabilities.
fn client(gateway: &Gateway, capabilities: &Value) -> Client {
    let mut connection = Connection::to(gateway.port);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}}});
    let reply = connection.post(&[], &hello.to_string());
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    Client { connection, session, next: 10 }
}

/// Sends a call whose answer is read from a stream.
fn begin(gateway: &Gateway, client: &Client, tool: &str) -> Connection {
    let mut stream = Connection::to(gateway.port);
    stream.send("POST", &[("Mcp-Session-Id", &client.session)], &call(7, tool, json!({"n": 1})));
    assert_eq!(stream.reply_head(), 200);
    stream
}

#[test]
fn a_server_without_sessions_asks_a_client_with_one() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &stateless());
    let mut client = client(&gateway, &json!({"elicitation": {}, "roots": {}}));
    let mut stream = begin(&gateway, &client, "one__ask");
    let mut answer = |expected: &str, result: Value| {
        let asked = stream.next_event();
        assert_eq!(asked["method"], expected, "{asked}");
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        assert_eq!(client.post(&answer.to_string()).status, 202);
        asked
    };
    let named = |name: &str| json!({"action": "accept", "content": {"name": name}});
    let asked = answer("elicitation/create", named("ada"));
    assert_eq!(asked["params"]["message"], "your name?", "{asked}");
    answer("roots/list", json!({"roots": [{"uri": "file:///a"}]}));
    answer("elicitation/create", named("bob"));
    let answered = stream.next_event();
    assert_eq!(answered["id"], 7, "{answered}");
    let text = answered["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answered}"));
    let given: Value = serde_json::from_str(text).unwrap();
    assert_eq!(given["before"], json!({"first": named("ada"), "where": {"roots": [{"uri": "file:///a"}]}}));
    assert_eq!((&given["now"], &given["arguments"]), (&json!({"second": named("bob")}), &json!({"n": 1})));
    assert_eq!(client.call("one__count", json!({})), "3", "each round is one request");
    assert_eq!(client.call("one__wait", json!({})), "waited", "one that asks nothing is only continued");
}

#[test]
fn a_question_that_gets_no_answer_ends_the_call() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &stateless());
    let mut without = client(&gateway, &json!({"elicitation": {}}));
    let mut stream = begin(&gateway, &without, "one__ask");
    let asked = stream.next_event();
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}});
    assert_eq!(without.post(&answer.to_string()).status, 202);
    let failed = stream.next_event();
    let said = failed["error"]["message"].as_str().unwrap_or_else(|| panic!("{failed}"));
    assert!(said.contains("roots/list") && said.contains("does not support"), "{failed}");

    let mut refusing = client(&gateway, &json!({"elicitation": {}, "roots": {}}));
    let mut stream = begin(&gateway, &refusing, "one__ask");
    let asked = stream.next_event();
    let refusal = json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "not now"}});
    assert_eq!(refusing.post(&refusal.to_string()).status, 202);
    let failed = stream.next_event();
    assert!(failed["error"]["message"].as_str().unwrap().contains("not now"), "{failed}");

    let mut cancelling = client(&gateway, &json!({"elicitation": {}, "roots": {}}));
    let mut stream = begin(&gateway, &cancelling, "one__ask");
    let asked = stream.next_event();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(cancelling.post(&cancel.to_string()).status, 202);
    let withdrawn = stream.next_event();
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"], "{withdrawn}");
    let metrics = || Connection::to(gateway.port).get("/metrics", &[]).text();
    repeat("its place is free", || metrics().contains("tidegate_requests_in_flight{server=\"one\"} 0\n"));
}
