//! What a caller of `tidegate gateway` may use in the course of a session, and what is recorded of refusals.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use crate::gateway::{Gateway, asking, repeat, section};
use crate::gateway_access::{Caller, key};
use crate::http::{Connection, modern, modern_headers};
use crate::session::handle;

const RESOURCE: &str = "https://gateway.example/mcp";

/// An issuer of tokens.
struct Issuer {
    url: String,
    pair: Ed25519KeyPair,
}

impl Issuer {
    /// Starts an issuer that serves its public key to everybody.
    fn start() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let public = URL_SAFE_NO_PAD.encode(pair.public_key());
        let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": public, "kid": "a", "use": "sig"}]})
            .to_string();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                    line.clear();
                }
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
                let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{keys}", keys.len());
                let _ = stream.get_mut().write_all(answer.as_bytes());
            }
        });
        Self { url, pair }
    }

    fn token(&self, scope: &str) -> String {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let claims =
            json!({"iss": self.url, "sub": "ada", "aud": RESOURCE, "exp": now + 600, "scope": scope});
        let encoded = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", encoded(json!({"alg": "EdDSA", "kid": "a"})), encoded(claims));
        let signed = URL_SAFE_NO_PAD.encode(self.pair.sign(message.as_bytes()));
        format!("{message}.{signed}")
    }
}

#[test]
fn the_tier_of_a_session_is_that_of_its_latest_token() {
    let home = tempfile::tempdir().unwrap();
    let issuer = Issuer::start();
    let config = section("one", "")
        + &format!(
            "[server.one.tool.given]\ntier = \"read_write\"\n[gateway]\nresource = \"{RESOURCE}\"\n\
             [gateway.issuer.login]\nissuer = \"{0}\"\njwks_url = \"{0}/keys\"\n\
             [gateway.role.reader]\nscopes = [\"mcp:read\"]\ntier = \"read\"\n\
             [gateway.role.writer]\nscopes = [\"mcp:write\"]\ntier = \"read_write\"\n",
            issuer.url
        );
    let gateway = Gateway::start(home.path(), &config);
    let bearer = |scope: &str| format!("Bearer {}", issuer.token(scope));
    let mut ada = Caller::new(&gateway, &issuer.token("mcp:read"));
    let is_listed = |ada: &mut Caller| ada.tools().contains(&"one__given".to_owned());
    let arguments = json!({"size": 60_000});
    let refused = ada.call("one__given", arguments.clone());
    assert_eq!(refused.status, 403, "{}", refused.text());
    let challenge = refused.header("www-authenticate").unwrap_or_default();
    assert!(challenge.contains("insufficient_scope") && challenge.contains("mcp:write"), "{challenge}");
    assert!(!is_listed(&mut ada));
    // A token with more scopes, in the same session.
    ada.headers[0].1 = bearer("mcp:read mcp:write");
    let text = ada.text("one__given", arguments.clone());
    assert!(is_listed(&mut ada));
    let query = json!({"id": handle(&text), "path": "/padding"});
    let part = ada.text("result_query", query.clone());
    assert!(part.contains("xxxx"), "{part}");
    // The result of a tool of a higher tier is out of reach for a token with fewer.
    ada.headers[0].1 = bearer("mcp:read");
    let lower = ada.text("result_query", query.clone());
    assert!(!lower.contains("xxxx"), "{lower}");
    assert_eq!(ada.call("one__given", arguments).status, 403);
    assert!(!is_listed(&mut ada));
    ada.headers[0].1 = bearer("mcp:read mcp:write");
    assert!(ada.text("result_query", query).contains("xxxx"));
}

/// Returns the lines of the audit log about requests that were refused.
fn refusals(home: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(home.join("audit.jsonl")).unwrap();
    // The last line may not be whole yet.
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["event"] == "request" && line["decision"] != "allowed").collect()
}

#[test]
fn each_refusal_is_recorded() {
    let home = tempfile::tempdir().unwrap();
    let (key, caller) = key(home.path(), "bob");
    let config = section("one", "")
        + &section("two", "")
        + "[gateway]\naudit_file = \"audit.jsonl\"\n"
        + &caller
        + "groups = [\"guests\"]\n[gateway.role.guest]\ngroups = [\"guests\"]\nservers = [\"one\"]\ntools = [\"rows\"]\n";
    let gateway = Gateway::start(home.path(), &config);
    let mut bob = Caller::new(&gateway, &key);
    assert_eq!(bob.call("two__rows", json!({"n": 0})).status, 403);
    let bearer = format!("Bearer {key}");
    let mut headers = modern_headers("one__die").to_vec();
    headers.push(("Authorization", &bearer));
    let refused = Connection::to(gateway.port).post(&headers, &modern(1, "one__die", json!({"code": 1})));
    assert_eq!(refused.status, 403, "{}", refused.text());
    let call = |id: u64, tool: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {"n": 0}}});
    bob.post(&json!([call(7, "one__rows"), call(8, "two__echo")]).to_string());
    // A duplicate member, which the server might read instead of the one that is checked.
    bob.post(r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"Name":"die","name":"one__rows","arguments":{"n":0}}}"#);
    repeat("each has a line", || refusals(home.path()).len() == 4);
    let lines = refusals(home.path());
    for (server, tool, decision) in [
        ("two", "rows", "not_permitted"),
        ("one", "die", "not_permitted"),
        ("two", "echo", "not_permitted"),
        ("one", "rows", "ambiguous"),
    ] {
        let is_it = |line: &&Value| {
            line["caller"] == "key:bob"
                && line["server"] == server
                && line["tool"] == tool
                && line["decision"] == decision
        };
        assert_eq!(lines.iter().filter(is_it).count(), 1, "{server} {tool}: {lines:?}");
    }
    let metrics = Connection::to(gateway.port).get("/metrics", &[]).text();
    let counted =
        metrics.lines().find(|line| line.contains("not_permitted")).unwrap_or_else(|| panic!("{metrics}"));
    assert!(counted.ends_with(" 3"), "{counted}");
}

#[test]
fn a_caller_sees_the_instructions_of_servers_that_it_may_use() {
    let home = tempfile::tempdir().unwrap();
    let (mut config, mut keys) = (asking("one", "") + &asking("two", ""), Vec::new());
    for (name, role) in [
        ("ada", "servers = [\"one\", \"two\"]"),
        ("bob", "servers = [\"two\"]\ntools = [\"said\"]"),
        ("eve", "servers = [\"other\"]"),
    ] {
        let (key, caller) = key(home.path(), name);
        config +=
            &format!("{caller}groups = [\"{name}\"]\n[gateway.role.{name}]\ngroups = [\"{name}\"]\n{role}\n");
        keys.push(key);
    }
    let gateway = Gateway::start(home.path(), &config);
    for (key, expected) in
        keys.iter().zip([json!("# one\nask\n\n# two\nask"), json!("# two\nask"), Value::Null])
    {
        let bearer = format!("Bearer {key}");
        let headers = [
            ("Authorization", bearer.as_str()),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "server/discover"),
        ];
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
        let discover =
            json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}});
        let found = Connection::to(gateway.port).post(&headers, &discover.to_string()).json();
        assert_eq!(found["result"]["instructions"], expected, "{found}");
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
        let greeted = Connection::to(gateway.port).post(&headers[..1], &hello.to_string()).json();
        assert_eq!(greeted["result"]["instructions"], expected, "{greeted}");
    }
}

/// A role for prompts must not reach resources through a completion, nor the other way round.
#[test]
fn a_completion_that_could_mean_two_things_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let (key, caller) = key(home.path(), "bob");
    let config = asking("one", "")
        + &caller
        + "groups = [\"guests\"]\n[gateway.role.guest]\ngroups = [\"guests\"]\ntools = [\"greet\"]\n";
    let gateway = Gateway::start(home.path(), &config);
    let mut bob = Caller::new(&gateway, &key);
    let mut complete = |reference: Value| {
        let params = json!({"ref": reference, "argument": {"name": "a", "value": ""}});
        bob.request("completion/complete", params)
    };
    let allowed = complete(json!({"type": "ref/prompt", "name": "one__greet"})).json();
    assert!(allowed["result"]["completion"].is_object(), "{allowed}");
    assert_eq!(complete(json!({"type": "ref/resource", "uri": "thing://{id}"})).status, 403);
    for reference in [
        json!({"type": "ref/resource", "name": "one__greet", "uri": "thing://{id}"}),
        json!({"type": "ref/resource", "Name": "x", "uri": "thing://{id}"}),
        json!({"type": "ref/resource", "name": "one__greet"}),
    ] {
        let refused = complete(reference.clone());
        let answer = refused.json();
        assert!(answer["error"]["code"] == -32602 || refused.status == 403, "{reference}: {answer}");
    }
}
