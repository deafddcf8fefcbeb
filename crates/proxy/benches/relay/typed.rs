//! A minimal relay on rmcp: it parses every message into rmcp's types and serializes it again.
//!
//! It forwards lists and calls of tools and nothing else. Its line limit is raised on both sides, its standard streams

use std::process::Stdio;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RunningService, ServiceError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio_pipes;
use rmcp::{ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt};

/// Longer than any answer here.
const LONGEST_LINE: usize = 1 << 30;

struct Relay {
    upstream: RunningService<RoleClient, ()>,
}

impl ServerHandler for Relay {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.upstream.list_tools(request).await.map_err(told)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.upstream.call_tool(request).await.map(Into::into).map_err(told)
    }
}

fn told(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::McpError(error) => error,
        other => ErrorData::internal_error(other.to_string(), None),
    }
}

/// Relays between the standard streams and a server that it starts.
pub(crate) fn relay(server: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut child = tokio::process::Command::new(server)
            .arg("serve-stdio")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (output, input) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let upstream = AsyncRwTransport::new_client(output, input).with_max_line_length(LONGEST_LINE);
        let relay = Relay { upstream: ().serve(upstream).await.unwrap() };
        let (input, output) = stdio_pipes();
        let downstream = AsyncRwTransport::new_server(input, output).with_max_line_length(LONGEST_LINE);
        let _ = relay.serve(downstream).await.unwrap().waiting().await;
        let _ = child.kill().await;
    });
}
