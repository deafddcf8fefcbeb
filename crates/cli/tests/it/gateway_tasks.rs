//! Tasks through `tidegate gateway`: found again in both eras, by every replica and after a reload, and by their caller alone.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::gateway::{Gateway, repeat};
use crate::gateway_access::{Caller, key};
use crate::http::{Connection, call};

/// Returns the section of a server whose calls become tasks.
fn tasks(home: &Path, name: &str, keys: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tasks.py");
    format!(
        "[upstream.{name}]\ncommand = \"python3\"\nargs = [\"-S\", {:?}]\nenv = [\"TASKS_DIR={}\"]\n{keys}\n",
        script.to_str().unwrap(),
        home.join(name).to_str().unwrap()
    )
}

/// A client without a session.
struct Modern<'k> {
    key: Option<&'k str>,
}

impl Modern<'_> {
    fn request(&self, gateway: &Gateway, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let bearer = self.key.map(|key| format!("Bearer {key}"));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        headers.extend((!name.is_empty()).then_some(("Mcp-Name", name.as_str())));
        Connection::to(gateway.port).post(&headers, &body).json()
    }

    fn begin(&self, gateway: &Gateway, tool: &str, n: u64) -> String {
        let begun = self.request(gateway, "tools/call", json!({"name": tool, "arguments": {"n": n}}));
        assert_eq!(begun["result"]["resultType"], "task", "{begun}");
        begun["result"]["taskId"].as_str().unwrap().to_owned()
    }

    fn get(&self, gateway: &Gateway, task: &str) -> Value {
        self.request(gateway, "tasks/get", json!({"taskId": task}))
    }
}

fn reload(gateway: &Gateway) {
    let told = Command::new("kill").args(["-HUP", &gateway.child.id().to_string()]).status();
    assert!(told.unwrap().success());
    repeat("it was read again", || gateway.log().contains("the configuration was read again"));
}

fn is_unknown(answer: &Value) -> bool {
    answer["error"]["message"].as_str().is_some_and(|message| message.contains("unknown task"))
}

/// Two servers with tasks of the same ids, two callers, and two replicas with one store.
fn two_callers(home: &Path) -> ([Gateway; 2], [String; 2]) {
    let mut config = tasks(home, "one", "") + &tasks(home, "two", "");
    let keys = ["ada", "bob"].map(|name| {
        let (key, section) = key(home, name);
        config += &section;
        key
    });
    ([Gateway::start(home, &config), Gateway::start(home, &config)], keys)
}

#[test]
fn tasks_of_clients_without_sessions_are_found_again() {
    let home = tempfile::tempdir().unwrap();
    let ([here, there], [ada, bob]) = two_callers(home.path());
    let (ada, bob) = (Modern { key: Some(&ada) }, Modern { key: Some(&bob) });
    let (one, two) = (ada.begin(&here, "one__long", 0), ada.begin(&here, "two__long", 0));
    assert_ne!(one, two, "both servers have given the id 1");
    for gateway in [&here, &there] {
        for (task, server) in [(&one, "one"), (&two, "two")] {
            let state = ada.get(gateway, task);
            assert_eq!(state["result"]["taskId"], **task, "{state}");
            assert_eq!(state["result"]["result"]["content"][0]["text"], format!("result of {server}"));
        }
        assert!(is_unknown(&bob.get(gateway, &one)), "the task of another caller");
        for unknown in ["1", "", &one[1..]] {
            assert!(is_unknown(&ada.get(gateway, unknown)), "{unknown}");
        }
    }
    let update = json!({"taskId": two, "inputResponses": {"a": 1}});
    assert!(is_unknown(&bob.request(&there, "tasks/update", update.clone())));
    let updated = ada.request(&there, "tasks/update", update);
    assert_eq!(updated["result"]["resultType"], "complete", "{updated}");
    let notes = ada.request(&here, "tools/call", json!({"name": "two__notes", "arguments": {}}));
    assert!(notes.to_string().contains("\\\"a\\\": 1"), "{notes}");
    assert!(is_unknown(&bob.request(&there, "tasks/cancel", json!({"taskId": two}))));
    ada.request(&there, "tasks/cancel", json!({"taskId": two}));
    reload(&here);
    assert_eq!(ada.get(&here, &two)["result"]["status"], "cancelled");
    assert_eq!(ada.get(&here, &one)["result"]["status"], "completed", "only the other one");
    // The rules of the tool apply to the result of its task.
    let large = ada.begin(&here, "one__long", 400);
    let text = ada.get(&there, &large)["result"]["result"]["content"][0]["text"].take();
    assert!(text.as_str().unwrap_or_default().starts_with("one__long returned 400 rows"), "{text}");
}

#[test]
fn tasks_of_sessions_are_found_again() {
    let home = tempfile::tempdir().unwrap();
    let ([here, there], [ada, bob]) = two_callers(home.path());
    let (mut ada, mut bob) = (Caller::new(&here, &ada), Caller::new(&here, &bob));
    let begun = |caller: &mut Caller, tool: &str, n: u64| {
        let answer = caller.call(tool, json!({"n": n})).json();
        answer["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let (one, two) = (begun(&mut ada, "one__long", 400), begun(&mut ada, "two__long", 0));
    assert_ne!(one, two);
    // What the server says about a task names it as the client knows it, and so does the answer of the client for the server.
    let headers: Vec<(&str, &str)> =
        ada.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut stream = Connection::to(here.port);
    stream.send("POST", &headers, &call(50, "two__tell", json!({})));
    assert_eq!(stream.reply_head(), 200);
    let told = stream.next_event();
    assert_eq!(
        (&told["method"], &told["params"]["taskId"]),
        (&json!("notifications/tasks/status"), &json!(two))
    );
    let asked = stream.next_event();
    let related = asked["params"]["_meta"].clone();
    assert_eq!(related["io.modelcontextprotocol/related-task"]["taskId"], *two, "{asked}");
    let answer =
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "_meta": related}});
    assert_eq!(ada.post(&answer.to_string()).status, 202);
    let answered = stream.next_event()["result"]["content"][0]["text"].take();
    assert!(answered.as_str().unwrap().contains("{\"taskId\": \"1\"}"), "{answered}");
    for round in 0..2 {
        for gateway in [&here, &there] {
            ada.connection = Connection::to(gateway.port);
            let result = ada.request("tasks/result", json!({"taskId": one})).json();
            let text = result["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
            assert!(text.starts_with("one__long returned 400 rows"), "{text}");
            let result = ada.request("tasks/result", json!({"taskId": two})).json();
            assert_eq!(result["result"]["content"][0]["text"], "result of two");
            let related = &result["result"]["_meta"]["io.modelcontextprotocol/related-task"];
            assert_eq!(related["taskId"], *two, "{result}");
            let state = ada.request("tasks/get", json!({"taskId": two})).json();
            assert_eq!(
                (&state["result"]["taskId"], &state["result"]["status"]),
                (&json!(two), &json!("completed"))
            );
            bob.connection = Connection::to(gateway.port);
            for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
                assert!(is_unknown(&bob.request(method, json!({"taskId": two})).json()), "{method}");
            }
        }
        if round == 0 {
            reload(&here);
        }
    }
    let cancelled = ada.request("tasks/cancel", json!({"taskId": one})).json();
    assert_eq!(
        (&cancelled["result"]["taskId"], &cancelled["result"]["status"]),
        (&json!(one), &json!("cancelled"))
    );
}

/// Without authentication a task belongs to its session.
#[test]
fn tasks_belong_to_their_session_where_anybody_may_call() {
    let home = tempfile::tempdir().unwrap();
    let config = tasks(home.path(), "one", "") + &tasks(home.path(), "two", "");
    let gateway = Gateway::start(home.path(), &config);
    let (mut first, mut second) = (gateway.client(), gateway.client());
    let about = |method: &str, task: &str| {
        json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": {"taskId": task}}).to_string()
    };
    let begun = first.post(&call(4, "two__long", json!({}))).json();
    let task = begun["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    let state = first.post(&about("tasks/get", &task)).json();
    assert_eq!(state["result"]["taskId"], *task, "{state}");
    assert!(is_unknown(&second.post(&about("tasks/get", &task)).json()));
    assert!(is_unknown(&first.post(&about("tasks/get", "1")).json()));
}

/// A single server that anybody may call gets every request, whatever it names.
#[test]
fn a_single_open_server_gets_ids_of_its_own_as_well() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &tasks(home.path(), "one", "prefix = \"\""));
    let client = Modern { key: None };
    let task = client.begin(&gateway, "long", 0);
    for id in [task.as_str(), "1"] {
        let state = client.get(&gateway, id);
        assert_eq!(state["result"]["result"]["content"][0]["text"], "result of one", "{state}");
    }
}
