//! The running gateway of the table: its configuration, written from the model, and its clients, one for each caller and era.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::model::{Grant, PEOPLE, Person, Proof, SERVERS, SUBJECT, Tier};
use super::signer::Signer;
use crate::gateway::{Gateway, repeat};
use crate::gateway_access::key;
use crate::http::{Connection, Reply};

const RESOURCE: &str = "https://gateway.example/mcp";
const ISSUERS: [&str; 2] = ["https://first.example", "https://second.example"];

/// How a client speaks to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// In a session, as clients of 2025-11-25 do.
    Session,
    /// Without one, as clients of 2026-07-28 do.
    Stateless,
}

/// The gateway, and what its callers prove themselves with.
pub(super) struct Team {
    pub(super) gateway: Gateway,
    proofs: Vec<String>,
    log: PathBuf,
    /// The configuration without the roles.
    config: String,
    home: tempfile::TempDir,
}

impl Team {
    pub(super) fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("calls.log");
        std::fs::write(&log, "").unwrap();
        let signer = Signer::start();
        let mut config = servers(&log);
        config += &format!("[gateway]\nresource = {RESOURCE:?}\n");
        for (number, issuer) in ISSUERS.iter().enumerate() {
            config += &format!(
                "[gateway.issuer.issuer{number}]\nissuer = {issuer:?}\njwks_url = \"http://127.0.0.1:{}/keys\"\n",
                signer.port
            );
        }
        let proofs = PEOPLE.iter().map(|person| match person.proof {
            Proof::Key => {
                let (key, section) = key(home.path(), person.name);
                config += &section;
                key
            }
            Proof::Token(issuer) => signer.token(ISSUERS[issuer], RESOURCE),
        });
        let proofs = proofs.collect();
        let gateway = Gateway::start(home.path(), &(config.clone() + &roles(&PEOPLE)));
        Self { gateway, proofs, log, config, home }
    }

    /// Gives everybody other roles, while the gateway runs.
    pub(super) fn change_roles(&self, people: &[Person]) {
        let config = self.config.clone() + &roles(people);
        std::fs::write(self.home.path().join("gateway.toml"), config).unwrap();
        let told = Command::new("kill").args(["-HUP", &self.gateway.child.id().to_string()]).status();
        assert!(told.unwrap().success());
        repeat("the roles are read", || self.gateway.log().contains("the configuration was read again"));
    }

    /// Returns the clients: each person in both eras.
    pub(super) fn clients(&self) -> Vec<Client> {
        let clients = PEOPLE.iter().zip(&self.proofs).flat_map(|(person, proof)| {
            [Era::Session, Era::Stateless].map(|era| Client::new(self.gateway.port, *person, era, proof))
        });
        clients.collect()
    }

    /// Returns the marks of the calls that reached the servers, each with its server and tool.
    pub(super) fn calls(&self) -> Vec<String> {
        std::fs::read_to_string(&self.log).unwrap().lines().map(str::to_owned).collect()
    }
}

fn servers(log: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/table.py");
    let mut config = String::new();
    for server in &SERVERS {
        let (name, tools) = (server.name, server.tools.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let env = [
            format!("TABLE_NAME={name}"),
            format!("TABLE_TOOLS={}", tools.join(",")),
            format!("TABLE_RESOURCES={}", server.resources),
            format!("TABLE_LOG={}", log.display()),
        ];
        config += &format!(
            "[upstream.{name}]\ncommand = \"python3\"\nargs = [\"-S\", {:?}]\nsharing = {:?}\nenv = {env:?}\n",
            script.to_str().unwrap(),
            server.sharing
        );
        config += &format!("[server.{name}]\nreferences = true\nsave = true\n");
        if let Some(from) = server.references_from {
            config += &format!("references_from = [{from:?}]\n");
        }
        for (tool, tier) in server.tools.iter().filter(|(_, tier)| *tier != Tier::Read) {
            config += &format!("[server.{name}.tool.{tool}]\ntier = {:?}\n", tier.name());
        }
    }
    config
}

fn roles(people: &[Person]) -> String {
    let mut config = String::new();
    for person in people {
        let caller = match person.proof {
            Proof::Key => format!("key:{}", person.name),
            Proof::Token(issuer) => format!("{} {SUBJECT}", ISSUERS[issuer]),
        };
        for (number, Grant { tier, servers, tools }) in person.grants.iter().enumerate() {
            config += &format!(
                "[gateway.role.{}{number}]\ncallers = [{caller:?}]\ntier = {:?}\nservers = {servers:?}\n",
                person.name,
                tier.name()
            );
            // A role that names its tools has no resources.
            if *tools != ["*"] {
                config += &format!("tools = {tools:?}\n");
            }
        }
    }
    config
}

/// A client of the gateway.
pub(super) struct Client {
    pub(super) person: Person,
    pub(super) era: Era,
    port: u16,
    authorization: String,
    /// The id of its session, in the era that has them.
    pub(super) session: Option<String>,
    next: u64,
}

/// What the gateway answered.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) json: Value,
}

impl Answer {
    /// Returns the text of the first block of a result; otherwise the whole answer.
    pub(super) fn text(&self) -> String {
        let text = self.json["result"]["content"][0]["text"].as_str();
        text.map_or_else(|| self.json.to_string(), str::to_owned)
    }

    /// Returns whether it says that nothing was done or shown.
    pub(super) fn is_refused(&self) -> bool {
        self.json["error"].is_object() || self.json["result"]["isError"] == true
    }
}

impl Client {
    fn new(port: u16, person: Person, era: Era, proof: &str) -> Self {
        let authorization = format!("Bearer {proof}");
        let mut client = Self { person, era, port, authorization, session: None, next: 0 };
        if era == Era::Session {
            let info = json!({"name": "somebody", "version": "1"});
            let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
            let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
            let reply = client.post(&[], &body.to_string());
            assert_eq!(reply.status, 200, "{}: {}", person.name, reply.text());
            client.session = reply.header("mcp-session-id").map(str::to_owned);
            assert!(client.session.is_some(), "a session was begun");
        }
        client
    }

    /// Returns who and how, for messages.
    pub(super) fn label(&self) -> String {
        format!("{} ({:?})", self.person.name, self.era)
    }

    fn post(&self, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut all = vec![("Authorization", self.authorization.as_str())];
        all.extend_from_slice(headers);
        // Each on a connection of its own: one that is silent for long is closed.
        Connection::to(self.port).post(&all, body)
    }

    pub(super) fn request(&mut self, method: &str, params: Value) -> Answer {
        let session = self.session.clone();
        self.request_in(session.as_deref(), method, params)
    }

    /// Sends a request in a session, whoever has begun that.
    pub(super) fn request_in(&mut self, session: Option<&str>, method: &str, mut params: Value) -> Answer {
        self.next += 1;
        let name =
            ["name", "uri"].iter().find_map(|key| params[*key].as_str()).unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        match session {
            Some(session) => headers.push(("Mcp-Session-Id", session)),
            None => {
                params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
                headers.extend([("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)]);
                if ["tools/call", "resources/read", "prompts/get"].contains(&method) {
                    headers.push(("Mcp-Name", &name));
                }
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        let reply = self.post(&headers, &body.to_string());
        let (status, text) = (reply.status, reply.text());
        let message = text.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&text);
        Answer { status, json: serde_json::from_str(message).unwrap_or_else(|_| json!({ "text": message })) }
    }

    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Returns all entries of a list, and the cursor of its second page.
    pub(super) fn list(&mut self, method: &str, member: &str) -> (Vec<Value>, Option<String>) {
        let (mut entries, mut second, mut cursor) = (Vec::new(), None, None::<String>);
        loop {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let answer = self.request(method, params).json;
            let page = answer["result"][member].as_array().unwrap_or_else(|| panic!("{method}: {answer}"));
            entries.extend(page.iter().cloned());
            cursor = answer["result"]["nextCursor"].as_str().map(str::to_owned);
            second = second.or_else(|| cursor.clone());
            if cursor.is_none() {
                return (entries, second);
            }
        }
    }

    /// Follows a link to a saved file; returns the status and the body.
    pub(super) fn download(&self, path: &str) -> (u16, String) {
        let mut headers = vec![("Authorization", self.authorization.as_str())];
        headers.extend(self.session.as_deref().map(|session| ("Mcp-Session-Id", session)));
        let reply = Connection::to(self.port).get(path, &headers);
        (reply.status, reply.text())
    }

    /// Listens to, or ends, a session; returns the status.
    pub(super) fn send(&self, method: &str, session: &str) -> u16 {
        let headers = [
            ("Authorization", self.authorization.as_str()),
            ("Mcp-Session-Id", session),
            ("Accept", "text/event-stream"),
        ];
        let mut connection = Connection::to(self.port);
        connection.send(method, &headers, "");
        connection.reply_head()
    }
}
