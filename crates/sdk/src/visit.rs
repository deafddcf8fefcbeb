//! A client of a server in this process: to test a server, and to measure what its answers cost a model.
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
//! use tidegate_sdk::{Place, Tidegate, visit::Visitor};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let before = Visitor::to(Shop).await?;
//! let after = Visitor::to(Tidegate::wrap(Shop).kept_in(Place::Memory).quiet()).await?;
//! let nothing = serde_json::json!({});
//! assert!(before.call("list_all", &nothing).await?.tokens() > 50_000);
//! assert!(after.call("list_all", &nothing).await?.tokens() <= 2_000);
//! # Ok(())
//! # }
//! ```

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResult, Tool,
};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::{RoleClient, ServerHandler, ServiceExt};
use serde_json::Value;
use tidegate_core::Tokens;
use tidegate_core::measure::{self, Cost, Meter};
use tidegate_core::payload::Payload;

/// Bytes on their way between the two.
const PIPE: usize = 1 << 16;

/// A client that is connected to a server.
#[derive(Debug)]
pub struct Visitor {
    client: RunningService<RoleClient, ()>,
}

/// What a call was answered with.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The result as it came.
    pub result: CallToolResult,
    cost: Cost,
}

/// An answer that is an error of the protocol, or no answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct VisitError(String);

fn failed(error: impl std::fmt::Display) -> VisitError {
    VisitError(error.to_string())
}

impl Visitor {
    /// Connects as clients of the era of sessions do.
    ///
    /// # Errors
    ///
    /// A server that does not answer the greeting.
    pub async fn to(server: impl ServerHandler) -> Result<Self, VisitError> {
        Self::connect(server, ClientLifecycleMode::Initialize).await
    }

    /// Connects as clients of the era without sessions do.
    ///
    /// # Errors
    ///
    /// A server that does not answer.
    pub async fn modern(server: impl ServerHandler) -> Result<Self, VisitError> {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        Self::connect(server, ClientLifecycleMode::Discover { preferred_versions }).await
    }

    async fn connect(server: impl ServerHandler, lifecycle: ClientLifecycleMode) -> Result<Self, VisitError> {
        let (near, far) = tokio::io::duplex(PIPE);
        tokio::spawn(async move {
            if let Ok(running) = server.serve(far).await {
                let _ = running.waiting().await;
            }
        });
        let client = serve_client_with_lifecycle((), near, lifecycle).await.map_err(failed)?;
        Ok(Self { client })
    }

    /// Lists the tools.
    ///
    /// # Errors
    ///
    /// Where the server answers with an error.
    pub async fn tools(&self) -> Result<Vec<Tool>, VisitError> {
        self.client.list_all_tools().await.map_err(failed)
    }

    /// Calls a tool.
    ///
    /// # Errors
    ///
    /// An error of the protocol; one of the tool is a result ([`Seen::failed`]).
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
    /// A resource that is not there.
    pub async fn read(&self, uri: &str) -> Result<ReadResourceResult, VisitError> {
        self.client.read_resource(ReadResourceRequestParams::new(uri)).await.map_err(failed)
    }
}

/// Returns a number with its thousands apart, for a table.
pub fn thousands(number: u64) -> String {
    Tokens(number).to_string()
}

impl Seen {
    /// Returns the first text.
    pub fn text(&self) -> &str {
        self.result.content.iter().find_map(ContentBlock::as_text).map_or("", |text| &text.text)
    }

    /// Returns the first text as JSON, or null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_default()
    }

    /// Whether the tool failed.
    pub fn failed(&self) -> bool {
        self.result.is_error == Some(true)
    }

    /// Returns the bytes of what a model reads of it.
    pub fn bytes(&self) -> u64 {
        self.cost.bytes.0
    }

    /// Returns the tokens of what a model reads of it, in the o200k vocabulary.
    pub fn tokens(&self) -> u64 {
        self.cost.tokens.0
    }
}
