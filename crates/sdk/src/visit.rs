//! An in-process client, for testing a server and measuring what its answers cost a model.
//!
//! It is a real rmcp client connected to the server through an in-memory pipe.
//!
//! ```
//! # use rmcp::{ServerHandler, tool, tool_handler, tool_router};
//! # struct Shop;
//! # #[tool_router]
//! # impl Shop {
//! #     #[tool(description = "List every item in stock")]
//! #     async fn list_all(&self) -> String { "item\n".repeat(50_000) }
//! # }
//! # #[tool_handler]
//! # impl ServerHandler for Shop {}
//! use tidegate_sdk::{StoreLocation, Tidegate, visit::Visitor};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let plain = Visitor::to(Shop).await?;
//! let wrapped = Visitor::to(Tidegate::wrap(Shop).store_in(StoreLocation::Memory).quiet()).await?;
//! let arguments = serde_json::json!({});
//! assert!(plain.call("list_all", &arguments).await?.tokens() > 50_000);
//! assert!(wrapped.call("list_all", &arguments).await?.tokens() <= 1_000);
//! # Ok(())
//! # }
//! ```
//!
//! Answers depend on the client's name: [`Visitor::named`] tests a server with the limits of a known client, or with those
//! that [`crate::Tidegate::clients`] sets.

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ContentBlock, Implementation, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResult, Tool,
};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::{RoleClient, ServerHandler, ServiceExt};
use serde_json::Value;
use tidegate_core::Tokens;
use tidegate_core::measure::{self, Cost, Meter};
use tidegate_core::payload::Payload;

/// Capacity of the pipe between client and server.
const PIPE_BYTES: usize = 1 << 16;

/// A client connected to a server in the same process.
#[derive(Debug)]
pub struct Visitor {
    client: RunningService<RoleClient, ClientConfig>,
}

/// A client with a name, before it connects.
#[derive(Debug, Clone)]
pub struct NamedVisitor(ClientConfig);

/// The result of a call, with its cost.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The result as received.
    pub result: CallToolResult,
    cost: Cost,
}

/// The error for a protocol error or a broken connection.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct VisitError(String);

fn failed(error: impl std::fmt::Display) -> VisitError {
    VisitError(error.to_string())
}

impl Visitor {
    /// Connects with an `initialize` session (protocol versions up to 2025-11-25).
    ///
    /// # Errors
    ///
    /// Fails if the server does not answer `initialize`.
    pub async fn to(server: impl ServerHandler) -> Result<Self, VisitError> {
        NamedVisitor(ClientConfig::default()).to(server).await
    }

    /// Connects without a session (protocol version 2026-07-28).
    ///
    /// # Errors
    ///
    /// Fails if the server does not answer `server/discover`.
    pub async fn modern(server: impl ServerHandler) -> Result<Self, VisitError> {
        NamedVisitor(ClientConfig::default()).modern(server).await
    }

    /// Returns a client that calls itself `name`, such as `claude-code`: `Visitor::named("claude-code").to(server)`.
    pub fn named(name: impl Into<String>) -> NamedVisitor {
        let mut config = ClientConfig::default();
        config.client_info = Implementation::new(name, env!("CARGO_PKG_VERSION"));
        NamedVisitor(config)
    }

    /// Lists the tools.
    ///
    /// # Errors
    ///
    /// Fails if the server answers with an error.
    pub async fn tools(&self) -> Result<Vec<Tool>, VisitError> {
        self.client.list_all_tools().await.map_err(failed)
    }

    /// Calls a tool.
    ///
    /// # Errors
    ///
    /// Fails on a protocol error; a tool error is a result with [`Seen::failed`].
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<Seen, VisitError> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = arguments.as_object().cloned();
        let result = self.client.call_tool(params).await.map_err(failed)?;
        let json = serde_json::to_vec(&result).map_err(failed)?;
        let source = json.as_slice();
        let payload = Payload::read_result(&source).map_err(failed)?;
        let cost = measure::cost(&payload, &Meter::default()).map_err(failed)?;
        Ok(Seen { result, cost })
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// Fails if the resource does not exist.
    pub async fn read(&self, uri: &str) -> Result<ReadResourceResult, VisitError> {
        self.client.read_resource(ReadResourceRequestParams::new(uri)).await.map_err(failed)
    }
}

impl NamedVisitor {
    /// Connects like [`Visitor::to`].
    ///
    /// # Errors
    ///
    /// Fails if the server does not answer `initialize`.
    pub async fn to(self, server: impl ServerHandler) -> Result<Visitor, VisitError> {
        self.connect(server, ClientLifecycleMode::Initialize).await
    }

    /// Connects like [`Visitor::modern`].
    ///
    /// # Errors
    ///
    /// Fails if the server does not answer `server/discover`.
    pub async fn modern(self, server: impl ServerHandler) -> Result<Visitor, VisitError> {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        self.connect(server, ClientLifecycleMode::Discover { preferred_versions }).await
    }

    async fn connect(
        self,
        server: impl ServerHandler,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Visitor, VisitError> {
        let (client_end, server_end) = tokio::io::duplex(PIPE_BYTES);
        tokio::spawn(async move {
            if let Ok(running) = server.serve(server_end).await {
                let _ = running.waiting().await;
            }
        });
        let client = serve_client_with_lifecycle(self.0, client_end, lifecycle).await.map_err(failed)?;
        Ok(Visitor { client })
    }
}

/// Formats a number with thousands separators.
pub fn thousands(number: u64) -> String {
    Tokens(number).to_string()
}

impl Seen {
    /// Returns the text of the first text block, or an empty string.
    pub fn text(&self) -> &str {
        self.result.content.iter().find_map(ContentBlock::as_text).map_or("", |text| &text.text)
    }

    /// Returns the first text parsed as JSON, or null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_default()
    }

    /// Returns whether the tool reported an error.
    pub fn failed(&self) -> bool {
        self.result.is_error == Some(true)
    }

    /// Returns the bytes that the model reads.
    pub fn bytes(&self) -> u64 {
        self.cost.bytes.0
    }

    /// Returns the tokens that the model reads, counted with o200k.
    pub fn tokens(&self) -> u64 {
        self.cost.tokens.0
    }
}
