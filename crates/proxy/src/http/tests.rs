//! Tests of whole paths through the proxy, without processes where that is possible.

mod decisions;
mod hostile;
mod listener;
mod parse_counts;
mod references;
mod shared_server;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::LazyLock;

use hyper::Request;
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::http::request::Parts;

use crate::link::Link;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":100,"method":"initialize","params":{}}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":101,"method":"tools/call","params":{"name":"list"}}"#;
/// The same call in a protocol version without sessions.
const MODERN_CALL: &str = r#"{"jsonrpc":"2.0","id":101,"method":"tools/call","params":{"name":"list","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const MODERN_HEADERS: [(&str, &str); 3] =
    [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "list")];

/// A program that starts the command it is given, in place of the guard.
static GUARD: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = tempfile::tempdir().unwrap().keep().join("guard");
    std::fs::write(&program, "#!/bin/sh\nshift 2\nexec \"$@\"\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
});

/// Returns a conversation that keeps its results in memory.
fn link() -> Link {
    crate::tests::link(None)
}

/// Returns the head of a POST request.
fn post(headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::post("/mcp")
        .header(ACCEPT, "application/json, text/event-stream")
        .header(CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

/// Runs a test on one thread, without waiting for what it leaves behind.
fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(test);
    runtime.shutdown_background();
    outcome
}
