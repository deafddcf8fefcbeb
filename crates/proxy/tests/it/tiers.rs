//! What a client may call and read by its tier, over the messages of a link.

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::profile::ProfileRules;
use tidegate_gate::style::Style;
use tidegate_gate::tier::Tier;
use tidegate_gate::{Gate, Setup, StoreLocation, UserStore};
use tidegate_proxy::{Link, Mode};
use tidegate_query::{Limits, Queries, Worker};
use tidegate_testkit::make;

use crate::{from_server, link};

/// A gate where `list` needs the tier admin, and `show` none.
fn gate() -> Arc<Gate> {
    let mut policies = Policies::of_defaults(Rules { style: Some(Style::Probe), ..Rules::default() });
    policies.add_tools("li*", Rules { tier: Some(Tier::Admin), ..Rules::default() });
    Arc::new(Gate::new(Setup {
        keep: Arc::new(UserStore::of_user(StoreLocation::Memory)),
        policies,
        engines: Queries::new(Limits::default(), Worker::new("/nonexistent".into())),
        server: "test".into(),
    }))
}

fn of_tier(gate: &Arc<Gate>, tier: Tier) -> Link {
    link(gate, Some(ProfileRules { tier: Some(tier), ..ProfileRules::default() }), Mode::Shape)
}

fn request(method: &str, params: &Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string().into_bytes()
}

/// Sends a request that tidegate answers; nothing reaches the server.
fn answered(link: &Link, line: Vec<u8>) -> Value {
    let from = link.from_client(line);
    assert_eq!((from.forward, from.local.len()), (None, 1));
    serde_json::from_slice(&link.answer_locally(&from.local[0])).unwrap()
}

fn call(link: &Link, tool: &str, arguments: &Value) -> Value {
    answered(link, request("tools/call", &json!({"name": tool, "arguments": arguments})))
}

/// Lets a tool answer with a large result, and returns its token.
fn kept(link: &Link, tool: &str) -> String {
    let line = request("tools/call", &json!({"name": tool}));
    assert_eq!(link.from_client(line.clone()).forward, Some(line));
    let result = String::from_utf8(make::text_result(&"a line of text\n".repeat(9000))).unwrap();
    let answer =
        from_server(link, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#).into_bytes()).unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    let probe: Value =
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    probe["continuation_token"].as_str().unwrap().to_owned()
}

/// The addresses in the list of resources that a client gets.
fn listed(link: &Link) -> Vec<String> {
    let line = request("resources/list", &json!({}));
    link.from_client(line);
    let list = br#"{"jsonrpc":"2.0","id":1,"result":{"resources":[]}}"#.to_vec();
    let list: Value = serde_json::from_slice(&from_server(link, list).unwrap()).unwrap();
    let resources = list["result"]["resources"].as_array().unwrap().iter();
    resources.map(|resource| resource["uri"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_tool_above_the_tier_is_neither_listed_nor_called() {
    let gate = gate();
    for (tier, expected) in
        [(Tier::Read, vec!["show", "result_query"]), (Tier::Admin, vec!["list", "show", "result_query"])]
    {
        let link = of_tier(&gate, tier);
        link.from_client(request("tools/list", &json!({})));
        let list = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"list","inputSchema":{}}, {"name":"show","inputSchema":{}}]}}"#;
        let list: Value = serde_json::from_slice(&from_server(&link, list.to_vec()).unwrap()).unwrap();
        let names: Vec<&str> = list["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, expected);
    }
    let reader = of_tier(&gate, Tier::ReadWrite);
    let refused = call(&reader, "list", &json!({}));
    assert_eq!(refused["result"]["isError"], true);
    let words = "list needs the tier admin, and this caller has read_write. Nothing was run.";
    assert!(refused["result"]["content"][0]["text"].as_str().unwrap().starts_with(words), "{refused}");
    let line = request("tools/call", &json!({"name": "show"}));
    assert_eq!(reader.from_client(line.clone()).forward, Some(line));
}

#[test]
fn results_of_a_tool_above_the_tier_cannot_be_read() {
    let gate = gate();
    let (admin, reader) = (of_tier(&gate, Tier::Admin), of_tier(&gate, Tier::Read));
    let token = kept(&admin, "list");
    let uri = listed(&admin).remove(0);
    let id = uri.rsplit('/').next().unwrap();
    assert!(listed(&reader).is_empty());
    let nothing = call(&reader, "result_query", &json!({"id": "list-000000000000"}));
    let hidden = call(&reader, "result_query", &json!({"id": format!("list-{id}")}));
    let words =
        |answer: &Value| answer["result"]["content"][0]["text"].as_str().unwrap().replace(id, "000000000000");
    assert_eq!(words(&hidden), words(&nothing), "as if it were not there");
    let read = answered(&reader, request("resources/read", &json!({"uri": uri})));
    assert!(read["error"]["message"].as_str().unwrap().contains("no result is kept under"), "{read}");
    for tool in ["list", "show"] {
        let fetched = call(&reader, tool, &json!({"continuation_token": token}));
        assert!(words(&fetched).contains("Continuation token expired or not found."), "{fetched}");
    }
    assert!(
        words(&call(&admin, "result_query", &json!({"id": id, "lines": "1-2"}))).contains("a line of text")
    );
    // What it may call it may read.
    kept(&reader, "show");
    assert_eq!(listed(&reader).len(), 1);
    assert_eq!(listed(&admin).len(), 2);
}

/// What a server could read in another way than tidegate does not reach it.
#[test]
fn a_call_cannot_be_hidden_from_the_check() {
    let gate = gate();
    let reader = of_tier(&gate, Tier::Read);
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list","name":"show"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list"},"params":{"name":"show"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list"},"method":"ping"}"#,
    ] {
        let answer = answered(&reader, line.as_bytes().to_vec());
        assert_eq!(answer["error"]["code"], -32600, "{line}");
    }
    for line in [
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"list"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list"}"#,
        "not json",
    ] {
        let from = reader.from_client(line.as_bytes().to_vec());
        assert_eq!((from.forward, from.local.len()), (None, 0), "{line}");
    }
    let escaped = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"l\u0069st"}}"#;
    assert_eq!(answered(&reader, escaped.as_bytes().to_vec())["result"]["isError"], true);
    // Whoever may do everything is served as ever.
    let admin = of_tier(&gate, Tier::Admin);
    assert_eq!(admin.from_client(b"not json".to_vec()).forward.as_deref(), Some(&b"not json"[..]));
}
