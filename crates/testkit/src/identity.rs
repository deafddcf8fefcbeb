//! A real identity server: oidc-provider from npm, whose clients get access tokens for a resource.
//!
//! `./check tests` installs it and names its folder in [`IDENTITY_VARIABLE`]. Its clients are `ada`, who is in the group
//! `staff`, `bob`, who is in none, and `eve`, whose tokens expire after six seconds; the secret of each is its name followed by
//! `-secret`. The server ends with the value.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// The environment variable with the folder in which the identity server is installed.
pub const IDENTITY_VARIABLE: &str = "TIDEGATE_TEST_IDENTITY";

/// An identity server.
pub struct IdentityServer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    port: u16,
}

impl IdentityServer {
    /// Starts a server whose tokens are for `resource` if a request names no other; `None` if it is not installed.
    #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
    pub fn start(resource: &str) -> Option<Self> {
        let Some(folder) = std::env::var_os(IDENTITY_VARIABLE).map(PathBuf::from) else {
            eprintln!("SKIPPED: the identity server is not installed (./check tests installs it)");
            return None;
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        drop(listener);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/identity_server.mjs");
        let mut command = Command::new(folder.join("node_modules/node/bin/node"));
        command.arg(script).arg(&folder).arg(port.to_string()).arg(resource);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("node is installed");
        let input = process.stdin.take().expect("a pipe");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut server = Self { process, input, output, port };
        server.wait_for("listening");
        Some(server)
    }

    fn wait_for(&mut self, word: &str) {
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            assert!(self.output.read_line(&mut line).expect("text") > 0, "the identity server has ended");
        }
    }

    /// Replaces its signing key.
    pub fn rotate(&mut self) {
        self.input.write_all(b"rotate\n").expect("it runs");
        self.wait_for("rotated");
    }

    /// Returns its name, which is also its address.
    pub fn name(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns an access token of a client for a resource.
    pub fn token(&self, client: &str, scope: &str, resource: &str) -> String {
        self.token_at(&format!("{}/token", self.name()), client, scope, resource)
    }

    /// Returns an access token of a client for a resource, from the endpoint that the metadata named.
    pub fn token_at(&self, endpoint: &str, client: &str, scope: &str, resource: &str) -> String {
        let path = endpoint.strip_prefix(&self.name()).expect("an endpoint of this server");
        let scope = scope.replace(' ', "+");
        let body = format!(
            "grant_type=client_credentials&client_id={client}&client_secret={client}-secret&scope={scope}&resource={resource}"
        );
        let kind = "Content-Type: application/x-www-form-urlencoded";
        let answer = self.ask(&format!("POST {path} HTTP/1.0\r\n{kind}"), &body);
        answer["access_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Returns the metadata of the server as an authorization server (RFC 8414).
    pub fn metadata(&self) -> Value {
        self.ask("GET /.well-known/oauth-authorization-server HTTP/1.0", "")
    }

    /// Sends a request; returns the document in the response.
    fn ask(&self, head: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let (port, length) = (self.port, body.len());
        let request = format!("{head}\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        let (_, document) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        serde_json::from_str(document).unwrap_or_else(|_| panic!("{answer}"))
    }
}

impl Drop for IdentityServer {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
