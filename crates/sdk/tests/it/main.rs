//! Servers built with the SDK, driven by a real client of rmcp, in both protocol eras. The servers are those of the example
//! `conventions`, which the official Python client visits too (tests/interop/conventions.py).

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

#[path = "../../examples/conventions/articles.rs"]
mod articles;
#[path = "../../examples/conventions/bugs.rs"]
mod bugs;
#[path = "../../examples/conventions/orbit.rs"]
mod orbit;
mod output_budget;
mod output_shaping;
mod probe_fetch;
mod response_contract;
#[path = "../../examples/conventions/shop.rs"]
mod shop;
mod wrapped;

use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion, Tool};
use rmcp::service::{ClientLifecycleMode, RunningService, Service, serve_client_with_lifecycle};
use rmcp::{RoleClient, RoleServer, ServiceExt};
use serde_json::Value;

/// The protocol eras: sessions that are greeted, and requests that carry everything.
pub(crate) const ERAS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// A client of a server in this process.
pub(crate) struct Client {
    client: RunningService<RoleClient, ()>,
}

impl Client {
    /// Connects in one era.
    pub(crate) async fn connect<S: Service<RoleServer>>(server: S, era: &str) -> Self {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move { server.serve(far).await.unwrap().waiting().await });
        let lifecycle = match era {
            "2025-11-25" => ClientLifecycleMode::Initialize,
            _ => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        };
        Self { client: serve_client_with_lifecycle((), near, lifecycle).await.unwrap() }
    }

    pub(crate) async fn tools(&self) -> Vec<Tool> {
        self.client.list_all_tools().await.unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> CallToolResult {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = arguments.as_object().cloned();
        self.client.call_tool(params).await.unwrap()
    }

    /// Calls a tool and returns the text of its first block.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        serde_json::to_value(&result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Calls a tool and returns its text as JSON.
    pub(crate) async fn told(&self, tool: &str, arguments: Value) -> Value {
        let text = self.text(tool, arguments).await;
        assert!(text.len() <= 10_240, "{} bytes", text.len());
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"))
    }

    /// Calls a tool that refuses, and returns what it says.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result.is_error, Some(true), "{result:?}");
        let text = serde_json::to_value(&result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned();
        match serde_json::from_str::<Value>(&text) {
            Ok(told) => told["error"].as_str().unwrap().to_owned(),
            Err(_) => text,
        }
    }
}

impl Client {
    /// Makes a call that fails, as an error of the tool or of the protocol, and returns what it says.
    pub(crate) async fn failed(&self, tool: &str, arguments: Value) -> String {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = arguments.as_object().cloned();
        match self.client.call_tool(params).await {
            Err(error) => error.to_string(),
            Ok(result) => {
                assert_eq!(result.is_error, Some(true), "{result:?}");
                serde_json::to_value(&result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
            }
        }
    }
}

/// Attributes that make no sense are told where they stand.
#[test]
fn misuse_is_told() {
    trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
}
