//! A client that speaks raw JSON-RPC over a pipe or over HTTP, so that it can send what a well-behaved one would not.

use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tidegate_sdk::{HttpOptions, serve_http};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::net::TcpStream;

/// One client.
pub(crate) enum Seat {
    Http { port: u16, caller: Option<String>, session: Option<String> },
    Pipe(BufReader<DuplexStream>),
}

/// Serves over HTTP on a free port, and returns the port.
pub(crate) async fn listen(server: impl ServerHandler) -> u16 {
    listen_with(|options| options, server).await
}

/// Serves over HTTP on a free port with options, and returns the port.
pub(crate) async fn listen_with(
    set: impl FnOnce(HttpOptions) -> HttpOptions,
    server: impl ServerHandler,
) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let options = set(HttpOptions::on(listener));
    tokio::spawn(async move { serve_http(options, server).await.unwrap() });
    port
}

fn initialize() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "seat", "version": "1"}})
}

impl Seat {
    /// A client with an MCP session over HTTP.
    pub(crate) async fn session(port: u16, caller: Option<&str>) -> Self {
        let mut seat = Self::Http { port, caller: caller.map(str::to_owned), session: Some(String::new()) };
        let (head, _) = seat.post("initialize", initialize()).await;
        let id = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.to_owned())
        });
        if let Self::Http { session, .. } = &mut seat {
            *session = Some(id.unwrap_or_else(|| panic!("{head}")));
        }
        seat.post("notifications/initialized", json!({})).await;
        seat
    }

    /// A client of protocol version 2026-07-28 over HTTP.
    pub(crate) fn stateless(port: u16, caller: Option<&str>) -> Self {
        Self::Http { port, caller: caller.map(str::to_owned), session: None }
    }

    /// The client of a server on a pipe.
    pub(crate) async fn pipe(server: impl ServerHandler) -> Self {
        Self::pipe_with(server, json!({})).await
    }

    /// The client of a server on a pipe, with these capabilities.
    pub(crate) async fn pipe_with(server: impl ServerHandler, capabilities: Value) -> Self {
        let (client_end, server_end) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move { server.serve(server_end).await.unwrap().waiting().await });
        let mut seat = Self::Pipe(BufReader::new(client_end));
        let mut introduction = initialize();
        introduction["capabilities"] = capabilities;
        seat.request("initialize", introduction).await;
        if let Self::Pipe(pipe) = &mut seat {
            pipe.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")
                .await
                .unwrap();
        }
        seat
    }

    /// Sends a request and returns the response.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        if let Self::Pipe(pipe) = self {
            let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            pipe.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            let mut line = String::new();
            pipe.read_line(&mut line).await.unwrap();
            return serde_json::from_str(&line).unwrap();
        }
        let (head, body) = self.post(method, params).await;
        let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
        let response = events.filter_map(|data| serde_json::from_str::<Value>(data).ok()).next_back();
        response
            .or_else(|| serde_json::from_str(&body).ok())
            .unwrap_or_else(|| panic!("{method}: {head}\n{body}"))
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Calls a tool and returns the text of its first block.
    pub(crate) async fn text(&mut self, tool: &str, arguments: Value) -> String {
        let response = self.call(tool, arguments).await;
        let text = response["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{response}")).to_owned()
    }

    /// Posts a request over a new connection, and returns head and body of the response.
    pub(crate) async fn post(&self, method: &str, mut params: Value) -> (String, String) {
        let Self::Http { port, caller, session } = self else { unreachable!("only over HTTP") };
        let mut headers = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n"
        );
        if let Some(caller) = caller {
            headers.push_str(&format!("X-Caller: {caller}\r\n"));
        }
        match session {
            Some(session) if session.is_empty() => {}
            Some(session) => headers
                .push_str(&format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n")),
            None => {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "seat", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                headers.push_str(&format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n"));
                if let Some(name) = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str) {
                    headers.push_str(&format!("Mcp-Name: {name}\r\n"));
                }
            }
        }
        let mut body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        if method.starts_with("notifications/") {
            body.as_object_mut().unwrap().remove("id");
        }
        let body = body.to_string();
        let request = format!("{headers}Content-Length: {}\r\n\r\n{body}", body.len());
        let mut stream = TcpStream::connect(("127.0.0.1", *port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await.unwrap();
        let response = String::from_utf8_lossy(&response).into_owned();
        let (head, body) = response.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{response}"));
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        (head.to_owned(), if is_chunked { dechunked(body) } else { body.to_owned() })
    }
}

/// Joins the chunks of a body.
fn dechunked(body: &str) -> String {
    let (mut rest, mut joined) = (body, String::new());
    while let Some((size, after)) = rest.split_once("\r\n") {
        let Ok(size @ 1..) = usize::from_str_radix(size.trim(), 16) else { break };
        joined.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    joined
}
