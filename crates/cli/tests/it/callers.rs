//! Who reaches what through `tidegate run`: a client that nobody knows reaches nothing of another one, over stdio and HTTP,
//! in both protocol eras, in front of both kinds of servers.

use serde_json::{Value, json};

use crate::http::{Listening, modern_headers};
use crate::place::Place;
use crate::session::{Session, upstream};
use crate::tidegate_in;

const STYLES: &str = r#"
[server.upstream.tool.rows]
style = "contract"
[server.upstream.tool.bugs]
style = "probe"
[server.remote.tool.rows]
style = "contract"
[server.remote.tool.bugs]
style = "probe"
"#;

/// One client.
enum Client {
    Stdio(Box<Session>),
    Http { port: u16, session: Option<String>, authorization: Option<&'static str> },
}

impl Client {
    fn legacy(listening: &Listening, authorization: Option<&'static str>) -> Self {
        let mut client = Self::modern(listening, authorization);
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "somebody", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
        let headers: Vec<(&str, &str)> =
            authorization.map(|value| ("Authorization", value)).into_iter().collect();
        let reply = listening.connect().post(&headers, &body);
        if let Self::Http { session, .. } = &mut client {
            *session =
                Some(reply.header("mcp-session-id").unwrap_or_else(|| panic!("{}", reply.text())).to_owned());
        }
        client
    }

    fn modern(listening: &Listening, authorization: Option<&'static str>) -> Self {
        Self::Http { port: listening.port, session: None, authorization }
    }

    fn request(&mut self, method: &str, mut params: Value) -> Value {
        let (port, session, authorization) = match self {
            Self::Stdio(session) => return session.request(method, params),
            Self::Http { port, session, authorization } => (*port, session, *authorization),
        };
        let name = params.get("name").or_else(|| params.get("uri"));
        let name = name.and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        headers.extend(authorization.map(|value| ("Authorization", value)));
        match &session {
            Some(session) => headers.push(("Mcp-Session-Id", session)),
            None => {
                let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
                params["_meta"] = meta;
                headers.extend([modern_headers("")[0], ("Mcp-Method", method), ("Mcp-Name", &name)]);
                headers.retain(|(header, value)| *header != "Mcp-Name" || !value.is_empty());
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        crate::http::Connection::to(port).post(&headers, &body).json()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    fn json(&mut self, tool: &str, arguments: Value) -> Value {
        let response = self.call(tool, arguments);
        let text = response["result"]["content"][0]["text"].as_str();
        serde_json::from_str(text.unwrap_or_else(|| panic!("{response}"))).unwrap()
    }
}

/// What a client left in the store: address, cursor and token.
type Loot = (String, Value, Value);

fn leave(client: &mut Client) -> Loot {
    client.request("tools/list", json!({}));
    let contract = client.json("rows", json!({"n": 400}));
    let probe = client.json("bugs", json!({"n": 400}));
    let reference = contract["artifactRef"].as_str().unwrap().to_owned();
    (reference, contract["nextCursor"].clone(), probe["continuation_token"].clone())
}

/// Tries every way to what a client left, and returns those that lead there.
fn reached(client: &mut Client, (reference, cursor, token): &Loot) -> Vec<&'static str> {
    let id = reference.rsplit('/').next().unwrap();
    let succeeds = |response: &Value| response["result"].is_object() && response["result"]["isError"] != true;
    let mut ways = vec![
        ("read", succeeds(&client.request("resources/read", json!({"uri": reference})))),
        ("list", client.request("resources/list", json!({})).to_string().contains(id)),
        ("cursor", succeeds(&client.call("result_query", json!({"id": reference, "cursor": cursor})))),
        ("token", succeeds(&client.call("bugs", json!({"continuation_token": token})))),
    ];
    let names = [reference.clone(), id.to_owned(), format!("rows-{id}")];
    let found =
        names.iter().any(|name| succeeds(&client.call("result_query", json!({"id": name, "page": 1}))));
    ways.push(("query", found));
    ways.into_iter().filter(|(_, reached)| *reached).map(|(way, _)| way).collect()
}

const ALL: [&str; 5] = ["read", "list", "cursor", "token", "query"];
const UNLISTED: [&str; 4] = ["read", "cursor", "token", "query"];

#[test]
fn no_caller_reaches_the_results_of_another() {
    let place = Place::new();
    place.configure(STYLES);
    let home = place.home();
    std::fs::create_dir(home.join("tidegate")).unwrap();
    std::fs::write(home.join("tidegate/tidegate.toml"), STYLES).unwrap();
    let server = upstream();
    let command = ["--", "python3", "-S", server.to_str().unwrap()];
    let open = Listening::start(&home, &command);
    let locked = Listening::start(&home, &[&["--auth-token-env", "TEST_TOKEN"], &command[..]].concat());
    let plain = Listening::start(&home, &[&["--observe"], &command[..]].concat());
    let url = format!("http://127.0.0.1:{}/mcp", plain.port);
    let remote = Listening::start(&home, &["--url", &url, "--forward-auth", "--server", "remote"]);

    let stdio = || Client::Stdio(Box::new(place.start(&[])));
    // Everybody, and what is left for it can be reached by whom: the same number is the same owner.
    let mut clients: Vec<(&str, Client, u8)> = vec![
        ("stdio", stdio(), 0),
        ("another stdio client", stdio(), 0),
        ("a client with the token", Client::legacy(&locked, Some("Bearer s3cret")), 0),
        ("a modern client with the token", Client::modern(&locked, Some("Bearer s3cret")), 0),
        ("a session", Client::legacy(&open, None), 1),
        ("another session", Client::legacy(&open, None), 2),
        ("a modern client", Client::modern(&open, None), 3),
        ("a forwarded caller", Client::legacy(&remote, Some("Bearer ada")), 4),
        ("the same, modern", Client::modern(&remote, Some("Bearer ada")), 4),
        ("another forwarded caller", Client::legacy(&remote, Some("Bearer bob")), 5),
        ("a remote session", Client::legacy(&remote, None), 6),
        ("a modern remote client", Client::modern(&remote, None), 7),
    ];
    let loots: Vec<(&str, Loot, u8)> =
        clients.iter_mut().map(|(who, client, owner)| (*who, leave(client), *owner)).collect();
    for (who, client, caller) in &mut clients {
        for (whose, loot, owner) in &loots {
            let expected = match caller == owner {
                true if [3, 7].contains(owner) => &UNLISTED[..],
                true => &ALL[..],
                false => &[],
            };
            assert_eq!(reached(client, loot), expected, "{who} reads what was left by {whose}");
        }
    }
    // Who names the session of another client gets nothing of it.
    let Client::Http { session: Some(session), .. } = &clients[7].1 else { panic!("it has a session") };
    let mut thief =
        Client::Http { port: remote.port, session: Some(session.clone()), authorization: Some("Bearer bob") };
    assert_eq!(reached(&mut thief, &loots[7].1), Vec::<&str>::new());

    // The store is a file of its user, who sees all of it on the command line.
    let listed = tidegate_in(Some(&home), &["ls"], b"");
    for (whose, (reference, ..), _) in &loots {
        let id = reference.rsplit('/').next().unwrap();
        assert!(listed.text().contains(id), "{whose}: {}", listed.text());
        for command in ["show", "query", "export"] {
            let read = tidegate_in(Some(&home), &[command, id], b"");
            assert_eq!(read.code, 0, "{command} {whose}: {}", read.stderr);
        }
    }
    let (_, (reference, ..), _) = &loots[5];
    assert_eq!(tidegate_in(Some(&home), &["rm", reference], b"").code, 0);
    assert_eq!(reached(&mut clients[5].1, &loots[5].1), ["token"], "the other result is still there");
}
