//! A client that logs in at a real identity server, and the running gateway that checks its tokens: from the first 401 to tokens
//! with more scopes, expired tokens and a new key of the issuer.
//!
//! `./check tests` installs the identity server; without it, these tests say so and pass.

use std::time::Duration;

use serde_json::{Value, json};
use tidegate_testkit::identity::IdentityServer;

use crate::gateway::{Gateway, repeat, section};
use crate::http::{Connection, Remote, Reply, call};

/// The bearer token that the gateway itself sends to its server.
const SERVICE_TOKEN: &str = "valid-of-the-gateway";

/// A gateway that accepts the tokens of an identity server.
struct Login {
    identity: IdentityServer,
    remote: Remote,
    gateway: Gateway,
    _home: tempfile::TempDir,
}

impl Login {
    /// Starts all of it; `None` if the identity server is not installed.
    fn start() -> Option<Self> {
        let identity = IdentityServer::start("https://elsewhere.example/mcp")?;
        let home = tempfile::tempdir().unwrap();
        let remote = Remote::guarded();
        let mut config = section("near", "");
        config += &format!("[upstream.far]\nurl = {:?}\nbearer_env = \"FAR_TOKEN\"\n", remote.url);
        config += "[server.far]\nbudget_tokens = 20000\n[server.far.tool.stream]\ntier = \"read_write\"\n";
        config += "[server.near.tool.given]\ntier = \"read_write\"\n";
        config += &format!("[gateway.issuer.login]\nissuer = {:?}\nleeway_seconds = 0\n", identity.name());
        config += "[gateway.role.reader]\nscopes = [\"mcp:read\"]\ntier = \"read\"\n";
        config += "[gateway.role.writer]\nscopes = [\"mcp:write\"]\ntier = \"read_write\"\n";
        let gateway = Gateway::start_in(home.path(), &config, &[], &[("FAR_TOKEN", SERVICE_TOKEN)]);
        Some(Self { identity, remote, gateway, _home: home })
    }

    /// Returns the URL by which clients call the gateway.
    fn resource(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.gateway.port)
    }

    fn token(&self, client: &str, scope: &str) -> String {
        self.identity.token(client, scope, &self.resource())
    }

    fn client(&self, token: &str) -> Client {
        Client { port: self.gateway.port, token: token.to_owned(), session: None, next: 0 }
    }

    /// Returns every header that the server got so far, as text.
    fn headers_at_the_server(&self) -> String {
        let port = self.remote.url.trim_end_matches("/mcp").rsplit(':').next().unwrap().parse().unwrap();
        let asked = call(1, "history", json!({}));
        Connection::to(port).post(&[("Authorization", "Bearer valid-of-the-test")], &asked).text()
    }
}

/// A client with a token, in a session or without one.
struct Client {
    port: u16,
    token: String,
    session: Option<String>,
    next: u64,
}

impl Client {
    fn initialize(&mut self) -> Reply {
        let info = json!({"name": "somebody", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        self.session = Some(String::new());
        let reply = self.request("initialize", params);
        self.session = reply.header("mcp-session-id").map(str::to_owned);
        reply
    }

    fn request(&mut self, method: &str, mut params: Value) -> Reply {
        self.next += 1;
        let bearer = format!("Bearer {}", self.token);
        let mut headers = Vec::new();
        if !self.token.is_empty() {
            headers.push(("Authorization", bearer.as_str()));
        }
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        match &self.session {
            Some(session) if session.is_empty() => {}
            Some(session) => headers.push(("Mcp-Session-Id", session)),
            None => {
                params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
                headers.extend([("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)]);
                if method == "tools/call" {
                    headers.push(("Mcp-Name", &name));
                }
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        Connection::to(self.port).post(&headers, &body.to_string())
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({})).json();
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// Returns a parameter of the challenge in a refusal.
fn challenged(refused: &Reply, name: &str) -> Option<String> {
    let challenge = refused.header("www-authenticate").unwrap_or_default();
    let fields = challenge.strip_prefix("Bearer ")?;
    let field = fields.split(&format!("{name}=\"")).nth(1)?;
    Some(field.split('"').next()?.to_owned())
}

fn is_answered(reply: &Reply) -> bool {
    reply.status == 200
        && reply.json()["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("issue 0"))
}

/// What a client does that knows the URL of the gateway and nothing else; returns its token.
fn log_in(login: &Login, scope: &str) -> String {
    let refused = login.client("").initialize();
    assert_eq!(refused.status, 401, "{}", refused.text());
    assert_eq!(challenged(&refused, "error"), None, "no token was sent");
    let metadata = challenged(&refused, "resource_metadata").unwrap();
    let path = metadata.strip_prefix(&format!("http://127.0.0.1:{}", login.gateway.port)).unwrap();
    let document = Connection::to(login.gateway.port).get(path, &[]).json();
    assert_eq!(document["resource"], login.resource(), "exactly the URL that clients call");
    assert_eq!(document["authorization_servers"], json!([login.identity.name()]));
    assert_eq!(document["scopes_supported"], json!(["mcp:read", "mcp:write"]));
    let authorization_server = login.identity.metadata();
    assert_eq!(authorization_server["issuer"], document["authorization_servers"][0]);
    let endpoint = authorization_server["token_endpoint"].as_str().unwrap();
    login.identity.token_at(endpoint, "bob", scope, document["resource"].as_str().unwrap())
}

/// Calls a tool for which the token lacks a scope; returns the scopes that the challenge asks for.
fn refused_scopes(client: &mut Client, tool: &str) -> String {
    let refused = client.call(tool, json!({"n": 1}));
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert_eq!(challenged(&refused, "error").as_deref(), Some("insufficient_scope"));
    assert!(challenged(&refused, "resource_metadata").is_some(), "{:?}", refused.header("www-authenticate"));
    challenged(&refused, "scope").unwrap()
}

#[test]
fn a_client_finds_the_issuer_and_calls_with_its_token_in_both_eras() {
    let Some(login) = Login::start() else { return };
    let token = log_in(&login, "mcp:read");
    let mut with_session = login.client(&token);
    let greeted = with_session.initialize();
    assert_eq!(greeted.status, 200, "{}", greeted.text());
    assert_eq!(greeted.json()["result"]["protocolVersion"], "2025-11-25");
    let mut without = login.client(&token);
    let found = without.request("server/discover", json!({})).json();
    assert!(found["result"]["supportedVersions"].to_string().contains("2026-07-28"), "{found}");
    for client in [&mut with_session, &mut without] {
        let tools = client.tools();
        let has = |name: &str| tools.iter().any(|tool| tool == name);
        assert!(has("far__rows") && has("near__rows"), "{tools:?}");
        assert!(!has("far__stream") && !has("near__given"), "they need another scope: {tools:?}");
        for tool in ["far__rows", "near__rows"] {
            let reply = client.call(tool, json!({"n": 1}));
            assert!(is_answered(&reply), "{tool}: {}", reply.text());
        }
        for tool in ["far__stream", "near__given"] {
            assert_eq!(refused_scopes(client, tool), "mcp:read mcp:write", "all that are needed");
        }
    }
    let more = login.token("bob", "mcp:read mcp:write");
    let mut without = login.client(&more);
    assert!(without.tools().contains(&"far__stream".to_owned()));
    let reply = without.call("far__stream", json!({"n": 1}));
    assert!(is_answered(&reply), "{}", reply.text());
    for wrong in [
        login.identity.token("bob", "mcp:read mcp:write", "https://elsewhere.example/mcp"),
        login.identity.token("bob", "mcp:read mcp:write", &login.remote.url),
        login.identity.token("bob", "mcp:read mcp:write", &format!("{}/", login.resource())),
    ] {
        let refused = login.client(&wrong).initialize();
        assert_eq!(refused.status, 401, "it is for another resource: {}", refused.text());
        assert_eq!(challenged(&refused, "error").as_deref(), Some("invalid_token"));
    }
    let seen = login.headers_at_the_server();
    assert!(
        seen.contains(&format!("Bearer {SERVICE_TOKEN}")),
        "the server gets the gateway's own token: {seen}"
    );
    let signature = |token: &str| token.rsplit('.').next().unwrap().to_owned();
    for token in [&token, &more] {
        assert!(!seen.contains(&signature(token)) && !seen.contains(token.as_str()), "{seen}");
    }
}

/// A token with more scopes counts at once, in the session that the token before it began; so does one with fewer.
#[test]
fn a_session_goes_on_with_a_token_that_has_other_scopes() {
    let Some(login) = Login::start() else { return };
    let (less, more) = (login.token("bob", "mcp:read"), login.token("bob", "mcp:read mcp:write"));
    let mut client = login.client(&less);
    assert_eq!(client.initialize().status, 200);
    assert!(!client.tools().contains(&"far__stream".to_owned()));
    let scopes = refused_scopes(&mut client, "far__stream");
    client.token = login.token("bob", &scopes);
    for tool in ["far__stream", "near__given"] {
        assert!(client.tools().contains(&tool.to_owned()), "{tool} is listed now");
        let reply = client.call(tool, json!({"n": 1}));
        let answer = reply.json();
        assert!(reply.status == 200 && answer["result"]["isError"] != true, "{tool}: {answer}");
        assert!(answer["result"]["content"][0]["text"].is_string(), "{tool}: {answer}");
    }
    let kept = client.call("far__stream", json!({"n": 900})).json();
    let kept = crate::session::handle(kept["result"]["content"][0]["text"].as_str().unwrap());
    let query = json!({"id": kept, "sql": "select title from t limit 2"});
    assert!(client.call("result_query", query.clone()).text().contains("issue 0"));
    client.token = less;
    assert!(!client.tools().contains(&"far__stream".to_owned()), "the lists are those of this token");
    assert_eq!(refused_scopes(&mut client, "near__given"), "mcp:read mcp:write");
    let hidden = client.call("result_query", query.clone()).text();
    assert!(hidden.contains("no result is kept under"), "a result of a tool of a higher tier: {hidden}");
    client.token = more;
    assert!(client.call("result_query", query).text().contains("issue 0"));
    // Another caller does not get into the session, however many scopes it has.
    client.token = login.token("ada", "mcp:read mcp:write");
    assert_eq!(client.request("tools/list", json!({})).status, 404);
}

#[test]
fn an_expired_token_is_refused_also_in_a_session() {
    let Some(login) = Login::start() else { return };
    let token = login.token("eve", "mcp:read");
    let mut client = login.client(&token);
    assert_eq!(client.initialize().status, 200);
    assert!(is_answered(&client.call("far__rows", json!({"n": 1}))));
    let mut without = login.client(&token);
    assert!(is_answered(&without.call("far__rows", json!({"n": 1}))));
    std::thread::sleep(Duration::from_secs(7));
    for client in [&mut client, &mut without] {
        let refused = client.call("far__rows", json!({"n": 1}));
        assert_eq!(refused.status, 401, "{}", refused.text());
        assert_eq!(challenged(&refused, "error").as_deref(), Some("invalid_token"));
        assert!(challenged(&refused, "resource_metadata").is_some());
    }
    client.token = login.token("eve", "mcp:read");
    assert!(is_answered(&client.call("far__rows", json!({"n": 1}))), "the session goes on with a new one");
}

/// The gateway fetches keys for a token with an unknown one at most every 30 s, and remembers a token for as long.
#[test]
fn tokens_of_a_new_key_are_accepted_and_those_of_the_old_one_are_not() {
    let Some(mut login) = Login::start() else { return };
    let old = login.token("bob", "mcp:read");
    let mut client = login.client(&old);
    assert_eq!(client.initialize().status, 200);
    login.identity.rotate();
    client.token = login.token("bob", "mcp:read");
    repeat("the new key is fetched", || is_answered(&client.call("far__rows", json!({"n": 1}))));
    client.token = old;
    repeat("the old key is forgotten", || client.call("far__rows", json!({"n": 1})).status == 401);
    let refused = client.call("far__rows", json!({"n": 1}));
    assert_eq!(challenged(&refused, "error").as_deref(), Some("invalid_token"));
}
