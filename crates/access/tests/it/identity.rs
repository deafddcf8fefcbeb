//! A real identity server: its metadata, keys and tokens, and what happens when it changes its key.
//!
//! `./check tests` installs it and names its folder in `TIDEGATE_TEST_IDENTITY`; without that, this test has nothing to do.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::Value;
use tidegate_access::auth::Authentication;
use tidegate_access::auth::issuer::{Issuer, IssuerSettings, Timing};
use tidegate_access::auth::role::{Role, Roles};
use tidegate_gateway::caller::{Authenticate, Challenge, Principal, Use};
use tidegate_store::SystemClock;

const RESOURCE: &str = "https://gateway.example/mcp";
const PAUSE: Duration = Duration::from_millis(200);

/// The identity server, which ends with this value.
struct IdentityServer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    port: u16,
}

impl IdentityServer {
    fn start() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os("TIDEGATE_TEST_IDENTITY")?);
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/identity_server.mjs");
        let mut command = Command::new(folder.join("node_modules/node/bin/node"));
        command.arg(script).arg(&folder).arg(port.to_string()).arg(RESOURCE);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut server = Self { process, input, output: BufReader::new(output), port };
        server.wait_for("listening");
        Some(server)
    }

    fn wait_for(&mut self, word: &str) {
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the identity server has ended");
        }
    }

    fn rotate(&mut self) {
        self.input.write_all(b"rotate\n").unwrap();
        self.wait_for("rotated");
    }

    fn name(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns an access token of a client for a resource.
    fn token(&self, client: &str, scope: &str, resource: &str) -> String {
        let body = format!(
            "grant_type=client_credentials&client_id={client}&client_secret={client}-secret&scope={scope}&resource={resource}"
        );
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(
            stream,
            "POST /token HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let json: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        json["access_token"].as_str().unwrap_or_else(|| panic!("{json}")).to_owned()
    }
}

impl Drop for IdentityServer {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

async fn ask(gateway: &Authentication, token: &str) -> Result<Arc<Principal>, Challenge> {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
    gateway.authenticate(&headers, RESOURCE).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_of_a_real_identity_server() {
    let Some(mut server) = IdentityServer::start() else { return };
    let timing = Timing { pause: PAUSE, ..Timing::default() };
    let issuer = Issuer::new(IssuerSettings::new(server.name()), timing, Arc::new(|_: &str| {})).unwrap();
    let staff = Role { groups: vec!["staff".into()], ..Role::new("staff") };
    let writer = Role { scopes: vec!["mcp:write".into()], ..Role::new("writer") };
    let roles = Roles::new(vec![staff, writer]);
    let gateway = Authentication::new(
        Vec::new(),
        vec![Arc::new(issuer)],
        roles,
        Some(RESOURCE.into()),
        Arc::new(SystemClock),
    );

    let ada = ask(&gateway, &server.token("ada", "mcp:read", RESOURCE)).await.unwrap();
    assert_eq!(ada.name(), format!("{} ada", server.name()));
    let tool = Use { server: "github", tool: Some("create_issue") };
    assert!(ada.may(tool), "by the group in the claim");
    let bob = ask(&gateway, &server.token("bob", "mcp:read", RESOURCE)).await.unwrap();
    assert!(!bob.may(tool));
    let challenge = gateway.step_up(&bob, tool, tidegate_gate::tier::Tier::Read, RESOURCE).unwrap();
    assert!(challenge.www_authenticate.unwrap().contains("scope=\"mcp:write\""));
    let bob = ask(&gateway, &server.token("bob", "mcp:write", RESOURCE)).await.unwrap();
    assert!(bob.may(tool), "with the scope that the challenge asked for");
    let elsewhere = server.token("ada", "mcp:read", "https://other.example/mcp");
    assert_eq!(ask(&gateway, &elsewhere).await.unwrap_err().status.as_u16(), 401);

    let old = server.token("ada", "mcp:read", RESOURCE);
    server.rotate();
    tokio::time::sleep(2 * PAUSE).await;
    assert!(ask(&gateway, &server.token("ada", "mcp:write", RESOURCE)).await.is_ok(), "the new key");
    assert_eq!(ask(&gateway, &old).await.unwrap_err().status.as_u16(), 401, "the old key");
}
