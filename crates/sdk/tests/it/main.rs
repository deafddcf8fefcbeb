//! Servers built with the SDK, called by a real rmcp client in both protocol eras.
//!
//! The servers are those of the example `conventions`, which tests/interop/conventions.py calls with the official Python client.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

#[path = "../../examples/conventions/articles.rs"]
mod articles;
#[path = "../../examples/conventions/bugs.rs"]
mod bugs;
mod callers;
mod doc_imports;
mod languages;
#[path = "../../examples/conventions/orbit.rs"]
mod orbit;
mod output_budget;
mod output_shaping;
mod pages;
mod probe_fetch;
mod regressions;
mod response_contract;
mod router;
mod serving;
#[path = "../../examples/conventions/shop.rs"]
mod shop;
mod tasks;
mod wrapped;

use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion, ReadResourceRequestParams, Tool};
use rmcp::service::{ClientLifecycleMode, RunningService, Service, serve_client_with_lifecycle};
use rmcp::{RoleClient, RoleServer, ServiceExt};
use serde_json::Value;

/// The protocol eras: `initialize` sessions, and stateless requests.
pub(crate) const ERAS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// A client connected to a server in this process.
pub(crate) struct Client {
    client: RunningService<RoleClient, ()>,
}

impl Client {
    /// Connects with the protocol of an era.
    pub(crate) async fn connect<S: Service<RoleServer>>(server: S, era: &str) -> Self {
        let (client_end, server_end) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move { server.serve(server_end).await.unwrap().waiting().await });
        let lifecycle = match era {
            "2025-11-25" => ClientLifecycleMode::Initialize,
            _ => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        };
        Self { client: serve_client_with_lifecycle((), client_end, lifecycle).await.unwrap() }
    }

    pub(crate) async fn tools(&self) -> Vec<Tool> {
        self.client.list_all_tools().await.unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> CallToolResult {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = arguments.as_object().cloned();
        self.client.call_tool(params).await.unwrap()
    }

    /// Reads a resource, and returns its text.
    pub(crate) async fn read(&self, uri: &str) -> Result<String, rmcp::ServiceError> {
        let read = self.client.read_resource(ReadResourceRequestParams::new(uri)).await?;
        let read = serde_json::to_value(&read).unwrap();
        Ok(read["contents"][0]["text"].as_str().unwrap().to_owned())
    }

    /// Returns the addresses of the listed resources.
    pub(crate) async fn resources(&self) -> Vec<String> {
        let listed = self.client.list_all_resources().await.unwrap();
        listed
            .iter()
            .map(|resource| serde_json::to_value(resource).unwrap()["uri"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Calls a tool and returns the text of its first block.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        serde_json::to_value(&result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Calls a tool and returns its text as JSON.
    pub(crate) async fn json(&self, tool: &str, arguments: Value) -> Value {
        let text = self.text(tool, arguments).await;
        assert!(text.len() <= 10_240, "{} bytes", text.len());
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}"))
    }

    /// Calls a tool that fails, and returns the message of the tool error.
    pub(crate) async fn tool_error(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result.is_error, Some(true), "{result:?}");
        let text = serde_json::to_value(&result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned();
        match serde_json::from_str::<Value>(&text) {
            Ok(error) => error["error"].as_str().unwrap().to_owned(),
            Err(_) => text,
        }
    }
}

impl Client {
    /// Makes a call that fails, and returns the message of the tool or protocol error.
    pub(crate) async fn any_error(&self, tool: &str, arguments: Value) -> String {
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

/// Invalid `#[heavy]` attributes are compile errors at the attribute.
#[test]
fn invalid_attributes_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
}
