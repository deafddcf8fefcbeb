//! The server: seventeen tools, each one line that passes its arguments to the [`Backend`].
//!
//! `call_tool` does what all tools have in common: it records every call in its session, and turns arguments that do not
//! deserialize into a tool error in the form of the contract.

use std::sync::Arc;
use std::time::Instant;

use rmcp::handler::server::tool::{Extension, ToolCallContext, ToolRouter};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use serde_json::Value;
use tidegate_sdk::contract::Item;
use tidegate_sdk::within_call;

use crate::answer::{Answer, AnswerStyle, Failure};
use crate::backend::Backend;
use crate::finding::Kind;
use crate::journal::Call;
use crate::tools::*;

/// Characters of the arguments that a session records for each call.
const MAX_ARGUMENT_CHARS: usize = 200;

/// The prefix of the router's error for arguments that do not deserialize.
const DESERIALIZE_ERROR_PREFIX: &str = "failed to deserialize parameters: ";

/// The server; it scans a source tree.
#[derive(Clone)]
pub struct Bugtrace {
    backend: Arc<Backend>,
    style: AnswerStyle,
    router: ToolRouter<Self>,
}

/// The session a call belongs to.
#[derive(Debug, Clone)]
struct SessionId(String);

impl Bugtrace {
    pub(crate) fn new(backend: Backend, style: AnswerStyle) -> Self {
        Self { backend: Arc::new(backend), style, router: Self::tool_router() }
    }

    /// Runs a tool on a blocking thread, since it reads files, and returns its answer in the style of the server.
    async fn run(
        &self,
        tool: &'static str,
        work: impl FnOnce(&Backend) -> Result<Answer, Failure> + Send + 'static,
    ) -> CallToolResult {
        let (backend, style) = (Arc::clone(&self.backend), self.style);
        let run = move || {
            let result =
                work(&backend).and_then(|answer| answer.into_result(tool, style, &backend.artifacts));
            result.unwrap_or_else(|failure| failure.into_result(tool, style))
        };
        let result = tokio::task::spawn_blocking(within_call(run)).await;
        result.unwrap_or_else(|error| Failure::internal(error).into_result(tool, style))
    }

    /// Returns the session of the caller.
    fn session(&self, context: &RequestContext<RoleServer>) -> SessionId {
        let client = context.client_info().map_or_else(|| "unknown".to_owned(), |client| client.name.clone());
        let parts = context.extensions.get::<http::request::Parts>();
        let header = parts.and_then(|parts| parts.headers.get("mcp-session-id")?.to_str().ok());
        SessionId(self.backend.journal().session_of(&client, header.unwrap_or_default()))
    }

    /// Returns the failure for arguments that do not deserialize, with the arguments the tool accepts.
    fn invalid_arguments(&self, tool: &str, result: &CallToolResult) -> Option<Failure> {
        let text = result
            .content
            .first()
            .and_then(ContentBlock::as_text)
            .filter(|_| result.is_error == Some(true))?;
        let message = text.text.strip_prefix(DESERIALIZE_ERROR_PREFIX)?;
        let schema = self.router.get(tool).map(|tool| Arc::clone(&tool.input_schema));
        let properties = schema.as_ref().and_then(|schema| schema.get("properties")?.as_object());
        let description =
            |property: &Value| property["description"].as_str().unwrap_or("argument").to_owned();
        let accepted =
            properties.into_iter().flatten().map(|(name, property)| Item::new(name, &description(property)));
        Some(Failure::new(message).with_accepted(accepted))
    }

    fn record_call(
        &self,
        session: &SessionId,
        request: &CallToolRequestParams,
        started: Instant,
        result: &CallToolResult,
    ) {
        let arguments =
            request.arguments.as_ref().map(|given| serde_json::to_string(given).unwrap_or_default());
        let bytes = serde_json::to_vec(result).map_or(0, |json| json.len() as u64);
        let call = Call {
            tool: request.name.to_string(),
            arguments: arguments.unwrap_or_default().chars().take(MAX_ARGUMENT_CHARS).collect(),
            success: result.is_error != Some(true),
            duration_ms: started.elapsed().as_millis() as u64,
            bytes,
        };
        self.backend.journal().add_call(&session.0, call);
    }
}

#[tool_router]
impl Bugtrace {
    #[tool(description = "Scan for TODO, FIXME, unwrap, panics and long lines: counts and the 5 most severe")]
    async fn bugfix_scan(&self, Parameters(arguments): Parameters<ScanArguments>) -> CallToolResult {
        self.run("bugfix_scan", move |backend| backend.scan_tool(Kind::Bugfix, &arguments)).await
    }

    #[tool(description = "List what the latest bugfix_scan found, most severe first")]
    async fn bugfix_list(&self, Parameters(arguments): Parameters<FindingArguments>) -> CallToolResult {
        self.run("bugfix_list", move |backend| backend.list_findings(Kind::Bugfix, &arguments)).await
    }

    #[tool(
        description = "Scan for long functions, deep nesting, large files, many parameters: counts and the 5 most severe"
    )]
    async fn refactor_scan(&self, Parameters(arguments): Parameters<ScanArguments>) -> CallToolResult {
        self.run("refactor_scan", move |backend| backend.scan_tool(Kind::Refactor, &arguments)).await
    }

    #[tool(description = "List what the latest refactor_scan found, most severe first")]
    async fn refactor_list(&self, Parameters(arguments): Parameters<FindingArguments>) -> CallToolResult {
        self.run("refactor_list", move |backend| backend.list_findings(Kind::Refactor, &arguments)).await
    }

    #[tool(description = "The first and last event of a trace and its errors; all events are in artifactRef")]
    async fn trace_get(&self, Parameters(arguments): Parameters<TraceArguments>) -> CallToolResult {
        self.run("trace_get", move |backend| backend.trace_get(&arguments)).await
    }

    #[tool(description = "The key metrics of a trace")]
    async fn trace_analyze(&self, Parameters(arguments): Parameters<TraceArguments>) -> CallToolResult {
        self.run("trace_analyze", move |backend| backend.trace_analyze(&arguments)).await
    }

    #[tool(description = "Run an agent; the results of its steps are in artifactRef")]
    async fn agent_run(&self, Parameters(arguments): Parameters<AgentArguments>) -> CallToolResult {
        self.run("agent_run", move |backend| backend.agent_run(&arguments)).await
    }

    #[tool(description = "The status of a session: calls, failures, bytes sent")]
    async fn session_status(
        &self,
        Extension(session): Extension<SessionId>,
        Parameters(arguments): Parameters<SessionArguments>,
    ) -> CallToolResult {
        self.run("session_status", move |backend| backend.session_status(&arguments, &session.0)).await
    }

    #[tool(description = "List sessions")]
    async fn session_list(&self, Parameters(arguments): Parameters<ListArguments>) -> CallToolResult {
        self.run("session_list", move |backend| backend.list_sessions(&arguments)).await
    }

    #[tool(description = "Store a value under a key")]
    async fn memory_store(&self, Parameters(arguments): Parameters<StoreArguments>) -> CallToolResult {
        self.run("memory_store", move |backend| backend.memory_store(arguments)).await
    }

    #[tool(description = "Read the value of a key")]
    async fn memory_retrieve(&self, Parameters(arguments): Parameters<KeyArguments>) -> CallToolResult {
        self.run("memory_retrieve", move |backend| backend.memory_retrieve(&arguments)).await
    }

    #[tool(description = "Search keys and values")]
    async fn memory_search(&self, Parameters(arguments): Parameters<SearchArguments>) -> CallToolResult {
        self.run("memory_search", move |backend| backend.memory_search(&arguments)).await
    }

    #[tool(description = "List workflows")]
    async fn workflow_list(&self, Parameters(arguments): Parameters<ListArguments>) -> CallToolResult {
        self.run("workflow_list", move |backend| backend.list_workflows(&arguments)).await
    }

    #[tool(description = "Run a workflow; the results of its steps are in artifactRef")]
    async fn workflow_run(&self, Parameters(arguments): Parameters<WorkflowArguments>) -> CallToolResult {
        self.run("workflow_run", move |backend| backend.workflow_run(&arguments)).await
    }

    #[tool(description = "List agents")]
    async fn agent_list(&self, Parameters(arguments): Parameters<ListArguments>) -> CallToolResult {
        self.run("agent_list", move |backend| backend.list_agents(&arguments)).await
    }

    #[tool(description = "The configuration: what is scanned, and by which rules")]
    async fn config_get(&self, Parameters(arguments): Parameters<ConfigArguments>) -> CallToolResult {
        self.run("config_get", move |backend| backend.config_get(&arguments)).await
    }

    #[tool(description = "Check a path against a set of rules: passed or failed, rule by rule")]
    async fn guard_check(&self, Parameters(arguments): Parameters<GuardArguments>) -> CallToolResult {
        self.run("guard_check", move |backend| backend.check_guard(&arguments)).await
    }
}

#[tool_handler(
    router = self.router,
    name = "bugtrace",
    instructions = "Scans a source tree. Answers are summaries; read the full data in artifactRef with result_query or as a resource."
)]
impl ServerHandler for Bugtrace {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (started, session) = (Instant::now(), self.session(&context));
        context.extensions.insert(session.clone());
        let call = ToolCallContext::new(self, request.clone(), context);
        let mut response = self.router.call(call).await?;
        if let CallToolResponse::Complete(result) = &mut response {
            if let Some(failure) = self.invalid_arguments(&request.name, result) {
                *result = failure.into_result(&request.name, self.style);
            }
            self.record_call(&session, &request, started, result);
        }
        Ok(response)
    }
}
