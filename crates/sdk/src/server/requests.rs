//! Calls, lists of tools and reads of resources, on their way through the gate.
//!
//! A call runs the tool only if nothing else answers it: `result_query` and fetches through the tool are answered from
//! the store, and callers without the tier of a tool are refused.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceResult, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tidegate_core::measure;
use tidegate_core::payload::Payload;
use tidegate_gate::profile::OutputSchema;
use tidegate_gate::{Caller, Gate, ToolCall, not_kept};

use super::Tidegate;
use crate::heavy::Marked;
use crate::tier::Tier;
use crate::totals::{Told, say};

/// The most pages of a list of tools that are searched for one tool.
const MAX_LIST_PAGES: usize = 50;

impl<S: ServerHandler> Tidegate<S> {
    /// Returns the caller of a request, with its profile and its gate.
    pub(super) fn asker(&self, context: &RequestContext<RoleServer>) -> Asker {
        let mut caller = Caller::unknown(self.clients.clone());
        if let Some(client) = context.client_info() {
            caller.name(&client.name);
        }
        let version = context.protocol_version();
        caller.modern =
            version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        caller.who = (self.who)(context);
        caller.session = (!caller.modern).then(|| Arc::clone(&self.session.meter));
        if self.server.get_tool(caller.query_tool).is_some() {
            caller.query_tool = Gate::ALTERNATIVE_QUERY_TOOL;
        }
        Asker { gate: self.gate(&caller.who), caller }
    }

    /// Tells the gate the rules that a tool declares, and returns them. Where the handler does not know single tools, its
    /// list is searched; a tool that is in neither may be called by admins only.
    async fn mark(&self, asker: &mut Asker, tool: &str, context: &RequestContext<RoleServer>) -> Marked {
        let known = match self.server.get_tool(tool) {
            Some(known) => known,
            None => match self.find(tool, context).await {
                Some(known) => known,
                None => return Marked::unknown(),
            },
        };
        let marked = Marked::of(&known);
        asker.gate.mark(tool, &marked.rules);
        if known.output_schema.is_some() {
            asker.caller.profile.output_schema = OutputSchema::Union;
        }
        // A client that has an earlier list may call a tool before it lists tools here.
        if let Ok(listed) = serde_json::to_vec(&serde_json::json!({ "tools": [known] })) {
            asker.gate.tools(&mut asker.caller.clone(), &listed, false);
        }
        marked
    }

    /// Searches the server's list for a tool.
    async fn find(&self, tool: &str, context: &RequestContext<RoleServer>) -> Option<Tool> {
        let mut params = PaginatedRequestParams::default();
        for _ in 0..MAX_LIST_PAGES {
            let list = self.server.list_tools(Some(params), context.clone()).await.ok()?;
            if let Some(found) = list.tools.into_iter().find(|known| known.name == tool) {
                return Some(found);
            }
            params = PaginatedRequestParams::default().with_cursor(Some(list.next_cursor?));
        }
        None
    }

    /// Switches to the server's own gate where a name belongs to an artifact that the server itself keeps, under a domain
    /// that is no tool: every caller may read those.
    async fn turn_to_own(&self, asker: &mut Asker, name: &str) {
        if asker.caller.who.is_empty() {
            return;
        }
        let (own, name) = (self.gate(""), name.to_owned());
        let gate = Arc::clone(&own);
        let of = asker.apart(move |theirs, _| (theirs.tool_of(&name), gate.tool_of(&name))).await;
        if let Ok((None, Some(domain))) = of
            && self.server.get_tool(&domain).is_none()
        {
            asker.gate = own;
        }
    }

    /// Returns whether a caller may read a kept result: only results of tools that it may call.
    async fn may_read(&self, asker: &Asker, name: &str, context: &RequestContext<RoleServer>) -> bool {
        let name = name.to_owned();
        let tool = asker.apart(move |gate, _| gate.tool_of(&name)).await.ok().flatten();
        let Some(tool) = tool else { return true };
        let known = match self.server.get_tool(&tool) {
            Some(known) => Some(known),
            None => self.find(&tool, context).await,
        };
        // What the server keeps under a domain of its own came from no tool.
        let Some(marked) = known.as_ref().map(Marked::of) else {
            return self.permission.tier_of(&asker.caller.who).allows(Tier::Read);
        };
        // The tool may have been called by an earlier process, so this gate may not know its rules yet.
        asker.gate.mark(&tool, &marked.rules);
        let needed = marked.tier;
        self.permission.tier_of(&asker.caller.who).allows(needed)
    }

    /// Answers a call: from the store, or with the result of the tool, shaped if it is too large.
    pub(super) async fn call(
        &self,
        mut call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(dispatcher) = self.dispatcher.as_ref().filter(|dispatcher| call.name == dispatcher.name) {
            match dispatcher.dispatch(&call) {
                Ok(params) => call = params,
                Err(message) => return Ok(self.refused(&call.name, message)),
            }
        }
        let mut asker = self.asker(&context);
        let tool = call.name.to_string();
        let arguments = call.arguments.as_ref().map(bytes).transpose()?;
        if tool == asker.caller.query_tool {
            let name = call.arguments.as_ref().and_then(|given| given.get("id")?.as_str().map(str::to_owned));
            if let Some(name) = &name {
                self.turn_to_own(&mut asker, name).await;
            }
            if let Some(name) = name
                && !self.may_read(&asker, &name, &context).await
            {
                return Ok(self.refused(&tool, format!("{tool}: {}. Nothing was run.", not_kept(&name))));
            }
            let result = asker.apart(move |gate, caller| gate.query(caller, arguments.as_deref())).await?;
            return self.answered(&tool, "view", &result);
        }
        let marked = self.mark(&mut asker, &tool, &context).await;
        let allowed = self.permission.tier_of(&asker.caller.who).allows(marked.tier);
        let asked = arguments.clone().unwrap_or_default();
        if asker.gate.negotiates(&tool, &asked) {
            let name = tool.clone();
            let result = asker.apart(move |gate, caller| gate.fetch(caller, &name, &asked, allowed)).await?;
            return self.answered(&tool, "fetch", &result);
        }
        if let Some(refusal) = asker.gate.refusal(&asker.caller, &tool, &asked) {
            return self.answered(&tool, "refused", &refusal);
        }
        if !allowed {
            let tier = self.permission.tier_of(&asker.caller.who);
            let words = format!(
                "{tool} needs the tier {}, and this caller has {tier}. Nothing was run. Use a tool from tools/list, or ask \
                 whoever runs the server for the tier.",
                marked.tier
            );
            return Ok(self.refused(&tool, words));
        }
        let ours = asker.gate.own_arguments(&tool);
        if let Some(arguments) = &mut call.arguments {
            arguments.retain(|name, _| !ours.contains(&name.as_str()));
        }
        match self.server.call_tool(call, context).await {
            Err(error) => Err(self.bounded(&asker, &tool, error).await),
            Ok(CallToolResponse::Complete(result)) => self.shaped(asker, tool, arguments, result).await,
            Ok(other) => Ok(other),
        }
    }

    /// Keeps an error whose message would flood the context, and replaces the message with an overview.
    async fn bounded(&self, asker: &Asker, tool: &str, error: ErrorData) -> ErrorData {
        let called = ToolCall { tool: tool.to_owned(), ..ToolCall::default() };
        let Ok(json) = bytes(&error) else { return error };
        let shaped = asker.apart(move |gate, caller| gate.error(caller, &called, &json.as_slice())).await;
        let shaped = shaped.ok().flatten().and_then(|shaped| parsed::<ErrorData>(&shaped).ok());
        shaped.unwrap_or(error)
    }

    /// Keeps and shapes a result that does not fit.
    async fn shaped(
        &self,
        asker: Asker,
        tool: String,
        arguments: Option<Vec<u8>>,
        result: CallToolResult,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = arguments.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let called = ToolCall { tool: tool.clone(), arguments, by_program: false };
        let json = bytes(&result)?;
        let (size, decision, tokens) = asker
            .apart(move |gate, caller| {
                let source = json.as_slice();
                let decision = gate.decide(caller, &called, &source);
                let cost = decision.raw.or_else(|| {
                    let payload = Payload::read_result(&source).ok()?;
                    measure::cost(&payload, &caller.profile.meter).ok()
                });
                (json.len() as u64, decision, cost.map_or(0, |cost| cost.tokens.0))
            })
            .await?;
        let (answer, sent) = match &decision.answer {
            Some(answer) => (parsed::<CallToolResult>(answer)?, answer.len() as u64),
            None => (result, size),
        };
        let style = if decision.step == "lossless" { "overview" } else { decision.step };
        self.log(&Told { tool: &tool, bytes: size, tokens, sent, style });
        Ok(answer.into())
    }

    /// Logs an answer of the gate, and returns it as a response.
    fn answered(
        &self,
        tool: &str,
        style: &'static str,
        result: &[u8],
    ) -> Result<CallToolResponse, ErrorData> {
        let sent = result.len() as u64;
        self.log(&Told { tool, bytes: 0, tokens: 0, sent, style });
        Ok(parsed::<CallToolResult>(result)?.into())
    }

    /// Returns the answer to a call that was not made.
    fn refused(&self, tool: &str, message: String) -> CallToolResponse {
        self.log(&Told { tool, bytes: 0, tokens: 0, sent: message.len() as u64, style: "refused" });
        CallToolResult::error(vec![ContentBlock::text(message)]).into()
    }

    /// Adds a call to the totals, and logs it.
    fn log(&self, told: &Told<'_>) {
        self.session.totals.count(told);
        if !self.session.quiet {
            say(told);
        }
    }

    /// Lists the tools that a caller may call, with ours, and without the rules that they declare.
    pub(super) fn listed(
        &self,
        mut asker: Asker,
        mut list: ListToolsResult,
        first_page: bool,
    ) -> Result<ListToolsResult, ErrorData> {
        let tier = self.permission.tier_of(&asker.caller.who);
        list.tools.retain(|tool| tier.allows(Marked::of(tool).tier));
        for tool in &mut list.tools {
            let marked = Marked::of(tool);
            asker.gate.mark(&tool.name, &marked.rules);
            Marked::take_out(tool);
        }
        if let Some(dispatcher) = self.dispatcher.as_ref().filter(|_| first_page) {
            list.tools.push(dispatcher.tool(&list.tools));
        }
        asker.caller.profile.output_schema = OutputSchema::Union;
        let (gate, caller) = (&asker.gate, &mut asker.caller);
        through(list, |json| gate.tools(caller, json, first_page))
    }

    /// Reads a resource of ours; `None` for a resource of the server.
    pub(super) async fn read_ours(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<ReadResourceResult, ErrorData>> {
        let mut asker = self.asker(context);
        if !asker.gate.owns(uri) {
            return None;
        }
        self.turn_to_own(&mut asker, uri).await;
        if !self.may_read(&asker, uri, context).await {
            return Some(Err(ErrorData::resource_not_found(not_kept(uri), None)));
        }
        let uri = uri.to_owned();
        let read = asker.apart(move |gate, caller| gate.read_resource(caller, &uri)).await;
        let read = read.and_then(|read| {
            read.map_err(|error| ErrorData::new(ErrorCode(error.code as i32), error.message, None))
        });
        Some(read.and_then(|read| parsed(&read)))
    }
}

/// A caller, and the gate that keeps its results.
pub(super) struct Asker {
    pub(super) caller: Caller,
    pub(super) gate: Arc<Gate>,
}

impl Asker {
    /// Runs work that may wait for the disk on a thread for blocking work.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Gate, &Caller) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (gate, caller) = (Arc::clone(&self.gate), self.caller.clone());
        let done = tokio::task::spawn_blocking(move || work(&gate, &caller)).await;
        let words = "tidegate failed on this result; if the tool was called, it did run: call it again only if it is safe to \
                     repeat, with arguments that give a smaller result";
        done.map_err(|_| ErrorData::internal_error(words, None))
    }
}

fn bytes(value: &impl Serialize) -> Result<Vec<u8>, ErrorData> {
    serde_json::to_vec(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn parsed<T: DeserializeOwned>(json: &[u8]) -> Result<T, ErrorData> {
    serde_json::from_slice(json).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Lets the gate change a value as JSON; a value that it does not change stays the same.
pub(super) fn through<T: Serialize + DeserializeOwned>(
    value: T,
    change: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Result<T, ErrorData> {
    match change(&bytes(&value)?) {
        Some(changed) => parsed(&changed),
        None => Ok(value),
    }
}
