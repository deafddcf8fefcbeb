//! `ServerHandler` for the server with the gate inside.
//!
//! Requests that concern the gate go through it; everything else goes to the server as it is.

#![expect(
    deprecated,
    reason = "clients of the sessions' era still use what the later one has done away with"
)]

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
    CompleteRequestParams, CompleteResult, CustomNotification, CustomRequest, CustomResult, DiscoverResult,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tidegate_gate::{Gate, Principal};

use super::forward::{notify, pass};
use super::requests::through;
use super::{Tidegate, tasks};

impl<S: ServerHandler> ServerHandler for Tidegate<S> {
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let gate = self.asker(&context)?.gate;
        announced(&gate, self.server.initialize(request, context).await?)
    }

    fn negotiate_initialize(&self, request: &InitializeRequestParams) -> Result<InitializeResult, ErrorData> {
        announced(&self.gate(&Principal::User), self.server.negotiate_initialize(request)?)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let gate = self.asker(&context)?.gate;
        announced(&gate, self.server.discover(context).await?)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (asker, first) = (self.asker(&context)?, is_first(request.as_ref()));
        let list = self.server.list_tools(request, context.clone()).await?;
        self.listed(asker, list, first, &context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (asker, first) = (self.asker(&context)?, is_first(request.as_ref()));
        let later = context.clone();
        let list = self.server.list_resources(request, context).await?;
        if !first {
            return Ok(list);
        }
        self.listed_resources(asker, list, &later).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let (asker, first) = (self.asker(&context)?, is_first(request.as_ref()));
        let list = self.server.list_resource_templates(request, context).await?;
        if !first {
            return Ok(list);
        }
        through(list, |json| asker.gate.templates(&asker.caller, Some(json)))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match self.read_ours(&request.uri, &context).await {
            Some(read) => read.map(Into::into),
            None => self.server.read_resource(request, context).await,
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let (asker, id) = (self.asker(&context)?, request.task_id.clone());
        let state = self.server.get_task(request, context).await?;
        self.task_state(asker, &id, state).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != tasks::RESULT_METHOD {
            return self.server.on_custom_request(request, context).await;
        }
        let asker = self.asker(&context)?;
        let id = request
            .params
            .as_ref()
            .and_then(|params| params["taskId"].as_str())
            .unwrap_or_default()
            .to_owned();
        let result = self.server.on_custom_request(request, context).await?;
        self.custom_result(asker, &id, result).await
    }

    pass! { server:
        complete(CompleteRequestParams) -> CompleteResult;
        set_level(SetLevelRequestParams) -> ();
        get_prompt(GetPromptRequestParams) -> GetPromptResponse;
        list_prompts(Option<PaginatedRequestParams>) -> ListPromptsResult;
        subscribe(SubscribeRequestParams) -> ();
        unsubscribe(UnsubscribeRequestParams) -> ();
        update_task(UpdateTaskParams) -> ();
        cancel_task(CancelTaskParams) -> ();
    }

    notify! { server:
        on_cancelled(params: CancelledNotificationParam);
        on_progress(params: ProgressNotificationParam);
        on_initialized();
        on_roots_list_changed();
        on_custom_notification(params: CustomNotification);
    }

    async fn ping(&self, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.server.ping(context).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.server.accepted_subscription_filter(requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.server.listen(context).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.server.get_tool(name)
    }

    fn get_info(&self) -> ServerConfig {
        self.server.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.server.supported_protocol_versions()
    }
}

/// Returns whether a request asks for the first page of a list.
fn is_first(request: Option<&PaginatedRequestParams>) -> bool {
    request.is_none_or(|params| params.cursor.is_none())
}

/// Returns the description of a server with the capabilities that the gate adds.
fn announced<T: Serialize + DeserializeOwned>(gate: &Gate, info: T) -> Result<T, ErrorData> {
    through(info, |json| gate.announce(json).and_then(|(_, announced)| announced))
}
