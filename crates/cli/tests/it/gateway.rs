//! `tidegate gateway`: many servers behind one address, as clients of both eras see them.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Connection, Remote, Reply, call, modern, modern_headers};
use crate::session::{handle, upstream};

/// `tidegate gateway`, listening.
pub(crate) struct Gateway {
    pub(crate) child: Child,
    pub(crate) port: u16,
    said: Arc<Mutex<String>>,
}

impl Gateway {
    pub(crate) fn start(home: &Path, config: &str) -> Self {
        Self::start_with(home, config, &[])
    }

    fn start_with(home: &Path, config: &str, flags: &[&str]) -> Self {
        Self::start_in::<&str>(home, config, flags, &[])
    }

    /// Starts it with more variables.
    pub(crate) fn start_in<V: AsRef<OsStr>>(
        home: &Path,
        config: &str,
        flags: &[&str],
        environment: &[(V, V)],
    ) -> Self {
        let file = home.join("gateway.toml");
        std::fs::write(&file, config).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(["gateway", "--http", "127.0.0.1:0", "--config"])
            .arg(&file)
            .args(flags)
            .env("TIDEGATE_HOME", home)
            .env("XDG_CONFIG_HOME", home)
            .env("GATEWAY_SECRET", "of the gateway")
            .env("TEAM_VALUE", "of the team")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut line, mut before) = (String::new(), String::new());
        while !line.contains("listening on") {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it listens");
            before += &line;
        }
        let said = Arc::new(Mutex::new(before));
        let saying = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                *saying.lock().unwrap() += &(line + "\n");
            }
        });
        let address = line.split("/mcp").next().unwrap();
        let port = address.rsplit(':').next().unwrap().parse().unwrap();
        Self { child, port, said }
    }

    /// Returns what it has written to stderr so far.
    pub(crate) fn log(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub(crate) fn client(&self) -> Client {
        let mut connection = Connection::to(self.port);
        let session = connection.greet();
        Client { connection, session, next: 10 }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

/// A client with a session.
pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) session: String,
    pub(crate) next: u64,
}

impl Client {
    pub(crate) fn post(&mut self, body: &str) -> Reply {
        self.connection.post(&[("Mcp-Session-Id", &self.session)], body)
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let body = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        let answer = self.post(&body.to_string()).json();
        assert_eq!(answer["id"], self.next, "{answer}");
        answer
    }

    fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let text = answer["result"]["content"][0]["text"].as_str();
        text.map_or_else(|| answer.to_string(), str::to_owned)
    }
}

/// Returns the section of the example server, with more keys.
pub(crate) fn section(name: &str, keys: &str) -> String {
    let script = upstream();
    format!(
        "[upstream.{name}]\ncommand = \"python3\"\nargs = [\"-S\", {:?}]\n{keys}\n",
        script.to_str().unwrap()
    )
}

pub(crate) fn two() -> String {
    section("one", "env = [\"UPSTREAM_PAGES=1\"]") + &section("two", "")
}

pub(crate) fn repeat(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn many_servers_are_one() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &two());
    let mut client = gateway.client();
    let tools = client.tools();
    let of = |server: &str| tools.iter().filter(|tool| tool.starts_with(server)).count();
    assert_eq!((of("one__"), of("two__")), (12, 12), "all pages: {tools:?}");
    assert_eq!(tools.iter().filter(|tool| *tool == "result_query").count(), 1, "{tools:?}");
    let first = client.call("one__rows", json!({"n": 400}));
    assert!(first.starts_with("one__rows returned 400 rows"), "{first}");
    let second = client.call("two__rows", json!({"n": 300}));
    assert!(second.starts_with("two__rows returned 300 rows"), "{second}");
    let sql = format!("select count(*) as n from t join \"{}\" o using (number)", handle(&first));
    let joined = client.call("result_query", json!({"id": handle(&second), "sql": sql}));
    assert!(joined.contains("300"), "{joined}");
    assert_eq!(client.call("one__echo", json!({"value": "here"})), "here");
    let seen = client.call("two__seen", json!({}));
    assert!(seen.contains("rows") && !seen.contains("two__rows") && !seen.contains("echo"), "{seen}");
    let unknown = client.ask("tools/call", json!({"name": "rows", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let resources = client.ask("resources/list", json!({}));
    assert_eq!(resources["result"]["resources"][0]["uri"], "own://1", "{resources}");
    let read = client.ask("resources/read", json!({"uri": "own://1"}));
    assert_eq!(read["result"]["contents"][0]["text"], "own", "{read}");
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn clients_without_sessions_are_served_as_well() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &two());
    let mut connection = Connection::to(gateway.port);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let mut ask = |method: &str| {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}}).to_string();
        let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        connection.post(&headers, &body).json()["result"].clone()
    };
    let found = ask("server/discover");
    assert_eq!(found["capabilities"]["tools"]["listChanged"], true, "{found}");
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    let listed = ask("tools/list");
    assert_eq!(
        (&listed["resultType"], &listed["cacheScope"]),
        (&json!("complete"), &json!("private")),
        "{listed}"
    );
    let reply = connection.post(&modern_headers("two__rows"), &modern(1, "two__rows", json!({"n": 400})));
    let answer = reply.json();
    let text =
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    assert!(text.starts_with("two__rows returned 400 rows"), "{text}");
    let query = modern(2, "result_query", json!({"id": handle(&text), "path": "/399/title"}));
    let part = connection.post(&modern_headers("result_query"), &query).text();
    assert!(part.contains("issue 399"), "{part}");
}

#[test]
fn a_server_that_is_down_keeps_its_names_and_hides_no_other() {
    let home = tempfile::tempdir().unwrap();
    let config = section("one", "")
        + "[upstream.down]\ncommand = \"false\"\n"
        + "[upstream.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n";
    let gateway = Gateway::start(home.path(), &config);
    let mut client = gateway.client();
    assert_eq!(client.tools().len(), 13);
    let dead = client.call("one__die", json!({"code": 3}));
    assert!(dead.contains("ended with exit code 3"), "{dead}");
    assert_eq!(client.tools().len(), 13, "the names stay");
    repeat("the next call gets a new process", || {
        client.call("one__echo", json!({"value": "again"})) == "again"
    });
}

#[test]
fn a_call_of_a_server_that_went_down_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let remote = Remote::start();
    let config = section("one", "") + &format!("[upstream.far]\nurl = {:?}\n", remote.url);
    let gateway = Gateway::start(home.path(), &config);
    let mut client = gateway.client();
    let far = client.call("far__rows", json!({"n": 400}));
    assert!(far.starts_with("far__rows returned 400 rows"), "{far}");
    drop(remote);
    let mut other = gateway.client();
    let refused = other.call("far__rows", json!({"n": 1}));
    assert!(refused.contains("cannot be") && refused.contains("far"), "{refused}");
    assert!(other.tools().contains(&"far__rows".to_owned()), "the names stay");
}

#[test]
fn a_session_outlives_the_process_that_began_it() {
    let home = tempfile::tempdir().unwrap();
    let first = Gateway::start(home.path(), &two());
    let mut client = first.client();
    let text = client.call("one__rows", json!({"n": 400}));
    drop(first);
    let second = Gateway::start(home.path(), &two());
    client.connection = Connection::to(second.port);
    assert_eq!(client.call("two__echo", json!({"value": "still here"})), "still here");
    let part = client.call("result_query", json!({"id": handle(&text), "path": "/399/title"}));
    assert!(part.contains("issue 399"), "{part}");
    let mut forged = client.session.clone();
    let changed = if forged.ends_with('A') { 'B' } else { 'A' };
    forged.pop();
    forged.push(changed);
    let refused = client.connection.post(&[("Mcp-Session-Id", &forged)], &call(1, "one__echo", json!({})));
    assert_eq!(refused.status, 404, "{}", refused.text());
    client.connection.send("DELETE", &[("Mcp-Session-Id", &client.session)], "");
    assert_eq!(client.connection.reply().status, 200);
    assert_eq!(client.post(&call(1, "one__echo", json!({}))).status, 404, "it has ended");
}

#[test]
fn sessions_have_processes_of_their_own_up_to_a_limit() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &section("one", "max_processes = 2\nqueue_seconds = 1"));
    let (mut one, mut two) = (gateway.client(), gateway.client());
    one.call("one__rows", json!({"n": 1}));
    let seen = two.call("one__seen", json!({}));
    assert!(!seen.contains("\"rows\""), "another session has another process: {seen}");
    for client in [&one, &two] {
        let mut busy = Connection::to(gateway.port);
        busy.send("POST", &[("Mcp-Session-Id", &client.session)], &call(5, "one__never", json!({})));
        assert_eq!(busy.reply_head(), 200);
    }
    let mut three = gateway.client();
    let full = three.call("one__echo", json!({"value": "x"}));
    assert!(full.contains("all 2 of its processes are in use") && full.contains("try again"), "{full}");
    one.connection.send("DELETE", &[("Mcp-Session-Id", &one.session)], "");
    assert_eq!(one.connection.reply().status, 200);
    repeat("its process is free", || three.call("one__echo", json!({"value": "x"})) == "x");
}

#[test]
fn callers_share_a_process_where_that_is_declared() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &section("one", "sharing = \"shared\""));
    let (mut one, mut two) = (gateway.client(), gateway.client());
    let text = one.call("one__rows", json!({"n": 400}));
    let seen = two.call("one__seen", json!({}));
    assert!(seen.contains("\"rows\""), "{seen}");
    let foreign = two.call("result_query", json!({"id": handle(&text)}));
    assert!(foreign.contains("no result is kept under"), "results are not shared: {foreign}");
}

#[test]
fn a_single_server_keeps_its_names() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &section("one", "prefix = \"\""));
    let mut client = gateway.client();
    assert!(client.tools().contains(&"rows".to_owned()));
    assert_eq!(client.call("echo", json!({"value": "plain"})), "plain");
}

#[test]
fn the_rules_of_each_server_apply_to_its_tools() {
    let home = tempfile::tempdir().unwrap();
    let config = two() + "[server.one.tool.\"rows\"]\nstyle = \"error\"\n[server.two]\nbudget_tokens = 300\n";
    let gateway = Gateway::start(home.path(), &config);
    let mut client = gateway.client();
    let error = client.call("one__rows", json!({"n": 400}));
    assert!(error.contains("OUTPUT_BUDGET_EXCEEDED") && error.contains("one__rows"), "{error}");
    let short = client.call("two__rows", json!({"n": 400}));
    assert!(short.len() < 1500, "{}: {short}", short.len());
}

#[test]
fn a_mistake_in_the_configuration_is_reported_at_the_start() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("gateway.toml");
    for (config, said) in [
        (String::new(), "names no server"),
        ("[upstream.a]\n".to_owned(), "needs a command or a url"),
        (section("a", "env_from = [\"NOT_SET_ANYWHERE\"]"), "NOT_SET_ANYWHERE is not set"),
    ] {
        std::fs::write(&file, config).unwrap();
        let outcome = crate::tidegate_in(
            Some(home.path()),
            &["gateway", "--http", "127.0.0.1:0", "--config", file.to_str().unwrap()],
            b"",
        );
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
    std::fs::write(&file, two()).unwrap();
    let arguments = ["gateway", "--http", "0.0.0.0:0", "--config", file.to_str().unwrap()];
    let open = crate::tidegate_in(Some(home.path()), &arguments, b"");
    assert_eq!(open.code, 2, "{}", open.stderr);
    assert!(open.stderr.contains("can be reached from other machines"), "{}", open.stderr);
}

/// Returns the section of the server that asks its client things.
pub(crate) fn asking(name: &str, keys: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/asking.py");
    format!(
        "[upstream.{name}]\ncommand = \"python3\"\nargs = [\"-S\", {:?}]\n{keys}\n",
        script.to_str().unwrap()
    )
}

/// Two servers that both use the id 1 ask two clients at the same time, and each answer reaches its own.
#[test]
fn questions_of_servers_reach_the_client_that_called() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &(asking("one", "") + &asking("two", "")));
    let mut clients = [gateway.client(), gateway.client()];
    let mut streams = Vec::new();
    for (number, client) in clients.iter().enumerate() {
        for server in ["one", "two"] {
            let mut stream = Connection::to(gateway.port);
            let body = call(7, &format!("{server}__ask"), json!({}));
            stream.send("POST", &[("Mcp-Session-Id", &client.session)], &body);
            assert_eq!(stream.reply_head(), 200);
            let asked = stream.next_event();
            assert_eq!(asked["method"], "elicitation/create", "{asked}");
            streams.push((number, server, stream, asked["id"].clone()));
        }
    }
    for (number, server, _, id) in &streams {
        let name = format!("{server} of {number}");
        let answer =
            json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"name": name}}});
        assert_eq!(clients[*number].post(&answer.to_string()).status, 202);
    }
    for (number, server, mut stream, _) in streams {
        let answered = stream.next_event();
        assert_eq!(answered["id"], 7);
        let text = answered["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answered}"));
        assert!(text.contains(&format!("{server} of {number}")), "{text}");
    }
}

#[test]
fn progress_and_cancellation_belong_to_one_request() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &asking("one", "sharing = \"shared\""));
    let (mut one, mut two) = (gateway.client(), gateway.client());
    let steps = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "one__steps", "arguments": {"n": 5}, "_meta": {"progressToken": "mine"}}});
    let reply = one.post(&steps.to_string()).text();
    assert_eq!(
        reply.matches("\"progressToken\":\"mine\"").count()
            + reply.matches("\"progressToken\": \"mine\"").count(),
        5,
        "{reply}"
    );
    assert!(reply.contains("done"), "{reply}");
    // Both clients use the same id, and one of them cancels.
    for client in [&one, &two] {
        let mut stream = Connection::to(gateway.port);
        stream.send("POST", &[("Mcp-Session-Id", &client.session)], &call(50, "one__wait", json!({})));
        assert_eq!(stream.reply_head(), 200);
    }
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 50}});
    assert_eq!(one.post(&cancel.to_string()).status, 202);
    repeat("it is cancelled", || two.call("one__cancelled", json!({})) == "1");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(two.call("one__cancelled", json!({})), "1", "only one of them");
}

#[test]
fn changes_reach_those_who_listen() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &asking("one", "sharing = \"shared\""));
    let (mut one, mut two) = (gateway.client(), gateway.client());
    let listen = |client: &Client| {
        let mut stream = Connection::to(gateway.port);
        stream.send("GET", &[("Mcp-Session-Id", &client.session)], "");
        assert_eq!(stream.reply_head(), 200);
        stream
    };
    let (mut of_one, mut of_two) = (listen(&one), listen(&two));
    assert_eq!(one.call("one__grow", json!({})), "grown");
    for stream in [&mut of_one, &mut of_two] {
        assert_eq!(stream.next_event()["method"], "notifications/tools/list_changed");
    }
    assert!(two.tools().iter().any(|tool| tool.starts_with("one__grown")));
    assert_eq!(two.ask("resources/subscribe", json!({"uri": "thing://1"}))["result"], json!({}));
    assert_eq!(one.call("one__touch", json!({})), "touched");
    // Nothing else came before it: the change of the list was announced once.
    assert_eq!(of_two.next_event()["method"], "notifications/resources/updated");
}

#[test]
fn everything_of_a_server_is_reached_by_name_or_address() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &(section("plain", "") + &asking("one", "")));
    let mut connection = Connection::to(gateway.port);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "somebody", "version": "1"}}});
    let reply = connection.post(&[], &hello.to_string());
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let announced = reply.json()["result"].clone();
    assert_eq!(
        (&announced["protocolVersion"], &announced["capabilities"]["logging"]),
        (&json!("2025-06-18"), &json!({}))
    );
    assert_eq!(announced["instructions"], "# one\nask", "{announced}");
    let mut client = Client { connection, session, next: 10 };
    assert_eq!(client.ask("logging/setLevel", json!({"level": "warning"}))["result"], json!({}));
    assert_eq!(client.ask("prompts/list", json!({}))["result"]["prompts"][0]["name"], "one__greet");
    let prompt = client.ask("prompts/get", json!({"name": "one__greet"}));
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "greet", "{prompt}");
    let complete = |reference: Value| json!({"ref": reference, "argument": {"name": "a", "value": ""}});
    let completed =
        client.ask("completion/complete", complete(json!({"type": "ref/prompt", "name": "one__greet"})));
    assert!(
        completed["result"]["completion"]["values"][0].as_str().unwrap().contains("\"greet\""),
        "{completed}"
    );
    let completed =
        client.ask("completion/complete", complete(json!({"type": "ref/resource", "uri": "thing://{id}"})));
    assert!(
        completed["result"]["completion"]["values"][0].as_str().unwrap().contains("thing://{id}"),
        "{completed}"
    );
    let read = client.ask("resources/read", json!({"uri": "thing://77"}));
    assert_eq!(read["result"]["contents"][0]["text"], "read", "{read}");
    repeat("the level reaches the server", || {
        client.call("one__said", json!({})).contains("\"level\": \"warning\"")
    });
    let said = client.call("one__said", json!({}));
    assert!(said.contains("somebody") && said.contains("elicitation"), "the server sees the client: {said}");
}

#[test]
fn the_configuration_is_read_again_without_losing_a_call() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &section("one", ""));
    let mut client = gateway.client();
    let text = client.call("one__rows", json!({"n": 400}));
    let mut slow = Connection::to(gateway.port);
    slow.send("POST", &[("Mcp-Session-Id", &client.session)], &call(9, "one__late", json!({"seconds": 3})));
    std::thread::sleep(Duration::from_millis(500));
    let reload = |config: &str| {
        std::fs::write(home.path().join("gateway.toml"), config).unwrap();
        let told = Command::new("kill").args(["-HUP", &gateway.child.id().to_string()]).status();
        assert!(told.unwrap().success());
    };
    reload(&section("other", ""));
    repeat("the new server is listed", || client.tools().contains(&"other__rows".to_owned()));
    assert!(!client.tools().contains(&"one__rows".to_owned()));
    assert_eq!(slow.reply().json()["result"]["content"][0]["text"], "late", "it was on its way");
    let part = client.call("result_query", json!({"id": handle(&text), "path": "/399/title"}));
    assert!(part.contains("issue 399"), "{part}");
    reload("[upstream.broken]\n");
    std::thread::sleep(Duration::from_millis(500));
    assert!(client.tools().contains(&"other__rows".to_owned()), "a mistake changes nothing");
}

#[test]
fn a_process_gets_an_environment_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("environment.py");
    std::fs::write(
        &script,
        "import json, os, sys\nfor line in sys.stdin:\n    m = json.loads(line)\n    if 'id' in m:\n        r = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'tools': [{'name': 'env', 'inputSchema': {}}], 'content': [{'type': 'text', 'text': json.dumps(dict(os.environ))}]}\n        print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)\n",
    )
    .unwrap();
    let secret = home.path().join("secret");
    std::fs::write(&secret, "from a file\n").unwrap();
    let config = format!(
        "[upstream.one]\ncommand = \"python3\"\nargs = [\"-S\", {:?}]\nenv = [\"PLAIN=set\"]\nenv_from = [\"SECRET=TEAM_VALUE\"]\nenv_file = [\"KEY={}\"]\n",
        script.to_str().unwrap(),
        secret.to_str().unwrap()
    );
    let gateway = Gateway::start(home.path(), &config);
    let environment = gateway.client().call("one__env", json!({}));
    let environment: Value = serde_json::from_str(&environment).unwrap_or_else(|_| panic!("{environment}"));
    assert_eq!((&environment["PLAIN"], &environment["SECRET"]), (&json!("set"), &json!("of the team")));
    assert_eq!(environment["KEY"], "from a file");
    assert!(environment["PATH"].is_string());
    assert_eq!(
        (environment.get("GATEWAY_SECRET"), environment.get("TEAM_VALUE"), environment.get("TIDEGATE_HOME")),
        (None, None, None)
    );
}

/// The example starts, whether or not its servers can be reached.
#[test]
fn the_example_configuration_starts() {
    let home = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/gateway.toml");
    let text = std::fs::read_to_string(example).unwrap();
    // The servers of the example are not installed here; these stand in for their commands.
    let text = text
        .replace("\"npx\"", "\"true\"")
        .replace("\"uvx\"", "\"true\"")
        .replace("https://example.com", "http://127.0.0.1:9");
    let text = text.replace("DOCS_TOKEN", "TEAM_VALUE");
    let gateway = Gateway::start(home.path(), &text);
    assert_eq!(gateway.client().tools(), ["result_query"]);
}

#[test]
fn it_serves_https() {
    let home = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls");
    let (certificate, key) = (fixtures.join("cert.pem"), fixtures.join("key.pem"));
    let flags = ["--tls-cert", certificate.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let gateway = Gateway::start_with(home.path(), &section("one", ""), &flags);
    let script = r#"
import json, ssl, sys, urllib.request
context = ssl.create_default_context(cafile=sys.argv[2])
body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}
headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Origin": f"https://localhost:{sys.argv[1]}"}
request = urllib.request.Request(f"https://localhost:{sys.argv[1]}/mcp", json.dumps(body).encode(), headers)
print(urllib.request.urlopen(request, context=context, timeout=20).read().decode())
"#;
    let port = gateway.port.to_string();
    let output =
        Command::new("python3").args(["-c", script, &port, certificate.to_str().unwrap()]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("tidegate-gateway"), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let wrong = crate::tidegate_in(
        Some(home.path()),
        &[
            "gateway",
            "--config",
            home.path().join("gateway.toml").to_str().unwrap(),
            "--tls-cert",
            "/nonexistent",
            "--tls-key",
            "/nonexistent",
        ],
        b"",
    );
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("/nonexistent holds no certificate"), "{}", wrong.stderr);
}

/// Sends a request of a revision without sessions; returns the status and the answer.
fn without_session(gateway: &Gateway, version: &str, method: &str, mut params: Value) -> (u16, Value) {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}});
    let uri = params["uri"].as_str().unwrap_or_default().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut headers = vec![("MCP-Protocol-Version", version), ("Mcp-Method", method)];
    if !uri.is_empty() {
        headers.push(("Mcp-Name", &uri));
    }
    let reply = Connection::to(gateway.port).post(&headers, &body);
    (reply.status, reply.json())
}

#[test]
fn what_a_revision_does_not_have_is_refused_as_it_asks() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &two());
    let (status, refused) = without_session(&gateway, "2099-01-01", "tools/list", json!({}));
    assert_eq!((status, &refused["error"]["code"]), (400, &json!(-32022)), "{refused}");
    assert_eq!(
        refused["error"]["data"],
        json!({"supported": ["2026-07-28"], "requested": "2099-01-01"}),
        "{refused}"
    );
    for method in ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
        let (status, gone) = without_session(&gateway, "2026-07-28", method, json!({"uri": "own://1"}));
        assert_eq!((status, &gone["error"]["code"]), (404, &json!(-32601)), "{method}: {gone}");
    }
    let mut client = gateway.client();
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}), "sessions have it");
    let nowhere = json!({"uri": "nowhere://1"});
    let missing = client.ask("resources/read", nowhere.clone());
    assert_eq!(
        (&missing["error"]["code"], &missing["error"]["data"]),
        (&json!(-32002), &nowhere),
        "{missing}"
    );
    let (status, missing) = without_session(&gateway, "2026-07-28", "resources/read", nowhere.clone());
    assert_eq!(
        (status, &missing["error"]["code"], &missing["error"]["data"]),
        (400, &json!(-32602), &nowhere)
    );
}

/// The server has sessions only, and knows nothing of what results have without them.
#[test]
fn results_of_servers_with_sessions_are_completed_for_clients_without() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &section("one", "env = [\"UPSTREAM_LEGACY=1\"]"));
    let (status, read) = without_session(&gateway, "2026-07-28", "resources/read", json!({"uri": "own://1"}));
    let hints = ["resultType", "ttlMs", "cacheScope"].map(|key| read["result"][key].clone());
    assert_eq!((status, hints), (200, [json!("complete"), json!(0), json!("private")]), "{read}");
}
