//! What [`Tidegate::wrap`](super::Tidegate::wrap) takes: a `ServerHandler`, or a `Router` of rmcp.
//!
//! A router is a service of its own, which answers for its tools and prompts and leaves everything else to the handler in
//! it. [`RouterServer`] is the same as a `ServerHandler`, so that the gate fits around it.

#![expect(
    deprecated,
    reason = "clients of the sessions' era still use what the later one has done away with"
)]

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use rmcp::handler::server::prompt::PromptContext;
use rmcp::handler::server::router::Router;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
    ClientNotification, CompleteRequestParams, CompleteResult, CustomNotification, CustomRequest,
    CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    InitializeRequestParams, InitializeResult, InitializedNotification, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, Service, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::forward::{notify, pass};

/// A server that [`Tidegate::wrap`](super::Tidegate::wrap) can wrap. `M` only tells the two kinds apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a `ServerHandler` nor a `Router` of rmcp",
    label = "implement `ServerHandler` for it, for example with `#[tool_handler]`"
)]
pub trait IntoServer<M> {
    /// The handler that is wrapped.
    type Server: ServerHandler;

    /// Returns the handler.
    fn into_server(self) -> Self::Server;
}

/// Marks a server that is a `ServerHandler`.
#[derive(Debug, Clone, Copy)]
pub struct Handler;

/// Marks a server that is a `Router`.
#[derive(Debug, Clone, Copy)]
pub struct Routed;

impl<S: ServerHandler> IntoServer<Handler> for S {
    type Server = S;

    fn into_server(self) -> S {
        self
    }
}

impl<S: ServerHandler> IntoServer<Routed> for Router<S> {
    type Server = RouterServer<S>;

    fn into_server(self) -> RouterServer<S> {
        RouterServer { handler: Arc::clone(&self.service), router: Arc::new(self) }
    }
}

/// A `Router` of rmcp as a `ServerHandler`.
pub struct RouterServer<S> {
    router: Arc<Router<S>>,
    /// The handler in the router.
    handler: Arc<S>,
}

impl<S> Clone for RouterServer<S> {
    fn clone(&self) -> Self {
        Self { router: Arc::clone(&self.router), handler: Arc::clone(&self.handler) }
    }
}

impl<S: fmt::Debug> fmt::Debug for RouterServer<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RouterServer").field("handler", &self.handler).finish_non_exhaustive()
    }
}

impl<S: ServerHandler> ServerHandler for RouterServer<S> {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tools = &self.router.tool_router;
        if tools.map.contains_key(request.name.as_ref()) || !tools.transparent_when_not_found {
            return tools.call(ToolCallContext::new(&*self.handler, request, context)).await;
        }
        self.handler.call_tool(request, context).await
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.router.tool_router.list_all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let known = self.router.tool_router.get(name).cloned();
        known.or_else(|| self.handler.get_tool(name))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompts = &self.router.prompt_router;
        if prompts.has_route(&request.name) {
            let context = PromptContext::new(&*self.handler, request.name, request.arguments, context);
            return prompts.get_prompt(context).await;
        }
        self.handler.get_prompt(request, context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(self.router.prompt_router.list_all()))
    }

    /// Goes through the router, which then knows the client that it tells of changed tools.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let notification = ClientNotification::InitializedNotification(InitializedNotification::default());
        let _ = self.router.handle_notification(notification, context).await;
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&*self.router)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut answer = self.handler.initialize(request, context).await?;
        announce_tools(&mut answer.capabilities);
        Ok(answer)
    }

    fn negotiate_initialize(&self, request: &InitializeRequestParams) -> Result<InitializeResult, ErrorData> {
        let mut answer = self.handler.negotiate_initialize(request)?;
        announce_tools(&mut answer.capabilities);
        Ok(answer)
    }

    pass! { handler:
        list_resources(Option<PaginatedRequestParams>) -> ListResourcesResult;
        list_resource_templates(Option<PaginatedRequestParams>) -> ListResourceTemplatesResult;
        read_resource(ReadResourceRequestParams) -> ReadResourceResponse;
        complete(CompleteRequestParams) -> CompleteResult;
        set_level(SetLevelRequestParams) -> ();
        subscribe(SubscribeRequestParams) -> ();
        unsubscribe(UnsubscribeRequestParams) -> ();
        on_custom_request(CustomRequest) -> CustomResult;
        get_task(GetTaskParams) -> GetTaskResult;
        update_task(UpdateTaskParams) -> ();
        cancel_task(CancelTaskParams) -> ();
    }

    notify! { handler:
        on_cancelled(params: CancelledNotificationParam);
        on_progress(params: ProgressNotificationParam);
        on_roots_list_changed();
        on_custom_notification(params: CustomNotification);
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut answer = self.handler.discover(context).await?;
        announce_tools(&mut answer.capabilities);
        Ok(answer)
    }

    async fn ping(&self, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.handler.ping(context).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.handler.accepted_subscription_filter(requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.handler.listen(context).await
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.handler)
    }
}

/// Announces the tools of a router, as `Router::get_info` does; the handler in it may know of none.
fn announce_tools(capabilities: &mut ServerCapabilities) {
    capabilities.tools.get_or_insert_with(Default::default).list_changed = Some(true);
}
