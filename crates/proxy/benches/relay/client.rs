//! The client: lines and HTTP requests written by hand, answers read as bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{ChildStdin, ChildStdout};

/// How many requests are in flight when several are.
pub(crate) const IN_FLIGHT: usize = 8;
/// The `_meta` of a request of protocol version 2026-07-28, which needs no `initialize`.
const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A way to call the server.
pub(crate) trait Client {
    /// Asks for a result of a number of bytes.
    fn send(&mut self, bytes: usize);

    /// Reads the next answer.
    fn receive(&mut self) -> &[u8];
}

fn call(id: usize, bytes: usize, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"rows","arguments":{{"bytes":{bytes}}}{meta}}}}}"#
    )
}

/// A client over a pair of pipes.
pub(crate) struct Lines {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    id: usize,
}

impl Lines {
    /// Initializes the server, as clients of protocol version 2025-11-25 do.
    pub(crate) fn greet(input: ChildStdin, output: ChildStdout) -> Self {
        let output = BufReader::with_capacity(64 * 1024, output);
        let mut lines = Self { input, output, line: Vec::new(), id: 10 };
        for (request, answered) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
                true,
            ),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, false),
            (r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#, true),
        ] {
            lines.input.write_all(format!("{request}\n").as_bytes()).unwrap();
            if answered {
                assert!(!lines.receive().is_empty(), "no answer to {request}");
            }
        }
        lines
    }
}

impl Client for Lines {
    fn send(&mut self, bytes: usize) {
        self.id += 1;
        let mut line = call(self.id, bytes, "");
        line.push('\n');
        self.input.write_all(line.as_bytes()).unwrap();
    }

    fn receive(&mut self) -> &[u8] {
        self.line.clear();
        self.output.read_until(b'\n', &mut self.line).unwrap();
        &self.line
    }
}

/// A client over HTTP, with a connection for each request in flight.
pub(crate) struct Posts {
    connections: Vec<BufReader<TcpStream>>,
    host: String,
    sent: usize,
    received: usize,
    body: Vec<u8>,
}

impl Posts {
    pub(crate) fn to(port: u16) -> Self {
        let connection = |_| {
            let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.set_nodelay(true).unwrap();
            BufReader::with_capacity(64 * 1024, stream)
        };
        let connections = (0..IN_FLIGHT).map(connection).collect();
        Self { connections, host: format!("127.0.0.1:{port}"), sent: 0, received: 0, body: Vec::new() }
    }
}

impl Client for Posts {
    fn send(&mut self, bytes: usize) {
        let body = call(self.sent, bytes, META);
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: rows\r\nContent-Length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        let connection = &mut self.connections[self.sent % IN_FLIGHT];
        connection.get_mut().write_all(request.as_bytes()).unwrap();
        self.sent += 1;
    }

    fn receive(&mut self) -> &[u8] {
        let connection = &mut self.connections[self.received % IN_FLIGHT];
        self.received += 1;
        self.body.clear();
        read_body(connection, &mut self.body);
        &self.body
    }
}

/// Reads one response, with a content length or in chunks.
fn read_body(connection: &mut BufReader<TcpStream>, body: &mut Vec<u8>) {
    let (mut length, mut chunked, mut line) = (0, false, String::new());
    while read_line(connection, &mut line) {
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        chunked |= line.starts_with("transfer-encoding:") && line.contains("chunked");
    }
    if !chunked {
        read_more(connection, body, length);
        return;
    }
    loop {
        read_line(connection, &mut line);
        let length = usize::from_str_radix(&line, 16).unwrap();
        read_more(connection, body, length);
        read_line(connection, &mut line);
        if length == 0 {
            return;
        }
    }
}

fn read_more(connection: &mut BufReader<TcpStream>, body: &mut Vec<u8>, length: usize) {
    let read = connection.by_ref().take(length as u64).read_to_end(body).unwrap();
    assert_eq!(read, length, "the connection was closed");
}

/// Reads a line without its end; returns false if it is empty.
fn read_line(connection: &mut BufReader<TcpStream>, line: &mut String) -> bool {
    line.clear();
    assert!(connection.read_line(line).unwrap() > 0, "the connection was closed");
    line.truncate(line.trim_end().len());
    !line.is_empty()
}
