//! HTTP on either side of the real binary: what is forwarded, who may send requests, and that no response goes to another
//! client.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};

use crate::session::{Session, handle, upstream};
use crate::tidegate_in;

/// `tidegate run --http`, listening.
pub(crate) struct Listening {
    pub(crate) child: Child,
    pub(crate) port: u16,
}

impl Listening {
    pub(crate) fn start(home: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(["run", "--http", "127.0.0.1:0"])
            .args(arguments)
            .env("TIDEGATE_HOME", home)
            .env("XDG_CONFIG_HOME", home)
            .env("TEST_TOKEN", "s3cret")
            .env("TEST_UPSTREAM", "Bearer upstream")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it listens");
        }
        std::thread::spawn(move || io::copy(&mut stderr, &mut io::sink()));
        let port = line.trim().trim_end_matches("/mcp").rsplit(':').next().unwrap().parse().unwrap();
        Self { child, port }
    }

    fn bridge(home: &Path) -> Self {
        Self::start(home, &["--", "python3", "-S", upstream().to_str().unwrap()])
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::to(self.port)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

/// One persistent connection.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    port: u16,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the response, alone or as the last event.
    pub(crate) fn json(&self) -> Value {
        let text = self.text();
        let last = text.lines().rev().find_map(|line| line.strip_prefix("data: "));
        serde_json::from_str(last.unwrap_or(&text)).unwrap_or_else(|_| panic!("{text}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Connection {
    pub(crate) fn to(port: u16) -> Self {
        Self::try_to(port).unwrap()
    }

    fn try_to(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), port })
    }

    /// Connects to a server that is given up when it says nothing for a time.
    #[cfg(feature = "gateway")]
    pub(crate) fn with_patience(port: u16, patience: std::time::Duration) -> io::Result<Self> {
        let connection = Self::try_to(port)?;
        connection.stream.get_ref().set_read_timeout(Some(patience))?;
        Ok(connection)
    }

    pub(crate) fn post(&mut self, headers: &[(&str, &str)], body: &str) -> Reply {
        self.try_post(headers, body).unwrap()
    }

    /// Sends a request to a server that may end before it has answered.
    pub(crate) fn try_post(&mut self, headers: &[(&str, &str)], body: &str) -> io::Result<Reply> {
        self.send_to("/mcp", "POST", headers, body)?;
        self.try_reply()
    }

    /// Sends a request without waiting for its response.
    pub(crate) fn send(&mut self, method: &str, headers: &[(&str, &str)], body: &str) {
        self.send_to("/mcp", method, headers, body).unwrap();
    }

    /// Reads a resource of the listener.
    pub(crate) fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.send_to(path, "GET", headers, "").unwrap();
        self.reply()
    }

    fn send_to(&mut self, path: &str, method: &str, headers: &[(&str, &str)], body: &str) -> io::Result<()> {
        let host = format!("127.0.0.1:{}", self.port);
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let given = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        for (name, value) in [
            ("Host", host.as_str()),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
        ] {
            if !given(name) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        let stream = self.stream.get_mut();
        stream.write_all(head.as_bytes())?;
        // The server may refuse a body without reading all of it.
        let _ = stream.write_all(body.as_bytes());
        Ok(())
    }

    /// Returns the status of a response whose body may never end.
    pub(crate) fn reply_head(&mut self) -> u16 {
        self.try_reply_head().unwrap()
    }

    fn try_reply_head(&mut self) -> io::Result<u16> {
        let line = self.line()?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.ok_or_else(|| io::Error::other(format!("no response: {line:?}")))
    }

    /// Reads a line, which must have an end.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        if line.ends_with('\n') { Ok(line) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Returns the next message of an event stream.
    #[cfg(feature = "gateway")]
    pub(crate) fn next_event(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).unwrap() > 0, "the stream goes on");
            if let Some(data) = line.trim_end().strip_prefix("data: {") {
                return serde_json::from_str(&format!("{{{data}")).unwrap();
            }
        }
    }

    pub(crate) fn reply(&mut self) -> Reply {
        self.try_reply().unwrap()
    }

    fn try_reply(&mut self) -> io::Result<Reply> {
        let status = self.try_reply_head()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let mut reply = Reply { status, headers, body: Vec::new() };
        if let Some(length) = reply.header("content-length") {
            reply.body = vec![0; length.parse().unwrap()];
            self.stream.read_exact(&mut reply.body)?;
        } else if reply.header("transfer-encoding").is_some() {
            loop {
                let size = self.line()?;
                let size = usize::from_str_radix(size.trim(), 16).unwrap();
                let mut chunk = vec![0; size + 2];
                self.stream.read_exact(&mut chunk)?;
                if size == 0 {
                    break;
                }
                reply.body.extend_from_slice(&chunk[..size]);
            }
        }
        Ok(reply)
    }

    /// Initializes a session and returns its id.
    pub(crate) fn greet(&mut self) -> String {
        let reply = self.post(&[], &greeting());
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.header("mcp-session-id").unwrap().to_owned()
    }
}

fn greeting() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "somebody", "version": "1"}}}).to_string()
}

pub(crate) fn call(id: u64, tool: &str, arguments: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}).to_string()
}

pub(crate) fn modern(id: u64, tool: &str, arguments: Value) -> String {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": meta}}).to_string()
}

pub(crate) fn modern_headers(tool: &str) -> [(&str, &str); 3] {
    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)]
}

/// Two hundred clients that all use the id 1 on one server get a hundred thousand responses, each its own.
#[test]
fn nothing_is_crossed() {
    const CLIENTS: usize = 200;
    const CALLS: usize = 500;
    let home = tempfile::tempdir().unwrap();
    let listening = Listening::bridge(home.path());
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let listening = &listening;
            scope.spawn(move || {
                let mut connection = listening.connect();
                for number in 0..CALLS {
                    let value = format!("client {client} call {number}");
                    let reply =
                        connection.post(&modern_headers("echo"), &modern(1, "echo", json!({"value": value})));
                    assert_eq!(reply.status, 200, "{}", reply.text());
                    let answer = reply.json();
                    assert_eq!(answer["id"], 1);
                    assert_eq!(answer["result"]["content"][0]["text"], value.as_str());
                }
            });
        }
    });
}

#[test]
fn sessions_have_servers_of_their_own() {
    let home = tempfile::tempdir().unwrap();
    let listening = Listening::bridge(home.path());
    let (mut one, mut two) = (listening.connect(), listening.connect());
    let sessions = [one.greet(), two.greet()];
    assert_ne!(sessions[0], sessions[1]);
    let text = one.post(&[("Mcp-Session-Id", &sessions[0])], &call(1, "rows", json!({"n": 400}))).json();
    let text = text["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("rows returned 400 rows"), "{text}");
    let query = call(2, "result_query", json!({"id": handle(&text), "path": "/399/title"}));
    let part = one.post(&[("Mcp-Session-Id", &sessions[0])], &query).text();
    assert!(part.contains("issue 399"), "{part}");
    let seen = two.post(&[("Mcp-Session-Id", &sessions[1])], &call(1, "seen", json!({}))).text();
    assert!(!seen.contains("rows"), "{seen}");
    let unknown = one.post(&[("Mcp-Session-Id", "nope")], &call(3, "seen", json!({})));
    assert_eq!(unknown.status, 404);
    let missing = one.post(&[], &call(3, "seen", json!({})));
    assert_eq!(missing.status, 400);
    let dead = one.post(&[("Mcp-Session-Id", &sessions[0])], &call(4, "die", json!({"code": 3}))).json();
    assert!(dead["error"]["message"].as_str().unwrap().contains("ended with exit code 3"), "{dead}");
    let alive = two.post(&[("Mcp-Session-Id", &sessions[1])], &call(5, "echo", json!({"value": "here"})));
    assert!(alive.text().contains("here"));
}

#[test]
fn headers_must_agree_with_the_body() {
    let home = tempfile::tempdir().unwrap();
    let listening = Listening::bridge(home.path());
    let mut connection = listening.connect();
    let body = modern(1, "echo", json!({"value": "x"}));
    let mut codes = Vec::new();
    for headers in [
        vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list"), ("Mcp-Name", "echo")],
        vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "rows")],
        vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Name", "echo")],
        vec![("MCP-Protocol-Version", "2026-07-29"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "echo")],
    ] {
        let reply = connection.post(&headers, &body);
        codes.push((reply.status, reply.json()["error"]["code"].as_i64().unwrap()));
    }
    assert_eq!(codes, [(400, -32020); 4]);
    let bare = connection.post(&modern_headers("echo"), &call(1, "echo", json!({"value": "x"})));
    assert_eq!((bare.status, bare.json()["error"]["code"].as_i64()), (400, Some(-32602)));
    let unknown = json!({"jsonrpc": "2.0", "id": 9, "method": "nope", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}});
    let reply = connection
        .post(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "nope")], &unknown.to_string());
    assert_eq!((reply.status, reply.json()["error"]["code"].as_i64()), (404, Some(-32601)));
}

#[test]
fn only_clients_with_the_token_and_an_allowed_host_are_served() {
    let home = tempfile::tempdir().unwrap();
    let listening = Listening::start(
        home.path(),
        &["--auth-token-env", "TEST_TOKEN", "--", "python3", "-S", upstream().to_str().unwrap()],
    );
    let statuses: Vec<u16> = [
        &[][..],
        &[("Authorization", "Bearer wrong")],
        &[("Authorization", "Bearer s3cret")],
        &[("Authorization", "Bearer s3cret"), ("Origin", "http://evil.example")],
        &[("Authorization", "Bearer s3cret"), ("Host", "evil.example")],
    ]
    .iter()
    .map(|headers| listening.connect().post(headers, &greeting()).status)
    .collect();
    assert_eq!(statuses, [401, 401, 200, 403, 403]);
    let long = format!("{{\"x\":\"{}\"}}", "y".repeat(5 << 20));
    assert_eq!(listening.connect().post(&[("Authorization", "Bearer s3cret")], &long).status, 413);
    let open = tidegate_in(Some(home.path()), &["run", "--http", "0.0.0.0:0", "--", "true"], b"");
    assert_eq!(open.code, 2);
    assert!(
        open.stderr.contains("can be reached from other machines")
            && open.stderr.contains("--auth-token-env"),
        "{}",
        open.stderr
    );
}

/// A server over HTTP.
pub(crate) struct Remote {
    child: Child,
    _stdin: ChildStdin,
    pub(crate) url: String,
}

impl Remote {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one that answers only who sends a token that it knows.
    #[cfg(all(unix, feature = "gateway"))]
    pub(crate) fn guarded() -> Self {
        Self::start_with(&[("REMOTE_GUARDED", "1")])
    }

    fn start_with(environment: &[(&str, &str)]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/remote.py");
        let mut child = Command::new("python3")
            .arg("-S")
            .arg(script)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let stdin = child.stdin.take().unwrap();
        Self { child, _stdin: stdin, url: format!("http://127.0.0.1:{}/mcp", line.trim()) }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn http_to_http_forwards_headers_streams_and_errors() {
    let home = tempfile::tempdir().unwrap();
    let remote = Remote::start();
    let listening =
        Listening::start(home.path(), &["--url", &remote.url, "--header-env", "X-Api=TEST_UPSTREAM"]);
    let mut connection = listening.connect();
    let session = connection.greet();
    let ours = [("Mcp-Session-Id", session.as_str()), ("Authorization", "Bearer mine"), ("X-Other", "kept")];
    let seen =
        connection.post(&ours, r#"{"jsonrpc":"2.0","id":"h","method":"headers"}"#).json()["result"].take();
    assert_eq!((&seen["x-other"], &seen["x-api"]), (&json!("kept"), &json!("Bearer upstream")));
    assert!(seen.get("authorization").is_none(), "the caller's token stays with us: {seen}");
    let streamed = connection.post(&ours, &call(2, "stream", json!({"n": 400})));
    let body = streamed.text();
    assert!(
        body.starts_with(
            ": hello\n\nid: 1\nretry: 250\nevent: message\ndata: {\"jsonrpc\": \"2.0\", \"method\""
        ),
        "{body}"
    );
    assert!(
        body.contains("\"x\": 1.0}}\n\nid: 2\nevent: message\ndata: {\"jsonrpc\": \"2.0\", \"id\": 2"),
        "{body}"
    );
    assert!(body.contains("stream returned 400 rows") && body.len() < 12_000, "{body}");
    let small = connection.post(&ours, &call(3, "rows", json!({"n": 1})));
    assert!(small.text().contains("\"text\": \"[{\\\"number\\\": 0"), "{}", small.text());
    let broken = listening.connect().post(&ours, &call(4, "broken", json!({})));
    assert_eq!((broken.status, broken.json()["id"].as_u64()), (502, Some(4)));
    assert!(broken.text().contains("the tool may have run"));
    let redirected = listening.connect().post(&ours, &call(5, "elsewhere", json!({})));
    // A redirect would lead the client around the proxy.
    assert_eq!((redirected.status, redirected.json()["id"].as_u64()), (502, Some(5)));
    drop(remote);
    let gone = listening.connect().post(&ours, &call(6, "rows", json!({"n": 1})));
    assert_eq!((gone.status, gone.json()["id"].as_u64()), (502, Some(6)));
}

#[test]
fn a_client_on_stdio_of_a_server_over_http() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("home")).unwrap();
    let remote = Remote::start();
    let mut session = Session::remote(&home.path().join("home"), &["--url", &remote.url]).greeted("somebody");
    session.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let text = session.text("rows", json!({"n": 400}));
    assert!(text.starts_with("rows returned 400 rows"), "{text}");
    let part = session.text("result_query", json!({"id": handle(&text), "path": "/399/title"}));
    assert!(part.contains("issue 399"), "{part}");
    let id = session.ask("tools/call", json!({"name": "stream", "arguments": {"n": 400}}));
    assert_eq!(session.message()["params"]["x"], json!(1.0));
    assert_eq!(session.message()["id"], id);
    // The server dropped the session; only the message that it refused is sent again.
    session.text("forget", json!({"n": 1}));
    assert!(session.text("rows", json!({"n": 1})).contains("issue 0"));
    let calls = session.request("seen", json!({}))["result"]["calls"].take();
    assert_eq!(calls, json!(["rows", "stream", "forget", "rows"]));
    let broken = session.request("tools/call", json!({"name": "broken", "arguments": {}}));
    assert!(broken["error"]["message"].as_str().unwrap().contains("the tool may have run"), "{broken}");
    let redirected = session.request("tools/call", json!({"name": "elsewhere", "arguments": {}}));
    let words = redirected["error"]["message"].as_str().unwrap();
    assert!(words.contains("redirects to another address (status 30"), "{redirected}");
    drop(remote);
    let gone = session.request("tools/call", json!({"name": "rows", "arguments": {}}));
    assert!(gone["error"]["message"].as_str().unwrap().contains("cannot be reached"), "{gone}");
    assert_eq!(session.end().0, 0);
    // An address may hold secrets before and after the host, and the model reads the error.
    let environment = [("ADDRESS", "http://me:SECRET@127.0.0.1:1/s/SECRET/mcp?key=SECRET")];
    let mut hidden =
        Session::command(&home.path().join("home"), &["--url-env", "ADDRESS"], &environment, &[]);
    let refused = hidden.request("tools/list", json!({})).to_string();
    assert!(refused.contains("http://127.0.0.1:1 cannot be reached"), "{refused}");
    let (_, said) = hidden.end();
    assert!(!refused.contains("SECRET") && !said.contains("SECRET"), "{refused} {said}");
    let wrong = tidegate_in(Some(home.path()), &["run", "--url", "example.com"], b"");
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("look like https://example.com/mcp"), "{}", wrong.stderr);
}

/// A server on stdio that answers every call with the value of an environment variable.
const TELLS_TOKEN: &str = r#"while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"${TEST_TOKEN-unset} ${TEST_UPSTREAM-unset}\"}]}}"
done"#;

#[test]
fn the_server_does_not_see_the_token_of_the_clients() {
    let home = tempfile::tempdir().unwrap();
    let listening =
        Listening::start(home.path(), &["--auth-token-env", "TEST_TOKEN", "--", "sh", "-c", TELLS_TOKEN]);
    let mut headers = modern_headers("list").to_vec();
    headers.push(("Authorization", "Bearer s3cret"));
    let reply = listening.connect().post(&headers, &modern(1, "list", json!({})));
    assert!(reply.text().contains("\"unset Bearer upstream\""), "{}", reply.text());
}

#[test]
fn a_signal_lets_requests_in_flight_finish() {
    let home = tempfile::tempdir().unwrap();
    let listening = Listening::bridge(home.path());
    let mut connection = listening.connect();
    connection.send("POST", &modern_headers("late"), &modern(1, "late", json!({"seconds": 1})));
    std::thread::sleep(std::time::Duration::from_millis(500));
    let sent = Command::new("kill").arg(listening.child.id().to_string()).status().unwrap();
    assert!(sent.success());
    let reply = connection.reply();
    assert!(reply.status == 200 && reply.json()["result"].is_object(), "{}", reply.text());
}

#[test]
fn a_server_that_is_silent_is_answered_for_over_http() {
    let home = tempfile::tempdir().unwrap();
    let server = upstream();
    let listening =
        Listening::start(home.path(), &["--timeout", "1s", "--", "python3", "-S", server.to_str().unwrap()]);
    let reply = listening.connect().post(&modern_headers("never"), &modern(1, "never", json!({})));
    let words = reply.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        words.contains("no answer to the call of never within 1 s (--timeout); the tool may have run"),
        "{words}"
    );
}
