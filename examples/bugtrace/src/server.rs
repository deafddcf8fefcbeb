//! The server: seventeen tools, each a line that hands its arguments on. What all have in common is in `call_tool`:
//! every call is noted in its session, and arguments that cannot be read are an error of the tool, in the same form as
//! any other.

use std::sync::Arc;
use std::time::Instant;

use rmcp::handler::server::tool::{Extension, ToolCallContext, ToolRouter};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use serde_json::Value;
use tidegate_sdk::contract::Item;

use crate::answer::{Answer, Form, Refusal};
use crate::finding::Kind;
use crate::journal::Call;
use crate::tools::*;
use crate::workshop::Workshop;

/// Characters of the arguments of a call that its session remembers.
const ARGUMENTS: usize = 200;

/// How the router begins what it says of arguments that it cannot read.
const MISREAD: &str = "failed to deserialize parameters: ";

/// Scans a source tree and tells what it found.
#[derive(Clone)]
pub struct Bugtrace {
    workshop: Arc<Workshop>,
    form: Form,
    router: ToolRouter<Self>,
}

/// The session a call belongs to.
#[derive(Debug, Clone)]
struct SessionId(String);

impl Bugtrace {
    pub(crate) fn new(workshop: Workshop, form: Form) -> Self {
        Self { workshop: Arc::new(workshop), form, router: Self::tool_router() }
    }

    /// Works where files may be waited for, and puts the answer into its form.
    async fn tell(
        &self,
        tool: &'static str,
        work: impl FnOnce(&Workshop) -> Result<Answer, Refusal> + Send + 'static,
    ) -> CallToolResult {
        let (workshop, form) = (Arc::clone(&self.workshop), self.form);
        let told = move || {
            let answer = work(&workshop).and_then(|answer| answer.told(tool, form, &workshop.artifacts));
            answer.unwrap_or_else(|refusal| refusal.told(tool, form))
        };
        let done = tokio::task::spawn_blocking(told).await;
        done.unwrap_or_else(|error| Refusal::internal(error).told(tool, form))
    }

    /// The session of whoever calls.
    fn session(&self, context: &RequestContext<RoleServer>) -> SessionId {
        let client = context.client_info().map_or_else(|| "unknown".to_owned(), |client| client.name.clone());
        let parts = context.extensions.get::<http::request::Parts>();
        let header = parts.and_then(|parts| parts.headers.get("mcp-session-id")?.to_str().ok());
        SessionId(self.workshop.journal().session_of(&client, header.unwrap_or_default()))
    }

    /// The refusal of arguments that could not be read, with those that there are.
    fn misread(&self, tool: &str, result: &CallToolResult) -> Option<Refusal> {
        let text = result
            .content
            .first()
            .and_then(ContentBlock::as_text)
            .filter(|_| result.is_error == Some(true))?;
        let words = text.text.strip_prefix(MISREAD)?;
        let schema = self.router.get(tool).map(|tool| Arc::clone(&tool.input_schema));
        let properties = schema.as_ref().and_then(|schema| schema.get("properties")?.as_object());
        let about = |property: &Value| property["description"].as_str().unwrap_or("argument").to_owned();
        let accepted =
            properties.into_iter().flatten().map(|(name, property)| Item::new(name, &about(property)));
        Some(Refusal::new(words).accepting(accepted))
    }

    fn note(
        &self,
        session: &SessionId,
        request: &CallToolRequestParams,
        began: Instant,
        result: &CallToolResult,
    ) {
        let arguments =
            request.arguments.as_ref().map(|given| serde_json::to_string(given).unwrap_or_default());
        let bytes = serde_json::to_vec(result).map_or(0, |json| json.len() as u64);
        let call = Call {
            tool: request.name.to_string(),
            arguments: arguments.unwrap_or_default().chars().take(ARGUMENTS).collect(),
            success: result.is_error != Some(true),
            duration_ms: began.elapsed().as_millis() as u64,
            bytes,
        };
        self.workshop.journal().add_call(&session.0, call);
    }
}

#[tool_router]
impl Bugtrace {
    #[tool(description = "Scan for TODO, FIXME, unwrap, panics and long lines: counts and the 5 gravest")]
    async fn bugfix_scan(&self, Parameters(given): Parameters<ScanArguments>) -> CallToolResult {
        self.tell("bugfix_scan", move |workshop| workshop.scan_tool(Kind::Bugfix, &given)).await
    }

    #[tool(description = "List what the latest bugfix_scan found, gravest first")]
    async fn bugfix_list(&self, Parameters(given): Parameters<FindingArguments>) -> CallToolResult {
        self.tell("bugfix_list", move |workshop| workshop.list_findings(Kind::Bugfix, &given)).await
    }

    #[tool(
        description = "Scan for long functions, deep nesting, large files, many parameters: counts and the 5 gravest"
    )]
    async fn refactor_scan(&self, Parameters(given): Parameters<ScanArguments>) -> CallToolResult {
        self.tell("refactor_scan", move |workshop| workshop.scan_tool(Kind::Refactor, &given)).await
    }

    #[tool(description = "List what the latest refactor_scan found, gravest first")]
    async fn refactor_list(&self, Parameters(given): Parameters<FindingArguments>) -> CallToolResult {
        self.tell("refactor_list", move |workshop| workshop.list_findings(Kind::Refactor, &given)).await
    }

    #[tool(description = "The first and last event of a trace and its errors; all events are in artifactRef")]
    async fn trace_get(&self, Parameters(given): Parameters<TraceArguments>) -> CallToolResult {
        self.tell("trace_get", move |workshop| workshop.trace_get(&given)).await
    }

    #[tool(description = "The key metrics of a trace")]
    async fn trace_analyze(&self, Parameters(given): Parameters<TraceArguments>) -> CallToolResult {
        self.tell("trace_analyze", move |workshop| workshop.trace_analyze(&given)).await
    }

    #[tool(description = "Run an agent; the results of its steps are in artifactRef")]
    async fn agent_run(&self, Parameters(given): Parameters<AgentArguments>) -> CallToolResult {
        self.tell("agent_run", move |workshop| workshop.agent_run(&given)).await
    }

    #[tool(description = "How a session stands: calls, failures, bytes sent")]
    async fn session_status(
        &self,
        Extension(session): Extension<SessionId>,
        Parameters(given): Parameters<SessionArguments>,
    ) -> CallToolResult {
        self.tell("session_status", move |workshop| workshop.session_status(&given, &session.0)).await
    }

    #[tool(description = "List sessions")]
    async fn session_list(&self, Parameters(given): Parameters<ListArguments>) -> CallToolResult {
        self.tell("session_list", move |workshop| workshop.list_sessions(&given)).await
    }

    #[tool(description = "Remember a value under a key")]
    async fn memory_store(&self, Parameters(given): Parameters<StoreArguments>) -> CallToolResult {
        self.tell("memory_store", move |workshop| workshop.memory_store(given)).await
    }

    #[tool(description = "The value under a key")]
    async fn memory_retrieve(&self, Parameters(given): Parameters<KeyArguments>) -> CallToolResult {
        self.tell("memory_retrieve", move |workshop| workshop.memory_retrieve(&given)).await
    }

    #[tool(description = "Search keys and values")]
    async fn memory_search(&self, Parameters(given): Parameters<SearchArguments>) -> CallToolResult {
        self.tell("memory_search", move |workshop| workshop.memory_search(&given)).await
    }

    #[tool(description = "List workflows")]
    async fn workflow_list(&self, Parameters(given): Parameters<ListArguments>) -> CallToolResult {
        self.tell("workflow_list", move |workshop| workshop.list_workflows(&given)).await
    }

    #[tool(description = "Run a workflow; the results of its steps are in artifactRef")]
    async fn workflow_run(&self, Parameters(given): Parameters<WorkflowArguments>) -> CallToolResult {
        self.tell("workflow_run", move |workshop| workshop.workflow_run(&given)).await
    }

    #[tool(description = "List agents")]
    async fn agent_list(&self, Parameters(given): Parameters<ListArguments>) -> CallToolResult {
        self.tell("agent_list", move |workshop| workshop.list_agents(&given)).await
    }

    #[tool(description = "What is scanned, and by which rules")]
    async fn config_get(&self, Parameters(given): Parameters<ConfigArguments>) -> CallToolResult {
        self.tell("config_get", move |workshop| workshop.config_get(&given)).await
    }

    #[tool(description = "Check a path against a set of rules: passed or failed, rule by rule")]
    async fn guard_check(&self, Parameters(given): Parameters<GuardArguments>) -> CallToolResult {
        self.tell("guard_check", move |workshop| workshop.check_guard(&given)).await
    }
}

#[tool_handler(
    router = self.router,
    name = "bugtrace",
    instructions = "Scans a source tree. Answers are summaries; artifactRef names all of it, to be read with result_query or as a resource."
)]
impl ServerHandler for Bugtrace {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (began, session) = (Instant::now(), self.session(&context));
        context.extensions.insert(session.clone());
        let called = ToolCallContext::new(self, request.clone(), context);
        let mut response = self.router.call(called).await?;
        if let CallToolResponse::Complete(result) = &mut response {
            if let Some(refusal) = self.misread(&request.name, result) {
                *result = refusal.told(&request.name, self.form);
            }
            self.note(&session, &request, began, result);
        }
        Ok(response)
    }
}
