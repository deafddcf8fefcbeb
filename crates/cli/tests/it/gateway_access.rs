//! Who may use what through `tidegate gateway`: callers with keys, their roles, sessions and results.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::gateway::{Gateway, asking, section, two};
use crate::http::{Connection, Remote, Reply, call, modern, modern_headers};
use crate::session::handle;

/// Returns a new key and the section of the configuration for its caller.
pub(crate) fn key(home: &Path, name: &str) -> (String, String) {
    let made = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["gateway", "key", name])
        .env("TIDEGATE_HOME", home)
        .output()
        .unwrap();
    let printed = String::from_utf8(made.stdout).unwrap();
    let (key, section) = printed.split_once('\n').unwrap();
    assert!(!section.contains(key), "only the hash is configured");
    (key.to_owned(), section.to_owned())
}

/// A caller with a key and a session.
pub(crate) struct Caller {
    pub(crate) connection: Connection,
    pub(crate) headers: Vec<(String, String)>,
    next: u64,
}

impl Caller {
    pub(crate) fn new(gateway: &Gateway, key: &str) -> Self {
        let connection = Connection::to(gateway.port);
        let headers = vec![("Authorization".to_owned(), format!("Bearer {key}"))];
        let mut caller = Self { connection, headers, next: 1 };
        let client = json!({"name": "somebody", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let greeted = caller.request("initialize", params);
        assert_eq!(greeted.status, 200, "{}", greeted.text());
        let session = greeted.header("mcp-session-id").unwrap().to_owned();
        caller.headers.push(("Mcp-Session-Id".to_owned(), session));
        caller
    }

    pub(crate) fn post(&mut self, body: &str) -> Reply {
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.connection.post(&headers, body)
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Reply {
        self.next += 1;
        let body = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.post(&body.to_string())
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).json();
        let text = answer["result"]["content"][0]["text"].as_str();
        text.map_or_else(|| answer.to_string(), str::to_owned)
    }

    pub(crate) fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({})).json();
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

const ROLES: &str = "
[gateway.role.staff]
groups = [\"staff\"]

[gateway.role.guest]
groups = [\"guests\"]
tier = \"read\"
servers = [\"one\"]
tools = [\"rows\", \"seen\", \"given\"]

[server.one.tool.given]
tier = \"read_write\"
";

/// A gateway with two servers and three callers: one of the staff, one guest, and one without any role.
fn three_callers(home: &Path) -> (Gateway, [String; 3]) {
    let callers = [("ada", "groups = [\"staff\"]"), ("bob", "groups = [\"guests\"]"), ("eve", "")];
    let mut config = two() + ROLES;
    let keys = callers.map(|(name, groups)| {
        let (key, section) = key(home, name);
        config += &format!("{section}{groups}\n");
        key
    });
    (Gateway::start(home, &config), keys)
}

#[test]
fn without_a_valid_key_nothing_is_answered_but_how_to_get_one() {
    let home = tempfile::tempdir().unwrap();
    let (gateway, [ada, ..]) = three_callers(home.path());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let mut connection = Connection::to(gateway.port);
    for (headers, error) in [
        (vec![], None),
        (vec![("Authorization", "Bearer wrong")], Some("invalid_token")),
        (vec![("Authorization", "Basic YTpi")], None),
        (vec![("Authorization", "Bearer")], Some("invalid_")),
        (vec![("Mcp-Session-Id", "wrong")], None),
    ] {
        let refused = connection.post(&headers, ping);
        let challenge = refused.header("www-authenticate").unwrap_or_default().to_owned();
        assert!(matches!(refused.status, 400 | 401), "{headers:?}: {}", refused.status);
        assert!(challenge.starts_with("Bearer"), "{headers:?}: {challenge}");
        assert!(error.is_none_or(|error| challenge.contains(error)), "{headers:?}: {challenge}");
        assert!(!refused.text().contains("\"result\""), "{}", refused.text());
    }
    let listen = connection.get("/mcp", &[("Accept", "text/event-stream")]);
    assert_eq!(listen.status, 401, "streams need a key as well");
    let modern = connection.post(&modern_headers("one__rows"), &modern(1, "one__rows", json!({"n": 1})));
    assert_eq!(modern.status, 401);
    let health = connection.get("/health/live", &[]);
    assert_eq!(health.status, 200);
    assert_eq!(Caller::new(&gateway, &ada).text("one__rows", json!({"n": 0})), "[]");
}

#[test]
fn lists_and_calls_follow_the_roles() {
    let home = tempfile::tempdir().unwrap();
    let (gateway, [ada, bob, eve]) = three_callers(home.path());
    let (mut ada, mut bob, mut eve) =
        (Caller::new(&gateway, &ada), Caller::new(&gateway, &bob), Caller::new(&gateway, &eve));
    assert_eq!(ada.tools().len(), 25);
    assert_eq!(bob.tools(), ["one__rows", "one__seen", "result_query"], "not the tool of a higher tier");
    assert_eq!(eve.tools(), ["result_query"]);
    assert_eq!(ada.text("two__rows", json!({"n": 0})), "[]");
    assert_eq!(bob.text("one__rows", json!({"n": 0})), "[]");
    for tool in ["two__rows", "one__die", "one__given"] {
        let refused = bob.call(tool, json!({"n": 0}));
        assert_eq!(refused.status, 403, "{tool}: {}", refused.text());
    }
    for tool in ["one__rows", "one__seen"] {
        let refused = eve.call(tool, json!({"n": 0}));
        assert_eq!(refused.status, 403, "{tool}: {}", refused.text());
    }
    let unseen = ada.text("one__seen", json!({}));
    assert!(!unseen.contains("given"), "nothing that was refused reached the server: {unseen}");
    assert!(!ada.text("two__seen", json!({})).contains("die"));
    let resources = eve.request("resources/list", json!({})).json();
    assert_eq!(resources["result"]["resources"], json!([]), "{resources}");
    assert_eq!(eve.request("resources/read", json!({"uri": "own://1"})).status, 403);
    assert_eq!(
        bob.request("resources/read", json!({"uri": "own://1"})).status,
        403,
        "a role with tools has no resources"
    );
}

/// A batch is several messages, each of which is checked.
#[test]
fn a_batch_allows_no_more_than_its_messages() {
    let home = tempfile::tempdir().unwrap();
    let (gateway, [ada, bob, _]) = three_callers(home.path());
    let mut bob = Caller::new(&gateway, &bob);
    let call = |id: u64, tool: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {"n": 0}}});
    let reply =
        bob.post(&json!([call(7, "one__rows"), call(8, "two__rows"), call(9, "one__given")]).to_string());
    let text = reply.text();
    assert!(!text.contains("arguments"), "{text}");
    let mut ada = Caller::new(&gateway, &ada);
    assert!(!ada.text("two__seen", json!({})).contains("rows"), "{text}");
    assert!(!ada.text("one__seen", json!({})).contains("given"), "{text}");
}

#[test]
fn results_and_sessions_belong_to_their_caller() {
    let home = tempfile::tempdir().unwrap();
    let (gateway, [ada, bob, _]) = three_callers(home.path());
    let (mut ada, mut bob) = (Caller::new(&gateway, &ada), Caller::new(&gateway, &bob));
    let first = ada.text("one__rows", json!({"n": 400}));
    let id = handle(&first);
    let count = json!({"id": id, "sql": "select count(*) as n from t"});
    assert!(ada.text("result_query", count.clone()).contains("400"));
    for arguments in
        [count, json!({"id": id}), json!({"id": id, "page": 2}), json!({"id": id, "mode": "full"})]
    {
        let other = bob.text("result_query", arguments.clone());
        assert!(other.contains("no result is kept"), "{arguments}: {other}");
    }
    // Pages are named by their number; a query that does not fit continues by a cursor.
    let part = ada.text("result_query", json!({"id": id, "sql": "select * from t"}));
    let cursor = part.split("\"cursor\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let next = json!({"id": id, "cursor": cursor.unwrap_or_else(|| panic!("no cursor: {part}"))});
    let continued = ada.text("result_query", next.clone());
    assert!(continued.contains("issue ") && continued != part, "{continued}");
    let other = bob.text("result_query", next);
    assert!(other.contains("no result is kept") && !other.contains("issue "), "{other}");
    let joined = bob.text("one__rows", json!({"n": 300}));
    let sql = format!("select count(*) from t join \"{id}\" o using (number)");
    let joined = bob.text("result_query", json!({"id": handle(&joined), "sql": sql}));
    assert!(!joined.contains("300"), "{joined}");
    let link = format!("ax://one__rows/{}", id.rsplit('-').next().unwrap());
    for address in [link, format!("ax://rows/{}", id.rsplit('-').next().unwrap())] {
        let read = bob.request("resources/read", json!({"uri": address})).text();
        assert!(!read.contains("issue 1"), "{read}");
    }
    // A session is of the caller that began it.
    let session = ada.headers[1].clone();
    bob.headers[1] = session;
    let stolen = bob.call("one__rows", json!({"n": 0}));
    assert!(matches!(stolen.status, 403 | 404), "{}: {}", stolen.status, stolen.text());
}

/// The id of a question is easy to guess; only an answer in the session of the asked client counts.
#[test]
fn a_question_of_a_server_is_answered_by_the_asked_client_alone() {
    let home = tempfile::tempdir().unwrap();
    let callers = ["ada", "bob"].map(|name| key(home.path(), name));
    let config = asking("one", "") + &callers[0].1 + &callers[1].1;
    let gateway = Gateway::start(home.path(), &config);
    let [mut ada, mut bob] = callers.map(|(key, _)| Caller::new(&gateway, &key));
    let mut stream = Connection::to(gateway.port);
    let headers: Vec<(&str, &str)> =
        ada.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    stream.send("POST", &headers, &call(50, "one__ask", json!({})));
    assert_eq!(stream.reply_head(), 200);
    let asked = stream.next_event();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let answer = |name: &str| {
        let result = json!({"action": "accept", "content": {"name": name}});
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string()
    };
    assert_eq!(bob.post(&answer("bob")).status, 202, "it is an answer to nothing");
    let own = std::mem::replace(&mut bob.headers[1], ada.headers[1].clone());
    assert_eq!(bob.post(&answer("bob")).status, 404, "it is not his session");
    bob.headers[1] = own;
    assert_eq!(ada.post(&answer("ada")).status, 202);
    let answered = stream.next_event();
    let text = answered["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answered}"));
    assert!(text.contains("ada") && !text.contains("bob"), "{text}");
}

#[test]
fn the_key_of_a_caller_reaches_no_server() {
    let home = tempfile::tempdir().unwrap();
    let remote = Remote::start();
    let (ada, caller) = key(home.path(), "ada");
    let config = format!("[upstream.far]\nurl = {:?}\nprefix = \"\"\n{caller}", remote.url);
    let gateway = Gateway::start(home.path(), &config);
    let mut ada_calls = Caller::new(&gateway, &ada);
    let headers = ada_calls.request("headers", json!({})).json();
    assert!(headers["result"]["host"].is_string(), "{headers}");
    assert!(headers["result"].get("authorization").is_none(), "{headers}");
    assert!(!headers.to_string().contains(&ada), "{headers}");
}

#[test]
fn a_call_above_a_limit_is_refused_and_not_run() {
    let home = tempfile::tempdir().unwrap();
    let (ada, caller) = key(home.path(), "ada");
    let limits = "[gateway.role.all]\nrequests_per_day = 6\n";
    let gateway = Gateway::start(home.path(), &(section("one", "") + &caller + limits));
    let mut ada = Caller::new(&gateway, &ada);
    let answers: Vec<String> = (0..12).map(|_| ada.text("one__rows", json!({"n": 0}))).collect();
    let answered = answers.iter().filter(|answer| *answer == "[]").count();
    assert!((1..=6).contains(&answered), "{answers:?}");
    let refused = answers.last().unwrap();
    assert!(refused.contains("error") && refused.contains("day"), "{refused}");
    let metrics = Connection::to(gateway.port).get("/metrics", &[]).text();
    assert!(metrics.contains("rows"), "{metrics}");
    assert!(!metrics.contains("ada"), "never by caller");
}
